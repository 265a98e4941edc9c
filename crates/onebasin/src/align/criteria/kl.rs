//! The criterion `kl`: the KL divergence of the permuted posterior from the other.

use super::Rule;
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;
use std::borrow::Cow;

pub(super) struct Kl;

impl Rule for Kl {
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        check_positive(fixed)?;
        Ok(divergence(fixed, moved).into())
    }
}

/// What −KL[moved ‖ fixed] has of both sides, v the variances: m₀/v₀ · m₁ and −1/(2v₀) · (m₁² + v₁).
pub(super) fn divergence<'a>(fixed: &'a Gaussian, moved: &'a Gaussian) -> [Feature<'a>; 2] {
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

/// Refuses a standard deviation of zero, from which every divergence is infinite.
pub(super) fn check_positive(gaussian: &Gaussian) -> Result<()> {
    let fault = ", from which every divergence is infinite; the criterion w2 needs none";
    let std = gaussian.std();
    std.layout().refuse(std.values(), ("standard deviation", fault), |std| std * std < f32::MIN_POSITIVE)
}
