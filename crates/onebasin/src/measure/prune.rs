//! What is left of a network of which only some parameters are kept, those that a posterior is surest of.

use super::Quality;
use crate::data::Examples;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::{Gaussian, Posterior, Predictor};
use crate::progress::Monitor;
use serde::{Deserialize, Serialize};

/// How many of a hundred parameters are kept.
pub const PERCENTS: [f64; 12] = [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0, 5.0, 1.0];

named_enum! {
    /// Which parameters are kept.
    pub enum KeptBy {
        /// Those with the smallest σ.
        SmallestStd = "smallest-std",
        /// Those with the largest |mean| / σ.
        LargestSignal = "largest-signal",
    }
}

/// A network with some of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pruned {
    /// How many of a hundred parameters are kept.
    pub percent: f64,
    /// How many are kept.
    pub kept: usize,
    /// What the network is worth that has zeros in the place of all others.
    pub quality: Quality,
}

/// All parameters, those that are kept last at the end; equal ones in their order.
pub fn order(posterior: &Gaussian, by: KeptBy) -> Vec<usize> {
    let key = |at: usize| {
        let (mean, std) = (posterior.mean().values()[at], posterior.std().values()[at]);
        match by {
            KeptBy::SmallestStd => std,
            // Zero says nothing, also where its standard deviation is zero.
            KeptBy::LargestSignal if mean == 0.0 => 0.0,
            KeptBy::LargestSignal => -mean.abs() / std,
        }
    };
    let mut order: Vec<usize> = (0..posterior.mean().layout().len()).collect();
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    order
}

/// The point with zeros in the place of all parameters but the first `percent` of a hundred of `order`.
pub fn prune(point: &Params, order: &[usize], percent: f64) -> (Params, usize) {
    let kept = (order.len() as f64 * percent / 100.0).round() as usize;
    let mut pruned = Params::zeros(point.layout());
    for at in &order[..kept.min(order.len())] {
        pruned.values_mut()[*at] = point.values()[*at];
    }
    (pruned, kept)
}

/// A point pruned to each of [`PERCENTS`].
pub fn curve(
    predictor: &mut Predictor,
    point: &Params,
    order: &[usize],
    examples: &Examples,
    monitor: &mut Monitor<'_>,
) -> Result<Vec<Pruned>> {
    let (_, labels) = examples.all();
    let mut curve = Vec::with_capacity(PERCENTS.len());
    for percent in PERCENTS {
        let (pruned, kept) = prune(point, order, percent);
        let probabilities = predictor.mean(&Posterior::Point(pruned), examples, 1, 0, monitor)?;
        curve.push(Pruned { percent, kept, quality: Quality::of(&probabilities, &labels, 1)? });
    }
    Ok(curve)
}
