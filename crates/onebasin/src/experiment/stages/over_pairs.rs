//! The barriers of several pairs of posteriors, curve by curve.

use super::barrier::{Aligned, BarrierResult, Row};
use crate::data::Split;
use crate::measure::{Barrier as Rise, Barriers, Curve, Estimate, Spread};
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

/// Names of the columns of [`pair_lines`].
pub(crate) const PAIRS_HEADER: &str = "a,b,curve,split,loss_barrier,loss_standard_error,error_barrier,error_standard_error,\
                                       w2,transpositions";

/// The names of both posteriors of a pair.
pub fn names(pair: &str) -> [&str; 2] {
    let (from, to) = pair.split_once("--").or_else(|| pair.split_once('-')).unwrap_or((pair, ""));
    [from, to]
}

/// A line of comma-separated values for each curve of a pair that is a path.
pub(crate) fn pair_lines(pair: &str, result: &BarrierResult) -> Vec<String> {
    let [from, to] = names(pair);
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |(row, barriers): (&Row, [Rise; 2])| {
        let [loss, error] = barriers.map(|barrier| {
            let Estimate { value, standard_error } = barrier.estimate();
            format!("{value},{}", standard_error.map_or_else(String::new, |error| error.to_string()))
        });
        let Aligned { w2, transpositions, .. } = result.alignment_of(row);
        let (curve, split) = (quoted(&row.curve), row.split);
        format!("{},{},{curve},{split},{loss},{error},{w2},{transpositions}", quoted(from), quoted(to))
    };
    result.barriers().map(line).collect()
}
