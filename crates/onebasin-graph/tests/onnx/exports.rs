//! Networks that PyTorch exported with its exporters, without their weights.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use onebasin_graph::Op;
use onebasin_graph::onnx::{Network, Options};
use onebasin_graph::symmetry::Symmetry;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    output: Vec<usize>,
    parameters: BTreeMap<String, Vec<usize>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/graphs")
}

fn expected() -> BTreeMap<String, Expected> {
    serde_json::from_str(&std::fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

fn network(name: &str) -> Network {
    Network::open(&folder().join(format!("{name}.onnx")), &Options::default()).unwrap()
}

#[test]
#[ignore = "prints"]
#[allow(clippy::print_stdout)]
fn show() {
    for (name, expected) in expected() {
        match Network::open(&folder().join(format!("{name}.onnx")), &Options::default()) {
            Err(error) => println!("{name}: ERR {error}"),
            Ok(network) => {
                let shape = &network.graph.value(network.graph.outputs()[0]).shape;
                let opaque: Vec<&str> = network
                    .graph
                    .nodes()
                    .iter()
                    .filter(|node| node.op == Op::Opaque)
                    .map(|node| node.name.as_str())
                    .collect();
                let symmetry = Symmetry::of(&network.graph);
                let tensors: Vec<&str> = network.graph.tensors().map(|tensor| tensor.name.as_str()).collect();
                let missing: Vec<&String> =
                    expected.parameters.keys().filter(|name| !tensors.contains(&name.as_str())).collect();
                println!(
                    "{name}: {} {:?} opaque {opaque:?} nodes {} groups {} share {:.3} made up {:?}\n   missing {:?} {:?}",
                    *shape == expected.output,
                    shape,
                    network.graph.nodes().len(),
                    symmetry.groups.len(),
                    symmetry.share(),
                    network.made_up_names().collect::<Vec<_>>(),
                    missing.len(),
                    missing.iter().take(8).collect::<Vec<_>>(),
                );
                if std::env::var("FIXED").is_ok_and(|wanted| name.contains(&wanted)) {
                    for group in &symmetry.groups {
                        println!("      {} {} {:?}", group.name, group.units, group.within);
                    }
                    for fixed in &symmetry.fixed {
                        println!("      {} {} {} {}", fixed.tensor, fixed.axis, fixed.units, fixed.reason);
                    }
                }
            }
        }
    }
}
