//! Operators that need the order of some axes: pools, interpolations, cumulative sums, sorting.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{self, Any, Fixed};
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("_adaptive_avg_pool2d", last_two),
    ("_adaptive_avg_pool3d", last_three),
    ("_upsample_bicubic2d_aa", behind_channels),
    ("_upsample_bilinear2d_aa", behind_channels),
    ("_upsample_nearest_exact1d", behind_channels),
    ("_upsample_nearest_exact2d", behind_channels),
    ("_upsample_nearest_exact3d", behind_channels),
    ("adaptive_avg_pool1d", last_one),
    ("adaptive_avg_pool2d", last_two),
    ("adaptive_avg_pool3d", last_three),
    ("adaptive_max_pool1d", last_one),
    ("adaptive_max_pool2d", last_two),
    ("adaptive_max_pool3d", last_three),
    ("argsort", axis),
    ("avg_pool1d", last_one),
    ("avg_pool2d", last_two),
    ("avg_pool3d", last_three),
    ("bucketize", elements),
    ("cummax", axis),
    ("cummin", axis),
    ("cumprod", axis),
    ("cumsum", axis),
    ("diff", axis),
    ("fft_fft", axis),
    ("fft_ifft", axis),
    ("fft_irfft", axis),
    ("fft_rfft", axis),
    ("flip", axes),
    ("fliplr", all),
    ("flipud", all),
    ("fractional_max_pool2d", last_two),
    ("logcumsumexp", axis),
    ("lp_pool2d", last_two),
    ("max_pool1d", last_one),
    ("max_pool1d_with_indices", last_one),
    ("max_pool2d", last_two),
    ("max_pool2d_with_indices", last_two),
    ("max_pool3d", last_three),
    ("max_pool3d_with_indices", last_three),
    ("one_hot", one_hot),
    ("reflection_pad1d", last_one),
    ("reflection_pad2d", last_two),
    ("reflection_pad3d", last_three),
    ("replication_pad1d", last_one),
    ("replication_pad2d", last_two),
    ("replication_pad3d", last_three),
    ("roll", rolled),
    ("rot90", all),
    ("sort", axis),
    ("topk", axis),
    ("tril", last_two),
    ("triu", last_two),
    ("upsample_bicubic2d", behind_channels),
    ("upsample_bilinear2d", behind_channels),
    ("upsample_linear1d", behind_channels),
    ("upsample_nearest1d", behind_channels),
    ("upsample_nearest2d", behind_channels),
    ("upsample_nearest3d", behind_channels),
    ("upsample_trilinear3d", behind_channels),
];

/// All outputs have the axes of the first tensor, of which some have an order, and may have other sizes.
fn ordered(builder: &mut Builder, call: &Call, ordered: &[usize]) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    let indices: Vec<Index> = (0..axes).map(|axis| if ordered.contains(&axis) { Fixed } else { Any(axis) }).collect();
    let fits = |output: &&crate::pt2::call::Output| output.shape.len() == axes;
    let outputs: Vec<_> =
        call.outputs.iter().take_while(fits).map(|output| (output.shape.clone(), indices.clone())).collect();
    builder.indexed(&[(value, indices)], &outputs)
}

fn last_axes(builder: &mut Builder, call: &Call, count: usize) -> Result<Vec<ValueId>> {
    let axes = builder.shape(call.first()?).len();
    ordered(builder, call, &(axes.saturating_sub(count)..axes).collect::<Vec<_>>())
}

fn last_one(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    last_axes(builder, call, 1)
}

fn last_two(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    last_axes(builder, call, 2)
}

fn last_three(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    last_axes(builder, call, 3)
}

fn behind_channels(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let axes = builder.shape(call.first()?).len();
    ordered(builder, call, &(2..axes).collect::<Vec<_>>())
}

fn all(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    last_axes(builder, call, usize::MAX)
}

/// Along `dim`, the last axis if it is not given.
fn axis(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    if call.values.len() != 1 {
        return Err(builder.error("it has more than one operand"));
    }
    let axis = call.axis("dim", -1, builder.shape(call.first()?).len())?;
    ordered(builder, call, &[axis])
}

fn axes(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let axes = call.axes("dims", builder.shape(call.first()?).len())?;
    ordered(builder, call, &axes)
}

/// Without `dims`, the array is rolled as if it had one axis.
fn rolled(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    axes(builder, call)
}

/// The class of each entry as a vector, behind all axes.
fn one_hot(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let own: Vec<Index> = (0..builder.shape(value).len()).map(Any).collect();
    let result = own.iter().copied().chain([Fixed]).collect();
    Ok(vec![builder.indexed_one(&[(value, own)], call.shape(0)?, result)?])
}

/// The place of each entry among sorted boundaries.
fn elements(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [value, boundaries] = call.values[..] else { return Err(builder.error("it has boundaries")) };
    let own: Vec<Index> = (0..builder.shape(value).len()).map(Any).collect();
    let shape = builder.shape(value).to_vec();
    Ok(vec![builder.indexed_one(&[(value, own.clone()), (boundaries, vec![Fixed])], &shape, own)?])
}
