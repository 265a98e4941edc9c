//! Where the entries of tensors are: in the file, in fields of their type, in a file next to it, or nowhere.

use onebasin_graph::onnx::{DataType, Network, Options};

use crate::write::{Message, Parts, floats, integers, node, tensor, value};

fn external(name: &str, dims: &[i64], location: &str, offset: &str) -> Message {
    let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value);
    tensor(name, dims).message(13, &entry("location", location)).message(13, &entry("offset", offset)).integer(14, 1)
}

fn model(tensors: Vec<Message>) -> Vec<u8> {
    let names: Vec<String> = (0..tensors.len()).map(|at| format!("t{at}")).collect();
    let inputs: Vec<&str> = names.iter().map(String::as_str).chain(["x"]).collect();
    let parts = Parts {
        nodes: vec![node("Sum", &inputs, &["y"], &[])],
        tensors,
        inputs: vec![value("x", &[2, 2])],
        outputs: vec![value("y", &[2, 2])],
        ..Parts::default()
    };
    parts.model(18).0
}

#[test]
fn entries_are_read_from_every_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("network.onnx");
    let data: Vec<u8> = [0.0f32, 1.0, 2.0, 3.0, 4.0].iter().flat_map(|entry| entry.to_le_bytes()).collect();
    std::fs::write(folder.path().join("network.data"), data).unwrap();
    let packed: Vec<u8> = [5.0f32, 6.0].iter().flat_map(|entry| entry.to_le_bytes()).collect();
    let tensors = vec![
        floats("t0", &[2], &[1.5, 2.5]),
        tensor("t1", &[2]).bytes(4, &packed),
        external("t2", &[2, 2], "network.data", "4"),
        tensor("t3", &[2, 1]),
        integers("t4", &[2], &[-7, 8]),
        tensor("t5", &[2]).float(4, 1.0).float(4, 2.0),
        external("t6", &[2], "../network.data", "0"),
        external("t7", &[2], "/etc/passwd", "0"),
        external("t8", &[2], "network.data", "16"),
        external("t9", &[2], "absent.data", "0"),
        floats("t10", &[2], &[1.0]),
    ];
    std::fs::write(&path, model(tensors)).unwrap();
    let network = Network::open(&path, &Options::default()).unwrap();
    let read = |name: &str| network.initializer(name).unwrap().read_f32();
    assert_eq!(read("t0").unwrap(), [1.5, 2.5]);
    assert_eq!(read("t1").unwrap(), [5.0, 6.0]);
    assert_eq!(read("t2").unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert!(!network.initializer("t3").unwrap().is_stored());
    assert!(read("t3").unwrap_err().fault.contains("no entries"));
    assert_eq!(network.initializer("t4").unwrap().read_i64().unwrap(), [-7, 8]);
    assert_eq!(network.initializer("t4").unwrap().data_type, DataType::I64);
    assert_eq!(read("t5").unwrap(), [1.0, 2.0]);
    assert!(read("t6").unwrap_err().fault.contains("not in the folder"));
    assert!(read("t7").unwrap_err().fault.contains("not in the folder"));
    assert!(read("t8").unwrap_err().fault.contains("behind the end"));
    assert!(read("t9").is_err());
    assert!(read("t10").unwrap_err().fault.contains("4 bytes are stored, 8 are needed"));
    assert!(network.initializer("t0").unwrap().read_i64().is_err());
    // Integers and what has no name of a parameter are no tensors; a missing weight is one.
    let tensors: Vec<&str> = network.graph.tensors().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(tensors, ["t0", "t1", "t2", "t3", "t5", "t6", "t7", "t8", "t9", "t10"]);
}

#[test]
fn halves_and_narrow_integers_are_read() {
    let raw = |data_type: i64, bytes: &[u8]| Message::default().packed(1, &[2]).integer(2, data_type).bytes(9, bytes);
    let tensors = vec![
        raw(10, &[0x00, 0x3c, 0x00, 0xc0]).text(8, "t0"),
        raw(16, &[0x80, 0x3f, 0x00, 0xc0]).text(8, "t1"),
        raw(3, &[0xff, 0x05]).text(8, "t2"),
        raw(9, &[1, 0]).text(8, "t3"),
        raw(11, &[1.0f64.to_le_bytes(), (-2.0f64).to_le_bytes()].concat()).text(8, "t4"),
    ];
    let network = Network::from_bytes(model(tensors), &Options::default()).unwrap();
    let read = |name: &str| network.initializer(name).unwrap().read_f64().unwrap();
    assert_eq!(read("t0"), [1.0, -2.0]);
    assert_eq!(read("t1"), [1.0, -2.0]);
    assert_eq!(read("t2"), [-1.0, 5.0]);
    assert_eq!(read("t3"), [1.0, 0.0]);
    assert_eq!(read("t4"), [1.0, -2.0]);
}

#[test]
fn named_axes_are_given_by_the_caller() {
    let parts = Parts {
        nodes: vec![node("Relu", &["x"], &["y"], &[])],
        inputs: vec![value("x", &[-1, -2, 0])],
        outputs: vec![value("y", &[-1, -2, 0])],
        ..Parts::default()
    };
    let bytes = parts.model(18).0;
    let mut options = Options::default();
    let error = Network::from_bytes(bytes.clone(), &options).unwrap_err();
    assert!(error.fault.contains("--dim d2=N"), "{error}");
    options.dims.insert("d2".to_owned(), 5);
    let error = Network::from_bytes(bytes.clone(), &options).unwrap_err();
    assert!(error.fault.contains("--dim x.2=N"), "{error}");
    options.dims.insert("x.2".to_owned(), 7);
    let network = Network::from_bytes(bytes.clone(), &options).unwrap();
    assert_eq!(network.graph.value(network.graph.outputs()[0]).shape, [1, 5, 7]);
    options.dims.insert("d1".to_owned(), 3);
    let network = Network::from_bytes(bytes, &options).unwrap();
    assert_eq!(network.graph.value(network.graph.outputs()[0]).shape, [3, 5, 7]);
}
