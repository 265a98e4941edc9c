//! Prior-like units: units whose parameters have nearly the same distribution in a Gaussian posterior as in the prior.

use super::Spec;
use crate::error::{Error, Result};
use crate::params::Params;

/// Distance, in nats for each parameter, below which a unit counts as prior-like.
///
/// A Gaussian fitted to n draws from the prior is 1/n away from it on average, so this is the distance after 50. It is
/// also that of a mean off by 0.2 standard deviations of the prior, or of a standard deviation off by 14 %.
pub const PRIOR_THRESHOLD: f64 = 0.02;

/// The mean of KL(q ‖ prior), in nats, over all parameters that enter, shift or leave each unit, (group, unit).
///
/// q is normal with these means and standard deviations, the prior is normal around zero with one variance for each tensor.
/// A standard deviation of zero is infinitely far away, and so are the units of a group that no tensor has.
pub fn distance_from_prior(spec: &Spec, mean: &Params, std: &Params, variances: &[f64]) -> Result<Vec<Vec<f64>>> {
    spec.layout().check_same(mean.layout())?;
    spec.layout().check_same(std.layout())?;
    let tensors = spec.layout().tensors().len();
    Error::unless_length("the array of variances", variances.len(), tensors, "one for each tensor")?;
    for variance in variances {
        Error::unless_positive("prior.variance", *variance)?;
    }
    let mut sums: Vec<Vec<f64>> = spec.groups().iter().map(|group| vec![0.0; group.size]).collect();
    let mut counts = vec![0usize; sums.len()];
    for patch in spec.patches() {
        let variance = variances[patch.tensor];
        for (axis, (group, _)) in patch.axes.iter().enumerate() {
            let others = patch.axes.iter().enumerate().filter(|(other, _)| *other != axis);
            let others: usize = others.map(|(_, (other, _))| spec.groups()[*other].size).product();
            counts[*group] += patch.rest.len() * others;
        }
        if !patch.axes.is_empty() {
            patch.for_each(spec.groups(), |place, units| {
                let distance = divergence(mean.values()[place], std.values()[place], variance);
                for ((group, _), unit) in patch.axes.iter().zip(units) {
                    sums[*group][*unit] += distance;
                }
            });
        }
    }
    for (sums, count) in sums.iter_mut().zip(counts) {
        for sum in sums {
            *sum = if count == 0 { f64::INFINITY } else { *sum / count as f64 };
        }
    }
    Ok(sums)
}

/// The mask of prior-like units, (group, unit): those nearer to the prior than `threshold`.
pub fn prior_like_units(distances: &[Vec<f64>], threshold: f64) -> Vec<Vec<bool>> {
    distances.iter().map(|group| group.iter().map(|distance| *distance < threshold).collect()).collect()
}

/// KL(N(mean, std²) ‖ N(0, variance)) = ½ (mean²/v + r - 1 - ln r), r = std²/v.
fn divergence(mean: f32, std: f32, variance: f64) -> f64 {
    let ratio = f64::from(std).powi(2) / variance;
    0.5 * (f64::from(mean).powi(2) / variance + ratio - 1.0 - ratio.ln())
}
