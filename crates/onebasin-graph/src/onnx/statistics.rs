//! Rewrites an ONNX file so that its batch normalisations use the statistics of the batch, and returns these as outputs.

use super::rewrite::{put, put_bytes, put_number};
use super::wire::{Field, Wire};
use crate::error::Result;
use crate::graph::{Graph, Kind};
use std::io::Cursor;
use std::ops::Range;

/// Numbers of the fields of a model: its operator sets and its graph.
const OPERATORS: u64 = 8;
const GRAPH: u64 = 7;
/// Numbers of the fields of a graph: its nodes, initializers and outputs.
const NODE: u64 = 1;
const INITIALIZER: u64 = 5;
const OUTPUT: u64 = 12;
/// The first version of the operators whose reductions take axes as an input.
const AXES_ARE_INPUTS: i64 = 18;

/// A batch normalisation whose statistics are outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchStatistics {
    /// Name of the tensor that holds the mean of each channel.
    pub mean: String,
    /// Name of the tensor that holds the variance of each channel.
    pub variance: String,
    /// Name of the output that is the mean over the batch.
    pub mean_output: String,
    /// Name of the output that is the variance over the batch.
    pub variance_output: String,
    /// Name of the value that is normalised.
    pub input: String,
}

/// The file with all batch normalisations by the batch's own statistics, and these.
pub fn with_batch_statistics(bytes: &[u8], graph: &Graph) -> Result<(Vec<u8>, Vec<BatchStatistics>)> {
    let mut wire = Wire::new(Cursor::new(bytes));
    let (mut out, mut inner, mut version, mut found) = (Vec::new(), None, 0, Vec::new());
    wire.message(0..bytes.len() as u64, |wire, field| {
        match field.number {
            GRAPH => inner = Some(wire.range(&field)?),
            OPERATORS => {
                version = version.max(operator_version(wire, &field)?);
                put(&field, bytes, &mut out);
            }
            _ => put(&field, bytes, &mut out),
        }
        Ok(())
    })?;
    let mut rewritten = Vec::new();
    if let Some(range) = inner {
        found = rewrite(&mut wire, range, bytes, graph, version, &mut rewritten)?;
    }
    put_bytes(GRAPH, &rewritten, &mut out);
    Ok((out, found))
}

