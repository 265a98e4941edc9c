//! Operators that take entries at places that other arrays say.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{self, Any, Fixed, One};
use crate::graph::{Kind, ValueId};
use crate::pt2::call::{Call, Given, Operand};
use crate::pt2::schema::BOOL;

pub(super) const TABLE: Table = &[
    ("_unsafe_index", index),
    ("gather", gather),
    ("index", index),
    ("index_select", index_select),
];

/// More runs of neighbours than an axis is cut into.
const MOST_RUNS: usize = 64;

/// The entries of a constant as indices of an axis, if there are only few runs of neighbours.
fn constant(builder: &Builder, indices: ValueId, size: usize) -> Option<Vec<usize>> {
    let Kind::Constant(Some(entries)) = builder.kind(indices) else { return None };
    let index = |entry: &f64| {
        let entry = if *entry < 0.0 { entry + size as f64 } else { *entry };
        (entry.fract() == 0.0 && entry >= 0.0 && entry < size as f64).then_some(entry as usize)
    };
    let entries: Vec<usize> = entries.iter().map(index).collect::<Option<_>>()?;
    (entries.chunk_by(|one, next| one + 1 == *next).count() <= MOST_RUNS).then_some(entries)
}

fn index_select(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, indices) = (call.first()?, call.tensor("index")?);
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    Ok(vec![along_axis(builder, value, axis, indices)?])
}

/// The axes of one array of indices take the place of an axis.
fn along_axis(builder: &mut Builder, value: ValueId, axis: usize, indices: ValueId) -> Result<ValueId> {
    let (own, places) = (builder.shape(value).to_vec(), builder.shape(indices).to_vec());
    let shape = [&own[..axis], &places, &own[axis + 1..]].concat();
    if let Some(entries) = constant(builder, indices, own[axis]) {
        let taken = builder.take(value, axis, &entries)?;
        return builder.reshape(taken, &shape);
    }
    let from: Vec<Index> = (0..own.len()).map(|other| if other == axis { Fixed } else { Any(other) }).collect();
    let of: Vec<Index> = (0..places.len()).map(|place| Any(own.len() + place)).collect();
    let result = [&from[..axis], &of, &from[axis + 1..]].concat();
    builder.indexed_one(&[(value, from), (indices, of)], &shape, result)
}

/// `value[indices]`, with an array of indices, or none, for each of the first axes.
fn index(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let Some(Given::Tensors(given)) = call.given("indices") else { return Err(builder.error("it has no indices")) };
    let axes = builder.shape(value).len();
    let mut found: Vec<(usize, ValueId)> = Vec::new();
    for (axis, operand) in given.iter().enumerate() {
        match operand {
            None => {}
            Some(Operand { value: Some(indices), dtype }) if *dtype != BOOL && *dtype != 1 => found.push((axis, *indices)),
            Some(_) => return masked(builder, call, value, given),
        }
    }
    if found.is_empty() || found.iter().any(|(axis, _)| *axis >= axes) {
        return Err(builder.error("its indices do not fit"));
    }
    if let [(axis, indices)] = found[..] {
        return Ok(vec![along_axis(builder, value, axis, indices)?]);
    }
    // The broadcast axes of the indices take the place of neighbouring axes; else they come first.
    let (first, last) = (found[0].0, found[found.len() - 1].0);
    let at = if last - first + 1 == found.len() { first } else { 0 };
    let rank = found.iter().map(|(_, indices)| builder.shape(*indices).len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for (_, indices) in &found {
        for (all, own) in common.iter_mut().rev().zip(builder.shape(*indices).iter().rev()) {
            *all = (*all).max(*own);
        }
    }
    let taken = |axis: usize| found.iter().any(|(own, _)| *own == axis);
    let own: Vec<Index> = (0..axes).map(|axis| if taken(axis) { Fixed } else { Any(axis) }).collect();
    let mut operands = vec![(value, own)];
    for (_, indices) in &found {
        let shape = builder.shape(*indices);
        let skipped = rank - shape.len();
        let of = |(axis, size): (usize, &usize)| {
            if *size == 1 && common[skipped + axis] != 1 { One } else { Any(axes + skipped + axis) }
        };
        operands.push((*indices, shape.iter().enumerate().map(of).collect()));
    }
    let mut result: Vec<Index> = (0..axes).filter(|axis| !taken(*axis)).map(Any).collect();
    result.splice(at..at, (0..rank).map(|axis| Any(axes + axis)));
    Ok(vec![builder.indexed_one(&operands, call.shape(0)?, result)?])
}

/// One array of truth values, for the first axes, which become one.
fn masked(builder: &mut Builder, call: &Call, value: ValueId, given: &[Option<Operand>]) -> Result<Vec<ValueId>> {
    let [Some(Operand { value: Some(mask), .. })] = given else { return Err(builder.error("its masks are not understood")) };
    let (axes, masked) = (builder.shape(value).len(), builder.shape(*mask).len());
    let own: Vec<Index> = (0..axes).map(|axis| if axis < masked { Fixed } else { Any(axis) }).collect();
    let result = [Fixed].into_iter().chain((masked..axes).map(Any)).collect();
    Ok(vec![builder.indexed_one(&[(value, own), (*mask, vec![Fixed; masked])], call.shape(0)?, result)?])
}

/// Along an axis, each place of the others has indices of its own.
fn gather(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, indices) = (call.first()?, call.tensor("index")?);
    let (own, places) = (builder.shape(value).to_vec(), builder.shape(indices).to_vec());
    let axis = call.axis("dim", 0, own.len())?;
    if places.len() != own.len() {
        return Err(builder.error("its indices do not fit"));
    }
    let other = |at: usize| if own[at] == places[at] { Any(at) } else { Fixed };
    let from: Vec<Index> = (0..own.len()).map(|at| if at == axis { Fixed } else { other(at) }).collect();
    let of: Vec<Index> = (0..own.len()).map(|at| if at == axis { Any(own.len()) } else { other(at) }).collect();
    Ok(vec![builder.indexed_one(&[(value, from), (indices, of.clone())], &places, of)?])
}
