//! Two numbers that bring the predictions of a Gaussian nearer to those of the samples it was fitted to.

use super::Agreement;
use crate::data::Examples;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::posterior::LowRank;
use crate::posterior::Posterior;
use crate::posterior::Predictor;
use serde::Deserialize;
use serde::Serialize;
use std::ops::ControlFlow;

/// What standard deviations are multiplied by.
const NARROWINGS: [f32; 4] = [0.25, 0.5, 0.75, 1.0];
/// What the last layer is multiplied by.
const GAINS: [f32; 6] = [1.0, 1.25, 1.5, 2.0, 3.0, 4.0];

/// The two numbers, and how near predictions are with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Standard deviations and factors are multiplied by it.
    pub narrowing: f32,
    /// Then all parameters of the layer `head` are.
    pub gain: f32,
    /// From the predictions aimed at.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub total_variation: f64,
}

impl Tuning {
    /// The Gaussian with other standard deviations and another last layer; points have no width.
    pub fn apply(&self, posterior: &Posterior) -> Result<Posterior> {
        let scaled = |params: &Params, factor: f32| {
            let mut params = params.clone();
            params.scale(factor);
            params
        };
        let narrow =
            |gaussian: &Gaussian| Gaussian::new(gaussian.mean().clone(), scaled(gaussian.std(), self.narrowing));
        let narrowed = match posterior {
            Posterior::Gaussian(gaussian) => Posterior::Gaussian(narrow(gaussian)?),
            Posterior::LowRank(low_rank) => {
                let factor = low_rank.factor().iter().map(|direction| scaled(direction, self.narrowing)).collect();
                Posterior::LowRank(LowRank::new(narrow(low_rank.rest())?, factor)?)
            }
            Posterior::Point(_) | Posterior::Samples(_) => posterior.clone(),
        };
        narrowed.map(|params| {
            let mut params = params.clone();
            for tensor in params.layout().clone().tensors().iter().filter(|tensor| tensor.name().starts_with("head.")) {
                params.values_mut()[tensor.range()].iter_mut().for_each(|value| *value *= self.gain);
            }
            Ok(params)
        })
    }

    /// Of some narrowings and gains those with which the predictions of `posterior` on `examples`, the mean over `draws`
    /// points, have the smallest total variation from `target`, (image, class); `progress` as for [`Predictor::mean`].
    pub fn find(
        predictor: &mut Predictor,
        posterior: &Posterior,
        target: &[f64],
        examples: &Examples,
        (draws, seed): (usize, u64),
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        let mut best = Self { narrowing: 1.0, gain: 1.0, total_variation: f64::INFINITY };
        for narrowing in NARROWINGS {
            for gain in GAINS {
                let mut tuning = Self { narrowing, gain, total_variation: f64::NAN };
                let tuned = tuning.apply(posterior)?;
                let Some(predicted) = predictor.mean(&tuned, examples, draws, seed, progress)? else { return Ok(None) };
                tuning.total_variation = Agreement::of(target, &predicted, examples.classes())?.total_variation;
                if tuning.total_variation < best.total_variation {
                    best = tuning;
                }
            }
        }
        Ok(Some(best))
    }
}
