//! Softmax and normalisations, with parameters or without.

use super::Table;
use crate::graph::Index::{self, Any};
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table = &[
    (&["LogSoftmax", "Softmax"], softmax),
    (&["LpNormalization"], vectors),
    (&["MeanVarianceNormalization"], deviations),
    (&["BatchNormalization"], batch),
    (&["InstanceNormalization"], instance),
    (&["LayerNormalization", "RMSNormalization"], layer),
    (&["GroupNormalization"], group),
];

fn softmax(call: &mut Call<'_>) -> Outputs {
    let axes = call.shape(0)?.len();
    let axis = call.axis("axis", if call.version < 13 { 1 } else { -1 }, axes)?;
    // Before version 13, all axes from this one on were one.
    let over: Vec<usize> = if call.version < 13 { (axis..axes).collect() } else { vec![axis] };
    mix(call, &over)
}

fn vectors(call: &mut Call<'_>) -> Outputs {
    let axis = call.axis("axis", -1, call.shape(0)?.len())?;
    mix(call, &[axis])
}

fn deviations(call: &mut Call<'_>) -> Outputs {
    let axes = call.attribute("axes").map_or_else(|| vec![0, 2, 3], |axes| axes.integers.clone());
    let over = call.places(&axes, call.shape(0)?.len())?;
    mix(call, &over)
}

fn mix(call: &mut Call<'_>, over: &[usize]) -> Outputs {
    let value = call.input(0)?;
    one(call.scope.builder.mix(value, over)?)
}

fn batch(call: &mut Call<'_>) -> Outputs {
    let inputs = call.all()?;
    let [value, tensors @ ..] = &inputs[..] else { return Err(call.error("it has no inputs")) };
    let shape = call.shape(0)?;
    let result = call.scope.builder.normalise_channels(*value, tensors)?;
    call.scope.builder.hold_statistics(tensors.get(2..).unwrap_or_default());
    let mut outputs = vec![result];
    if call.returns(1) || call.returns(2) {
        // The statistics of a training step: one for each channel, from the input and the former ones.
        let own: Vec<Index> = (0..shape.len()).map(Any).collect();
        let former = tensors.iter().map(|tensor| (*tensor, vec![Any(1)]));
        let operands: Vec<_> = [(*value, own)].into_iter().chain(former).collect();
        let channels = *shape.get(1).unwrap_or(&1);
        outputs.extend(
            call.scope.builder.indexed(&operands, &[(vec![channels], vec![Any(1)]), (vec![channels], vec![Any(1)])])?,
        );
    }
    Ok(Some(outputs))
}

fn instance(call: &mut Call<'_>) -> Outputs {
    let inputs = call.all()?;
    let [value, tensors @ ..] = &inputs[..] else { return Err(call.error("it has no inputs")) };
    one(call.scope.builder.normalise_channels(*value, tensors)?)
}

fn layer(call: &mut Call<'_>) -> Outputs {
    let inputs = call.all()?;
    let [value, tensors @ ..] = &inputs[..] else { return Err(call.error("it has no inputs")) };
    let axes = call.shape(0)?.len();
    let axis = call.axis("axis", -1, axes)?;
    let over: Vec<usize> = (axis..axes).collect();
    let normal = call.scope.builder.mix(*value, &over)?;
    let shape = call.shape(0)?;
    let mut outputs = vec![call.scope.builder.broadcast(&[&[normal], tensors].concat(), &shape)?];
    // Mean and deviation, or either.
    for _ in 1..call.node.outputs.len().min(3) {
        outputs.push(call.scope.builder.reduce(*value, &over, true)?);
    }
    Ok(Some(outputs))
}

fn group(call: &mut Call<'_>) -> Outputs {
    let (value, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let groups = call.size("num_groups", 0)?;
    if call.version >= 21 {
        return one(call.scope.builder.normalise_groups(value, groups, &[scale, bias])?);
    }
    // Before version 21, a whole group had one scale and one bias.
    let shape = call.shape(0)?;
    if shape.len() < 2 || groups == 0 || !shape[1].is_multiple_of(groups) {
        return Err(call.error(format!("{groups} groups of channels do not fit {shape:?}")));
    }
    let split = [&[shape[0], groups, shape[1] / groups], &shape[2..]].concat();
    let own: Vec<Index> = (0..split.len()).map(Any).collect();
    let builder = &mut call.scope.builder;
    let value = builder.reshape(value, &split)?;
    let operands = [(value, own.clone()), (scale, vec![Any(1)]), (bias, vec![Any(1)])];
    let result = builder.indexed_one(&operands, &split, own)?;
    one(builder.reshape(result, &shape)?)
}
