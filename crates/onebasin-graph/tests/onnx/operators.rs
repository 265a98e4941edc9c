//! Single operators: the shapes of their outputs, and which units stay free around them.

use onebasin_graph::onnx::{Network, Options};
use onebasin_graph::symmetry::Symmetry;
use onebasin_graph::{Kind, Op};

use crate::write::{Attribute, Attribute::Graph, Attribute::Integer, Attribute::Integers, Attribute::Text};
use crate::write::{Message, Parts, floats, integers, node, tensor, value};

fn read(parts: &Parts, version: i64) -> Network {
    Network::from_bytes(parts.model(version).0, &Options::default()).unwrap()
}

/// A graph of one node that reads `x`, then tensors, and computes `y`.
fn single(operator: &str, x: &[i64], tensors: Vec<Message>, names: &[&str], attributes: &[Attribute<'_>]) -> Parts {
    let inputs: Vec<&str> = ["x"].iter().chain(names).copied().collect();
    Parts {
        nodes: vec![node(operator, &inputs, &["y"], attributes)],
        tensors,
        inputs: vec![value("x", x)],
        outputs: vec![Message::default().text(1, "y")],
        ..Parts::default()
    }
}

fn shape(parts: &Parts, version: i64) -> Vec<usize> {
    let network = read(parts, version);
    assert!(network.graph.nodes().iter().all(|node| node.op != Op::Opaque));
    network.graph.value(network.graph.outputs()[0]).shape.clone()
}

/// The shape of the output of an operator with one integer tensor `s`.
fn with_integers(operator: &str, x: &[i64], entries: &[i64], attributes: &[Attribute<'_>]) -> Vec<usize> {
    let tensors = vec![integers("s", &[entries.len() as i64], entries)];
    shape(&single(operator, x, tensors, &["s"], attributes), 18)
}

/// The shape of the output of an operator without tensors.
fn alone(operator: &str, x: &[i64], attributes: &[Attribute<'_>]) -> Vec<usize> {
    shape(&single(operator, x, Vec::new(), &[], attributes), 18)
}

#[test]
fn windows_have_the_positions_that_onnx_defines() {
    let weight = |dims: &[i64]| vec![tensor("w", dims)];
    let convolution = |operator, attributes: &[Attribute<'_>], x: &[i64], dims: &[i64]| {
        shape(&single(operator, x, weight(dims), &["w"], attributes), 18)
    };
    let strided = [Integers("strides", &[2, 3]), Integers("pads", &[1, 0, 1, 2]), Integers("dilations", &[2, 1])];
    assert_eq!(convolution("Conv", &strided, &[1, 4, 11, 13], &[6, 4, 3, 3]), [1, 6, 5, 5]);
    let same = [Text("auto_pad", "SAME_UPPER"), Integers("strides", &[2]), Integer("group", 2)];
    assert_eq!(convolution("Conv", &same, &[1, 4, 11], &[6, 2, 3]), [1, 6, 6]);
    let grouped =
        [Integer("group", 2), Integers("strides", &[2]), Integers("output_padding", &[1]), Integers("pads", &[1, 1])];
    assert_eq!(convolution("ConvTranspose", &grouped, &[1, 4, 5], &[4, 3, 3]), [1, 6, 10]);
    assert_eq!(convolution("ConvTranspose", &[Integers("output_shape", &[12])], &[1, 4, 5], &[4, 3, 3]), [1, 3, 12]);
    let pool = |ceil| {
        [
            Integers("kernel_shape", &[3]),
            Integers("strides", &[2]),
            Integers("pads", &[1, 1]),
            Integer("ceil_mode", ceil),
        ]
    };
    assert_eq!(alone("MaxPool", &[1, 2, 6], &pool(0)), [1, 2, 3]);
    assert_eq!(alone("MaxPool", &[1, 2, 6], &pool(1)), [1, 2, 4]);
    let last =
        [Integers("kernel_shape", &[1]), Integers("strides", &[2]), Integers("pads", &[0, 1]), Integer("ceil_mode", 1)];
    assert_eq!(alone("AveragePool", &[1, 2, 4], &last), [1, 2, 2]);
    assert_eq!(alone("GlobalAveragePool", &[1, 2, 4, 5], &[]), [1, 2, 1, 1]);
}

#[test]
fn shapes_are_changed_as_onnx_defines() {
    assert_eq!(with_integers("Reshape", &[2, 3, 4], &[0, -1], &[]), [2, 12]);
    assert_eq!(with_integers("Squeeze", &[1, 3, 1], &[-1], &[]), [1, 3]);
    assert_eq!(with_integers("Unsqueeze", &[3], &[0, -1], &[]), [1, 3, 1]);
    assert_eq!(alone("Flatten", &[2, 3, 4], &[Integer("axis", -1)]), [6, 4]);
    assert_eq!(alone("Flatten", &[2, 3], &[Integer("axis", 2)]), [6, 1]);
    assert_eq!(alone("Transpose", &[2, 3, 4], &[]), [4, 3, 2]);
    assert_eq!(with_integers("Expand", &[3, 1], &[2, 1, 4], &[]), [2, 3, 4]);
    assert_eq!(with_integers("Tile", &[2, 3], &[2, 3], &[]), [4, 9]);
    assert_eq!(alone("DepthToSpace", &[1, 8, 2, 3], &[Integer("blocksize", 2)]), [1, 2, 4, 6]);
    assert_eq!(alone("SpaceToDepth", &[1, 2, 4, 6], &[Integer("blocksize", 2)]), [1, 8, 2, 3]);
    assert_eq!(with_integers("ReduceMean", &[2, 3, 4], &[1, -1], &[Integer("keepdims", 0)]), [2]);
    assert_eq!(alone("ReduceSum", &[2, 3], &[Integer("noop_with_empty_axes", 1)]), [2, 3]);
    assert_eq!(alone("ArgMax", &[2, 3], &[Integer("axis", 1), Integer("keepdims", 0)]), [2]);
    assert_eq!(with_integers("TopK", &[2, 9], &[4], &[]), [2, 4]);
    assert_eq!(with_integers("Pad", &[2, 3], &[0, 1, -1, 2], &[]), [1, 6]);
    assert_eq!(with_integers("Pad", &[2, 3], &[0, 1, 0, 1], &[Text("mode", "reflect")]), [2, 5]);
    assert_eq!(with_integers("Gather", &[2, 9], &[1, -1, 3], &[Integer("axis", 1)]), [2, 3]);
}

#[test]
fn slices_take_what_onnx_defines() {
    let slice = |start: i64, end: i64, step: i64| {
        let tensors = [("a", start), ("b", end), ("c", 1), ("d", step)]
            .map(|(name, entry)| integers(name, &[1], &[entry]))
            .to_vec();
        shape(&single("Slice", &[1, 10], tensors, &["a", "b", "c", "d"], &[]), 18)[1]
    };
    assert_eq!(slice(2, 5, 1), 3);
    assert_eq!(slice(-3, i64::MAX, 1), 3);
    assert_eq!(slice(0, -1, 3), 3);
    assert_eq!(slice(-1, i64::MIN, -1), 10);
    assert_eq!(slice(8, 1, -2), 4);
    assert_eq!(slice(1, 10, i64::MAX), 1);
}

#[test]
fn resizing_keeps_the_axes_free_that_keep_their_scale() {
    let scales = |entries: [f32; 4]| {
        let mut parts = single(
            "Resize",
            &[1, 3, 4, 4],
            vec![floats("val_1", &[4], &entries), tensor("w", &[6, 3, 1, 1])],
            &[],
            &[],
        );
        parts.nodes = vec![
            node("Conv", &["x", "w"], &["c"], &[]),
            node("Resize", &["c", "", "val_1"], &["r"], &[Text("mode", "linear")]),
            node("GlobalAveragePool", &["r"], &["g"], &[]),
            node("ReduceSum", &["g"], &["y"], &[]),
        ];
        let network = read(&parts, 18);
        (
            network.graph.nodes()[1].outputs[0],
            Symmetry::of(&network.graph).groups.len(),
            network.graph.tensors().count(),
        )
    };
    let (_, groups, tensors) = scales([1.0, 1.0, 2.0, 2.0]);
    assert_eq!((groups, tensors), (1, 1));
    assert_eq!(scales([1.0, 2.0, 2.0, 2.0]).1, 0);
    assert_eq!(scales([1.0, 1.01, 2.0, 2.0]).1, 0);
}

/// Number of free groups of a hidden layer of 6 units with this operator on (example, unit) behind it.
fn groups_around(
    operator: &str,
    attributes: &[Attribute<'_>],
    more: &[&str],
    tensors: Vec<Message>,
    version: i64,
) -> usize {
    let inputs: Vec<&str> = ["h"].iter().chain(more).copied().collect();
    let mut all = vec![tensor("first.weight", &[4, 6]), tensor("second.weight", &[6, 3])];
    all.extend(tensors);
    let parts = Parts {
        nodes: vec![
            node("MatMul", &["x", "first.weight"], &["h"], &[]),
            node(operator, &inputs, &["k"], attributes),
            node("MatMul", &["k", "second.weight"], &["y"], &[]),
        ],
        tensors: all,
        inputs: vec![value("x", &[2, 4])],
        outputs: vec![value("y", &[2, 3])],
        ..Parts::default()
    };
    Symmetry::of(&read(&parts, version).graph).groups.len()
}

#[test]
fn operators_that_depend_on_order_fix_units() {
    let free = ["Relu", "Gelu", "Softmax", "LogSoftmax", "LpNormalization", "Dropout", "Identity", "Cast"];
    for operator in free {
        assert_eq!(groups_around(operator, &[], &[], Vec::new(), 18), 1, "{operator}");
    }
    let fixed: [(&str, &[Attribute<'_>]); 2] = [("Hardmax", &[]), ("LRN", &[])];
    for (operator, attributes) in fixed {
        assert_eq!(groups_around(operator, attributes, &[], Vec::new(), 18), 0, "{operator}");
    }
    let axis = || vec![integers("s", &[], &[1])];
    assert_eq!(groups_around("CumSum", &[], &["s"], axis(), 18), 0);
    let order = || vec![integers("s", &[6], &[3, 4, 5, 0, 1, 2])];
    assert_eq!(groups_around("Gather", &[Integer("axis", 1)], &["s"], order(), 18), 2, "two parts");
    let pads = || vec![integers("s", &[4], &[0, 0, 0, 0])];
    assert_eq!(groups_around("Pad", &[], &["s"], pads(), 18), 1);
    let normal = || vec![tensor("n.weight", &[6]), tensor("n.bias", &[6])];
    assert_eq!(groups_around("LayerNormalization", &[], &["n.weight", "n.bias"], normal(), 18), 1);
    let scales = || vec![tensor("q", &[6]), integers("z", &[6], &[0; 6])];
    assert_eq!(groups_around("QuantizeLinear", &[], &["q", "z"], scales(), 18), 1);
}

#[test]
fn constants_fix_the_units_along_which_they_differ() {
    let with = |entries: [f32; 6]| {
        let mut options = Options::default();
        options.constants.insert("mask".to_owned());
        let parts = Parts {
            nodes: vec![
                node("MatMul", &["x", "first.weight"], &["h"], &[]),
                node("Mul", &["h", "mask"], &["k"], &[]),
                node("MatMul", &["k", "second.weight"], &["y"], &[]),
            ],
            tensors: vec![
                tensor("first.weight", &[4, 6]),
                tensor("second.weight", &[6, 3]),
                floats("mask", &[6], &entries),
            ],
            inputs: vec![value("x", &[2, 4])],
            outputs: vec![value("y", &[2, 3])],
            ..Parts::default()
        };
        let network = Network::from_bytes(parts.model(18).0, &options).unwrap();
        assert_eq!(network.graph.tensors().count(), 2);
        Symmetry::of(&network.graph).groups.len()
    };
    assert_eq!(with([2.0; 6]), 1);
    assert_eq!(with([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 0);
}

#[test]
fn einsum_gives_each_letter_an_index() {
    let einsum = |equation: &str, x: &[i64], w: &[i64]| {
        shape(&single("Einsum", x, vec![tensor("w", w)], &["w"], &[Text("equation", equation)]), 18)
    };
    assert_eq!(einsum("bij,bjk->bik", &[2, 3, 4], &[2, 4, 5]), [2, 3, 5]);
    assert_eq!(einsum("ij,jk", &[3, 4], &[4, 5]), [3, 5]);
    assert_eq!(einsum("...ij, jk -> ...ik", &[7, 2, 3, 4], &[4, 5]), [7, 2, 3, 5]);
    assert_eq!(einsum("ii,ij->j", &[3, 3], &[3, 5]), [5]);
    let bad = single("Einsum", &[2, 3], vec![tensor("w", &[4, 5])], &["w"], &[Text("equation", "ij,jk->ik")]);
    assert!(Network::from_bytes(bad.model(18).0, &Options::default()).is_err());
}

#[test]
fn branches_with_a_known_condition_are_taken() {
    let branch = |operator: &str| {
        let outputs = vec![Message::default().text(1, &format!("{operator}_out"))];
        Parts { nodes: vec![node(operator, &["x"], &[&format!("{operator}_out")], &[])], outputs, ..Parts::default() }
            .graph()
    };
    let condition = |attributes: &[Attribute<'_>], known: bool| {
        let mut parts = single("Relu", &[2, 3], vec![integers("c", &[], &[1])], &[], &[]);
        let name = if known { "c" } else { "unknown" };
        if !known {
            parts.inputs.push(value("unknown", &[1]));
            parts.values.push(value("y", &[2, 3]));
        }
        parts.nodes = vec![node("If", &[name], &["y"], attributes)];
        read(&parts, 18)
    };
    let branches = [Graph("then_branch", branch("Relu")), Graph("else_branch", branch("Neg"))];
    let taken = condition(&branches, true);
    assert_eq!(taken.graph.nodes().iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["Relu Relu_out"]);
    // A condition that is not known makes everything that its branches read fixed.
    let unknown = condition(&branches, false);
    let [only] = unknown.graph.nodes() else { panic!("one node was expected") };
    assert_eq!((&only.op, only.inputs.len()), (&Op::Opaque, 2));
}

#[test]
fn functions_of_the_file_are_replaced_by_their_nodes() {
    let body = node("Transpose", &["a"], &["t"], &[]);
    let soft = node("Softmax", &["t"], &["b"], &[Attribute::Reference("axis", "where")]);
    let opset = Message::default().text(1, "").integer(2, 18);
    let function = Message::default()
        .text(1, "own")
        .text(4, "a")
        .text(5, "b")
        .message(7, &body)
        .message(7, &soft)
        .message(9, &opset)
        .text(10, "here");
    let call = |from: &str, to: &str| node("own", &[from], &[to], &[Integer("where", 0)]).text(7, "here");
    let mut parts = single("Relu", &[2, 3], Vec::new(), &[], &[]);
    parts.nodes = vec![call("x", "m"), call("m", "y")];
    let network = Network::from_bytes(parts.model(18).message(25, &function).0, &Options::default()).unwrap();
    assert_eq!(network.graph.nodes().len(), 4);
    assert_eq!(network.graph.value(network.graph.outputs()[0]).shape, [2, 3]);
}

#[test]
fn unknown_operators_are_opaque_and_need_a_shape() {
    let mut parts = single("Mystery", &[2, 3], vec![tensor("w", &[3])], &["w"], &[]);
    let error = Network::from_bytes(parts.model(18).0, &Options::default()).unwrap_err();
    assert_eq!(error.place, "Mystery of w");
    assert!(error.fault.contains("dynamo=True") && error.fault.contains("shape_inference"), "{error}");
    parts.values = vec![value("y", &[5, 2])];
    let network = read(&parts, 18);
    assert_eq!(network.graph.nodes()[0].op, Op::Opaque);
    assert!(Symmetry::of(&network.graph).groups.is_empty());
}

#[test]
fn a_shape_that_the_file_states_wrongly_is_refused() {
    let mut parts = single("Relu", &[2, 3], Vec::new(), &[], &[]);
    parts.values = vec![value("y", &[3, 2])];
    let error = Network::from_bytes(parts.model(18).0, &Options::default()).unwrap_err();
    assert!(error.fault.contains("states another shape"), "{error}");
}

#[test]
fn shapes_that_are_computed_in_the_graph_are_folded() {
    let mut parts =
        single("Relu", &[2, 3, 4], vec![integers("zero", &[1], &[0]), integers("last", &[1], &[-1])], &[], &[]);
    parts.nodes = vec![
        node("Shape", &["x"], &["s"], &[]),
        node("Gather", &["s", "zero"], &["n"], &[]),
        node("Concat", &["n", "last"], &["wanted"], &[Integer("axis", 0)]),
        node("Reshape", &["x", "wanted"], &["y"], &[]),
    ];
    let network = read(&parts, 18);
    assert_eq!(network.graph.value(network.graph.outputs()[0]).shape, [2, 12]);
    assert_eq!(network.graph.nodes().len(), 1);
    assert!(network.graph.values().iter().all(|value| !matches!(value.kind, Kind::Constant(_))));
}
