//! What the experiments with the number of transpositions found.

use super::TranspositionsConfig;
use crate::measure::Barriers;
use crate::measure::null_is_nan;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;
use serde::Deserialize;
use serde::Serialize;

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transpositions {
    /// What was asked for.
    pub config: TranspositionsConfig,
    /// Units that can be permuted.
    pub units: usize,
    /// The mean number of transpositions of uniformly random permutations: where nothing is in common.
    pub unrelated: f64,
    /// Of networks that began as permuted copies of one.
    pub starts: Vec<Started>,
    /// Along the line between two networks that have nothing in common.
    pub line: Vec<OnLine>,
    /// Two networks that have nothing in common, while they were trained.
    pub dynamics: Vec<Moment>,
    /// How `starts` depend on what was planted; none if there are none.
    pub correlations: Option<Correlations>,
}

/// Two networks, of which the second began as a permuted copy of the first, after training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// Which repetition.
    pub run: usize,
    /// How many transpositions the second was away at the beginning.
    pub planted: usize,
    /// The share of all units that the alignment puts back where they were before.
    pub recovered: f64,
    /// How many transpositions the alignment is away from what undoes the planted permutation.
    pub off: usize,
    /// What they are now.
    #[serde(flatten)]
    pub pair: Pair,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnLine {
    /// Which repetition.
    pub run: usize,
    /// From 0, the first network, to 1, the second.
    pub tau: f64,
    /// Transpositions that align it with the first network.
    pub from_first: usize,
    /// Transpositions that align it with the second network.
    pub from_second: usize,
}

/// Two networks at one time of their training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Which repetition.
    pub run: usize,
    /// Passes over the training data done.
    pub epoch: f64,
    /// What they are then.
    #[serde(flatten)]
    pub pair: Pair,
}

/// Two networks, before and after the second is aligned with the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// How many the alignment takes.
    pub transpositions: usize,
    /// Between all parameters.
    pub distance_before: f64,
    /// Between all parameters, once aligned.
    pub distance_after: f64,
    /// On training images.
    pub train: Rises,
    /// On test images.
    pub test: Rises,
}

/// Barriers at the midpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rises {
    /// Of the loss.
    pub loss: Rise,
    /// Of the error.
    pub error: Rise,
}

/// What one of them rises by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rise {
    /// The mean of both networks.
    #[serde(deserialize_with = "null_is_nan")]
    pub ends: f64,
    /// The barrier at the midpoint.
    #[serde(deserialize_with = "null_is_nan")]
    pub before: f64,
    /// The barrier at the midpoint, once aligned.
    #[serde(deserialize_with = "null_is_nan")]
    pub after: f64,
}

/// Correlations (Pearson's) with the number of transpositions that were planted, over all runs; none where one of the two never changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlations {
    /// Of the number found after training.
    pub transpositions: Option<f64>,
    /// Of the distance.
    pub distance_before: Option<f64>,
    /// Of the distance, once aligned.
    pub distance_after: Option<f64>,
    /// Of the barrier of the test loss.
    pub loss_before: Option<f64>,
    /// Of the barrier of the test loss, once aligned.
    pub loss_after: Option<f64>,
    /// Of the barrier of the test error.
    pub error_before: Option<f64>,
    /// Of the barrier of the test error, once aligned.
    pub error_after: Option<f64>,
}

impl Transpositions {
    pub(super) fn new(config: &TranspositionsConfig, spec: &Spec) -> Self {
        let sizes = || spec.groups().iter().map(|group| group.size);
        let expected = |size: usize| size as f64 - (1..=size).map(|cycle| 1.0 / cycle as f64).sum::<f64>();
        Self {
            config: config.clone(),
            units: sizes().sum(),
            unrelated: sizes().map(expected).sum(),
            starts: Vec::new(),
            line: Vec::new(),
            dynamics: Vec::new(),
            correlations: None,
        }
    }

    pub(super) fn correlate(&mut self) {
        let with = |of: fn(&Pair) -> f64| {
            let pairs: Vec<[f64; 2]> =
                self.starts.iter().map(|start| [start.planted as f64, of(&start.pair)]).collect();
            correlation(&pairs)
        };
        self.correlations = (!self.starts.is_empty()).then(|| Correlations {
            transpositions: with(|pair| pair.transpositions as f64),
            distance_before: with(|pair| pair.distance_before),
            distance_after: with(|pair| pair.distance_after),
            loss_before: with(|pair| pair.test.loss.before),
            loss_after: with(|pair| pair.test.loss.after),
            error_before: with(|pair| pair.test.error.before),
            error_after: with(|pair| pair.test.error.after),
        });
    }
}

impl Started {
    pub(super) fn new(run: usize, planted: &Permutations, found: &Permutations, pair: Pair) -> Self {
        Self {
            run,
            planted: planted.transpositions(),
            recovered: found.agreement(&planted.inverse()),
            off: found.after(planted).transpositions(),
            pair,
        }
    }
}

impl Rise {
    /// From the barriers before and after, and the values at both ends.
    pub(super) fn new([before, after]: [Barriers; 2], ends: [f64; 2]) -> Self {
        Self { ends: 0.5 * (ends[0] + ends[1]), before: before.midpoint.value, after: after.midpoint.value }
    }
}

/// None if it is undefined.
fn correlation(pairs: &[[f64; 2]]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |axis: usize| pairs.iter().map(|pair| pair[axis]).sum::<f64>() / count;
    let means = [mean(0), mean(1)];
    let moment = |a: usize, b: usize| pairs.iter().map(|pair| (pair[a] - means[a]) * (pair[b] - means[b])).sum::<f64>();
    let value = moment(0, 1) / (moment(0, 0) * moment(1, 1)).sqrt();
    value.is_finite().then_some(value)
}
