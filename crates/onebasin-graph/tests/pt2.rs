//! Networks that `torch.export` wrote are read with the shapes, names and symmetries that they have.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use onebasin_graph::pt2::{self, Network};
use onebasin_graph::symmetry::Symmetry;
use onebasin_graph::{Kind, Op};
use proptest::prelude::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exports")
}

fn read(name: &str) -> Network {
    pt2::read(&folder().join(format!("{name}.pt2"))).unwrap()
}

fn names() -> Vec<String> {
    let files = folder().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let exports = files.filter(|path| path.extension().is_some_and(|extension| extension == "pt2"));
    let mut names: Vec<String> = exports.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Names of the state dict, which the archive lists.
fn state_dict(name: &str) -> Option<BTreeSet<String>> {
    let mut archive = zip::ZipArchive::new(File::open(folder().join(format!("{name}.pt2"))).unwrap()).unwrap();
    let path = archive.file_names().find(|path| path.ends_with("model_weights_config.json"))?.to_owned();
    let config: serde_json::Value = serde_json::from_reader(archive.by_name(&path).unwrap()).unwrap();
    Some(config["config"].as_object().unwrap().keys().cloned().collect())
}

/// Number of units of each group.
fn units(network: &Network) -> Vec<usize> {
    let mut units: Vec<usize> = Symmetry::of(&network.graph).groups.iter().map(|group| group.units).collect();
    units.sort_unstable();
    units
}

#[test]
fn every_node_has_the_shape_that_the_file_declares() {
    // A node whose shape is another one, or whose operator is not known, is listed as one that was not translated.
    assert!(names().len() > 40);
    for name in names() {
        let network = read(&name);
        assert_eq!(network.untranslated, [], "{name}");
        assert!(network.graph.nodes().iter().all(|node| node.op != Op::Opaque), "{name}");
    }
}

#[test]
fn tensors_have_the_names_of_the_state_dict() {
    let mut checked = 0;
    for name in names() {
        let Some(all) = state_dict(&name) else { continue };
        checked += 1;
        let network = read(&name);
        let values = network.graph.values().iter();
        let given =
            values.filter(|value| matches!(value.kind, Kind::Tensor | Kind::Constant(_))).map(|value| &value.name);
        let found: BTreeSet<&String> = given.chain(network.aliases.keys()).chain(&network.unread).collect();
        let missing: Vec<&String> = all.iter().filter(|name| !found.contains(name)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
        let tensors: Vec<&str> = network.graph.tensors().map(|tensor| tensor.name.as_str()).collect();
        assert!(tensors.iter().all(|tensor| all.contains(*tensor)), "{name} invents tensors");
    }
    assert!(checked > 20);
}

#[test]
fn decomposed_networks_and_those_of_other_versions_have_the_same_symmetry() {
    let all = names();
    let mut compared = 0;
    for name in &all {
        let first = name.split("_2.").next().unwrap().trim_end_matches("_core");
        if first != name {
            let symmetries = [first, name.as_str()].map(|name| units(&read(name)));
            assert_eq!(symmetries[0], symmetries[1], "{first} and {name}");
            compared += 1;
        }
    }
    assert!(compared > 20);
}

#[test]
fn symmetries_are_those_that_the_architectures_have() {
    // (width of the residual stream, hidden units of each layer, heads and units within heads)
    assert_eq!(units(&read("mlp")), [16, 24]);
    assert_eq!(units(&read("lstm")), [8, 12]);
    assert_eq!(units(&read("gru")), [8, 12, 12]);
    assert_eq!(units(&read("bilstm")), [8, 12, 12, 12, 12]);
    assert_eq!(units(&read("unet")), [8, 8, 10, 12, 12, 16]);
    let resnet = units(&read("resnet18"));
    assert_eq!(resnet, [64, 64, 64, 128, 128, 128, 256, 256, 256, 512, 512, 512]);
}

#[test]
fn a_shared_embedding_is_one_tensor() {
    for name in ["gpt", "gpt_core", "gpt_2.6", "gpt_2.8"] {
        let network = read(name);
        let aliases: Vec<(&str, &str)> = network.aliases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!(
            matches!(aliases[..], [("tokens.weight", "head.weight") | ("head.weight", "tokens.weight")]),
            "{name}: {aliases:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_do_not_panic(which in 0usize..3, at in any::<u32>(), bits in 1u8.., cut in any::<u32>()) {
        let name = ["rotary", "gpt_2.6", "gpt_2.8"][which];
        let mut bytes = std::fs::read(folder().join(format!("{name}.pt2"))).unwrap();
        let len = bytes.len();
        bytes[at as usize % len] ^= bits;
        let _ = pt2::read_from(name, std::io::Cursor::new(&bytes));
        bytes.truncate(cut as usize % len);
        let _ = pt2::read_from(name, std::io::Cursor::new(&bytes));
    }
}
