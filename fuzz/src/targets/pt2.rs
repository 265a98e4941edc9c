//! Reads any bytes as an exported program of PyTorch, and finds its symmetry.

use crate::seeds::{Seed, files};
use onebasin_graph::pt2;
use onebasin_graph::symmetry::Symmetry;
use std::io::Cursor;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(network) = pt2::read_from("network", Cursor::new(bytes)) else { return };
    let symmetry = Symmetry::of(&network.graph);
    assert!(Symmetry::from_toml(&symmetry.to_toml(), "network").is_ok(), "what is written is read again");
}

pub(crate) fn seeds() -> Vec<Seed> {
    files("crates", &[".pt2"])
}
