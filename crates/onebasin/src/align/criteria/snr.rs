//! The criterion `snr`: the squared distance of the signal-to-noise ratios of the weights.

use super::kl::check_positive;
use super::{Rule, mapped};
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;

pub(super) struct Snr;

impl Rule for Snr {
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        check_positive(fixed)?;
        check_positive(moved)?;
        Ok(vec![ratios(fixed, moved)])
    }
}

/// What −½ |m₀/s₀ − m₁/s₁|² has of both sides: m₀/s₀ · m₁/s₁.
pub(super) fn ratios(fixed: &Gaussian, moved: &Gaussian) -> Feature<'static> {
    let [fixed, moved] = [fixed, moved].map(|side| mapped(side, |mean, std| mean / std));
    Feature { fixed, moved }
}
