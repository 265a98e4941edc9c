//! Operators that join arrays or take parts of them: concatenation, split, slice, padding.

use super::Table;
use crate::onnx::arguments::Part;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table =
    &[(&["Concat"], concat), (&["Split"], split), (&["Slice"], slice), (&["Pad"], pad), (&["CenterCropPad"], center)];

fn concat(call: &mut Call<'_>) -> Outputs {
    let axis = call.axis("axis", 0, call.shape(0)?.len())?;
    let mut parts = Vec::new();
    for input in 0..call.node.inputs.len() {
        // A part without entries adds nothing.
        if !call.shape(input)?.contains(&0) {
            parts.push(call.input(input)?);
        }
    }
    one(if let [part] = parts[..] { part } else { call.scope.builder.concat(&parts, axis)? })
}

fn split(call: &mut Call<'_>) -> Outputs {
    let shape = call.shape(0)?;
    let axis = call.axis("axis", 0, shape.len())?;
    let sizes = call.split(shape[axis])?;
    let value = call.input(0)?;
    let mut start = 0;
    let mut parts = Vec::with_capacity(sizes.len());
    for size in sizes {
        parts.push(call.scope.builder.slice(value, axis, start, size)?);
        start += size;
    }
    Ok(Some(parts))
}

fn slice(call: &mut Call<'_>) -> Outputs {
    let parts = call.parts()?;
    let mut value = call.input(0)?;
    let builder = &mut call.scope.builder;
    for Part { axis, start, step, len } in parts {
        let mut shape = builder.shape(value).to_vec();
        value = if step == 1 || len == 1 {
            builder.slice(value, axis, start, len)?
        } else {
            shape[axis] = len;
            builder.along(value, &[axis], &shape)?
        };
    }
    one(value)
}

fn pad(call: &mut Call<'_>) -> Outputs {
    let from = call.shape(0)?;
    let pads = call.integers("pads", 1)?.ok_or_else(|| call.error("its pads are missing"))?;
    let axes = match call.name(3) {
        Some(_) => {
            let axes = call.integers("axes", 3)?.unwrap_or_default();
            call.places(&axes, from.len())?
        }
        None => (0..from.len()).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(call.error(format!("pads {pads:?} do not fit {} axes", axes.len())));
    }
    let constant = call.text("mode", "constant") == "constant";
    let mut value = call.input(0)?;
    for (at, axis) in axes.iter().enumerate() {
        let (before, behind) = (pads[at], pads[axes.len() + at]);
        let size = from[*axis] as i64;
        let new = size.checked_add(before).and_then(|size| size.checked_add(behind)).filter(|new| *new > 0);
        let Some(new) = new else {
            return Err(call.error(format!("pads {before} and {behind} leave nothing of axis {axis} of {from:?}")));
        };
        let builder = &mut call.scope.builder;
        if before == 0 && behind == 0 {
            continue;
        }
        value = if constant {
            // Negative ones remove entries.
            let (cut_before, cut_behind) = (before.saturating_neg().max(0), behind.saturating_neg().max(0));
            let rest = size.saturating_sub(cut_before).saturating_sub(cut_behind);
            if rest <= 0 {
                return Err(call.error(format!("pads {before} and {behind} leave nothing of axis {axis} of {from:?}")));
            }
            let part = builder.slice(value, *axis, cut_before as usize, rest as usize)?;
            builder.pad(part, *axis, before.max(0) as usize, behind.max(0) as usize)?
        } else {
            let mut shape = builder.shape(value).to_vec();
            shape[*axis] = new as usize;
            builder.along(value, &[*axis], &shape)?
        };
    }
    one(value)
}

fn center(call: &mut Call<'_>) -> Outputs {
    let mut shape = call.shape(0)?;
    let axes = match call.attribute("axes") {
        Some(axes) => call.places(&axes.integers, shape.len())?,
        None => (0..shape.len()).collect(),
    };
    let Some(sizes) = call.numbers(1)?.and_then(|entries| entries.to_integers()) else { return Ok(None) };
    if sizes.len() != axes.len() {
        return Err(call.error(format!("{sizes:?} does not fit {} axes", axes.len())));
    }
    for (axis, size) in axes.iter().zip(sizes) {
        shape[*axis] = usize::try_from(size).map_err(|_| call.error(format!("a size of {size}")))?;
    }
    let value = call.input(0)?;
    one(call.scope.builder.along(value, &axes, &shape)?)
}
