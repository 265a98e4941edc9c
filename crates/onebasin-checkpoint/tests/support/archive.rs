//! Small files that no library would write: zip archives, pickles, safetensors.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::PathBuf;

/// A zip archive of stored entries, without data descriptors.
pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let at = bytes.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc32fast::hash(content).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes().repeat(2));
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(*content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((entries.len() as u16).to_le_bytes().repeat(2));
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// A torch archive with this pickle and one storage of 24 bytes, with the key `0`.
pub(crate) fn torch(pickle: &[u8]) -> Vec<u8> {
    zip(&[("m/data.pkl", pickle), ("m/byteorder", b"little"), ("m/data/0", &[0; 24]), ("m/version", b"3\n")])
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

pub(crate) fn int(value: i64) -> Vec<u8> {
    [b"\x8a\x08".as_slice(), &value.to_le_bytes()].concat()
}

pub(crate) fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(".as_slice(), &items.concat(), b"t"].concat()
}

pub(crate) fn ints(values: &[i64]) -> Vec<u8> {
    tuple(&values.iter().map(|value| int(*value)).collect::<Vec<_>>())
}

pub(crate) fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

pub(crate) fn call(module: &str, name: &str, arguments: &[Vec<u8>]) -> Vec<u8> {
    [global(module, name), tuple(arguments), b"R".to_vec()].concat()
}

pub(crate) fn storage(class: &str, key: &str, count: i64) -> Vec<u8> {
    [tuple(&[text("storage"), global("torch", class), text(key), text("cpu"), int(count)]), b"Q".to_vec()].concat()
}

pub(crate) fn tensor(storage: &[u8], offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    let arguments = [storage.to_vec(), int(offset), ints(shape), ints(strides), b"\x89".to_vec(), b"}".to_vec()];
    call("torch._utils", "_rebuild_tensor_v2", &arguments)
}

/// A whole pickle of a dictionary.
pub(crate) fn dict(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<u8> = members.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"\x80\x02}(".as_slice(), &members, b"u."].concat()
}

/// A safetensors file with this header and as many bytes of data.
pub(crate) fn safetensors(header: &str, data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat()
}

/// A file in a folder that is removed with it.
pub(crate) fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}
