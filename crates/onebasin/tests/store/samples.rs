//! Samples on their way: appended, cut back after a crash, drawn from and gathered.

use crate::{arch, odd_point, posteriors, provenance};
use onebasin::params::Params;
use onebasin::posterior::{Draws, Posterior};
use onebasin::store::{SampleFiles, StoredPosterior, StoredSamples};
use std::path::Path;
use tempfile::TempDir;

fn open(folder: &Path, keep: u64) -> onebasin::error::Result<SampleFiles> {
    SampleFiles::open(folder, arch().layout(), &[keep; 2])
}

/// Sample number `index` of a chain.
fn sample(chain: usize, index: usize) -> Params {
    let mut point = odd_point(index);
    point.values_mut()[0] = (100 * chain + index) as f32;
    point
}

fn push(files: &mut SampleFiles, indices: std::ops::Range<usize>) {
    for index in indices {
        for chain in 0..2 {
            files.push(chain, &sample(chain, index)).unwrap();
        }
    }
}

/// The first value of each point of what `gather` writes, with the number of chains.
fn gathered(files: &SampleFiles, folder: &Path) -> (Vec<f32>, usize) {
    let path = folder.join("posterior.safetensors");
    files.gather(&path, provenance()).unwrap();
    let stored = StoredPosterior::read(&path).unwrap();
    assert_eq!(stored.provenance, provenance());
    let Posterior::Samples(samples) = stored.posterior else { panic!("{:?}", stored.posterior) };
    for point in samples.points() {
        let index = point.values()[0] as usize % 100;
        let bits = |point: &Params| point.values()[1..].iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(point), bits(&odd_point(index)));
    }
    (samples.points().iter().map(|point| point.values()[0]).collect(), samples.chains())
}

#[test]
fn samples_are_gathered_one_chain_after_the_other() {
    let folder = TempDir::new().unwrap();
    let mut files = open(folder.path(), 0).unwrap();
    assert_eq!(files.len().unwrap(), 0);
    push(&mut files, 0..3);
    assert_eq!(files.len().unwrap(), 3);
    assert_eq!(gathered(&files, folder.path()), (vec![0., 1., 2., 100., 101., 102.], 2));
}

#[test]
fn what_came_after_the_saved_ones_is_cut_off() {
    let folder = TempDir::new().unwrap();
    let mut files = open(folder.path(), 0).unwrap();
    push(&mut files, 0..4);
    // A crash inside a step: one chain is ahead, and has half a sample more.
    files.push(0, &sample(0, 4)).unwrap();
    drop(files);
    let path = folder.path().join("chain0.samples");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([1, 2, 3]);
    std::fs::write(&path, bytes).unwrap();

    let mut files = open(folder.path(), 2).unwrap();
    assert_eq!(files.len().unwrap(), 2);
    push(&mut files, 2..3);
    // Reading in between does not move the place where the next is written.
    files.draw(0, 0, 1, &mut odd_point(0)).unwrap();
    push(&mut files, 3..4);
    assert_eq!(gathered(&files, folder.path()), (vec![0., 1., 2., 3., 100., 101., 102., 103.], 2));
}

#[test]
fn draws_lie_at_equal_distances() {
    let folder = TempDir::new().unwrap();
    let mut files = open(folder.path(), 0).unwrap();
    push(&mut files, 0..3);
    let first_values = |count: usize| -> Vec<f32> {
        let count = files.draws(count);
        let mut point = odd_point(0);
        let draw = |index| {
            files.draw(0, index, count, &mut point).unwrap();
            point.values()[0]
        };
        (0..count).map(draw).collect()
    };
    assert_eq!(first_values(1), [0.]);
    assert_eq!(first_values(2), [0., 100.]);
    assert_eq!(first_values(3), [0., 2., 101.]);
    assert_eq!(first_values(100), [0., 1., 2., 100., 101., 102.]);
}

#[test]
fn fewer_samples_than_were_saved_are_an_error_that_names_the_file() {
    let folder = TempDir::new().unwrap();
    push(&mut open(folder.path(), 0).unwrap(), 0..2);
    for keep in [3, 1 << 40, u64::MAX / 4, u64::MAX] {
        let error = open(folder.path(), keep).unwrap_err().to_string();
        assert!(error.contains("chain0.samples") && error.contains(&keep.to_string()), "{error}");
    }
    assert_eq!(open(folder.path(), 2).unwrap().len().unwrap(), 2, "they are still there");
}

#[test]
fn nothing_is_gathered_from_nothing() {
    let folder = TempDir::new().unwrap();
    let files = open(folder.path(), 0).unwrap();
    assert!(files.gather(&folder.path().join("posterior.safetensors"), provenance()).is_err());
    assert!(!folder.path().join("posterior.safetensors").exists());
}

#[test]
fn only_files_of_samples_are_removed() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path(), 0).unwrap());
    for name in ["chain7.samples", "chain.samples", "chainx.samples", "chain1.samples.txt", "notes"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    SampleFiles::remove(folder.path()).unwrap();
    let mut left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["chain.samples", "chain1.samples.txt", "chainx.samples", "notes"]);
    assert!(SampleFiles::remove(&folder.path().join("nowhere")).unwrap_err().to_string().contains("nowhere"));
}

#[test]
fn samples_read_one_by_one_are_those_read_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("posterior.safetensors");
    let [point, gaussian, samples, low_rank] = posteriors().try_into().unwrap();
    samples.write(&path).unwrap();
    let stored = StoredSamples::open(&path).unwrap();
    assert_eq!((stored.len(), stored.chains(), stored.provenance()), (6, 3, &samples.provenance));
    let bits = |point: &Params| point.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    for wanted in [1, 2, 4, 6, 100] {
        let count = stored.draws(wanted);
        assert_eq!(count, samples.posterior.draws(wanted));
        for index in 0..count {
            let [mut one, mut other] = [(); 2].map(|()| Params::zeros(arch().layout()));
            stored.draw(0, index, count, &mut one).unwrap();
            samples.posterior.draw(0, index, count, &mut other).unwrap();
            assert_eq!(bits(&one), bits(&other));
        }
    }
    assert!(stored.read(6, &mut Params::zeros(arch().layout())).is_err());
    for other in [point, gaussian, low_rank] {
        other.write(&path).unwrap();
        assert!(StoredSamples::open(&path).unwrap_err().to_string().contains("it has no samples"));
    }
}
