//! Rewrites an ONNX file so that its weights are inputs, which a runtime is given with each run.

use super::wire::{Content, Field, Wire};
use crate::error::Result;
use std::collections::BTreeSet;
use std::io::Cursor;
use std::ops::Range;

/// Number of the field of a model that holds its graph.
const GRAPH: u64 = 7;
/// Numbers of the fields of a graph that hold its nodes, initializers and inputs.
const NODE: u64 = 1;
const INITIALIZER: u64 = 5;
const INPUT: u64 = 11;
/// The type of floating-point numbers of 32 bits.
const FLOAT: u64 = 1;

/// The file with the tensors of these names as inputs of floating-point numbers of 32 bits: initializers, and copies of them.
pub fn weights_as_inputs(bytes: &[u8], names: &BTreeSet<String>) -> Result<Vec<u8>> {
    let mut wire = Wire::new(Cursor::new(bytes));
    let (mut before, mut graph) = (Vec::new(), Vec::new());
    wire.message(0..bytes.len() as u64, |wire, field| {
        if field.number == GRAPH {
            let range = wire.range(&field)?;
            graph_fields(wire, range, bytes, names, &mut graph)
        } else {
            put(&field, bytes, &mut before);
            Ok(())
        }
    })?;
    put_bytes(GRAPH, &graph, &mut before);
    Ok(before)
}

fn graph_fields(
    wire: &mut Wire<Cursor<&[u8]>>,
    range: Range<u64>,
    bytes: &[u8],
    names: &BTreeSet<String>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (mut declared, mut weights, mut copies) = (BTreeSet::new(), Vec::new(), Vec::new());
    wire.message(range, |wire, field| {
        match field.number {
            NODE => match Copy::read(wire, &field)? {
                Some(copy) if names.contains(&copy.to) => copies.push(copy),
                _ => put(&field, bytes, out),
            },
            INITIALIZER => {
                let weight = Weight::read(wire, &field)?;
                if !names.contains(&weight.name) {
                    put(&field, bytes, out);
                }
                weights.push(weight);
            }
            INPUT => {
                let range = wire.range(&field)?;
                wire.message(range, |wire, inner| {
                    if inner.number == 1 {
                        declared.insert(wire.text(&inner)?);
                    }
                    Ok(())
                })?;
                put(&field, bytes, out);
            }
            _ => put(&field, bytes, out),
        }
        Ok(())
    })?;
    for Copy { from, to } in copies {
        let dims = weights.iter().find(|weight| weight.name == from).map(|weight| weight.dims.clone());
        weights.extend(dims.map(|dims| Weight { name: to, dims }));
    }
    for weight in weights.iter().filter(|weight| names.contains(&weight.name) && !declared.contains(&weight.name)) {
        put_bytes(INPUT, &weight.declaration(), out);
    }
    Ok(())
}

/// A node that gives a tensor another name.
struct Copy {
    from: String,
    to: String,
}

impl Copy {
    /// Reads a node; none if it is of another kind.
    fn read(wire: &mut Wire<Cursor<&[u8]>>, field: &Field) -> Result<Option<Self>> {
        let (mut from, mut to, mut kind) = (Vec::new(), Vec::new(), String::new());
        let range = wire.range(field)?;
        wire.message(range, |wire, inner| {
            match inner.number {
                1 => from.push(wire.text(&inner)?),
                2 => to.push(wire.text(&inner)?),
                4 => kind = wire.text(&inner)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(match (&from[..], &to[..]) {
            ([from], [to]) if kind == "Identity" => Some(Self { from: from.clone(), to: to.clone() }),
            _ => None,
        })
    }
}

/// Name and shape of an initializer.
struct Weight {
    name: String,
    dims: Vec<i64>,
}

impl Weight {
    /// Reads an initializer.
    fn read(wire: &mut Wire<Cursor<&[u8]>>, field: &Field) -> Result<Self> {
        let (mut name, mut dims) = (String::new(), Vec::new());
        let range = wire.range(field)?;
        wire.message(range, |wire, inner| {
            match inner.number {
                1 => wire.integers(&inner, &mut dims)?,
                8 => name = wire.text(&inner)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { name, dims })
    }

    /// The message that declares an input.
    fn declaration(&self) -> Vec<u8> {
        let mut shape = Vec::new();
        for dim in &self.dims {
            let mut size = Vec::new();
            put_number(1, *dim as u64, &mut size);
            put_bytes(1, &size, &mut shape);
        }
        let mut tensor = Vec::new();
        put_number(1, FLOAT, &mut tensor);
        put_bytes(2, &shape, &mut tensor);
        let mut kind = Vec::new();
        put_bytes(1, &tensor, &mut kind);
        let mut input = Vec::new();
        put_bytes(1, self.name.as_bytes(), &mut input);
        put_bytes(2, &kind, &mut input);
        input
    }
}

/// Copies a field as it is.
pub(super) fn put(field: &Field, bytes: &[u8], out: &mut Vec<u8>) {
    match &field.content {
        Content::Varint(number) => put_number(field.number, *number, out),
        Content::Fixed64(bits) => {
            put_varint(field.number << 3 | 1, out);
            out.extend(bits.to_le_bytes());
        }
        Content::Fixed32(bits) => {
            put_varint(field.number << 3 | 5, out);
            out.extend(bits.to_le_bytes());
        }
        Content::Bytes(range) => put_bytes(field.number, &bytes[range.start as usize..range.end as usize], out),
    }
}

pub(super) fn put_number(field: u64, number: u64, out: &mut Vec<u8>) {
    put_varint(field << 3, out);
    put_varint(number, out);
}

pub(super) fn put_bytes(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(field << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
