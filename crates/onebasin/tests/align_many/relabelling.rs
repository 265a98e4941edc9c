//! Samples that were permuted are relabelled, in memory and from disk.

use crate::{assert_close, normals, settings, spec};
use onebasin::align::{Criterion, Members, Points, Relabelling, relabel};
use onebasin::data::{Scaling, Standardisation};
use onebasin::net::Likelihood;
use onebasin::params::Params;
use onebasin::posterior::{Draws, Gaussian, Posterior, Samples};
use onebasin::progress::Monitor;
use onebasin::store::{Provenance, StoredPosterior, StoredSamples};
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;
use tempfile::TempDir;

/// Samples of a Gaussian whose widths differ.
fn samples(spec: &Spec, count: usize, width: f32) -> Vec<Params> {
    let mut std = normals(spec, "widths", 0, 1.0, 0.5);
    std.values_mut().iter_mut().for_each(|std| *std = width * std.abs());
    let gaussian = Posterior::Gaussian(Gaussian::new(normals(spec, "centre", 0, 0.0, 1.0), std).unwrap());
    let sample = |index| {
        let mut sample = Params::zeros(spec.layout());
        gaussian.draw(0, index, count, &mut sample).unwrap();
        sample
    };
    (0..count).map(sample).collect()
}

fn switched(spec: &Spec, samples: &[Params]) -> (Posterior, Vec<Permutations>) {
    let switches: Vec<Permutations> =
        (0..).zip(samples).map(|(index, _)| Permutations::random(spec, 7 + index)).collect();
    let points = samples.iter().zip(&switches).map(|(sample, switch)| spec.apply(switch, sample).unwrap());
    (Posterior::Samples(Samples::new(points.collect(), 1).unwrap()), switches)
}

fn relabelled(spec: &Spec, draws: &dyn Draws, pool: &ThreadPool) -> Relabelling {
    relabel(spec, &Points::new(draws, 0, usize::MAX), settings(Criterion::Mean), pool, &mut Monitor::silent()).unwrap()
}

#[test]
fn switched_labels_are_found_and_the_gaussian_with_them() {
    for network in 0..2 {
        let spec = spec(network);
        let samples = samples(&spec, 12, 0.1);
        let (posterior, switches) = switched(&spec, &samples);
        let found = relabelled(&spec, &posterior, &ThreadPool::alone());
        for (own, switch) in found.many.permutations.iter().zip(&switches) {
            assert_eq!(own.after(switch), switches[0], "network {network}");
        }
        let before = Posterior::Samples(Samples::new(samples, 1).unwrap());
        let expected = before.gaussian();
        for (found, expected) in [(found.gaussian.mean(), expected.mean()), (found.gaussian.std(), expected.std())] {
            let expected = spec.apply(&switches[0], expected).unwrap();
            for (found, expected) in found.values().iter().zip(expected.values()) {
                assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
            }
        }
        // What is in order stays as it is.
        let ordered = relabelled(&spec, &before, &ThreadPool::alone());
        assert!(ordered.many.permutations.iter().all(|own| *own == Permutations::identity(&spec)));
        assert_close(ordered.many.objective(), found.many.objective(), 1e-9);
    }
}

#[test]
fn the_log_likelihood_never_decreases_and_is_that_of_the_result() {
    let spec = spec(0);
    // So wide that labels are ambiguous, and that there is something left to do for the rounds.
    let (posterior, _) = switched(&spec, &samples(&spec, 40, 1.0));
    let found = relabelled(&spec, &posterior, &ThreadPool::alone());
    let history = &found.many.history;
    assert!(history.is_sorted() && history.len() > 3, "{history:?}");
    let Posterior::Samples(samples) = &posterior else { unreachable!() };
    let moved: Vec<Params> = samples
        .points()
        .iter()
        .zip(&found.many.permutations)
        .map(|(point, own)| spec.apply(own, point).unwrap())
        .collect();
    let count = moved.len() as f64;
    let mut log_likelihood = 0.0;
    for at in 0..spec.layout().len() {
        let values = || moved.iter().map(|point| f64::from(point.values()[at]));
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        assert!((mean - f64::from(found.gaussian.mean().values()[at])).abs() < 1e-5);
        let unbiased = (variance * count / (count - 1.0)).sqrt();
        assert!((unbiased - f64::from(found.gaussian.std().values()[at])).abs() < 1e-5);
        for value in values() {
            log_likelihood -= 0.5 * ((std::f64::consts::TAU * variance).ln() + (value - mean).powi(2) / variance);
        }
    }
    assert_close(found.many.objective(), log_likelihood, 1e-6);
}

#[test]
fn samples_on_disk_are_relabelled_like_those_in_memory_by_any_number_of_threads() {
    let spec = spec(0);
    let (posterior, _) = switched(&spec, &samples(&spec, 8, 0.5));
    let in_memory = relabelled(&spec, &posterior, &ThreadPool::alone());
    let provenance = Provenance {
        version: "0".to_owned(),
        arch: serde_json::from_str(crate::NETWORKS[0]).unwrap(),
        likelihood: Likelihood::Gaussian { variance: 1.0 },
        data: "none".to_owned(),
        standardisation: Standardisation { scaling: Scaling::Unit, scale: vec![1.0], shift: vec![0.0] },
        ..Provenance::default()
    };
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("posterior.safetensors");
    StoredPosterior { posterior: posterior.clone(), provenance }.write(&path).unwrap();
    let stored = StoredSamples::open(&path).unwrap();
    let members = Points::new(&stored, 0, usize::MAX);
    assert_eq!(members.count(), 8);
    for index in 0..8 {
        assert_eq!(members.read(index).unwrap(), Points::new(&posterior, 0, usize::MAX).read(index).unwrap());
    }
    let on_disk = relabelled(&spec, &stored, &ThreadPool::new(3).unwrap());
    assert_eq!(on_disk.many.permutations, in_memory.many.permutations);
    assert_eq!(on_disk.many.history, in_memory.many.history);
    assert_eq!(on_disk.gaussian, in_memory.gaussian);
}
