//! Normalisations, and softmax.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, One};
use crate::graph::{Index, ValueId};
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("_batch_norm_no_update", batch),
    ("_batch_norm_with_update", batch),
    ("_batch_norm_with_update_functional", batch),
    ("_fused_rms_norm", last),
    ("_log_softmax", softmax),
    ("_native_batch_norm_legit", batch),
    ("_native_batch_norm_legit_functional", batch),
    ("_native_batch_norm_legit_no_training", batch),
    ("_safe_softmax", softmax),
    ("_softmax", softmax),
    ("_weight_norm", weight),
    ("_weight_norm_interface", weight),
    ("batch_norm", batch),
    ("cudnn_batch_norm", batch),
    ("group_norm", groups),
    ("instance_norm", instance),
    ("layer_norm", last),
    ("log_softmax", softmax),
    ("miopen_batch_norm", batch),
    ("native_batch_norm", batch),
    ("native_group_norm", groups),
    ("native_layer_norm", last),
    ("rms_norm", last),
    ("softmax", softmax),
    ("softmin", softmax),
    ("special_log_softmax", softmax),
    ("special_softmax", softmax),
];

/// The result, then statistics of channels.
fn batch(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let tensors = call.some(&["weight", "bias", "running_mean", "running_var"])?;
    let shape = builder.shape(value).to_vec();
    let own: Vec<Index> = (0..shape.len()).map(Any).collect();
    let of_channels = |tensor: ValueId| (tensor, vec![Any(1)]);
    let operands: Vec<_> = [(value, own.clone())].into_iter().chain(tensors.into_iter().map(of_channels)).collect();
    let Some(channels) = shape.get(1).copied() else { return Err(builder.error("there are no channels")) };
    let statistics = call.outputs.iter().skip(1).take_while(|output| output.shape == [channels]);
    let results: Vec<_> =
        [(shape, own)].into_iter().chain(statistics.map(|output| (output.shape.clone(), vec![Any(1)]))).collect();
    let results = builder.indexed(&operands, &results)?;
    builder.works_alone_at([1]);
    builder.hold_statistics(&call.some(&["running_mean", "running_var"])?);
    Ok(results)
}

fn instance(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let tensors = call.some(&["weight", "bias", "running_mean", "running_var"])?;
    let value = call.first()?;
    if builder.shape(value).len() < 2 {
        return Err(builder.error("there are no channels"));
    }
    Ok(vec![builder.normalise_channels(value, &tensors)?])
}

fn groups(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let groups = call.size("num_groups", call.size("group", 1)?)?;
    Ok(vec![builder.normalise_groups(call.first()?, groups, &call.some(&["weight", "bias"])?)?])
}

fn last(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    Ok(vec![builder.normalise_last(call.first()?, &call.some(&["weight", "bias"])?)?])
}

/// A tensor divided by its norms over all axes but one, times as many scales, which have only that axis.
fn weight(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, scale) = (call.tensor("v")?, call.tensor("g")?);
    let shape = builder.shape(value).to_vec();
    let axis = call.axis("dim", 0, shape.len())?;
    let own: Vec<Index> = (0..shape.len()).map(Any).collect();
    let only: Vec<Index> = (0..shape.len()).map(|other| if other == axis { Any(axis) } else { One }).collect();
    let norms = (builder.shape(scale).to_vec(), only.clone());
    let results = builder.indexed(&[(value, own.clone()), (scale, only)], &[(shape, own), norms])?;
    builder.works_alone_at([axis]);
    Ok(results)
}

/// Along any axis: every entry is divided by the same sum.
fn softmax(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axis = call.axis("dim", -1, builder.shape(value).len())?;
    Ok(vec![builder.mix(value, &[axis])?])
}
