//! Convolutions, embeddings and layers that mix channels in fixed ways.

use super::Table;
use crate::build::{Builder, Convolution};
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("_convolution", convolution),
    ("channel_shuffle", channel_shuffle),
    ("conv1d", convolution),
    ("conv2d", convolution),
    ("conv3d", convolution),
    ("conv_transpose1d", transposed),
    ("conv_transpose2d", transposed),
    ("conv_transpose3d", transposed),
    ("convolution", convolution),
    ("cudnn_convolution", convolution),
    ("embedding", embedding),
    ("embedding_bag", embedding_bag),
    ("grid_sampler", grid_sampler),
    ("grid_sampler_2d", grid_sampler),
    ("grid_sampler_3d", grid_sampler),
    ("mkldnn_convolution", convolution),
    ("native_channel_shuffle", channel_shuffle),
    ("pixel_shuffle", pixel_shuffle),
    ("pixel_unshuffle", pixel_unshuffle),
];

fn convolution(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let transposed = call.truth("transposed")?;
    convolve(builder, call, transposed)
}

fn transposed(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    convolve(builder, call, true)
}

fn convolve(builder: &mut Builder, call: &Call, transposed: bool) -> Result<Vec<ValueId>> {
    let (value, weight, bias) = (call.first()?, call.tensor("weight")?, call.optional("bias")?);
    let (own, all) = (builder.shape(value).to_vec(), builder.shape(weight).len());
    let shape = call.shape(0)?;
    let groups = call.size("groups", 1)?;
    // A single example may come without its axis.
    let single = own.len() + 1 == all;
    let value = if single { builder.reshape(value, &[&[1], &own[..]].concat())? } else { value };
    let spatial = shape.get(2 - usize::from(single)..).unwrap_or(&[]);
    let result = builder.convolution(value, weight, bias, Convolution { groups, transposed, spatial })?;
    Ok(vec![if single { builder.reshape(result, shape)? } else { result }])
}

fn embedding(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (table, indices) = (call.tensor("weight")?, call.tensor("indices")?);
    Ok(vec![builder.embedding(table, indices)?])
}

/// Sums or means of rows of a table.
fn embedding_bag(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (table, others) = (call.tensor("weight")?, call.some(&["indices", "offsets", "per_sample_weights"])?);
    let mut operands = vec![(table, vec![Fixed, Any(0)])];
    for other in others {
        operands.push((other, vec![Fixed; builder.shape(other).len()]));
    }
    Ok(vec![builder.indexed_one(&operands, call.shape(0)?, vec![Fixed, Any(0)])?])
}

/// Pixels at positions that a grid (example, position..., coordinate) gives.
fn grid_sampler(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, grid) = (call.first()?, call.tensor("grid")?);
    let axes = builder.shape(value).len();
    let positions = |head: &[_], axes: usize| {
        head.iter().copied().chain(std::iter::repeat_n(Fixed, axes.saturating_sub(head.len()))).collect::<Vec<_>>()
    };
    let operands = [(value, positions(&[Any(0), Any(1)], axes)), (grid, positions(&[Any(0)], axes))];
    Ok(vec![builder.indexed_one(&operands, call.shape(0)?, positions(&[Any(0), Any(1)], axes))?])
}

/// Channel (group, own) becomes channel (own, group).
fn channel_shuffle(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let shape = builder.shape(value).to_vec();
    let groups = call.size("groups", 1)?;
    if shape.len() < 2 || groups == 0 || !shape[1].is_multiple_of(groups) {
        return Err(builder.error(format!("{groups} groups do not fit {shape:?}")));
    }
    let split = builder.reshape(value, &[&[shape[0], groups, shape[1] / groups], &shape[2..]].concat())?;
    let swapped = builder.swap_axes(split, 1, 2)?;
    Ok(vec![builder.reshape(swapped, &shape)?])
}

/// Number of axes before those of an image (channel, row, column).
fn image(builder: &Builder, from: &[usize], to: &[usize]) -> Result<usize> {
    match to.len().checked_sub(3) {
        Some(stack) if from.len() == to.len() => Ok(stack),
        _ => Err(builder.error(format!("{from:?} and {to:?} are no images"))),
    }
}

/// (..., channel · r · r, row, column) becomes (..., channel, row · r, column · r).
fn pixel_shuffle(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, to) = (call.first()?, call.shape(0)?);
    let (from, factor) = (builder.shape(value).to_vec(), call.size("upscale_factor", 1)?);
    let stack = image(builder, &from, to)?;
    let split = [&from[..stack], &[to[stack], factor, factor, from[stack + 1], from[stack + 2]]].concat();
    let value = builder.reshape(value, &split)?;
    let order: Vec<usize> = (0..stack).chain([0, 3, 1, 4, 2].map(|axis| stack + axis)).collect();
    let value = builder.transpose(value, &order)?;
    Ok(vec![builder.reshape(value, to)?])
}

/// The inverse.
fn pixel_unshuffle(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, to) = (call.first()?, call.shape(0)?);
    let (from, factor) = (builder.shape(value).to_vec(), call.size("downscale_factor", 1)?);
    let stack = image(builder, &from, to)?;
    let split = [&from[..stack], &[from[stack], to[stack + 1], factor, to[stack + 2], factor]].concat();
    let value = builder.reshape(value, &split)?;
    let order: Vec<usize> = (0..stack).chain([0, 2, 4, 1, 3].map(|axis| stack + axis)).collect();
    let value = builder.transpose(value, &order)?;
    Ok(vec![builder.reshape(value, to)?])
}
