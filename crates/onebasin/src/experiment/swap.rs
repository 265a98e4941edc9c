//! Two posteriors of two weights, of which one can be swapped: what each criterion of alignment says to that.

use super::config::from_table;
use super::config::read_table;
use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use crate::posterior::Gaussian;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// Two Gaussians over two weights: the one that stays, and the one that may be swapped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapConfig {
    /// (Gaussian, weight)
    pub means: [[f32; 2]; 2],
    /// (Gaussian, weight)
    pub stds: [[f32; 2]; 2],
}

/// What is between the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// What was asked for.
    pub config: SwapConfig,
    /// With the second as it is.
    pub before: Between,
    /// With the two weights of the second swapped.
    pub after: Between,
}

/// How far the second is from the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// The divergence of the second from the first.
    pub divergence: f64,
    /// What the divergence has of the variances alone, Σ v₁/v₀: the term that does depend on the permutation.
    pub ratios: f64,
    /// W₂.
    pub distance: f64,
}

impl SwapConfig {
    /// Reads TOML; `name` is how the text is called in errors.
    pub fn from_toml(name: &str, text: &str) -> Result<Self> {
        let config: Self = from_table(name, &read_table(name, text, &[])?)?;
        if let Some(value) = config.means.as_flattened().iter().find(|value| !value.is_finite()) {
            return Err(Error::OutOfRange { what: "a number of means", value: value.to_string(), expected: "finite" });
        }
        for value in config.stds.as_flattened() {
            Error::unless_positive("a number of stds", f64::from(*value))?;
        }
        Ok(config)
    }

    /// Measures both.
    pub fn run(&self) -> Result<Swap> {
        let [first, second] = self.gaussians()?;
        let swap = |[a, b]: [f32; 2]| [b, a];
        let swapped = gaussian(swap(self.means[1]), swap(self.stds[1]))?;
        Ok(Swap { config: self.clone(), before: between(&first, &second)?, after: between(&first, &swapped)? })
    }

    fn gaussians(&self) -> Result<[Gaussian; 2]> {
        Ok([gaussian(self.means[0], self.stds[0])?, gaussian(self.means[1], self.stds[1])?])
    }
}

fn gaussian(mean: [f32; 2], std: [f32; 2]) -> Result<Gaussian> {
    let layout = Arc::new(Layout::new([("weights", &[2][..])])?);
    let params = |values: [f32; 2]| Params::from_values(&layout, values.to_vec());
    Gaussian::new(params(mean)?, params(std)?)
}

fn between(first: &Gaussian, second: &Gaussian) -> Result<Between> {
    let variances = |gaussian: &Gaussian| -> Vec<f64> {
        gaussian.std().values().iter().map(|std| f64::from(*std).powi(2)).collect()
    };
    Ok(Between {
        divergence: second.divergence(first)?,
        ratios: variances(second).iter().zip(variances(first)).map(|(second, first)| second / first).sum(),
        distance: first.distance(second)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_criteria_find_a_swap_of_widths() {
        let config = SwapConfig { means: [[0.5, 0.5]; 2], stds: [[1.0, 2.0], [2.0, 1.0]] };
        let Swap { before, after, .. } = config.run().unwrap();
        assert_eq!((before.ratios, after.ratios), (4.25, 2.0));
        assert!((before.divergence - 1.125).abs() < 1e-12 && (before.distance - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((after.divergence, after.distance), (0.0, 0.0));
    }

    #[test]
    fn a_negative_width_is_an_error() {
        let error = SwapConfig::from_toml("x", "means = [[0, 0], [0, 0]]\nstds = [[1, 1], [1, -1]]").unwrap_err();
        assert!(error.to_string().contains("-1"), "{error}");
    }
}
