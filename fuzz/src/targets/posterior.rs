//! Reads any bytes as a posterior, and writes and reads it again.

use crate::folder;
use crate::seeds::Seed;
use onebasin::params::Params;
use onebasin::store::{Provenance, StoredPosterior, StoredSamples};
use std::fs;

pub(crate) fn run(bytes: &[u8]) {
    let file = folder::write("posterior", bytes);
    let provenance = Provenance::read(&file);
    let stored = StoredPosterior::read(&file);
    assert!(stored.is_err() || provenance.is_ok(), "the provenance of what can be read can be read");
    if let Ok(samples) = StoredSamples::open(&file) {
        let mut sample = Params::zeros(onebasin::posterior::Draws::layout(&samples));
        for index in 0..samples.len().min(4) {
            samples.read(index, &mut sample).expect("the file has all its samples");
        }
    }
    let Ok(stored) = stored else { return };
    let _ = stored.provenance.symmetries();
    let copies = ["first", "second"].map(folder::path);
    stored.write(&copies[0]).expect("what is read can be written");
    let again = StoredPosterior::read(&copies[0]).expect("what is written is read again");
    again.write(&copies[1]).expect("what is read can be written");
    let [first, second] = copies.map(|copy| fs::read(copy).expect("the copy is there"));
    assert_eq!(first, second, "a copy of a copy is the copy");
}

pub(crate) fn seeds() -> Vec<Seed> {
    Vec::new()
}
