//! Operators that pick entries by indices, and that write to them.

use super::Table;
use crate::error::Result;
use crate::graph::Index::{self, Any, Fixed};
use crate::onnx::call::{Call, Outputs, one, position};

pub(super) const TABLE: Table = &[
    (&["Gather"], gather),
    (&["GatherElements"], gather_elements),
    (&["GatherND"], gather_nd),
    (&["Scatter", "ScatterElements"], scatter_elements),
    (&["ScatterND"], scatter_nd),
    (&["OneHot"], one_hot),
];

/// Number of neighbouring runs of entries up to which constant indices become slices.
const MOST_RUNS: usize = 256;

fn gather(call: &mut Call<'_>) -> Outputs {
    let (table, picks) = (call.shape(0)?, call.shape(1)?);
    let axis = call.axis("axis", 0, table.len())?;
    let shape = [&table[..axis], &picks, &table[axis + 1..]].concat();
    if let Some(entries) = call.entries(1)? {
        let size = table[axis];
        let places: Option<Vec<usize>> = entries.data.iter().map(|index| position(*index as i64, size)).collect();
        let places = places.ok_or_else(|| call.error(format!("an index is not in an axis of {size} entries")))?;
        if places.chunk_by(|one, next| one + 1 == *next).count() <= MOST_RUNS && !places.is_empty() {
            let value = call.input(0)?;
            let taken = call.scope.builder.take(value, axis, &places)?;
            return one(call.scope.builder.reshape(taken, &shape)?);
        }
    }
    let (value, indices) = (call.input(0)?, call.input(1)?);
    let own: Vec<Index> = (0..table.len()).map(|at| if at == axis { Fixed } else { Any(at) }).collect();
    let positions = vec![Fixed; picks.len()];
    let result = [&own[..axis], &positions, &own[axis + 1..]].concat();
    let result = call.scope.builder.indexed_one(&[(value, own), (indices, positions)], &shape, result)?;
    call.scope.builder.works_alone_at((0..table.len()).filter(|at| *at != axis));
    one(result)
}

/// The axes of arrays that correspond except along one: in order along it, and where the sizes differ.
fn corresponding(shapes: &[&[usize]], axis: usize) -> Vec<Index> {
    let index = |at: usize| {
        let equal = shapes.iter().all(|shape| shape.get(at) == shapes[0].get(at));
        if at != axis && equal { Any(at) } else { Fixed }
    };
    (0..shapes[0].len()).map(index).collect()
}

fn gather_elements(call: &mut Call<'_>) -> Outputs {
    let (from, picks) = (call.shape(0)?, call.shape(1)?);
    let axis = call.axis("axis", 0, from.len())?;
    let indices = corresponding(&[&from, &picks], axis);
    let (value, picked) = (call.input(0)?, call.input(1)?);
    one(call.scope.builder.indexed_one(&[(value, indices.clone()), (picked, indices.clone())], &picks, indices)?)
}

fn scatter_elements(call: &mut Call<'_>) -> Outputs {
    let (from, picks, news) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let axis = call.axis("axis", 0, from.len())?;
    let indices = corresponding(&[&from, &picks, &news], axis);
    let operands: Vec<_> = call.all()?.into_iter().map(|value| (value, indices.clone())).collect();
    one(call.scope.builder.indexed_one(&operands, &from, indices)?)
}

/// How many axes of the data each index of an operator on tuples of indices picks from.
fn tuple(call: &Call<'_>, axes: usize, picks: &[usize]) -> Result<usize> {
    match picks.last() {
        Some(tuple) if *tuple <= axes => Ok(*tuple),
        _ => Err(call.error(format!("indices {picks:?} do not fit {axes} axes"))),
    }
}

fn gather_nd(call: &mut Call<'_>) -> Outputs {
    let (from, picks) = (call.shape(0)?, call.shape(1)?);
    let batch = call.size("batch_dims", 0)?;
    let picked = tuple(call, from.len().saturating_sub(batch), &picks)? + batch;
    let (value, indices) = (call.input(0)?, call.input(1)?);
    let rest = from.len() - picked;
    let free: Vec<Index> = (0..rest).map(Any).collect();
    let behind = |fixed: usize| [&vec![Fixed; fixed][..], &free].concat();
    let shape = [&picks[..picks.len() - 1], &from[picked..]].concat();
    let operands = [(value, behind(picked)), (indices, vec![Fixed; picks.len()])];
    one(call.scope.builder.indexed_one(&operands, &shape, behind(picks.len() - 1))?)
}

fn scatter_nd(call: &mut Call<'_>) -> Outputs {
    let (from, picks) = (call.shape(0)?, call.shape(1)?);
    let picked = tuple(call, from.len(), &picks)?;
    let (value, indices, news) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let free: Vec<Index> = (0..from.len() - picked).map(Any).collect();
    let behind = |fixed: usize| [&vec![Fixed; fixed][..], &free].concat();
    let operands = [(value, behind(picked)), (indices, vec![Fixed; picks.len()]), (news, behind(picks.len() - 1))];
    one(call.scope.builder.indexed_one(&operands, &from, behind(picked))?)
}

fn one_hot(call: &mut Call<'_>) -> Outputs {
    let mut shape = call.shape(0)?;
    let axes = shape.len() + 1;
    let axis = call.axis("axis", -1, axes)?;
    let Some(depth) = call.numbers(1)?.and_then(|entries| entries.single()) else { return Ok(None) };
    shape.insert(axis, depth as usize);
    call.opaque(&[shape])
}
