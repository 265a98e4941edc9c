//! Golden results of the stages of other libraries' networks, on checkpoints that PyTorch wrote.

use crate::golden::check;
use onebasin::experiment::{
    AlignNetwork, AlignSettings, BarrierNetwork, BarrierSettings, BatchNorm, CompactNetwork, CompactSettings, Context,
    Existing, NetworkInputs, PlaneNetwork, PlaneSettings, Silent, Stage,
};
use onebasin::foreign::Reading;
use onebasin::threads::pool;
use onebasin_checkpoint::{Checkpoint, DType};
use serde_json::json;
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

/// The floating-point tensors of a checkpoint as a safetensors file of one type, with values that bfloat16 has.
fn rounded(from: &Path, dtype: &DType, name: &str, to: &Path) {
    let checkpoint = Checkpoint::open(from).unwrap();
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (index, tensor) in checkpoint.tensors().iter().enumerate().filter(|(_, tensor)| tensor.dtype.is_float()) {
        let mut values = vec![0.0; tensor.shape.iter().product()];
        checkpoint.read_f32(index, &mut values).unwrap();
        DType::BF16.decode(&DType::BF16.encode(&values).unwrap(), &mut values).unwrap();
        let start = data.len();
        data.extend(dtype.encode(&values).unwrap());
        let own = json!({ "dtype": name, "shape": tensor.shape, "data_offsets": [start, data.len()] });
        header.insert(tensor.name.clone(), own);
    }
    let header = serde_json::to_string(&header).unwrap();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(to, bytes).unwrap();
}

/// Values of 16 bits are compared in their own type, which must not make a difference.
#[test]
fn checkpoints_of_16_bits_are_aligned_as_those_of_32() {
    let folder = tempfile::tempdir().unwrap();
    let NetworkInputs { reading, network, checkpoints, .. } = files(folder.path());
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let found = [(DType::F32, "F32"), (DType::BF16, "BF16")].map(|(dtype, name)| {
        let own = folder.path().join(name);
        fs::create_dir(&own).unwrap();
        let files = ["a", "b"].map(|file| own.join(format!("{file}.safetensors")));
        checkpoints.iter().zip(&files).for_each(|(from, to)| rounded(from, &dtype, name, to));
        let (settings, reading, network) = (AlignSettings::default(), reading.clone(), network.clone());
        let stage = AlignNetwork { settings, reading, network, checkpoints: files.to_vec() };
        let found = stage.run_in(&own.join("aligned"), Existing::Refuse, &context).unwrap();
        assert!(found.members[0].checked.is_unchanged());
        let objective = found.members[0].objective.unwrap();
        let permutations = fs::read_to_string(own.join("aligned").join(&found.members[0].permutations_file)).unwrap();
        (serde_json::to_value(objective).unwrap(), permutations)
    });
    assert_eq!(found[0], found[1]);
}

/// Running statistics have the scale of activations, which no weight depends on.
#[test]
fn running_statistics_do_not_decide_which_units_match() {
    let folder = tempfile::tempdir().unwrap();
    let NetworkInputs { reading, network, mut checkpoints, .. } = files(folder.path());
    let align = |name: &str, checkpoints: &[PathBuf]| {
        let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
        let (settings, checkpoints) = (AlignSettings::default(), checkpoints.to_vec());
        let stage = AlignNetwork { settings, reading: reading.clone(), network: network.clone(), checkpoints };
        let own = folder.path().join(name);
        let found = stage.run_in(&own, Existing::Refuse, &context).unwrap();
        fs::read_to_string(own.join(&found.members[0].permutations_file)).unwrap()
    };
    let expected = align("as-they-are", &checkpoints);
    let checkpoint = Checkpoint::open(&checkpoints[1]).unwrap();
    let other = folder.path().join("other").join("b.ckpt");
    fs::create_dir(other.parent().unwrap()).unwrap();
    let written = checkpoint.write(&other, &mut |index| {
        let tensor = &checkpoint.tensors()[index];
        if !tensor.name.ends_with("running_var") {
            return Ok(None);
        }
        let mut values = vec![0.0; tensor.shape.iter().product()];
        checkpoint.read_f32(index, &mut values)?;
        for (unit, value) in values.iter_mut().enumerate() {
            *value *= 100.0 * (unit + 1) as f32;
        }
        Ok(tensor.dtype.encode(&values))
    });
    written.unwrap();
    checkpoints[1] = other;
    assert_eq!(align("other-statistics", &checkpoints), expected);
}
