//! Pickles that were made to run code, fill memory or read beyond a storage.

#[path = "support/archive.rs"]
mod archive;
mod support;

use archive::{call, dict, file, global, int, ints, storage, tensor, text, torch, tuple, zip};
use onebasin_checkpoint::{Checkpoint, Scalar};
use support::{fixture, said};

fn assert_refused(bytes: &[u8], expected: &str) {
    let (_folder, path) = file(bytes);
    let error = said(Checkpoint::open(&path));
    let start = format!("{}: ", path.display());
    assert!(error.starts_with(&start) && error.contains(expected), "expected {expected:?}, got {error:?}");
}

fn opened(pickle: &[u8]) -> Checkpoint {
    let (_folder, path) = file(&torch(pickle));
    Checkpoint::open(&path).unwrap_or_else(|error| panic!("{error}"))
}

fn six() -> Vec<u8> {
    storage("FloatStorage", "0", 6)
}

#[test]
fn pickles_made_here_are_read_like_those_of_torch() {
    let checkpoint = opened(&dict(&[("a", tensor(&six(), 1, &[2, 2], &[2, 1])), ("n", int(-5))]));
    assert_eq!((checkpoint.tensors()[0].name.as_str(), &checkpoint.tensors()[0].shape), ("a", &vec![2, 2]));
    assert_eq!(checkpoint.metadata()["n"], Scalar::Int(-5));
}

#[test]
fn functions_that_run_code_are_refused_and_named() {
    for (module, name) in [("os", "system"), ("posix", "system"), ("builtins", "eval"), ("subprocess", "Popen")] {
        let pickle = dict(&[("a", tensor(&six(), 0, &[6], &[1])), ("b", call(module, name, &[text("id")]))]);
        assert_refused(&torch(&pickle), &format!("`{module}.{name}`"));
    }
    // In protocol 4 the name comes from the stack.
    let pickle = [b"\x80\x04".to_vec(), text("os"), text("system"), b"\x93(".to_vec(), text("id"), b"tR.".to_vec()];
    assert_refused(&torch(&pickle.concat()), "`os.system`");
}

#[test]
fn foreign_objects_are_kept_as_names_and_refused_where_nothing_else_is() {
    let foreign = call("my.code", "Thing", &[int(3)]);
    let checkpoint = opened(&dict(&[("a", tensor(&six(), 0, &[6], &[1])), ("b", foreign.clone())]));
    assert_eq!(checkpoint.foreign().iter().collect::<Vec<_>>(), ["my.code.Thing"]);
    assert_eq!(checkpoint.tensors().len(), 1);
    assert_refused(&torch(&dict(&[("b", foreign)])), "torch.save(model.state_dict(), f)");
}

