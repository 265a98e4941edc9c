//! Reads any bytes as the state of an unfinished training, and writes and reads it again.

use crate::folder;
use crate::seeds::Seed;
use onebasin::store::Checkpoint;
use std::fs;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(state) = Checkpoint::read(&folder::write("state", bytes)) else { return };
    let copies = ["first", "second"].map(folder::path);
    state.write(&copies[0]).expect("what is read can be written");
    let again = Checkpoint::read(&copies[0]).expect("what is written is read again");
    again.write(&copies[1]).expect("what is read can be written");
    let [first, second] = copies.map(|copy| fs::read(copy).expect("the copy is there"));
    assert_eq!(first, second, "a copy of a copy is the copy");
}

pub(crate) fn seeds() -> Vec<Seed> {
    Vec::new()
}
