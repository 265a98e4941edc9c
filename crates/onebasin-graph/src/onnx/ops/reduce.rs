//! Reductions over axes, and operators that compare, sort or add up along one.

use super::Table;
use crate::graph::Index;
use crate::onnx::call::{Call, Outputs, one};

#[rustfmt::skip]
pub(super) const TABLE: Table = &[
    (&[
        "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
        "ReduceSumSquare",
    ], reduce),
    (&["GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"], global),
    (&["ArgMax", "ArgMin"], arg),
    (&["TopK"], top),
    (&["CumProd", "CumSum"], cumulate),
    // Of equal entries, the first is chosen: the axis is in order.
    (&["Hardmax"], hardmax),
    (&["Trilu"], triangle),
    (&["LRN"], neighbours),
    (&["ReverseSequence"], reverse),
];

fn reduce(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    let axes = call.shape(0)?.len();
    let over = match call.integers("axes", 1)? {
        Some(over) if !over.is_empty() => call.places(&over, axes)?,
        _ if call.flag("noop_with_empty_axes", false) => Vec::new(),
        _ => (0..axes).collect(),
    };
    let keep = call.flag("keepdims", true);
    one(call.scope.builder.reduce(value, &over, keep)?)
}

fn global(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    let over: Vec<usize> = (2..call.shape(0)?.len()).collect();
    one(call.scope.builder.reduce(value, &over, true)?)
}

fn arg(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    let from = call.shape(0)?;
    let axis = call.axis("axis", 0, from.len())?;
    let own: Vec<Index> = (0..from.len()).map(|at| if at == axis { Index::Fixed } else { Index::Any(at) }).collect();
    let (mut shape, mut indices) = (from, own.clone());
    if call.flag("keepdims", true) {
        shape[axis] = 1;
    } else {
        shape.remove(axis);
        indices.remove(axis);
    }
    one(call.scope.builder.indexed_one(&[(value, own)], &shape, indices)?)
}

fn top(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    let mut shape = call.shape(0)?;
    let axis = call.axis("axis", -1, shape.len())?;
    let Some(count) = call.numbers(1)?.and_then(|entries| entries.single()) else { return Ok(None) };
    let own: Vec<Index> = (0..shape.len()).map(|at| if at == axis { Index::Fixed } else { Index::Any(at) }).collect();
    shape[axis] = count as usize;
    call.scope.builder.indexed(&[(value, own.clone())], &[(shape.clone(), own.clone()), (shape, own)]).map(Some)
}

fn cumulate(call: &mut Call<'_>) -> Outputs {
    let axes = call.shape(0)?.len();
    let axis = call.numbers(1)?.and_then(|entries| entries.single());
    match axis {
        Some(axis) => {
            let axis = call.place(axis as i64, axes)?;
            along(call, &[axis])
        }
        None => along(call, &(0..axes).collect::<Vec<_>>()),
    }
}

fn hardmax(call: &mut Call<'_>) -> Outputs {
    let axes = call.shape(0)?.len();
    let axis = call.axis("axis", if call.version < 13 { 1 } else { -1 }, axes)?;
    // Before version 13, all axes from this one on were one.
    let ordered: Vec<usize> = if call.version < 13 { (axis..axes).collect() } else { vec![axis] };
    along(call, &ordered)
}

fn triangle(call: &mut Call<'_>) -> Outputs {
    let axes = call.shape(0)?.len();
    along(call, &(axes.saturating_sub(2)..axes).collect::<Vec<_>>())
}

fn neighbours(call: &mut Call<'_>) -> Outputs {
    along(call, &[1])
}

fn reverse(call: &mut Call<'_>) -> Outputs {
    let (value, lengths) = (call.input(0)?, call.input(1)?);
    let shape = call.shape(0)?;
    let (time, batch) = (call.axis("time_axis", 0, shape.len())?, call.axis("batch_axis", 1, shape.len())?);
    let index = |at: usize| if at == time || at == batch { Index::Fixed } else { Index::Any(at) };
    let own: Vec<Index> = (0..shape.len()).map(index).collect();
    one(call.scope.builder.indexed_one(&[(value, own.clone()), (lengths, vec![Index::Fixed])], &shape, own)?)
}

/// An operator that depends on the order of some axes and keeps the shape.
fn along(call: &mut Call<'_>, ordered: &[usize]) -> Outputs {
    let value = call.input(0)?;
    let shape = call.shape(0)?;
    one(call.scope.builder.along(value, ordered, &shape)?)
}
