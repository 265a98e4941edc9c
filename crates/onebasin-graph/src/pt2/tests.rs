//! Archives that lie, and small programs whose translation is known.

use std::io::{Cursor, Write};

use proptest::prelude::*;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Network, read_from};
use crate::graph::{Kind, Op};
use crate::symmetry::Symmetry;

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file(*path, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn meta(shape: &[i64]) -> Value {
    let sizes: Vec<Value> = shape.iter().map(|size| json!({ "as_int": size })).collect();
    let mut strides = vec![json!({ "as_int": 1 }); shape.len()];
    let mut stride = 1i64;
    for (at, size) in shape.iter().enumerate().rev() {
        strides[at] = json!({ "as_int": stride });
        stride = stride.saturating_mul(*size);
    }
    json!({ "dtype": 7, "sizes": sizes, "strides": strides, "storage_offset": { "as_int": 0 } })
}

fn tensor(name: &str) -> Value {
    json!({ "as_tensor": { "name": name } })
}

/// An argument of a node, named after the schema of its operator.
#[allow(clippy::needless_pass_by_value)] // calls are shorter so
fn argument(name: &str, value: Value) -> Value {
    json!({ "name": name, "arg": value })
}

fn node(target: &str, inputs: &[Value], outputs: &[&str]) -> Value {
    let outputs: Vec<Value> = outputs.iter().map(|name| tensor(name)).collect();
    json!({ "target": format!("torch.ops.aten.{target}"), "inputs": inputs, "outputs": outputs, "metadata": {} })
}

/// A program: parameters `w...` and the input `x` with their shapes, and all other tensors.
fn program(given: &[(&str, &[i64])], computed: &[(&str, &[i64])], nodes: &[Value], output: &str) -> Value {
    let tensors = given.iter().chain(computed).map(|(name, shape)| ((*name).to_owned(), meta(shape)));
    let spec = |name: &str| match name {
        "x" => json!({ "user_input": { "arg": tensor("x") } }),
        name => json!({ "parameter": { "arg": { "name": name }, "parameter_name": format!("layer.{name}") } }),
    };
    json!({
        "schema_version": { "major": 8, "minor": 20 },
        "graph_module": {
            "graph": {
                "inputs": given.iter().map(|(name, _)| tensor(name)).collect::<Vec<_>>(),
                "outputs": [tensor(output)],
                "nodes": nodes,
                "tensor_values": tensors.collect::<serde_json::Map<_, _>>(),
            },
            "signature": {
                "input_specs": given.iter().map(|(name, _)| spec(name)).collect::<Vec<_>>(),
                "output_specs": [{ "user_output": { "arg": tensor(output) } }],
            },
        },
    })
}

/// Where parameters are stored; those of one path are the same.
fn weights(places: &[(&str, &str, &[i64])]) -> Value {
    let payload = |(name, path, shape): &(&str, &str, &[i64])| {
        let payload = json!({ "path_name": path, "is_param": true, "use_pickle": false, "tensor_meta": meta(shape) });
        (format!("layer.{name}"), payload)
    };
    json!({ "config": places.iter().map(payload).collect::<serde_json::Map<_, _>>() })
}

fn packed(program: &Value, weights: &Value) -> Vec<u8> {
    archive(&[
        ("net/models/model.json", program.to_string().as_bytes()),
        ("net/data/weights/model_weights_config.json", weights.to_string().as_bytes()),
    ])
}

fn unpacked(bytes: Vec<u8>) -> crate::Result<Network> {
    read_from("net.pt2", Cursor::new(bytes))
}

/// x W1ᵀ, an operation in between, then W2.
fn between(middle: &[Value], computed: &[(&str, &[i64])], last: &str) -> (Value, Value) {
    let given: [(&str, &[i64]); 3] = [("w1", &[6, 4]), ("w2", &[3, 6]), ("x", &[2, 4])];
    let linear = |value: &str, weight: &str, output: &str| {
        node("linear.default", &[argument("input", tensor(value)), argument("weight", tensor(weight))], &[output])
    };
    let nodes = [&[linear("x", "w1", "h")], middle, &[linear(last, "w2", "y")]].concat();
    let all = [&[("h", &[2, 6][..]), ("y", &[2, 3][..])], computed].concat();
    (program(&given, &all, &nodes, "y"), weights(&[("w1", "weight_0", &[6, 4]), ("w2", "weight_1", &[3, 6])]))
}

fn groups(network: &Network) -> Vec<usize> {
    Symmetry::of(&network.graph).groups.iter().map(|group| group.units).collect()
}

fn small() -> Vec<u8> {
    let (program, weights) =
        between(&[node("relu.default", &[argument("self", tensor("h"))], &["a"])], &[("a", &[2, 6])], "a");
    packed(&program, &weights)
}

#[test]
fn a_small_network_is_read() {
    let network = unpacked(small()).unwrap();
    assert_eq!(network.untranslated, []);
    assert_eq!(groups(&network), [6]);
    let names: Vec<&str> = network.graph.tensors().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["layer.w1", "layer.w2"]);
    assert!(network.graph.nodes().iter().any(|node| node.name == "linear of layer.w2"));
}

