//! How a network's outputs make labels more or less likely.

use crate::error::Error;
use crate::error::Result;
use serde::Deserialize;
use serde::Serialize;

/// The distribution of a label given the outputs of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Likelihood {
    /// Outputs are logits: softmax at the label.
    #[default]
    Softmax,
    /// Least squares: the label, as ones and zeros, is the outputs plus Gaussian noise.
    ///
    /// Without hidden layers this is Bayesian linear regression, whose posterior is known in closed form.
    Gaussian {
        /// The variance of the noise.
        variance: f64,
    },
}

impl Likelihood {
    /// Says what is wrong with the numbers.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Gaussian { variance } => Error::unless_positive("likelihood.gaussian.variance", variance),
            Self::Softmax => Ok(()),
        }
    }

    /// What outputs are multiplied by before the softmax that gives the probabilities of the classes.
    pub(super) fn scale(self) -> f32 {
        match self {
            Self::Softmax => 1.0,
            // exp(-|e_c - z|^2 / 2v) over all classes c: what does not depend on c cancels.
            Self::Gaussian { variance } => (1.0 / variance) as f32,
        }
    }
}
