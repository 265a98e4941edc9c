//! The criterion `jeffreys`: the sum of the KL divergences in both directions.

use super::Rule;
use super::kl::{check_positive, divergence};
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;

pub(super) struct Jeffreys;

impl Rule for Jeffreys {
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        check_positive(fixed)?;
        check_positive(moved)?;
        // In the other direction, the two sides of each feature change places.
        let back = divergence(moved, fixed).map(|Feature { fixed, moved }| Feature { fixed: moved, moved: fixed });
        Ok(divergence(fixed, moved).into_iter().chain(back).collect())
    }
}