#[test]
fn an_unknown_operator_fixes_what_it_reads() {
    let middle = [node("secret.default", &[argument("self", tensor("h"))], &["a"])];
    let (program, weights) = between(&middle, &[("a", &[2, 6])], "a");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!(network.untranslated.len(), 1);
    assert_eq!(groups(&network), [0usize; 0]);
}

#[test]
fn a_shape_that_does_not_fit_fixes_what_the_operator_reads() {
    let middle = [node("relu.default", &[argument("self", tensor("h"))], &["a"])];
    let (program, weights) = between(&middle, &[("a", &[2, 6, 1])], "a");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert!(network.untranslated[0].reason.contains("declares"), "{:?}", network.untranslated);
    assert_eq!(groups(&network), [0usize; 0]);
}

#[test]
fn who_reads_a_tensor_after_a_view_of_it_was_overwritten_reads_the_new_entries() {
    // a = h[:, 0:1]; a.copy_(c); the network goes on with h.
    let select = |axis: i64| {
        let inputs = [
            argument("self", tensor("h")),
            argument("dim", json!({ "as_int": axis })),
            argument("index", json!({ "as_int": 0 })),
        ];
        node("select.int", &inputs, &["a"])
    };
    let ones = node("ones.default", &[argument("size", json!({ "as_ints": [2] }))], &["c"]);
    let copy = node("copy_.default", &[argument("self", tensor("a")), argument("src", tensor("c"))], &["b"]);
    let shapes: [(&str, &[i64]); 3] = [("a", &[2]), ("c", &[2]), ("b", &[2])];
    let (program, weights) = between(&[select(1), ones, copy], &shapes, "h");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!(groups(&network), [5], "the first unit is another one than the others");
    // A view of the same entries by another name is not followed.
    let view =
        node("view.default", &[argument("self", tensor("h")), argument("size", json!({ "as_ints": [12] }))], &["v"]);
    let all = node("mul_.Scalar", &[argument("self", tensor("v")), argument("other", json!({ "as_int": 2 }))], &["u"]);
    let (program, weights) = between(&[view, all], &[("v", &[12]), ("u", &[12])], "h");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!(groups(&network), [0usize; 0]);
}

#[test]
fn an_overwritten_tensor_is_what_was_written() {
    let relu = node("relu_.default", &[argument("self", tensor("h"))], &["a"]);
    let (program, weights) = between(&[relu], &[("a", &[2, 6])], "h");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!((network.untranslated.len(), groups(&network)), (0, vec![6]));
    let relu = network.graph.nodes().iter().find(|node| node.name.starts_with("relu")).unwrap();
    let product =
        network.graph.nodes().iter().rfind(|node| node.name == "linear of layer.w2" && node.inputs.len() == 2);
    assert_eq!(product.unwrap().inputs[0], relu.outputs[0]);
}

