//! The features of parameters that each criterion between two posteriors multiplies.

use super::objective::Feature;
use crate::error::Error;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;
use serde::Deserialize;
use serde::Serialize;
use std::borrow::Cow;

/// What makes two units alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Their mean weights: least squared distance of the means.
    Mean,
    /// Their mean weights and standard deviations: least Wasserstein distance.
    #[default]
    W2,
    /// Least KL divergence of the permuted posterior from the one that stays.
    Kl,
    /// Least sum of the KL divergences in both directions.
    Jeffreys,
    /// The correlations of their activations on data.
    Activation,
}

impl Channel {
    /// The features of `fixed` and `moved`; the channel that looks at data has none.
    pub(super) fn features<'a>(self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        let borrowed = |fixed: &'a Params, moved: &'a Params| Feature {
            fixed: Cow::Borrowed(fixed.values()),
            moved: Cow::Borrowed(moved.values()),
        };
        let means = || borrowed(fixed.mean(), moved.mean());
        Ok(match self {
            Self::Activation => return Err(Error::NeedsData),
            Self::Mean => vec![means()],
            // What is zero on one side adds nothing.
            Self::W2 if [fixed, moved].iter().any(|side| side.std().values().iter().all(|std| *std == 0.0)) => {
                vec![means()]
            }
            Self::W2 => vec![means(), borrowed(fixed.std(), moved.std())],
            Self::Kl => {
                positive(fixed)?;
                divergence(fixed, moved).into()
            }
            Self::Jeffreys => {
                positive(fixed)?;
                positive(moved)?;
                let forth = divergence(fixed, moved);
                // The other direction has the roles exchanged, in which each feature stands.
                let back =
                    divergence(moved, fixed).map(|Feature { fixed, moved }| Feature { fixed: moved, moved: fixed });
                forth.into_iter().chain(back).collect()
            }
        })
    }
}

/// What −KL[moved ‖ fixed] has of both sides, v the variances: m₀/v₀ · m₁ and −1/(2v₀) · (m₁² + v₁).
fn divergence<'a>(fixed: &'a Gaussian, moved: &'a Gaussian) -> [Feature<'a>; 2] {
    let map = |gaussian: &Gaussian, feature: fn(f32, f32) -> f32| {
        let pairs = gaussian.mean().values().iter().zip(gaussian.std().values());
        Cow::Owned(pairs.map(|(mean, std)| feature(*mean, *std)).collect())
    };
    [
        Feature { fixed: map(fixed, |mean, std| mean / (std * std)), moved: Cow::Borrowed(moved.mean().values()) },
        Feature {
            fixed: map(fixed, |_, std| -0.5 / (std * std)),
            moved: map(moved, |mean, std| mean * mean + std * std),
        },
    ]
}

/// A divergence from what has no width is infinite.
fn positive(gaussian: &Gaussian) -> Result<()> {
    for tensor in gaussian.std().layout().tensors() {
        let narrow = gaussian.std().values()[tensor.range()].iter().find(|std| **std * **std < f32::MIN_POSITIVE);
        if let Some(std) = narrow {
            return Err(Error::NoWidth { tensor: tensor.name().to_owned(), std: std.to_string() });
        }
    }
    Ok(())
}
