//! Fixtures made by the real libraries, and what must be read from them.

#![allow(dead_code, reason = "each test uses a part of it")]

use onebasin_checkpoint::Checkpoint;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Fixtures that are opened, without the script and the shards of the index.
pub(crate) const FIXTURES: &[&str] = &[
    "array.npy",
    "big_endian.pt",
    "deflated.npz",
    "dtypes.pt",
    "dtypes.safetensors",
    "legacy.pt",
    "lightning.ckpt",
    "model.safetensors.index.json",
    "module.pt",
    "no_checksums.pt",
    "protocol3.pt",
    "protocol4.pt",
    "protocol5.pt",
    "state_dict.pt",
    "stored.npz",
    "tensor.pt",
    "views.pt",
];

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn open(name: &str) -> Checkpoint {
    Checkpoint::open(&fixture(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Tensors of a fixture by name, each with `shape`, `dtype` and `sha256`.
pub(crate) fn expected(name: &str) -> serde_json::Map<String, Value> {
    let all: Value = serde_json::from_slice(&std::fs::read(fixture("expected.json")).unwrap()).unwrap();
    all[name].as_object().unwrap_or_else(|| panic!("nothing is expected of {name}")).clone()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
    Sha256::digest(bytes).iter().flat_map(digits).collect()
}

/// The message of an error.
pub(crate) fn said<T>(result: onebasin_checkpoint::Result<T>) -> String {
    result.err().expect("an error is expected").to_string()
}

/// Bytes with all bits of every byte turned around, which no tensor of a fixture has.
pub(crate) fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}
