//! Reads any bytes as an exported program of PyTorch, and finds its symmetry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onebasin_graph::pt2;
use onebasin_graph::symmetry::Symmetry;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(network) = pt2::read_from("network", Cursor::new(bytes)) else { return };
    let symmetry = Symmetry::of(&network.graph);
    assert!(Symmetry::from_toml(&symmetry.to_toml(), "network").is_ok(), "what is written is read again");
});
