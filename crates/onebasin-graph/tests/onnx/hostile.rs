//! Damaged and malicious files: every one is an error, and none makes the reader panic or take much memory.

use onebasin_graph::onnx::{Network, Options};
use onebasin_graph::symmetry::Symmetry;
use proptest::prelude::*;

use crate::write::{Attribute, Message, Parts, floats, integers, node, tensor, value};

fn read(bytes: Vec<u8>) -> Result<Network, String> {
    Network::from_bytes(bytes, &Options::default()).map_err(|error| error.to_string())
}

/// A graph of one node with an input `x` (2, 3) and an output `y`.
fn single(node: Message) -> Parts {
    let (inputs, outputs) = (vec![value("x", &[2, 3])], vec![Message::default().text(1, "y")]);
    Parts { nodes: vec![node], inputs, outputs, ..Parts::default() }
}

fn refused(parts: &Parts, part_of_message: &str) {
    let error = read(parts.model(18).0).unwrap_err();
    assert!(error.contains(part_of_message), "{error}");
}

#[test]
fn lengths_that_exceed_the_file_are_refused() {
    for length in [5u64, 1 << 20, 1 << 40, u64::MAX] {
        let mut bytes = vec![0x3a];
        let mut rest = length;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        let error = read(bytes).unwrap_err();
        assert!(error.contains("a length exceeds") || error.contains("middle"), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let mut graph = Message::default();
    for _ in 0..10_000 {
        // A graph with a node with an attribute with a graph.
        let attribute = Message::default().message(6, &graph);
        graph = Message::default().message(1, &Message::default().message(5, &attribute));
        if graph.0.len() > 60_000 {
            break;
        }
    }
    let error = read(Message::default().message(7, &graph).0).unwrap_err();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn cycles_and_unknown_values_are_refused() {
    let mut parts = single(node("Add", &["x", "b"], &["a"], &[]));
    parts.nodes.push(node("Relu", &["a"], &["b"], &[]));
    parts.nodes.push(node("Relu", &["b"], &["y"], &[]));
    refused(&parts, "`b`, which nothing before it computes");
    refused(&single(node("Relu", &["y"], &["y"], &[])), "`y`, which nothing before it computes");
}

#[test]
fn names_that_come_twice_are_refused() {
    let mut parts = single(node("Relu", &["x"], &["y"], &[]));
    parts.nodes.push(node("Relu", &["x"], &["y"], &[]));
    refused(&parts, "two values have this name");
    let mut parts = single(node("Relu", &["x"], &["y"], &[]));
    parts.tensors = vec![tensor("w", &[2, 3]), tensor("w", &[2, 3])];
    refused(&parts, "two values have this name");
}

#[test]
fn absurd_shapes_are_refused() {
    for dims in [&[i64::MAX, 2][..], &[-1], &[1 << 40, 1 << 40], &[1; 40]] {
        let mut parts = single(node("Add", &["x", "w"], &["y"], &[]));
        parts.tensors = vec![tensor("w", dims)];
        assert!(read(parts.model(18).0).is_err(), "{dims:?}");
    }
    for dims in [&[i64::MAX, i64::MAX][..], &[1 << 60]] {
        let mut parts = single(node("Relu", &["x"], &["y"], &[]));
        parts.inputs = vec![value("x", dims)];
        refused(&parts, "too large");
    }
}

#[test]
fn absurd_arguments_are_refused() {
    let shape = |entries: &[i64]| integers("s", &[entries.len() as i64], entries);
    let cases = [
        ("Expand", vec![shape(&[1 << 40, 1 << 40, 2, 3])]),
        ("Tile", vec![shape(&[1 << 50, 1 << 50])]),
        ("Reshape", vec![shape(&[i64::MIN, -1])]),
        ("Reshape", vec![shape(&[i64::MAX, i64::MAX, -1])]),
        ("Pad", vec![shape(&[i64::MIN, 0, i64::MAX, 0])]),
        ("Pad", vec![shape(&[i64::MAX, 0, i64::MAX, 0])]),
        ("Squeeze", vec![shape(&[i64::MIN])]),
        ("Unsqueeze", vec![shape(&[1, 1])]),
        ("Split", vec![shape(&[i64::MAX, i64::MAX])]),
        ("TopK", vec![shape(&[i64::MAX])]),
    ];
    for (operator, tensors) in cases {
        let parts = Parts { tensors, ..single(node(operator, &["x", "s"], &["y"], &[])) };
        assert!(read(parts.model(18).0).is_err(), "{operator}");
    }
    for attribute in [Attribute::Integers("strides", &[0]), Attribute::Integers("pads", &[i64::MAX, i64::MAX])] {
        let mut parts =
            single(node("MaxPool", &["x"], &["y"], &[Attribute::Integers("kernel_shape", &[2]), attribute]));
        parts.inputs = vec![value("x", &[1, 2, 8])];
        assert!(read(parts.model(18).0).is_err());
    }
}

#[test]
fn constants_that_would_fill_the_memory_are_not_computed() {
    // Each is small enough by itself; together they have 2^30 entries.
    let mut parts = single(node("Relu", &["x"], &["y"], &[]));
    parts.tensors = vec![integers("s", &[1], &[1 << 20])];
    for at in 0..1024 {
        parts.nodes.push(node("ConstantOfShape", &["s"], &[&format!("c{at}")], &[]));
    }
    refused(&parts, "too many entries");
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let call = Message::default().text(1, "x").text(2, "y").text(4, "Loop2").text(7, "own");
    let function = Message::default().text(1, "Loop2").text(4, "x").text(5, "y").message(7, &call).text(10, "own");
    let model = single(call).model(18).message(25, &function);
    let error = read(model.0).unwrap_err();
    assert!(error.contains("call themselves"), "{error}");
}

#[test]
fn empty_files_and_text_are_refused() {
    assert!(read(Vec::new()).is_err());
    assert!(read(b"version https://git-lfs.github.com/spec/v1\noid sha256:abc".to_vec()).is_err());
}

/// A network with many kinds of nodes.
fn rich() -> Vec<u8> {
    let mut parts = Parts {
        inputs: vec![value("x", &[1, 4, 8])],
        outputs: vec![value("y", &[1, 12])],
        tensors: vec![
            tensor("conv.weight", &[6, 2, 3]),
            floats("conv.bias", &[6], &[1.0; 6]),
            integers("shape", &[2], &[0, -1]),
            integers("index", &[2], &[0, 2]),
            tensor("lstm.w", &[1, 24, 6]),
            tensor("lstm.r", &[1, 24, 6]),
            tensor("dense.weight", &[12, 12]),
        ],
        ..Parts::default()
    };
    let convolution = [Attribute::Integer("group", 2), Attribute::Integers("pads", &[1, 1])];
    parts.nodes = vec![
        node("Conv", &["x", "conv.weight", "conv.bias"], &["a"], &convolution),
        node("Transpose", &["a"], &["b"], &[Attribute::Integers("perm", &[2, 0, 1])]),
        node("LSTM", &["b", "lstm.w", "lstm.r"], &["c", "", ""], &[Attribute::Integer("hidden_size", 6)]),
        node("Squeeze", &["c", "one"], &["d"], &[]),
        node("Gather", &["d", "index"], &["e"], &[]),
        node("Transpose", &["e"], &["f"], &[Attribute::Integers("perm", &[1, 0, 2])]),
        node("Reshape", &["f", "shape"], &["g"], &[]),
        node("Gemm", &["g", "dense.weight"], &["h"], &[Attribute::Integer("transB", 1)]),
        node("Softmax", &["h"], &["y"], &[]),
    ];
    parts.tensors.push(integers("one", &[1], &[1]));
    parts.model(18).0
}

#[test]
fn the_undamaged_network_is_read() {
    let network = read(rich()).unwrap();
    assert_eq!(network.graph.tensors().count(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_errors_or_networks(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = rich();
        for (place, byte) in damages {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Ok(network) = read(bytes) {
            Symmetry::of(&network.graph);
            for initializer in &network.initializers {
                let _ = (initializer.read_f32(), initializer.read_i64());
            }
        }
    }

    #[test]
    fn damaged_exports_are_errors_or_networks(
        file in prop::sample::select(vec!["gpt-script", "lstm-plain", "unet-plain", "rnn-dynamo", "gpt-dynamo"]),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let path = format!("{}/tests/graphs/{file}.onnx", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        for (place, byte) in damages {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = read(bytes);
    }

    #[test]
    fn random_bytes_are_errors_or_networks(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes);
    }
}
