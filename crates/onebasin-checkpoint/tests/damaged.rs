//! Files that contradict themselves: every error names the file, the part of it and the way out.

#[path = "support/archive.rs"]
mod archive;
mod support;

use archive::{file, safetensors, zip};
use onebasin_checkpoint::Checkpoint;
use support::{fixture, said};

/// The message of opening these bytes, which begins with the path.
fn refused(bytes: &[u8]) -> String {
    let (_folder, path) = file(bytes);
    let error = said(Checkpoint::open(&path).and_then(|checkpoint| {
        (0..checkpoint.tensors().len()).try_for_each(|tensor| checkpoint.read_bytes(tensor).map(drop))
    }));
    error.strip_prefix(&format!("{}: ", path.display())).expect("the path comes first").to_owned()
}

fn assert_refused(bytes: &[u8], expected: &str) {
    let error = refused(bytes);
    assert!(error.contains(expected), "expected {expected:?}, got {error:?}");
}

#[test]
fn a_file_of_no_format_is_refused_with_what_it_is() {
    assert_refused(b"", "it is empty");
    assert_refused(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull");
    assert_refused(b"<!doctype html>", "a page of the web");
    assert_refused(b"\x80\x04}.", "a pickle, but not of torch.save");
    assert_refused(b"\x89HDF\r\n\x1a\n", "HDF5");
    assert_refused(b"GGUF\x03\0\0\0", "GGUF");
    assert_refused(b"\x01\x02\x03", "begins like no checkpoint");
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    tar[0] = b's';
    assert_refused(&tar, "tar archive");
    assert_refused(&zip(&[("readme.txt", b"")]), "neither `data.pkl` nor an array");
    let folder = tempfile::tempdir().unwrap();
    assert!(said(Checkpoint::open(folder.path())).contains("it is a folder"));
    assert!(matches!(Checkpoint::open(&folder.path().join("none")), Err(onebasin_checkpoint::Error::Io { .. })));
}

#[test]
fn a_damaged_safetensors_header_is_refused() {
    let one = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    assert!(refused(&safetensors("{", 0)).contains("the header cannot be read"));
    assert_refused(&[99_u64.to_le_bytes().as_slice(), b"{}"].concat(), "the header reaches beyond the end of the file");
    let mut long = 100_000_001_u64.to_le_bytes().to_vec();
    long.extend(b"{\"a\"");
    // Too long for the file, so that it is not taken for this format.
    assert!(!refused(&long).is_empty());
    assert_refused(&safetensors(&one("F32", "[2]", "[0,4]"), 4), "tensor `a` is f32 [2], but has 4 bytes");
    assert_refused(&safetensors(&one("F32", "[2]", "[0,8]"), 4), "tensor `a` has the bytes 0 to 8 of 4");
    assert_refused(&safetensors(&one("F32", "[2]", "[8,0]"), 8), "tensor `a` has the bytes 8 to 0 of 8");
    assert_refused(&safetensors(&one("F32", "[1]", "[4,8]"), 8), "follows bytes of no tensor");
    assert_refused(&safetensors(&one("F32", "[1]", "[0,4]"), 8), "the data has 8 bytes, not the 4 of all tensors");
    assert_refused(&safetensors(&one("F32", "[-1]", "[0,4]"), 4), "the header cannot be read");
    let huge = one("F32", "[4611686018427387904,8]", "[0,4]");
    assert_refused(&safetensors(&huge, 4), "but has 4 bytes");
    let two = |first: &str, second: &str, offsets: &str| {
        let member =
            |name: &str, offsets: &str| format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":{offsets}}}"#);
        format!("{{{},{}}}", member(first, "[0,4]"), member(second, offsets))
    };
    assert_refused(&safetensors(&two("a", "a", "[4,8]"), 8), "`a` is in it twice");
    assert_refused(&safetensors(&two("a", "b", "[2,6]"), 8), "shares bytes with another tensor");
    assert_refused(&safetensors(&two("a", "__metadata__", "[4,8]"), 8), "described like metadata");
    assert_refused(&safetensors(r#"{"__metadata__":{"a":1}}"#, 0), "metadata are texts");
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert_refused(&safetensors(&deep, 0), "the header cannot be read");
}

#[test]
fn types_without_a_known_size_are_passed_through() {
    let header = r#"{"a":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}}"#;
    let (folder, path) = file(&safetensors(header, 3));
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert_eq!((checkpoint.tensors()[0].dtype.name(), checkpoint.tensors()[0].bytes), ("F4", 3));
    let to = folder.path().join("to");
    checkpoint.write(&to, &mut |_| Ok(Some(vec![1, 2, 3]))).unwrap();
    assert_eq!(Checkpoint::open(&to).unwrap().read_bytes(0).unwrap(), [1, 2, 3]);
}

#[test]
fn an_index_must_name_shards_beside_it_and_tensors_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors.index.json");
    let refused = |index: &str| {
        std::fs::write(&path, index).unwrap();
        said(Checkpoint::open(&path))
    };
    for shard in ["../a.safetensors", "/etc/passwd", "b/a.safetensors", "..", ".", "", "c:\\\\a"] {
        let error = refused(&format!(r#"{{"weight_map":{{"a":"{shard}"}}}}"#));
        assert!(error.contains("not in the folder of the index"), "{shard}: {error}");
    }
    assert!(refused("{}").contains("weight_map"));
    assert!(refused("{\"weight_map\"").contains("no index of shards"));
    assert!(refused(r#"{"weight_map":{"a":"b","a":"c"}}"#).contains("`a` is in it twice"));
    assert!(refused(r#"{"weight_map":{"a":"missing.safetensors"}}"#).contains("missing.safetensors: "));
    std::fs::copy(fixture("state_dict.pt"), folder.path().join("a.bin")).unwrap();
    assert!(refused(r#"{"weight_map":{"a":"a.bin"}}"#).contains("not a safetensors file"));
    std::fs::copy(fixture("model-00001-of-00002.safetensors"), folder.path().join("b")).unwrap();
    assert!(refused(r#"{"weight_map":{"a":"b"}}"#).contains("names the tensor `a`, which `b` does not have"));
    std::fs::write(&path, r#"{"weight_map":{"first.bias":"b"}}"#).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert_eq!(checkpoint.tensors().iter().map(|tensor| &tensor.name).collect::<Vec<_>>(), ["first.bias"]);
}

#[test]
fn a_damaged_archive_is_refused() {
    let good = zip(&[("a.npy", &std::fs::read(fixture("array.npy")).unwrap())]);
    let (_folder, path) = file(&good);
    assert_eq!(Checkpoint::open(&path).unwrap().tensors()[0].name, "a");
    let directory = good.len() - 22 - 46 - 5;
    let end = good.len() - 22;
    let changed = |at: usize, new: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    assert_refused(&good[..good.len() - 1], "the end of the zip archive is missing");
    assert_refused(&changed(end + 10, &[2, 0]), "has 1 entries, not the 2");
    assert_refused(&changed(end + 16, &[0, 0]), "does not follow the directory");
    assert_refused(&changed(end + 4, &[1, 0]), "several files");
    assert_refused(&changed(directory, b"QK"), "has a record that is none");
    assert_refused(&changed(directory + 28, &[200]), "ends inside a record");
    assert_refused(&changed(directory + 8, &[1]), "is encrypted");
    assert_refused(&changed(directory + 8, &[8]), "not followed by its checksum");
    assert_refused(&changed(directory + 10, &[12]), "another name or method");
    assert_refused(&changed(directory + 16, &[0; 4]), "another size or CRC-32 in its header");
    assert_refused(&changed(directory + 20, &[0xff, 0xff, 0xff, 0x7f]), "beyond the end of the file");
    assert_refused(&changed(directory + 20, &[0xff; 4]), "has no zip64 record");
    assert_refused(&changed(directory + 24, &[7]), "is stored, but claims 7 bytes");
    assert_refused(&changed(directory + 42, &[1]), "has no header where the directory says");
    assert_refused(&changed(30, b"b"), "another name or method");
    assert_refused(&changed(40, b"X"), "does not begin like an array");
    assert_refused(&changed(35 + 150, b"X"), "do not match its CRC-32");
    let both = |to: u8| {
        let mut bytes = changed(directory + 10, &[to]);
        bytes[8] = to;
        bytes
    };
    assert_refused(&both(12), "packed by method 12");
    assert_refused(&both(8), "has a header that ends early");
    let mut bomb = both(8);
    bomb[directory + 24..directory + 28].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    assert_refused(&bomb, "which deflate cannot give");
    assert_refused(&zip(&[("a.npy", b""), ("a.npy", b"")]), "two entries `a.npy`");
    assert_refused(&zip(&[("../a.npy", b"")]), "leaves the archive");
    let mut overlapping = zip(&[("a.npy", &inner_archive()), ("b.npy", b"1234")]);
    let second = overlapping.len() - 22 - 51;
    // The second entry is a local header within the bytes of the first.
    overlapping[second + 42] = 35;
    assert_refused(&overlapping, "has entries that overlap");
}

/// A local header of an entry `b.npy` with its bytes.
fn inner_archive() -> Vec<u8> {
    zip(&[("b.npy", b"1234")])[..39].to_vec()
}

#[test]
fn arrays_that_lie_about_their_size_are_refused() {
    let array = |descr: &str, shape: &str, data: usize| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    };
    assert_refused(&array("'<f4'", "(3,)", 11), "reaches beyond the");
    assert_refused(&array("'<f4'", "(4611686018427387904, 4)", 11), "too large");
    assert_refused(&array("'<f4'", &format!("({})", "1, ".repeat(65)), 4), "65 axes");
    assert_refused(&array("'|O'", "(3,)", 11), "Python objects");
    assert_refused(&array("'<q'", "(3,)", 11), "which NumPy does not have");
    assert_refused(&array("'<U99999999999999999999'", "(3,)", 11), "which NumPy does not have");
    let (_folder, path) = file(&array("'<M8[ns]'", "(2,)", 16));
    assert_eq!(Checkpoint::open(&path).unwrap().tensors()[0].bytes, 16);
}
