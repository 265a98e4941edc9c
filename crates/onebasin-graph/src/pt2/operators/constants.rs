//! Operators that make arrays of numbers.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("arange", arange),
    ("empty", unknown),
    ("empty_like", unknown),
    ("empty_permuted", unknown),
    ("empty_strided", unknown),
    ("eye", unknown),
    ("full", uniform),
    ("full_like", uniform),
    ("hann_window", unknown),
    ("linspace", unknown),
    ("logspace", unknown),
    ("new_empty", unknown),
    ("new_empty_strided", unknown),
    ("new_full", uniform),
    ("new_ones", uniform),
    ("new_zeros", uniform),
    ("normal_functional", unknown),
    ("ones", uniform),
    ("ones_like", uniform),
    ("rand", unknown),
    ("rand_like", unknown),
    ("randint", unknown),
    ("randn", unknown),
    ("randn_like", unknown),
    ("randperm", unknown),
    ("scalar_tensor", uniform),
    ("tril_indices", unknown),
    ("triu_indices", unknown),
    ("zeros", uniform),
    ("zeros_like", uniform),
];

/// Copies of one number.
fn uniform(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    // Which number it is does not matter: only that all entries are equal.
    let number = ["fill_value", "s"].iter().find_map(|name| call.number(name)).unwrap_or(0.0);
    Ok(vec![builder.uniform(number, call.shape(0)?)?])
}

/// Numbers that are not followed.
fn unknown(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    Ok(vec![builder.constant(&call.operator, call.shape(0)?, None)?])
}

/// start, start + step, ...
fn arange(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let shape = call.shape(0)?.to_vec();
    let number = |name: &str, default: f64| match call.given(name) {
        None => Some(default),
        Some(_) => call.number(name),
    };
    let entries = match (number("start", 0.0), number("step", 1.0), &shape[..]) {
        (Some(start), Some(step), [len]) if *len <= call.room => {
            Some((0..*len).map(|at| start + at as f64 * step).collect())
        }
        _ => None,
    };
    Ok(vec![builder.constant(&call.operator, &shape, entries)?])
}
