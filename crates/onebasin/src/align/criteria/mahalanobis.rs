//! The criterion `mahalanobis`: the squared distance of the mean weights, divided by both standard deviations.

use super::kl::check_positive;
use super::snr::ratios;
use super::{Rule, mapped};
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;

pub(super) struct Mahalanobis;

impl Rule for Mahalanobis {
    /// What −½ Σ (m₀ − m₁)² / (s₀ s₁) has of both sides: the geometric mean of the variances is a product, their sum is none.
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        check_positive(fixed)?;
        check_positive(moved)?;
        let inverse = |side| mapped(side, |_, std| 1.0 / std);
        let square = |side| mapped(side, |mean, std| -0.5 * mean * mean / std);
        Ok(vec![
            ratios(fixed, moved),
            Feature { fixed: inverse(fixed), moved: square(moved) },
            Feature { fixed: square(fixed), moved: inverse(moved) },
        ])
    }
}