#[test]
fn tensors_of_one_storage_are_one_value() {
    let given: [(&str, &[i64]); 3] = [("w1", &[4, 4]), ("w2", &[4, 4]), ("x", &[2, 4])];
    let mm = |left: &str, right: &str, output: &str| {
        node("mm.default", &[argument("self", tensor(left)), argument("mat2", tensor(right))], &[output])
    };
    let nodes = [mm("x", "w1", "h"), mm("h", "w2", "y")];
    let program = program(&given, &[("h", &[2, 4]), ("y", &[2, 4])], &nodes, "y");
    let separate = weights(&[("w1", "weight_0", &[4, 4]), ("w2", "weight_1", &[4, 4])]);
    let network = unpacked(packed(&program, &separate)).unwrap();
    assert_eq!((groups(&network), network.aliases.len()), (vec![4], 0));
    let shared = weights(&[("w1", "weight_0", &[4, 4]), ("w2", "weight_0", &[4, 4])]);
    let network = unpacked(packed(&program, &shared)).unwrap();
    assert_eq!(groups(&network), [0usize; 0]);
    assert_eq!(network.aliases["layer.w2"], "layer.w1");
    // On the meta device all tensors have the same empty storage.
    let mut empty = shared.clone();
    for name in ["layer.w1", "layer.w2"] {
        empty["config"][name]["tensor_meta"]["device"] = json!({ "type": "meta", "index": null });
    }
    let network = unpacked(packed(&program, &empty)).unwrap();
    assert_eq!((groups(&network), network.aliases.len()), (vec![4], 0));
    // The same storage seen in another way: both stay fixed.
    let mut transposed = shared;
    transposed["config"]["layer.w2"]["tensor_meta"]["strides"] = json!([{ "as_int": 1 }, { "as_int": 4 }]);
    let network = unpacked(packed(&program, &transposed)).unwrap();
    assert_eq!((groups(&network), network.graph.tensors().count()), (vec![], 1));
}

