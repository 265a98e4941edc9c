//! The Wasserstein barycentre of diagonal Gaussians.

use crate::error::Error;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;

/// How far from one the sum of weights may be: rounding, but no mistake.
const ROUNDING: f64 = 1e-9;

/// The Gaussian with the least weighted sum of squared distances from `corners`, each with its weight.
///
/// Weights are not negative, and their sum is one.
pub fn barycentre(corners: &[(f64, &Gaussian)]) -> Result<Gaussian> {
    let (_, first) = corners.first().ok_or_else(|| Error::Zero { what: "the number of Gaussians".to_owned() })?;
    let mut total = 0.0;
    for (weight, corner) in corners {
        first.mean().layout().check_same(corner.mean().layout())?;
        if !(0.0..=1.0).contains(weight) {
            return Err(Error::OutOfRange { what: "a weight", value: weight.to_string(), expected: "from 0 to 1" });
        }
        total += weight;
    }
    if (total - 1.0).abs() > ROUNDING {
        return Err(Error::OutOfRange { what: "the sum of weights", value: total.to_string(), expected: "1" });
    }
    let mean = |part: fn(&Gaussian) -> &Params| {
        let mut sums = vec![0.0; first.mean().values().len()];
        for (weight, corner) in corners {
            for (sum, value) in sums.iter_mut().zip(part(corner).values()) {
                *sum += weight * f64::from(*value);
            }
        }
        Params::from_values(first.mean().layout(), sums.into_iter().map(|sum| (sum / total) as f32).collect())
    };
    Gaussian::new(mean(Gaussian::mean)?, mean(Gaussian::std)?)
}
