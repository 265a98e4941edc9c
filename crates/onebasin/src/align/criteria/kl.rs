//! The criterion `kl`: the KL divergence of the permuted posterior from the other.

use super::{Rule, mapped};
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;

pub(super) struct Kl;

impl Rule for Kl {
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        check_positive(fixed)?;
        Ok(divergence(fixed, moved).into())
    }
}

/// What −KL[moved ‖ fixed] has of both sides, v the variances: m₀/v₀ · m₁ and −1/(2v₀) · (m₁² + v₁).
pub(super) fn divergence<'a>(fixed: &'a Gaussian, moved: &'a Gaussian) -> [Feature<'a>; 2] {
    [
        Feature { fixed: mapped(fixed, |mean, std| mean / (std * std)), moved: moved.mean().values().into() },
        Feature {
            fixed: mapped(fixed, |_, std| -0.5 / (std * std)),
            moved: mapped(moved, |mean, std| mean * mean + std * std),
        },
    ]
}

/// Refuses a standard deviation of zero, by which no distance can be divided.
pub(super) fn check_positive(gaussian: &Gaussian) -> Result<()> {
    let fault = ", and the criterion divides by it; the criteria mean and w2 do not";
    let std = gaussian.std();
    std.layout().refuse(std.values(), ("standard deviation", fault), |std| std * std < f32::MIN_POSITIVE)
}