/// The version of the standard operators; 0 of others.
fn operator_version(wire: &mut Wire<Cursor<&[u8]>>, field: &Field) -> Result<i64> {
    let (mut standard, mut version) = (true, 0);
    let range = wire.range(field)?;
    wire.message(range, |wire, inner| {
        match inner.number {
            1 => standard = matches!(&*wire.text(&inner)?, "" | "ai.onnx"),
            2 => version = wire.integer(&inner)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(if standard { version } else { 0 })
}

fn rewrite(
    wire: &mut Wire<Cursor<&[u8]>>,
    range: Range<u64>,
    bytes: &[u8],
    graph: &Graph,
    version: i64,
    out: &mut Vec<u8>,
) -> Result<Vec<BatchStatistics>> {
    let mut found: Vec<BatchStatistics> = Vec::new();
    wire.message(range, |wire, field| {
        let node = if field.number == NODE { NodeNames::read(wire, &field)? } else { None };
        let rank = node.as_ref().and_then(|node| rank(graph, &node.inputs[3]));
        let (Some(node), Some(rank)) = (node, rank) else {
            put(&field, bytes, out);
            return Ok(());
        };
        let number = found.len();
        let name = |what: &str| format!("onebasin/{what}/{number}");
        let axes: Vec<i64> = (0..rank as i64).filter(|axis| *axis != 1).collect();
        let reduce = |input: &str, output: &str, keep: bool, out: &mut Vec<u8>| {
            let named = name("axes");
            let mut inputs = vec![input];
            let mut attributes = vec![integer_attribute("keepdims", i64::from(keep))];
            if version >= AXES_ARE_INPUTS {
                inputs.push(&named);
            } else {
                attributes.push(integers_attribute("axes", &axes));
            }
            put_bytes(NODE, &node_message("ReduceMean", &inputs, output, &attributes), out);
        };
        if version >= AXES_ARE_INPUTS {
            put_bytes(INITIALIZER, &integers(&name("axes"), &axes), out);
        }
        let x = &node.inputs[0];
        let [kept, rest, square, mean, variance] = ["kept", "rest", "square", "mean", "variance"].map(name);
        reduce(x, &mean, false, out);
        reduce(x, &kept, true, out);
        put_bytes(NODE, &node_message("Sub", &[x, &kept], &rest, &[]), out);
        put_bytes(NODE, &node_message("Mul", &[&rest, &rest], &square, &[]), out);
        reduce(&square, &variance, false, out);
        // The node itself, with the batch's statistics in the place of its own.
        put_bytes(NODE, &node.with_statistics(wire, &field, bytes, &mean, &variance)?, out);
        found.push(BatchStatistics {
            mean: node.inputs[3].clone(),
            variance: node.inputs[4].clone(),
            mean_output: mean,
            variance_output: variance,
            input: x.clone(),
        });
        Ok(())
    })?;
    for statistics in &found {
        for output in [&statistics.mean_output, &statistics.variance_output] {
            let mut message = Vec::new();
            put_bytes(1, output.as_bytes(), &mut message);
            put_bytes(OUTPUT, &message, out);
        }
    }
    Ok(found)
}

/// The number of axes of what a node normalises, by the tensor that holds its means.
fn rank(graph: &Graph, mean: &str) -> Option<usize> {
    let reads = |value: &crate::graph::ValueId| {
        let value = graph.value(*value);
        value.kind == Kind::Tensor && value.name == mean
    };
    let node = graph.nodes().iter().find(|node| node.inputs.iter().any(reads))?;
    Some(graph.value(*node.inputs.first()?).shape.len())
}

/// The inputs of a batch normalisation.
struct NodeNames {
    inputs: Vec<String>,
}

impl NodeNames {
    /// Reads a node; none if it is of another kind.
    fn read(wire: &mut Wire<Cursor<&[u8]>>, field: &Field) -> Result<Option<Self>> {
        let (mut inputs, mut kind) = (Vec::new(), String::new());
        let range = wire.range(field)?;
        wire.message(range, |wire, inner| {
            match inner.number {
                1 => inputs.push(wire.text(&inner)?),
                4 => kind = wire.text(&inner)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok((kind == "BatchNormalization" && inputs.len() == 5).then_some(Self { inputs }))
    }

    /// The node with other means and variances.
    fn with_statistics(
        &self,
        wire: &mut Wire<Cursor<&[u8]>>,
        field: &Field,
        bytes: &[u8],
        mean: &str,
        variance: &str,
    ) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for input in [&self.inputs[0], &self.inputs[1], &self.inputs[2], mean, variance] {
            put_bytes(1, input.as_bytes(), &mut out);
        }
        let range = wire.range(field)?;
        wire.message(range, |_, inner| {
            if inner.number != 1 {
                put(&inner, bytes, &mut out);
            }
            Ok(())
        })?;
        Ok(out)
    }
}

fn node_message(kind: &str, inputs: &[&str], output: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for input in inputs {
        put_bytes(1, input.as_bytes(), &mut out);
    }
    put_bytes(2, output.as_bytes(), &mut out);
    put_bytes(3, output.as_bytes(), &mut out);
    put_bytes(4, kind.as_bytes(), &mut out);
    for attribute in attributes {
        put_bytes(5, attribute, &mut out);
    }
    out
}

fn integer_attribute(name: &str, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(1, name.as_bytes(), &mut out);
    put_number(3, value as u64, &mut out);
    put_number(20, 2, &mut out);
    out
}

fn integers_attribute(name: &str, values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(1, name.as_bytes(), &mut out);
    for value in values {
        put_number(8, *value as u64, &mut out);
    }
    put_number(20, 7, &mut out);
    out
}

/// An initializer of integers.
fn integers(name: &str, values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(1, values.len() as u64, &mut out);
    put_number(2, 7, &mut out);
    for value in values {
        put_number(7, *value as u64, &mut out);
    }
    put_bytes(8, name.as_bytes(), &mut out);
    out
}
