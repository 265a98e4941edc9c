//! Operators that move or count the entries of constants.

use std::rc::Rc;

use super::{Folded, is_small};
use crate::error::Result;
use crate::onnx::call::{Call, position};
use crate::onnx::data::Initializer;
use crate::onnx::entries::{Entries, broadcast_strides, positions, strides};
use crate::onnx::tensor::DataType;

/// The outputs of an operator that moves entries; none if it is not computed here.
pub(super) fn evaluate(call: &mut Call<'_>, inputs: &[Option<Rc<Entries>>]) -> Folded {
    let Some(first) = inputs[0].clone() else { return Ok(None) };
    let same = |shape| Ok(Some(vec![Entries { shape, ..first.as_ref().clone() }]));
    match call.node.operator.as_str() {
        "Reshape" => {
            let wanted = inputs.get(1).cloned().flatten().and_then(|wanted| wanted.to_integers());
            let Some(wanted) = wanted else { return Ok(None) };
            same(call.reshaped(&first.shape, &wanted)?)
        }
        "Flatten" => same(call.flattened()?),
        "Squeeze" => same(call.squeezed()?),
        "Unsqueeze" => same(call.unsqueezed()?),
        "Transpose" => {
            let order = call.order(first.shape.len())?;
            let shape: Vec<usize> = order.iter().map(|axis| first.shape[*axis]).collect();
            let own = strides(&first.shape);
            let steps: Vec<isize> = order.iter().map(|axis| own[*axis] as isize).collect();
            Ok(Some(vec![first.gathered(shape.clone(), positions(&shape, &steps, 0))]))
        }
        "Concat" => concat(call, inputs).map(|entries| entries.map(|entries| vec![entries])),
        "Slice" => {
            let (mut shape, mut offset) = (first.shape.clone(), 0);
            let own = strides(&first.shape);
            let mut steps: Vec<isize> = own.iter().map(|stride| *stride as isize).collect();
            for part in call.parts()? {
                shape[part.axis] = part.len;
                offset += part.start * own[part.axis];
                // The step of an axis with one entry is never taken.
                steps[part.axis] = if part.len > 1 { own[part.axis] as isize * part.step as isize } else { 0 };
            }
            Ok(Some(vec![first.gathered(shape.clone(), positions(&shape, &steps, offset))]))
        }
        "Split" => {
            let axis = call.axis("axis", 0, first.shape.len())?;
            let own: Vec<isize> = strides(&first.shape).into_iter().map(|stride| stride as isize).collect();
            let mut start = 0;
            let part = |len: usize| {
                let mut shape = first.shape.clone();
                shape[axis] = len;
                let part = first.gathered(shape.clone(), positions(&shape, &own, start * own[axis] as usize));
                start += len;
                part
            };
            Ok(Some(call.split(first.shape[axis])?.into_iter().map(part).collect()))
        }
        "Gather" => gather(call, &first, inputs),
        "Expand" => {
            let Some(shape) = call.expanded()?.filter(|shape| is_small(shape)) else { return Ok(None) };
            let own = broadcast_strides(&first.shape, &shape).expect("the common shape was asked for");
            Ok(Some(vec![first.gathered(shape.clone(), positions(&shape, &own, 0))]))
        }
        "Range" => range(call, inputs),
        "ConstantOfShape" => constant_of_shape(call, &first),
        "NonZero" => {
            let (axes, own) = (first.shape.len(), strides(&first.shape));
            let found: Vec<usize> = (0..first.data.len()).filter(|position| first.data[*position] != 0.0).collect();
            let entry = |axis: usize, position: usize| position / own[axis] % first.shape[axis];
            let entries = (0..axes).flat_map(|axis| found.iter().map(move |position| entry(axis, *position) as f64));
            let shape = vec![axes, found.len()];
            if !is_small(&shape) {
                return Ok(None);
            }
            Ok(Some(vec![Entries { shape, data_type: DataType::I64, data: entries.collect() }]))
        }
        "ReduceProd" | "ReduceSum" | "ReduceMin" | "ReduceMax" => reduce(call, &first, inputs.len()),
        _ => Ok(None),
    }
}

