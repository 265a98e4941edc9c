//! Operators that give the same entries another shape or order of axes, or repeat them, or do nothing here.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::graph::{Index, ValueId};
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("_conj", same),
    ("_reshape_alias", reshape),
    ("_to_copy", same),
    ("_unsafe_view", reshape),
    ("adjoint", transpose_last),
    ("alias", same),
    ("alias_copy", same),
    ("alpha_dropout", same),
    ("atleast_1d", reshape),
    ("atleast_2d", reshape),
    ("broadcast_tensors", broadcast_tensors),
    ("broadcast_to", expand),
    ("conj", same),
    ("contiguous", same),
    ("detach", same),
    ("detach_copy", same),
    ("dropout", same),
    ("expand", expand),
    ("expand_as", expand),
    ("expand_copy", expand),
    ("feature_alpha_dropout", same),
    ("feature_dropout", same),
    ("flatten", reshape),
    ("imag", same),
    ("lift", same),
    ("lift_fresh", same),
    ("linalg_matrix_transpose", transpose_last),
    ("mH", transpose_last),
    ("mT", transpose_last),
    ("matrix_H", transpose_last),
    ("moveaxis", movedim),
    ("movedim", movedim),
    ("numpy_T", reverse),
    ("permute", permute),
    ("permute_copy", permute),
    ("ravel", reshape),
    ("real", same),
    ("repeat", repeat),
    ("repeat_interleave", repeat_interleave),
    ("requires_grad", same),
    ("reshape", reshape),
    ("reshape_as", reshape),
    ("resolve_conj", same),
    ("resolve_neg", same),
    ("squeeze", reshape),
    ("squeeze_copy", reshape),
    ("swapaxes", transpose),
    ("swapdims", transpose),
    ("t", reverse),
    ("t_copy", reverse),
    ("tile", repeat),
    ("to", same),
    ("transpose", transpose),
    ("transpose_copy", transpose),
    ("type_as", same),
    ("unflatten", reshape),
    ("unfold", unfold),
    ("unsqueeze", reshape),
    ("unsqueeze_copy", reshape),
    ("view", reshape),
    ("view_as", reshape),
    ("view_as_complex", view_as_complex),
    ("view_as_real", view_as_real),
    ("view_copy", reshape),
];

/// The same entries, perhaps as numbers of another type.
fn same(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let operand = call.operand()?;
    let value = call.first()?;
    // A constant whose numbers were converted is not the constant that the file has.
    let converted = call.outputs.first().is_some_and(|output| output.dtype != operand.dtype);
    Ok(vec![if converted { builder.elementwise(&[value])? } else { value }])
}

/// The same entries in the declared shape.
fn reshape(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let operand = call.operand()?;
    if call.outputs.first().is_some_and(|output| output.dtype != operand.dtype) {
        return Err(builder.error("the bytes of its numbers become other numbers"));
    }
    Ok(vec![builder.reshape(call.first()?, call.shape(0)?)?])
}

fn expand(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    Ok(vec![call.same(builder, call.first()?)?])
}

fn broadcast_tensors(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let values = call.values.iter().enumerate();
    values.map(|(output, value)| builder.broadcast(&[*value], call.shape(output)?)).collect()
}

fn permute(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    Ok(vec![if axes == 0 { value } else { builder.transpose(value, &call.axes("dims", axes)?)? }])
}

fn transpose(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    let names = if call.given("dim0").is_some() { ["dim0", "dim1"] } else { ["axis0", "axis1"] };
    let [first, second] = names.map(|name| call.axis(name, -1, axes));
    Ok(vec![builder.swap_axes(value, first?, second?)?])
}

fn transpose_last(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    Ok(vec![builder.swap_axes(value, axes.saturating_sub(2), axes.saturating_sub(1))?])
}

/// All axes in reverse; a vector stays as it is.
fn reverse(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let order: Vec<usize> = (0..builder.shape(value).len()).rev().collect();
    Ok(vec![builder.transpose(value, &order)?])
}

fn movedim(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    let (from, to) = (call.axes("source", axes)?, call.axes("destination", axes)?);
    let mut rest = (0..axes).filter(|axis| !from.contains(axis));
    let place = |axis: usize| match to.iter().position(|to| *to == axis) {
        Some(at) => from.get(at).copied(),
        None => rest.next(),
    };
    let order: Option<Vec<usize>> = (0..axes).map(place).collect();
    match order {
        Some(order) => Ok(vec![builder.transpose(value, &order)?]),
        None => Err(builder.error(format!("axes {from:?} cannot become {to:?}"))),
    }
}

/// The whole array several times, one behind the other along each axis.
fn repeat(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, to) = (call.first()?, call.shape(0)?);
    let own = builder.shape(value).to_vec();
    let skipped = to.len().saturating_sub(own.len());
    let (mut split, mut wide) = (Vec::new(), Vec::new());
    for (axis, all) in to.iter().enumerate() {
        let size = if axis < skipped { 1 } else { own[axis - skipped] };
        let times = all / size;
        if times > 1 {
            split.push(1);
            wide.push(times);
        }
        split.push(size);
        wide.push(size);
    }
    let value = builder.reshape(value, &split)?;
    let value = if split == wide { value } else { builder.broadcast(&[value], &wide)? };
    Ok(vec![builder.reshape(value, to)?])
}

/// Each entry of an axis several times, next to one another.
fn repeat_interleave(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    if call.overload != "self_int" {
        return Err(builder.error("how often entries are repeated is not known"));
    }
    let value = call.first()?;
    let mut own = builder.shape(value).to_vec();
    if call.given("dim").is_none() {
        own = vec![own.iter().product()];
    }
    let (axis, times) = (call.axis("dim", 0, own.len())?, call.size("repeats", 1)?);
    let with = |times: usize| [&own[..=axis], &[times], &own[axis + 1..]].concat();
    let value = builder.reshape(value, &with(1))?;
    let value = if times == 1 { value } else { builder.broadcast(&[value], &with(times))? };
    Ok(vec![builder.reshape(value, call.shape(0)?)?])
}

/// Windows of an axis, behind all axes.
fn unfold(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    let axis = call.axis("dimension", -1, axes)?;
    let own: Vec<Index> = (0..axes).map(|own| if own == axis { Fixed } else { Any(own) }).collect();
    let result = own.iter().copied().chain([Fixed]).collect();
    Ok(vec![builder.indexed_one(&[(value, own)], call.shape(0)?, result)?])
}

/// (..., real and imaginary part) becomes (...).
fn view_as_complex(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let result: Vec<Index> = (0..builder.shape(value).len().saturating_sub(1)).map(Any).collect();
    let own = result.iter().copied().chain([Fixed]).collect();
    Ok(vec![builder.indexed_one(&[(value, own)], call.shape(0)?, result)?])
}

/// The inverse.
fn view_as_real(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let own: Vec<Index> = (0..builder.shape(value).len()).map(Any).collect();
    let result = own.iter().copied().chain([Fixed]).collect();
    Ok(vec![builder.indexed_one(&[(value, own)], call.shape(0)?, result)?])
}
