//! Reads event files of TensorBoard, as far as they are written here.

use std::path::Path;

/// One number of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) step: u64,
    pub(crate) tag: String,
    pub(crate) value: Vec<u8>,
}

/// All numbers in the event files of a run.
pub(crate) fn scalars(folder: &Path) -> Vec<Scalar> {
    let mut scalars = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with("events.out.tfevents.") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let len = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            // Checksums are the business of the writer's own tests.
            scalars.extend(event(&rest[12..12 + len]));
            rest = &rest[16 + len..];
        }
    }
    scalars
}

/// The numbers of one event: its step is field 2, its summary field 5, whose values are fields 1.
fn event(bytes: &[u8]) -> Vec<Scalar> {
    let event = fields(bytes);
    let step = event.iter().find(|(number, _)| *number == 2).map_or(0, |(_, bytes)| varint(&mut &bytes[..]));
    let summaries = event.iter().filter(|(number, _)| *number == 5).map(|(_, bytes)| fields(bytes));
    let values = summaries.flatten().map(|(_, bytes)| fields(&bytes));
    let scalar = |fields: Vec<(u64, Vec<u8>)>| {
        let field = |number| fields.iter().find(|(found, _)| *found == number).unwrap().1.clone();
        Scalar { step, tag: String::from_utf8(field(1)).unwrap(), value: field(2) }
    };
    values.map(scalar).collect()
}

/// The fields of a protocol buffer, each with its number and its bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let len = match key & 7 {
            0 => bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1,
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            wire => panic!("wire type {wire}"),
        };
        let (field, rest) = bytes.split_at(len);
        fields.push((key >> 3, field.to_vec()));
        bytes = rest;
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let len = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let (these, rest) = bytes.split_at(len);
    *bytes = rest;
    these.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}