fn concat(call: &Call<'_>, inputs: &[Option<Rc<Entries>>]) -> Result<Option<Entries>> {
    let parts: Vec<&Entries> = inputs.iter().flatten().map(Rc::as_ref).collect();
    let mut shape = parts[0].shape.clone();
    let axis = call.axis("axis", 0, shape.len())?;
    shape[axis] = 0;
    for part in &parts {
        let fits = part.shape.len() == shape.len()
            && part.shape.iter().zip(&shape).enumerate().all(|(at, (own, all))| at == axis || own == all);
        if !fits {
            return Err(call.error(format!("{:?} does not fit along axis {axis} of the others", part.shape)));
        }
        shape[axis] = shape[axis].saturating_add(part.shape[axis]);
    }
    if !is_small(&shape) {
        return Ok(None);
    }
    let outer: usize = shape[..axis].iter().product();
    let mut data = Vec::new();
    for row in 0..outer {
        for part in &parts {
            let len = part.data.len() / outer.max(1);
            data.extend_from_slice(&part.data[row * len..(row + 1) * len]);
        }
    }
    Ok(Some(Entries { shape, data_type: parts[0].data_type, data }))
}

fn gather(call: &Call<'_>, first: &Entries, inputs: &[Option<Rc<Entries>>]) -> Folded {
    let axis = call.axis("axis", 0, first.shape.len())?;
    let Some(Some(indices)) = inputs.get(1) else { return Ok(None) };
    let shape = [&first.shape[..axis], &indices.shape, &first.shape[axis + 1..]].concat();
    if !is_small(&shape) {
        return Ok(None);
    }
    let size = first.shape[axis];
    let places: Option<Vec<usize>> = indices.data.iter().map(|index| position(*index as i64, size)).collect();
    let places = places.ok_or_else(|| call.error(format!("an index is not in an axis of {size} entries")))?;
    let (outer, inner) = (first.shape[..axis].iter().product(), first.shape[axis + 1..].iter().product::<usize>());
    let mut data = Vec::new();
    for row in 0..outer {
        for place in &places {
            let start = (row * size + place) * inner;
            data.extend_from_slice(&first.data[start..start + inner]);
        }
    }
    Ok(Some(vec![Entries { shape, data_type: first.data_type, data }]))
}

fn range(call: &Call<'_>, inputs: &[Option<Rc<Entries>>]) -> Folded {
    let number = |input: usize| inputs.get(input).cloned().flatten().and_then(|entries| entries.single());
    let (Some(start), Some(limit), Some(step)) = (number(0), number(1), number(2)) else { return Ok(None) };
    let len = ((limit - start) / step).ceil().max(0.0);
    if !len.is_finite() {
        return Err(call.error(format!("a range from {start} to {limit} in steps of {step} has no end")));
    }
    if !is_small(&[len as usize]) {
        return Ok(None);
    }
    let data: Vec<f64> = (0..len as usize).map(|entry| start + entry as f64 * step).collect();
    let data_type = inputs[0].as_ref().map_or(DataType::I64, |entries| entries.data_type);
    Ok(Some(vec![Entries { shape: vec![data.len()], data_type, data }]))
}

fn constant_of_shape(call: &Call<'_>, first: &Entries) -> Folded {
    let shape: Option<Vec<usize>> =
        first.to_integers().unwrap_or_default().into_iter().map(|size| usize::try_from(size).ok()).collect();
    let Some(shape) = shape.filter(|shape| is_small(shape)) else { return Ok(None) };
    let (entry, data_type) = match call.attribute("value").and_then(|attribute| attribute.tensor.as_deref()) {
        None => (0.0, DataType::F32),
        Some(tensor) => {
            let tensor = Initializer::new(tensor.clone(), &call.scope.source)?;
            if tensor.len() != 1 {
                return Err(call.error("its value is no single number"));
            }
            (tensor.read_f64()?[0], tensor.data_type)
        }
    };
    let len = shape.iter().product();
    Ok(Some(vec![Entries { shape, data_type, data: vec![entry; len] }]))
}

fn reduce(call: &mut Call<'_>, first: &Entries, inputs: usize) -> Folded {
    // Only the reduction of a vector to a number occurs in the computation of shapes.
    if first.shape.len() != 1 || first.data.is_empty() || call.flag("noop_with_empty_axes", false) {
        return Ok(None);
    }
    if inputs > 1 || call.attribute("axes").is_some() {
        let axes = call.integers("axes", 1)?.unwrap_or_default();
        call.places(&axes, 1)?;
    }
    let entries = first.data.iter().copied();
    let entry = match call.node.operator.as_str() {
        "ReduceProd" => entries.product(),
        "ReduceSum" => entries.sum(),
        "ReduceMin" => entries.fold(f64::INFINITY, f64::min),
        _ => entries.fold(f64::NEG_INFINITY, f64::max),
    };
    let shape = if call.flag("keepdims", true) { vec![1] } else { Vec::new() };
    Ok(Some(vec![Entries { shape, data_type: first.data_type, data: vec![entry] }]))
}
