//! A number that was estimated for several pairs of posteriors: its mean and its spread over them.

use super::barrier::Estimate;
use crate::keys::null_is_nan;
use serde::{Deserialize, Serialize};

/// The mean of a number over pairs of posteriors, its spread, and the Monte Carlo error of a single pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean over the pairs.
    #[serde(deserialize_with = "null_is_nan")]
    pub mean: f64,
    /// Sample standard deviation over the pairs; a single pair has none.
    pub standard_deviation: Option<f64>,
    /// Lowest value.
    #[serde(deserialize_with = "null_is_nan")]
    pub lowest: f64,
    /// Highest value.
    #[serde(deserialize_with = "null_is_nan")]
    pub highest: f64,
    /// Root mean square of the standard errors of the pairs; none where nothing is drawn.
    pub monte_carlo_error: Option<f64>,
}

impl Spread {
    /// Returns the spread of one estimate for each pair; it is not a number if one of them is not or there are none.
    pub fn of(pairs: &[Estimate]) -> Self {
        let count = pairs.len() as f64;
        let values = || pairs.iter().map(|pair| pair.value);
        let mean = values().sum::<f64>() / count;
        let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
        let extreme = |of: fn(f64, f64) -> f64| if mean.is_nan() { mean } else { values().fold(mean, of) };
        let errors: Option<Vec<f64>> = pairs.iter().map(|pair| pair.standard_error).collect();
        Self {
            pairs: pairs.len(),
            mean,
            standard_deviation: (pairs.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            lowest: extreme(f64::min),
            highest: extreme(f64::max),
            monte_carlo_error: errors
                .map(|errors| (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt()),
        }
    }

    /// Returns the mean with its standard error over the pairs; a single pair has its Monte Carlo error.
    pub fn estimate(&self) -> Estimate {
        let over_pairs = self.standard_deviation.map(|deviation| deviation / (self.pairs as f64).sqrt());
        Estimate { value: self.mean, standard_error: over_pairs.or(self.monte_carlo_error) }
    }
}
