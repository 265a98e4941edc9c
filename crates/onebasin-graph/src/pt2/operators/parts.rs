//! Operators that join arrays, or take parts of them.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("cat", cat),
    ("chunk", split),
    ("concat", cat),
    ("concatenate", cat),
    ("constant_pad_nd", pad),
    ("narrow", narrow),
    ("narrow_copy", narrow),
    ("pad", pad),
    ("select", select),
    ("select_copy", select),
    ("select_scatter", select_scatter),
    ("slice", slice),
    ("slice_copy", slice),
    ("slice_scatter", slice_scatter),
    ("split", split),
    ("split_copy", split),
    ("split_with_sizes", split),
    ("split_with_sizes_copy", split),
    ("stack", stack),
    ("tensor_split", split),
    ("unbind", unbind),
    ("unbind_copy", unbind),
    ("unsafe_chunk", split),
    ("unsafe_split", split),
    ("unsafe_split_with_sizes", split),
];

fn cat(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let values = call.tensors("tensors")?;
    let axis = call.axis("dim", 0, call.shape(0)?.len())?;
    Ok(vec![if let [value] = values[..] { value } else { builder.concat(&values, axis)? }])
}

fn stack(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let values = call.tensors("tensors")?;
    let axis = call.axis("dim", 0, call.shape(0)?.len())?;
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        let mut shape = builder.shape(value).to_vec();
        shape.insert(axis.min(shape.len()), 1);
        parts.push(builder.reshape(value, &shape)?);
    }
    Ok(vec![if let [part] = parts[..] { part } else { builder.concat(&parts, axis)? }])
}

/// Parts of the declared sizes, one behind the other.
fn split(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    let mut parts = Vec::with_capacity(call.outputs.len());
    let mut start = 0usize;
    for output in &call.outputs {
        let len = output.shape.get(axis).copied().unwrap_or(0);
        parts.push(builder.slice(value, axis, start, len)?);
        start = start.saturating_add(len);
    }
    if start != builder.shape(value)[axis] {
        return Err(builder.error(format!("its parts have {start} entries in all")));
    }
    Ok(parts)
}

fn unbind(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    if call.outputs.len() != builder.shape(value)[axis] {
        return Err(builder.error("it has another number of parts"));
    }
    (0..call.outputs.len()).map(|entry| builder.select(value, axis, entry)).collect()
}

/// An index where negative ones count from behind, at most the size.
fn clamp(index: i64, size: usize) -> usize {
    let index = if index < 0 { index.saturating_add(size as i64) } else { index };
    usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(size)
}

fn select(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    let entry = clamp(call.integer("index", 0)?, builder.shape(value)[axis]);
    Ok(vec![builder.select(value, axis, entry)?])
}

fn narrow(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    let start = clamp(call.integer("start", 0)?, builder.shape(value)[axis]);
    Ok(vec![builder.slice(value, axis, start, call.size("length", 0)?)?])
}

fn slice(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let shape = builder.shape(value).to_vec();
    let axis = call.axis("dim", 0, shape.len())?;
    let size = shape[axis];
    let start = clamp(call.integer("start", 0)?, size);
    let end = clamp(call.integer("end", i64::MAX)?, size);
    let step = call.size("step", 1)?;
    let len = end.saturating_sub(start).div_ceil(step.max(1));
    if step <= 1 {
        return Ok(vec![builder.slice(value, axis, start, len)?]);
    }
    if start >= step || !size.is_multiple_of(step) || len != size / step {
        return Ok(vec![builder.along(value, &[axis], call.shape(0)?)?]);
    }
    // Every step-th entry is one of (entry, step).
    let split = builder.reshape(value, &[&shape[..axis], &[len, step], &shape[axis + 1..]].concat())?;
    Ok(vec![builder.select(split, axis + 1, start)?])
}

/// The array with `len` entries of an axis from `start` on replaced.
fn replace(builder: &mut Builder, value: ValueId, part: ValueId, axis: usize, start: usize) -> Result<Vec<ValueId>> {
    let (all, len) = (builder.shape(value)[axis], builder.shape(part).get(axis).copied().unwrap_or(0));
    let mut parts = Vec::new();
    if start > 0 {
        parts.push(builder.slice(value, axis, 0, start)?);
    }
    parts.push(part);
    if start.saturating_add(len) < all {
        parts.push(builder.slice(value, axis, start + len, all - start - len)?);
    }
    Ok(vec![if let [part] = parts[..] { part } else { builder.concat(&parts, axis)? }])
}

fn slice_scatter(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, part) = (call.first()?, call.tensor("src")?);
    let axis = call.axis("dim", 0, builder.shape(value).len())?;
    if call.size("step", 1)? != 1 {
        return Err(builder.error("it replaces entries that are no neighbours"));
    }
    let start = clamp(call.integer("start", 0)?, builder.shape(value)[axis]);
    replace(builder, value, part, axis, start)
}

fn select_scatter(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, part) = (call.first()?, call.tensor("src")?);
    let mut shape = builder.shape(value).to_vec();
    let axis = call.axis("dim", 0, shape.len())?;
    let entry = clamp(call.integer("index", 0)?, shape[axis]);
    shape[axis] = 1;
    let part = builder.reshape(part, &shape)?;
    replace(builder, value, part, axis, entry)
}

/// Padding of the last axes, the last one first; negative padding takes entries away.
fn pad(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let mut value = call.first()?;
    let axes = builder.shape(value).len();
    let padding = call.integers("pad")?.unwrap_or_default();
    if padding.len() > 2 * axes || !padding.len().is_multiple_of(2) {
        return Err(builder.error(format!("padding {padding:?} does not fit {axes} axes")));
    }
    if call.text("mode").is_some_and(|mode| mode != "constant") {
        let padded: Vec<usize> = (axes - padding.len() / 2..axes).collect();
        return Ok(vec![builder.along(value, &padded, call.shape(0)?)?]);
    }
    for (pair, axis) in padding.chunks_exact(2).zip((0..axes).rev()) {
        let [before, behind] = [pair[0], pair[1]].map(|count| usize::try_from(count).unwrap_or(0));
        let [less, lesser] = [pair[0], pair[1]].map(|count| usize::try_from(count.saturating_neg()).unwrap_or(0));
        let len = builder.shape(value)[axis].saturating_sub(less).saturating_sub(lesser);
        value = builder.slice(value, axis, less, len)?;
        value = builder.pad(value, axis, before, behind)?;
    }
    Ok(vec![value])
}