#[test]
fn constants_have_their_entries() {
    let (mut program, weights) = between(
        &[node("mul.Tensor", &[argument("self", tensor("h")), argument("other", tensor("c"))], &["a"])],
        &[("a", &[2, 6]), ("c", &[6])],
        "a",
    );
    let spec = json!({ "tensor_constant": { "arg": { "name": "c" }, "tensor_constant_name": "lifted" } });
    program["graph_module"]["signature"]["input_specs"].as_array_mut().unwrap().push(spec);
    program["graph_module"]["graph"]["inputs"].as_array_mut().unwrap().push(tensor("c"));
    let config = json!({ "config": { "lifted": { "path_name": "tensor_0", "tensor_meta": meta(&[6]) } } }).to_string();
    let with = |entries: &[f32]| {
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let bytes = archive(&[
            ("net/models/model.json", program.to_string().as_bytes()),
            ("net/data/weights/model_weights_config.json", weights.to_string().as_bytes()),
            ("net/data/constants/model_constants_config.json", config.as_bytes()),
            ("net/data/constants/tensor_0", &bytes),
        ]);
        unpacked(bytes).unwrap()
    };
    assert_eq!(groups(&with(&[2.0; 6])), [6]);
    assert_eq!(groups(&with(&[2.0, 2.0, 2.0, 2.0, 2.0, 3.0])), [0usize; 0]);
    // Bytes that are missing are not known.
    let network = with(&[2.0; 3]);
    assert_eq!(groups(&network), [0usize; 0]);
    assert!(network.graph.values().iter().any(|value| value.kind == Kind::Constant(None)));
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let fault = |bytes: Vec<u8>| unpacked(bytes).unwrap_err().to_string();
    assert!(fault(b"no archive".to_vec()).starts_with("net.pt2: it is no zip archive"));
    let compiled = fault(archive(&[("net/data/aotinductor/model/a.so", b"")]));
    assert!(compiled.contains("AOTInductor") && compiled.contains("torch.export.save"), "{compiled}");
    assert!(fault(archive(&[("net/readme", b"")])).contains("torch.export.save"));
    let two = fault(archive(&[("net/models/a.json", b"{}"), ("net/models/b.json", b"{}")]));
    assert!(two.contains("a, b"), "{two}");
    assert!(fault(archive(&[("net/models/model.json", b"{}")])).contains("graph_module"));
    let deep = "[".repeat(1 << 20);
    assert!(fault(archive(&[("net/models/model.json", deep.as_bytes())])).contains("net.pt2: net/models/model.json"));
    let (program, weights) = between(&[], &[], "h");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut program = program.clone();
        change(&mut program);
        fault(packed(&program, &weights))
    };
    let graph = "graph_module";
    assert!(with(&|program| program["schema_version"]["major"] = json!(9)).contains("schema_version is 9"));
    let undefined = with(&|program| program[graph]["graph"]["nodes"][0]["inputs"][0]["arg"] = tensor("y"));
    assert!(undefined.contains("`y`") || undefined.contains(": y:"), "{undefined}");
    let twice = with(&|program| program[graph]["graph"]["nodes"][1]["outputs"][0] = tensor("h"));
    assert!(twice.contains("computed twice"), "{twice}");
    let missing = with(&|program| drop(program[graph]["graph"]["tensor_values"].as_object_mut().unwrap().remove("h")));
    assert!(missing.contains("tensor_values"), "{missing}");
    let huge = with(&|program| program[graph]["graph"]["tensor_values"]["x"] = meta(&[i64::MAX, i64::MAX]));
    assert!(huge.contains("too large"), "{huge}");
    let negative = with(&|program| program[graph]["graph"]["tensor_values"]["x"] = meta(&[2, -4]));
    assert!(negative.contains("-4"), "{negative}");
    let symbol = json!({ "as_expr": { "expr_str": "s7", "hint": null } });
    let unknown = with(&|program| program[graph]["graph"]["tensor_values"]["x"]["sizes"][1] = symbol.clone());
    assert!(unknown.contains("s7"), "{unknown}");
    let nowhere = fault(packed(&program, &json!({ "config": {} })));
    assert!(nowhere.contains("layer.w1"), "{nowhere}");
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused() {
    let bomb = vec![b' '; 64 << 20];
    let fault = unpacked(archive(&[("net/models/model.json", &bomb)])).unwrap_err().to_string();
    assert!(fault.contains("unpack"), "{fault}");
}

#[test]
fn products_of_units_with_one_another_stay_in_their_order() {
    let given: [(&str, &[i64]); 3] = [("w1", &[6, 4]), ("w2", &[3, 36]), ("x", &[2, 4])];
    let linear = |value: &str, weight: &str, output: &str| {
        node("linear.default", &[argument("input", tensor(value)), argument("weight", tensor(weight))], &[output])
    };
    let operands = json!({ "as_tensors": [{ "name": "h" }, { "name": "h" }] });
    let equation = json!({ "as_string": "bi, bj -> bij" });
    let outer = node("einsum.default", &[argument("equation", equation), argument("tensors", operands)], &["p"]);
    let flat = node("flatten.using_ints", &[argument("self", tensor("p"))], &["f"]);
    let shapes: [(&str, &[i64]); 4] = [("h", &[2, 6]), ("p", &[2, 6, 6]), ("f", &[2, 36]), ("y", &[2, 3])];
    let program = program(&given, &shapes, &[linear("x", "w1", "h"), outer, flat, linear("f", "w2", "y")], "y");
    let weights = weights(&[("w1", "weight_0", &[6, 4]), ("w2", "weight_1", &[3, 36])]);
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!((network.untranslated.len(), groups(&network)), (0, vec![]));
}

