//! How a network's outputs make labels more or less likely.

use crate::error::{Error, Result};
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::likelihood::{Labelled, LogGaussian, LogSoftmax, Softmax};
use onebasin_kernels::{Aligned, Isa, pack};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of a label given the outputs of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
            Self::Gaussian { variance } => Error::unless_positive("gaussian.variance", variance),
            Self::Softmax => Ok(()),
        }
    }

    /// Turns outputs into the probabilities of the classes, (examples, classes).
    pub(crate) fn to_probabilities(self, isa: Isa, rows: &mut [f32], classes: usize) {
        let scale = match self {
            Self::Softmax => 1.0,
            // exp(-|e_c - z|^2 / 2v) over all classes c: what does not depend on c cancels.
            Self::Gaussian { variance } => (1.0 / variance) as f32,
        };
        isa.run(Softmax { rows, classes, scale });
    }

    /// The log-likelihood of all labels together, given `logits` (examples, classes).
    pub(crate) fn log_likelihood(self, isa: Isa, logits: &[f32], labels: &[u32]) -> f64 {
        let (classes, plane) = (logits.len() / labels.len(), Plane::vectors(labels.len()));
        let mut outputs = Aligned::zeros(blocks(classes) * plane.block());
        pack::vectors(plane, classes, 0..blocks(classes), logits, &mut outputs);
        let (mut values, mut row) = (vec![0.0; labels.len()], vec![0.0; classes]);
        let (log_likelihood, row) = (&mut values[..], &mut row[..]);
        let labelled = Labelled { plane, classes, outputs: &outputs, labels, gradient: None, log_likelihood, row };
        self.evaluate(isa, labelled);
        values.iter().sum()
    }

    /// Evaluates the log-likelihoods of labels, and the gradient at the outputs if it is wanted.
    pub(super) fn evaluate(self, isa: Isa, labelled: Labelled<'_>) {
        match self {
            Self::Softmax => isa.run(LogSoftmax(labelled)),
            Self::Gaussian { variance } => isa.run(LogGaussian { variance, labelled }),
        }
    }
}
