//! Networks that PyTorch exported with its exporters, without their weights.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use onebasin_graph::onnx::{Network, Options};
use onebasin_graph::symmetry::Symmetry;
use onebasin_graph::{Kind, Op};
use serde::Deserialize;

/// What PyTorch says of a network.
#[derive(Clone, Deserialize)]
struct Expected {
    kinds: Vec<String>,
    output: Vec<usize>,
    parameters: BTreeMap<String, Vec<usize>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/graphs")
}

/// All files, by their names.
fn expected() -> BTreeMap<String, Expected> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let networks: BTreeMap<String, Expected> = serde_json::from_str(&text).unwrap();
    let files = |(name, expected): (&String, &Expected)| {
        let (name, expected) = (name.clone(), expected.clone());
        expected.kinds.clone().into_iter().map(move |kind| (format!("{name}-{kind}"), expected.clone()))
    };
    networks.iter().flat_map(files).collect()
}

fn network(name: &str) -> Network {
    Network::open(&folder().join(format!("{name}.onnx")), &Options::default()).unwrap()
}

#[test]
fn all_networks_have_the_outputs_of_pytorch_and_no_opaque_nodes() {
    let expected = expected();
    assert!(expected.len() > 40, "{}", expected.len());
    for (name, expected) in expected {
        let network = network(&name);
        let [output] = network.graph.outputs() else { panic!("{name} has several outputs") };
        assert_eq!(network.graph.value(*output).shape, expected.output, "{name}");
        let opaque = network.graph.nodes().iter().filter(|node| node.op == Op::Opaque).map(|node| &node.name);
        assert_eq!(opaque.collect::<Vec<_>>(), Vec::<&String>::new(), "{name}");
    }
}

#[test]
fn all_parameters_keep_their_names_unless_the_exporter_optimises() {
    for (name, expected) in expected() {
        let network = network(&name);
        let tensors: BTreeMap<&str, &[usize]> =
            network.graph.tensors().map(|tensor| (tensor.name.as_str(), &tensor.shape[..])).collect();
        let missing: Vec<&str> =
            expected.parameters.keys().map(String::as_str).filter(|name| !tensors.contains_key(name)).collect();
        for (name, shape) in expected.parameters.iter().filter(|(name, _)| tensors.contains_key(name.as_str())) {
            assert_eq!(tensors[name.as_str()], shape, "{name}");
        }
        match name.as_str() {
            // Equal tensors are merged, and the copies are listed.
            "fresh-script" => assert_eq!(missing, ["4.bias", "4.weight"]),
            // The embedding has the name of the head that it is shared with.
            "gpt-plain" => assert_eq!(missing, ["embed.weight"]),
            // Batch normalisations are in convolutions, and transposed or joined weights have other names.
            name if name.ends_with("-dynamo") => {}
            _ => {
                assert_eq!(missing, Vec::<&str>::new(), "{name}");
                assert_eq!(network.made_up_names().count(), 0, "{name}");
            }
        }
    }
}

#[test]
fn weights_are_not_stored_but_shapes_are() {
    let network = network("resnet18-plain");
    let weight = network.initializer("layer1.0.conv1.weight").unwrap();
    assert_eq!(weight.shape, [64, 64, 3, 3]);
    assert!(!weight.is_stored() && weight.read_f32().is_err());
}

#[test]
fn nodes_are_named_after_the_tensors_that_they_read() {
    let network = network("blocks-script");
    let names: BTreeSet<&str> = network.graph.nodes().iter().map(|node| node.name.as_str()).collect();
    assert!(names.contains("Conv of 1.conv1.weight"), "{names:?}");
    assert!(names.contains("BatchNormalization of 1.bn1.weight"), "{names:?}");
    assert!(names.contains("Add /1/Add"), "{names:?}");
}

/// Sizes of the groups of a network, sorted.
fn groups(name: &str) -> Vec<usize> {
    let mut units: Vec<usize> = Symmetry::of(&network(name).graph).groups.iter().map(|group| group.units).collect();
    units.sort_unstable();
    units
}

#[test]
fn known_networks_have_the_groups_that_are_expected() {
    let resnet = [64, 64, 64, 128, 128, 128, 256, 256, 256, 512, 512, 512];
    let cases: [(&str, &[usize]); 7] = [
        ("mlp", &[12, 16]),
        // Two inner layers, and the stream of all blocks.
        ("blocks", &[8, 8, 8]),
        ("resnet18", &resnet),
        // The features of the embedding, and the states.
        ("gru", &[8, 12]),
        ("lstm", &[8, 12, 12]),
        // The stream; in each of two layers the heads, dimensions of queries and values within them, and the inner layer.
        ("gpt", &[3, 3, 24, 24, 24, 24, 24, 96, 96]),
        ("unet", &[6, 8, 10, 12]),
    ];
    for (name, units) in cases {
        for kind in ["plain", "script"] {
            let found = groups(&format!("{name}-{kind}"));
            // Groups of normalised channels are groups within groups, whose number is not what this test is about.
            if name == "unet" {
                assert_eq!(found.len(), units.len(), "{name}-{kind}");
            } else {
                assert_eq!(found, units, "{name}-{kind}");
            }
        }
    }
}

#[test]
fn exporters_agree_on_the_symmetry() {
    let names = expected();
    for name in names.keys().filter_map(|name| name.strip_suffix("-plain")) {
        let [plain, script] = ["plain", "script"].map(|kind| groups(&format!("{name}-{kind}")));
        assert_eq!(plain, script, "{name}");
    }
}

#[test]
fn merged_tensors_are_listed_and_can_be_told_apart() {
    let joined = network("fresh-script");
    let copies: Vec<(&str, &str)> = joined.copies.iter().map(|copy| (copy.name.as_str(), copy.of.as_str())).collect();
    assert!(copies.contains(&("4.weight", "1.weight")), "{copies:?}");
    // One normalisation for the hidden channels and for the outputs keeps the hidden ones fixed.
    assert_eq!(Symmetry::of(&joined.graph).groups.len(), 0);
    let separate = joined.copies.iter().map(|copy| copy.name.clone()).collect();
    let options = Options { separate, ..Options::default() };
    let apart = Network::open(&folder().join("fresh-script.onnx"), &options).unwrap();
    assert_eq!(Symmetry::of(&apart.graph).groups.len(), 1);
    assert!(apart.graph.tensors().any(|tensor| tensor.name == "4.weight"));
}

#[test]
fn tables_of_positions_stay_fixed_where_they_are_not_read() {
    let symmetry = Symmetry::of(&network("gpt-plain").graph);
    let fixed: usize =
        symmetry.fixed.iter().filter(|fixed| fixed.tensor == "position.weight").map(|fixed| fixed.units).sum();
    assert_eq!(fixed, 16);
}

#[test]
fn equal_numbers_with_a_made_up_name_are_constants() {
    let network = network("gpt-dynamo");
    let equal = network
        .graph
        .values()
        .iter()
        .filter(|value| matches!(&value.kind, Kind::Constant(Some(entries)) if entries.len() == 1));
    assert!(equal.count() > 0);
    assert!(network.made_up_names().all(|name| name.starts_with("val_") || name.starts_with("embedding")));
}