#[test]
fn regions_are_put_in_place() {
    let inner = json!({
        "inputs": [tensor("q")], "outputs": [tensor("r")],
        "nodes": [node("relu.default", &[argument("self", tensor("q"))], &["r"])],
        "tensor_values": { "q": meta(&[2, 6]), "r": meta(&[2, 6]) },
    });
    let region = json!({
        "target": "torch.ops.higher_order.wrap_with_set_grad_enabled",
        "inputs": [
            argument("", json!({ "as_bool": false })),
            argument("", json!({ "as_graph": { "name": "submod_1", "graph": inner } })),
            argument("", tensor("h")),
        ],
        "outputs": [tensor("a")],
    });
    let (program, weights) = between(&[region], &[("a", &[2, 6])], "a");
    let network = unpacked(packed(&program, &weights)).unwrap();
    assert_eq!((network.untranslated.len(), groups(&network)), (0, vec![6]));
    assert!(network.graph.nodes().iter().all(|node| node.op != Op::Opaque));
}

proptest! {
    #[test]
    fn damaged_archives_do_not_panic(at in 0usize..4096, bits in 1u8.., cut in 0usize..4096) {
        let mut bytes = small();
        let len = bytes.len();
        bytes[at % len] ^= bits;
        let _ = unpacked(bytes.clone());
        bytes.truncate(cut % len);
        let _ = unpacked(bytes);
    }

    #[test]
    fn damaged_programs_do_not_panic(changes in prop::collection::vec((0usize..1 << 16, any::<u8>()), 1..4)) {
        let middle = [
            node("split.Tensor", &[argument("self", tensor("h")), argument("split_size", json!({ "as_int": 3 })),
                argument("dim", json!({ "as_int": 1 }))], &["a", "b"]),
            node("cat.default", &[argument("tensors", json!({ "as_tensors": [{ "name": "b" }, { "name": "a" }] })),
                argument("dim", json!({ "as_int": 1 }))], &["c"]),
        ];
        let (program, weights) = between(&middle, &[("a", &[2, 3]), ("b", &[2, 3]), ("c", &[2, 6])], "c");
        let mut text = program.to_string().into_bytes();
        for (at, byte) in changes {
            let len = text.len();
            text[at % len] = byte;
        }
        let weights = weights.to_string();
        let _ = unpacked(archive(&[
            ("net/models/model.json", &text),
            ("net/data/weights/model_weights_config.json", weights.as_bytes()),
        ]));
    }

    #[test]
    fn damaged_pickles_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = super::pickle::places(&bytes);
    }

    #[test]
    fn operators_with_any_shapes_do_not_panic(
        operator in 0usize..1 << 16,
        shapes in prop::collection::vec(prop::collection::vec(0i64..4, 0..5), 4),
        numbers in prop::collection::vec(-3i64..4, 0..5),
    ) {
        let names = super::operators::names();
        let target = format!("{}.default", names[operator % names.len()]);
        let tensors = ["x", "w1", "w2"];
        let named = ["self", "input", "weight", "index", "src", "query", "key", "value", "mat2", "grid", "indices", "bias", "running_mean"];
        let mut inputs: Vec<Value> =
            named.iter().enumerate().map(|(at, name)| argument(name, tensor(tensors[at % 3]))).collect();
        let lists = ["dim", "dims", "pad", "size", "repeats", "start", "end", "groups", "source", "destination"];
        inputs.extend(lists.iter().enumerate().map(|(at, name)| {
            if at % 2 == 0 { argument(name, json!({ "as_ints": numbers })) }
            else { argument(name, json!({ "as_int": numbers.first().copied().unwrap_or(0) })) }
        }));
        let list = json!({ "as_tensors": [{ "name": "x" }, { "name": "w1" }] });
        inputs.extend(["tensors", "hx", "params"].map(|name| argument(name, list.clone())));
        inputs.push(argument("upscale_factor", json!({ "as_int": 2 })));
        let given: Vec<(&str, &[i64])> = tensors.iter().zip(&shapes).map(|(name, shape)| (*name, &shape[..])).collect();
        let nodes = [node(&target, &inputs, &["y"])];
        let program = program(&given, &[("y", &shapes[3])], &nodes, "y");
        let weights = weights(&[("w1", "weight_0", &shapes[1]), ("w2", "weight_1", &shapes[2])]);
        if let Ok(network) = unpacked(packed(&program, &weights)) {
            let _ = Symmetry::of(&network.graph);
        }
    }
}
