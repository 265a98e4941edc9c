//! Reads any bytes as an ONNX network, finds its symmetry, and rewrites it as it is before it is run.

use crate::seeds::{Seed, files};
use onebasin_graph::onnx::{Network, Options, weights_as_inputs, with_batch_statistics};
use onebasin_graph::symmetry::Symmetry;
use std::collections::BTreeSet;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(network) = Network::from_bytes(bytes.to_vec(), &Options::default()) else { return };
    let symmetry = Symmetry::of(&network.graph);
    assert!(Symmetry::from_toml(&symmetry.to_toml(), "network").is_ok(), "what is written is read again");
    let names: BTreeSet<String> = network.graph.tensors().map(|tensor| tensor.name.clone()).collect();
    if let Ok(rewritten) = weights_as_inputs(bytes, &names) {
        let _ = with_batch_statistics(&rewritten, &network.graph);
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    files("crates", &[".onnx"])
}
