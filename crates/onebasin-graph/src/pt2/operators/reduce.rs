//! Sums, means, extrema and the like over some axes.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{self, Any, Fixed};
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("all", reduce),
    ("amax", reduce),
    ("amin", reduce),
    ("aminmax", reduce),
    ("any", reduce),
    ("argmax", ordered),
    ("argmin", ordered),
    ("count_nonzero", reduce),
    ("frobenius_norm", reduce),
    ("kthvalue", ordered),
    ("linalg_norm", vector_norm),
    ("linalg_vector_norm", reduce),
    ("logsumexp", reduce),
    ("max", extremum),
    ("mean", reduce),
    ("median", ordered),
    ("min", extremum),
    ("mode", ordered),
    ("nanmean", reduce),
    ("nansum", reduce),
    ("norm", reduce),
    ("prod", reduce),
    ("std", reduce),
    ("std_mean", reduce),
    ("sum", reduce),
    ("trace", diagonal_sum),
    ("var", reduce),
    ("var_mean", reduce),
];

/// Over `dim`, or all axes: the result does not depend on their order.
fn reduce(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = call.axes("dim", builder.shape(value).len())?;
    let keep = call.truth("keepdim")?;
    // Some have two results of the same shape, such as variance and mean.
    (0..call.outputs.len()).map(|_| builder.reduce(value, &axes, keep)).collect()
}

/// The norm of a vector; that of a matrix may be a spectral one, which is for those who know better.
fn vector_norm(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    match call.integers("dim")? {
        Some(axes) if axes.len() == 1 => reduce(builder, call),
        _ => Err(builder.error("it may be the norm of a matrix")),
    }
}

/// Of two tensors, of all entries, or along an axis with the place where it is.
fn extremum(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    match call.overload.as_str() {
        "other" => Ok(vec![builder.elementwise(&call.values)?]),
        "default" => reduce(builder, call),
        _ => ordered(builder, call),
    }
}

/// Along `dim`, whose order the result names places in; all axes if it is not given.
fn ordered(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let axes = builder.shape(value).len();
    let ordered = match call.given("dim") {
        Some(_) => vec![call.axis("dim", -1, axes)?],
        None if matches!(call.operator.as_str(), "kthvalue" | "mode") => vec![axes.saturating_sub(1)],
        None => (0..axes).collect(),
    };
    let keep = call.truth("keepdim")?;
    let index = |axis: usize| if ordered.contains(&axis) { Fixed } else { Any(axis) };
    let own: Vec<Index> = (0..axes).map(index).collect();
    let kept: Vec<Index> = (0..axes).filter(|axis| keep || !ordered.contains(axis)).map(index).collect();
    let outputs: Vec<_> = call.outputs.iter().map(|output| (output.shape.clone(), kept.clone())).collect();
    builder.indexed(&[(value, own)], &outputs)
}

/// The sum of the diagonal: both axes are one index.
fn diagonal_sum(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    Ok(vec![builder.indexed_one(&[(call.first()?, vec![Any(0), Any(0)])], &[], Vec::new())?])
}
