//! Measures whether a description of symmetries is right: random permutations must not change the logits.

use super::Permutations;
use super::Spec;
use crate::error::Result;
use crate::params::Params;

/// The largest change of a logit under random permutations of all groups, relative to the largest logit.
///
/// `logits` evaluates the network at a point, (image, class). For a right spec the result is a matter of rounding, about
/// 1e-6; 1e-5 is a fair bound. To be sensitive to every tensor, `params` must have no tensor of equal values, such as the
/// biases of an initial point. NaN if a logit is.
pub fn change_of_logits(
    spec: &Spec,
    params: &Params,
    seed: u64,
    mut logits: impl FnMut(&Params) -> Result<Vec<f32>>,
) -> Result<f64> {
    let before = logits(params)?;
    let after = logits(&spec.apply(&Permutations::random(spec, seed), params)?)?;
    Ok(relative_change(&before, &after))
}

/// The largest change of a value, relative to the largest value before. NaN if a value is, or if all were zero.
pub fn relative_change(before: &[f32], after: &[f32]) -> f64 {
    assert_eq!(before.len(), after.len(), "each value has one before and one after");
    let largest = |values: &mut dyn Iterator<Item = f32>| {
        // NaN wins, unlike in f64::max.
        let larger = |most: f64, value: f64| if most.is_nan() || value <= most { most } else { value };
        values.map(|value| f64::from(value.abs())).fold(0.0, larger)
    };
    let change = largest(&mut before.iter().zip(after).map(|(before, after)| after - before));
    change / largest(&mut before.iter().copied())
}
