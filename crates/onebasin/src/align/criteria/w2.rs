//! The criterion `w2`: the 2-Wasserstein distance of diagonal Gaussians.

use super::mean::Mean;
use super::{Rule, Side};
use crate::align::Feature;
use crate::error::Result;
use crate::posterior::Gaussian;

pub(super) struct W2;

impl Rule for W2 {
    fn side(&self) -> Option<Side> {
        Some(|gaussian| vec![gaussian.mean().values(), gaussian.std().values()])
    }

    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        let mut features = Mean.features(fixed, moved)?;
        let [fixed, moved] = [fixed, moved].map(|side| side.std().values());
        // Standard deviations that are all zero on one side add nothing.
        if [fixed, moved].iter().all(|stds| stds.iter().any(|std| *std != 0.0)) {
            features.push(Feature { fixed: fixed.into(), moved: moved.into() });
        }
        Ok(features)
    }
}
