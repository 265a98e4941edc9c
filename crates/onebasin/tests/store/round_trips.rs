//! Posteriors and states come back as they were, to the last bit.

use crate::{arch, checkpoint, odd_point, posteriors};
use onebasin::arch::{Arch, Mlp};
use onebasin::error::Error;
use onebasin::params::Params;
use onebasin::posterior::{Draws, Posterior};
use onebasin::store::{Aligned, Checkpoint, Provenance, StoredPosterior};
use onebasin::symmetry::Spec;
use proptest::prelude::*;
use std::path::Path;
use tempfile::TempDir;

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The bits of all points of a posterior.
fn posterior_bits(posterior: &Posterior) -> Vec<Vec<u32>> {
    let points: Vec<&Params> = match posterior {
        Posterior::Point(point) => vec![point],
        Posterior::Gaussian(gaussian) => vec![gaussian.mean(), gaussian.std()],
        Posterior::Samples(samples) => samples.points().iter().collect(),
        Posterior::LowRank(low_rank) => {
            [low_rank.rest().mean(), low_rank.rest().std()].into_iter().chain(low_rank.factor()).collect()
        }
        _ => unreachable!("these are all kinds"),
    };
    points.iter().map(|point| bits(point.values())).collect()
}

/// The record of an alignment comes back; without one there is no trace of it, as in files of earlier versions.
#[test]
fn the_record_of_an_alignment_is_written_only_if_there_is_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("posterior.safetensors");
    let text = || String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("aligned");
    for mut stored in posteriors() {
        stored.write(&path).unwrap();
        assert!(!text());
        let [version, to, criterion, solver] = ["0.1.0", "a/posterior.safetensors", "w2", "best"].map(str::to_owned);
        stored.provenance.aligned = Some(Aligned { version, to, criterion, solver, balanced: true });
        stored.write(&path).unwrap();
        assert!(text());
        assert_eq!(StoredPosterior::read(&path).unwrap().provenance, stored.provenance);
    }
}

#[test]
fn posteriors_come_back_bit_by_bit() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("posterior.safetensors");
    for stored in posteriors() {
        stored.write(&path).unwrap();
        let read = StoredPosterior::read(&path).unwrap();
        assert_eq!(posterior_bits(&read.posterior), posterior_bits(&stored.posterior));
        assert_eq!(std::mem::discriminant(&read.posterior), std::mem::discriminant(&stored.posterior));
        assert_eq!(read.provenance, stored.provenance);
        if let (Posterior::Samples(read), Posterior::Samples(stored)) = (&read.posterior, &stored.posterior) {
            assert_eq!(read.chains(), stored.chains());
        }
    }
}

#[test]
fn the_same_posterior_is_the_same_file() {
    let folder = TempDir::new().unwrap();
    for stored in posteriors() {
        let files = ["one", "other"].map(|name| {
            stored.write(&folder.path().join(name)).unwrap();
            std::fs::read(folder.path().join(name)).unwrap()
        });
        assert_eq!(files[0], files[1]);
    }
}

#[test]
fn a_state_comes_back_bit_by_bit() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let written = checkpoint();
    written.write(&path).unwrap();
    let read = Checkpoint::read(&path).unwrap();
    assert_eq!(read.run, written.run);
    assert!(read.state.vectors.keys().eq(written.state.vectors.keys()));
    for (read, written) in read.state.vectors.values().zip(written.state.vectors.values()) {
        assert_eq!(bits(read), bits(written));
    }
    let numbers = |checkpoint: &Checkpoint| -> Vec<(String, u64)> {
        checkpoint.state.numbers.iter().map(|(name, number)| (name.clone(), number.to_bits())).collect()
    };
    assert_eq!(numbers(&read), numbers(&written));
}

#[test]
fn an_empty_state_is_a_state() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let empty = Checkpoint { state: onebasin::infer::State::default(), run: onebasin::store::RunState::default() };
    empty.write(&path).unwrap();
    assert_eq!(Checkpoint::read(&path).unwrap(), empty);
}

#[test]
fn values_begin_at_a_multiple_of_eight_bytes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("posterior.safetensors");
    for padding in 0..8 {
        let mut stored = posteriors().remove(0);
        stored.provenance.data = "x".repeat(padding);
        stored.write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(header % 8, 0);
        assert_eq!(bytes.len() as u64, 8 + header + 4 * odd_point(0).values().len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_values_come_back(values in prop::collection::vec(any::<u32>(), 43)) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("posterior.safetensors");
        let mut stored = posteriors().remove(0);
        let point = odd_point(0);
        let floats = values.iter().map(|bits| f32::from_bits(*bits)).collect();
        stored.posterior = Posterior::Point(Params::from_values(point.layout(), floats).unwrap());
        stored.write(&path).unwrap();
        prop_assert_eq!(posterior_bits(&StoredPosterior::read(&path).unwrap().posterior), [values]);
    }
}

/// A posterior need not be of a preset: the layout is that of its symmetries or, without them, that of the file.
#[test]
fn a_posterior_of_another_network_comes_back() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    for spec in [None, Some(Spec::of(&arch()))] {
        for mut stored in posteriors() {
            stored.provenance = Provenance { spec: spec.clone(), ..Provenance::default() };
            stored.write(&path).unwrap();
            let read = StoredPosterior::read(&path).unwrap();
            assert_eq!(posterior_bits(&read.posterior), posterior_bits(&stored.posterior));
            assert_eq!(read.provenance, stored.provenance);
            assert_eq!(read.posterior.layout(), stored.posterior.layout());
            assert_eq!(read.provenance.network(), Err(Error::NoArch));
            assert_eq!(read.provenance.symmetries().ok(), spec);
        }
    }
}

#[test]
fn symmetries_of_another_network_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let json = r#"{"input": "2x2x1", "classes": 3, "hidden": [4]}"#;
    let other = Arch::new(serde_json::from_str::<Mlp>(json).unwrap()).unwrap();
    let mut stored = posteriors().remove(0);
    stored.provenance.spec = Some(Spec::of(&other));
    stored.write(&path).unwrap();
    assert!(StoredPosterior::read(&path).unwrap_err().to_string().contains("do not have the layout"));
}

#[test]
fn what_the_operating_system_says_is_the_source_of_an_error() {
    let error = StoredPosterior::read(Path::new("no such file")).unwrap_err();
    let Error::Io { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(error.clone(), error);
    let source = std::error::Error::source(&error).and_then(std::error::Error::source).unwrap();
    assert!(source.is::<std::io::Error>(), "{source:?}");
}