#[test]
fn a_broken_pickle_is_refused_with_the_opcode_and_its_place() {
    for (pickle, expected) in [
        (b"\x80\x02\xff.".as_slice(), "torch does not write (opcode 0xff at byte 2)"),
        (b"\x80\x02P0\n.", "torch does not write (opcode 0x50"),
        (b"\x80\x02.", "takes a value where there is none"),
        (b"\x80\x02(.", "takes a value where there is none"),
        (b"\x80\x02t.", "lacks a mark"),
        (b"\x80\x02K\x01(\x85.", "takes a value where there is none"),
        (b"\x80\x02h\x07.", "did not memoise"),
        (b"\x80\x02}(K\x01u.", "a key without a value"),
        (b"\x80\x02K\x01K\x02a.", "not a list"),
        (b"\x80\x02K\x01K\x02K\x03s.", "not a dictionary"),
        (b"\x80\x02K\x01K\x02\x93.", "not a text"),
        (b"\x80\x02Fone\n.", "a number that is none"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "ends early"),
        (b"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "ends early"),
        (b"\x80\x02}", "ends early"),
    ] {
        assert_refused(&torch(pickle), expected);
    }
}

#[test]
fn tensors_that_leave_their_storage_are_refused() {
    let refused = |tensor: Vec<u8>, expected: &str| assert_refused(&torch(&dict(&[("a", tensor)])), expected);
    refused(tensor(&six(), 0, &[7], &[1]), "tensor `a` reaches beyond the 24 bytes of its storage");
    refused(tensor(&six(), 3, &[2, 2], &[2, 1]), "beyond the 24 bytes");
    refused(tensor(&six(), 0, &[2, 2], &[i64::MAX, 1]), "too large");
    refused(tensor(&six(), 0, &[i64::MAX, i64::MAX], &[0, 0]), "too large");
    refused(tensor(&six(), i64::MAX, &[1], &[1]), "an offset that is not one");
    refused(tensor(&six(), -1, &[1], &[1]), "an offset that is not one");
    refused(tensor(&six(), 0, &[-1], &[1]), "not sizes");
    refused(tensor(&six(), 0, &[2], &[-1]), "not sizes");
    refused(tensor(&six(), 0, &[2], &[1, 1]), "1 axes but 2 strides");
    refused(tensor(&six(), 0, &[1; 65], &[1; 65]), "65 axes");
    refused(tensor(&storage("FloatStorage", "0", 7), 0, &[1], &[1]), "claims 28 bytes, but the file has 24");
    refused(tensor(&storage("FloatStorage", "0", i64::MAX), 0, &[1], &[1]), "storage `0` claims");
    refused(tensor(&storage("FloatStorage", "../0", 6), 0, &[1], &[1]), "storage `../0` is not in the archive");
    refused(tensor(&storage("StrangeStorage", "0", 6), 0, &[1], &[1]), "`torch.StrangeStorage`, which is not known");
    refused(tensor(&int(3), 0, &[1], &[1]), "does not name its storage");
    refused(call("torch._utils", "_rebuild_tensor_v2", &[six()]), "lacks a storage");
    refused(call("torch._utils", "_rebuild_parameter", &[int(1)]), "a parameter without values");
    let both = [("a", tensor(&six(), 0, &[1], &[1])), ("b", tensor(&storage("FloatStorage", "0", 5), 0, &[1], &[1]))];
    assert_refused(&torch(&dict(&both)), "claims 20 bytes, and 24 elsewhere");
    let typed =
        [six(), int(0), ints(&[1]), ints(&[1]), b"\x89".to_vec(), b"}".to_vec(), global("torch", "odd"), b"}".to_vec()];
    refused(call("torch._utils", "_rebuild_tensor_v3", &typed), "the type `torch.odd`, which is not known");
    let negated = [b"}".to_vec(), text("neg"), b"\x88s".to_vec()].concat();
    let marked = [six(), int(0), ints(&[1]), ints(&[1]), b"\x89".to_vec(), b"}".to_vec(), negated];
    refused(call("torch._utils", "_rebuild_tensor_v2", &marked), "resolve_neg()");
    let mut wrapped = tensor(&six(), 0, &[1], &[1]);
    for _ in 0..6 {
        wrapped = call("torch._utils", "_rebuild_parameter", &[wrapped, b"\x88".to_vec(), b"}".to_vec()]);
    }
    refused(wrapped, "wrapped too often");
    let nested = [b"}".to_vec(), text("b"), tensor(&six(), 0, &[1], &[1]), b"s".to_vec()].concat();
    let twice = [("a.b", tensor(&six(), 0, &[1], &[1])), ("a", nested)];
    assert_refused(&torch(&dict(&twice)), "two tensors are named `a.b`");
}

#[test]
fn an_expanded_tensor_does_not_allocate_more_than_the_file_justifies() {
    let (_folder, path) = file(&torch(&dict(&[("a", tensor(&six(), 0, &[1 << 40, 3], &[0, 1]))])));
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert!(said(checkpoint.read_bytes(0)).contains("save it without `expand`"));
    let to = path.with_file_name("to");
    assert!(said(checkpoint.write(&to, &mut |_| Ok(Some(Vec::new())))).contains("save it without `expand`"));
}

#[test]
fn nesting_sharing_and_cycles_end() {
    let deep = [b"\x80\x02".to_vec(), b"]".repeat(100_000), b"a".repeat(99_999), b".".to_vec()].concat();
    assert_refused(&torch(&deep), "nested more than 200 times");
    // A list that contains itself.
    assert_eq!(opened(b"\x80\x02]q\x00h\x00a.").tensors().len(), 0);
    // Each list holds the one before it a hundred times.
    let mut bomb = b"\x80\x02]q\x00K\x01a".to_vec();
    for level in 1..100_u8 {
        bomb.extend([b']', b'q', level, b'(']);
        bomb.extend([b'h', level - 1].repeat(100));
        bomb.push(b'e');
    }
    bomb.push(b'.');
    assert_refused(&torch(&bomb), "so often that they cannot be listed");
    // A long key above many values.
    let long =
        [b"\x80\x02}".to_vec(), text(&"x".repeat(100_000)), b"](".to_vec(), b"K\x01".repeat(50_000), b"es.".to_vec()];
    assert_refused(&torch(&long.concat()), "so often that they cannot be listed");
    // A long name of many classes.
    let memoised = [b"\x80\x04".to_vec(), text(&"x".repeat(600)), b"q\x00h\x00\x93.".to_vec()].concat();
    assert_refused(&torch(&memoised), "names a class by a text that is too long");
    // Places of the memo that are far apart.
    assert_eq!(opened(b"\x80\x02}r\xff\xff\xff\xff.").tensors().len(), 0);
}

#[test]
fn the_archive_of_a_pickle_is_checked() {
    let pickle = dict(&[("a", tensor(&six(), 0, &[6], &[1]))]);
    let entries: [(&str, &[u8]); 3] = [("m/data.pkl", &pickle), ("m/data/0", &[0; 24]), ("m/byteorder", b"middle")];
    assert_refused(&zip(&entries), "neither `little` nor `big`");
    let long = [0; 100];
    let entries: [(&str, &[u8]); 2] = [("m/data.pkl", &pickle), ("m/byteorder", &long)];
    assert_refused(&zip(&entries), "neither `little` nor `big`");
    let entries: [(&str, &[u8]); 1] = [("m/data.pkl", &pickle)];
    assert_refused(&zip(&entries), "storage `0` is not in the archive");
    let mut damaged = torch(&pickle);
    damaged[45] ^= 1;
    assert_refused(&damaged, "CRC-32");
}

#[test]
fn a_truncated_legacy_file_is_refused() {
    let whole = std::fs::read(fixture("legacy.pt")).unwrap();
    assert_refused(&whole[..200], "a pickle ends early");
    assert_refused(&whole[..whole.len() - 1], "more than the file has");
    let protocol = tuple(&[int(1)]);
    let lies = [&whole[..15], b"\x80\x02", &protocol, b".\x80\x02\xff."].concat();
    assert_refused(&lies, "torch does not write");
}
