//! Results of the experiments with the number of transpositions, and their tables.

use super::TranspositionsSettings;
use crate::keys::null_is_nan;
use serde::{Deserialize, Serialize};

/// Files of the tables, one for each experiment.
pub(super) const TABLES: &[&str] = &["starts.csv", "line.csv", "dynamics.csv"];
/// Columns of a pair.
const PAIR: &str = "transpositions,distance_before,distance_after,\
    train_loss,train_loss_barrier_before,train_loss_barrier_after,\
    train_error,train_error_barrier_before,train_error_barrier_after,\
    test_loss,test_loss_barrier_before,test_loss_barrier_after,\
    test_error,test_error_barrier_before,test_error_barrier_after";

/// Results of all experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranspositionsResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the experiments.
    pub settings: TranspositionsSettings,
    /// Number of units that can be permuted.
    pub units: usize,
    /// Mean number of transpositions of uniformly random permutations: that of networks with nothing in common.
    pub unrelated: f64,
    /// Networks that started as permuted copies of one.
    pub starts: Vec<Start>,
    /// Points of the line between two independent networks.
    pub line: Vec<LinePoint>,
    /// Two independent networks while they were trained.
    pub dynamics: Vec<Snapshot>,
    /// How `starts` depend on the number of planted transpositions; none if there are none.
    pub correlations: Option<Correlations>,
}

/// Two trained networks, of which the second started as a permuted copy of the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Number of the repetition.
    pub run: usize,
    /// Number of planted transpositions: those of the second network at its start.
    pub planted: usize,
    /// Share of all units that the alignment puts back in their place.
    pub recovered: f64,
    /// Number of transpositions between the alignment and the inverse of the planted permutation.
    pub off: usize,
    /// Comparison of the trained networks.
    #[serde(flatten)]
    pub pair: Pair,
}

/// A point of the line between two networks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePoint {
    /// Number of the repetition.
    pub run: usize,
    /// Position on the line, from 0, the first network, to 1, the second.
    pub tau: f64,
    /// Number of transpositions that align it with the first network.
    pub from_first: usize,
    /// Number of transpositions that align it with the second network.
    pub from_second: usize,
}

/// Two networks at one step of their training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the repetition.
    pub run: usize,
    /// Number of epochs done.
    pub epoch: f64,
    /// Comparison of the networks at this step.
    #[serde(flatten)]
    pub pair: Pair,
}

/// Two networks, before and after the second is aligned with the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Number of transpositions of the alignment.
    pub transpositions: usize,
    /// Euclidean distance between all parameters.
    pub distance_before: f64,
    /// Euclidean distance between all parameters, once aligned.
    pub distance_after: f64,
    /// Barriers on training examples.
    pub train: MidpointBarriers,
    /// Barriers on test examples.
    pub test: MidpointBarriers,
}

/// Loss and error barriers at the midpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MidpointBarriers {
    /// Barrier of the loss.
    pub loss: MidpointBarrier,
    /// Barrier of the error.
    pub error: MidpointBarrier,
}

/// Barrier of the loss or of the error at the midpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MidpointBarrier {
    /// Mean of the values of both networks.
    #[serde(deserialize_with = "null_is_nan")]
    pub ends: f64,
    /// Barrier at the midpoint.
    #[serde(deserialize_with = "null_is_nan")]
    pub before: f64,
    /// Barrier at the midpoint, once aligned.
    #[serde(deserialize_with = "null_is_nan")]
    pub after: f64,
}

/// Pearson correlations with the number of planted transpositions, over all runs; none where one of the two is constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlations {
    /// Correlation of the number of transpositions after training.
    pub transpositions: Option<f64>,
    /// Correlation of the distance.
    pub distance_before: Option<f64>,
    /// Correlation of the distance, once aligned.
    pub distance_after: Option<f64>,
    /// Correlation of the barrier of the test loss.
    pub loss_before: Option<f64>,
    /// Correlation of the barrier of the test loss, once aligned.
    pub loss_after: Option<f64>,
    /// Correlation of the barrier of the test error.
    pub error_before: Option<f64>,
    /// Correlation of the barrier of the test error, once aligned.
    pub error_after: Option<f64>,
}

impl TranspositionsResult {
    pub(super) fn correlate(&mut self) {
        let with = |of: fn(&Pair) -> f64| {
            let pairs = self.starts.iter().map(|start| [start.planted as f64, of(&start.pair)]);
            correlation(&pairs.collect::<Vec<_>>())
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

    /// One line for each repetition of each experiment.
    pub(super) fn tables(&self) -> Vec<(&'static str, String)> {
        let starts = self.starts.iter().map(|Start { run, planted, recovered, off, pair }| {
            format!("{run},{planted},{recovered},{off},{}\n", pair.columns())
        });
        let line = self
            .line
            .iter()
            .map(|LinePoint { run, tau, from_first, from_second }| format!("{run},{tau},{from_first},{from_second}\n"));
        let dynamics = self.dynamics.iter();
        let dynamics = dynamics.map(|Snapshot { run, epoch, pair }| format!("{run},{epoch},{}\n", pair.columns()));
        let texts = [
            format!("run,planted,recovered,off,{PAIR}\n") + &starts.collect::<String>(),
            "run,tau,from_first,from_second\n".to_owned() + &line.collect::<String>(),
            format!("run,epoch,{PAIR}\n") + &dynamics.collect::<String>(),
        ];
        TABLES.iter().copied().zip(texts).collect()
    }
}

impl Pair {
    fn columns(&self) -> String {
        let Self { transpositions, distance_before, distance_after, train, test } = self;
        let barriers = [train.loss, train.error, test.loss, test.error]
            .map(|MidpointBarrier { ends, before, after }| format!(",{ends},{before},{after}"));
        format!("{transpositions},{distance_before},{distance_after}{}", barriers.concat())
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
