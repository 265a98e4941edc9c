//! Golden results of the stages of other libraries' networks, on checkpoints that PyTorch wrote.

use crate::golden::check;
use onebasin::experiment::{
    AlignNetwork, AlignSettings, BarrierNetwork, BarrierSettings, BatchNorm, CompactNetwork, CompactSettings,
    NetworkInputs, PlaneNetwork, PlaneSettings,
};
use onebasin::foreign::Reading;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a network with convolutions, batch normalisation and a residual sum, copied into a folder.
fn files(folder: &Path) -> NetworkInputs {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../onebasin-cli/tests/networks");
    let file = |name: &str| -> PathBuf {
        fs::copy(from.join(name), folder.join(name)).unwrap();
        folder.join(name)
    };
    NetworkInputs {
        reading: Reading::default(),
        network: file("net.onnx"),
        checkpoints: vec![file("a.pt"), file("b.ckpt")],
        inputs: file("x.npy"),
        labels: file("y.npy"),
        regression: false,
    }
}

#[test]
fn alignments_of_checkpoints_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let NetworkInputs { reading, network, checkpoints, .. } = files(folder.path());
    let stage = AlignNetwork { settings: AlignSettings::default(), reading, network, checkpoints };
    let result = check("align-network", &stage, folder.path());
    assert!(result.members[0].checked.is_unchanged());
}

#[test]
fn barriers_of_checkpoints_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = files(folder.path());
    for batchnorm in [BatchNorm::Recompute, BatchNorm::Interpolate] {
        let settings = BarrierSettings { points: 5, replicates: 10, ..BarrierSettings::default() };
        let stage = BarrierNetwork { settings, batchnorm, inputs: inputs.clone() };
        check(&format!("barrier-network-{batchnorm}"), &stage, folder.path());
    }
}

#[test]
fn planes_of_checkpoints_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings = PlaneSettings { points: 4, samples: 4, ..PlaneSettings::default() };
    check("plane-network", &PlaneNetwork { settings, inputs: files(folder.path()) }, folder.path());
}

#[test]
fn compact_posteriors_of_checkpoints_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CompactSettings { ranks: vec![0], draws: 5, ..CompactSettings::default() };
    check("compact-network", &CompactNetwork { settings, inputs: files(folder.path()) }, folder.path());
}
