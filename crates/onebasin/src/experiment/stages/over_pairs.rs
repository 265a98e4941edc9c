//! The barriers of several pairs of posteriors, curve by curve.

use super::barrier::{BarrierResult, Row};
use crate::data::Split;
use crate::measure::{Barriers, Curve, Estimate, Spread};
use serde::{Deserialize, Serialize};

/// The barriers of one curve on one part of the data set, over pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverPairs {
    /// Name of the curve.
    pub curve: String,
    /// Part of the data set.
    pub split: Split,
    /// Loss barriers in nats.
    pub loss: Spread,
    /// Error barriers, as fractions of the examples.
    pub error: Spread,
}

/// The rows of each curve and each part of the data set, one row for each pair that has it; in the order of first occurrence.
pub fn same_curves(results: &[BarrierResult]) -> Vec<Vec<&Row>> {
    let mut all: Vec<Vec<&Row>> = Vec::new();
    for row in results.iter().flat_map(|result| &result.curves) {
        match all.iter_mut().find(|rows| rows[0].curve == row.curve && rows[0].split == row.split) {
            Some(rows) => rows.push(row),
            None => all.push(vec![row]),
        }
    }
    all
}

/// The loss barriers, or the error barriers, of some rows.
pub fn barriers(rows: &[&Row], of: fn(&Curve) -> Barriers) -> Vec<Estimate> {
    rows.iter().map(|row| of(&row.measured).barrier.estimate()).collect()
}

/// The barriers of all curves that are paths, over pairs.
pub fn over_pairs(results: &[BarrierResult]) -> Vec<OverPairs> {
    let paths = same_curves(results).into_iter().filter(|rows| rows[0].path.is_some());
    let over = |rows: Vec<&Row>| OverPairs {
        curve: rows[0].curve.clone(),
        split: rows[0].split,
        loss: Spread::of(&barriers(&rows, |curve| curve.loss)),
        error: Spread::of(&barriers(&rows, |curve| curve.error)),
    };
    paths.map(over).collect()
}
