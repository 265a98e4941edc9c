//! Two posteriors over two weights, of which the second can be swapped: what the criteria KL and W2 make of that.

use crate::error::{Error, Result};
use crate::experiment::{Context, Folder, Plan, Section, Stage};
use crate::params::{Layout, Params};
use crate::posterior::Gaussian;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Two Gaussians over two weights: the table `[swap]` of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwapSettings {
    /// Means, (Gaussian, weight); the second Gaussian is the one whose weights are swapped.
    pub means: [[f32; 2]; 2],
    /// Standard deviations, (Gaussian, weight).
    pub stds: [[f32; 2]; 2],
}

impl Section for SwapSettings {
    fn check(&self) -> Result<()> {
        let [means, stds] = [&self.means, &self.stds].map(|values| values.as_flattened());
        Error::unless_all("means", means, |value| value.is_finite(), "a list of finite numbers")?;
        let allowed = |value: &f32| Error::unless_positive("stds", f64::from(*value)).is_ok();
        Error::unless_all("stds", stds, allowed, "a list of numbers between 1e-30 and 1e30")
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.add(Self::NAME, *self);
        Ok(())
    }
}

/// How far the second Gaussian is from the first, in both orders of its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapResult {
    /// Version of onebasin.
    pub version: String,
    /// The Gaussians.
    pub settings: SwapSettings,
    /// Distances of the second Gaussian as it is.
    pub before: Distances,
    /// Distances of the second Gaussian with its weights swapped.
    pub after: Distances,
}

/// How far the second Gaussian is from the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// KL divergence of the second Gaussian from the first, in nats.
    pub kl: f64,
    /// Sum of the ratios v₁/v₀ of variances: the only term of the divergence that depends on the order besides that of the
    /// means.
    pub variance_ratios: f64,
    /// Wasserstein distance W2.
    pub w2: f64,
}

impl Stage for SwapSettings {
    const NAME: &'static str = "swap";
    const REVISION: u32 = 1;
    type Result = SwapResult;

    fn run(&self, _: &Context<'_>, _: Option<&Folder>) -> Result<SwapResult> {
        self.check()?;
        let Self { means, stds } = *self;
        let swap = |[a, b]: [f32; 2]| [b, a];
        let first = gaussian(means[0], stds[0])?;
        let second = gaussian(means[1], stds[1])?;
        let swapped = gaussian(swap(means[1]), swap(stds[1]))?;
        Ok(SwapResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: *self,
            before: Distances::between(&first, &second)?,
            after: Distances::between(&first, &swapped)?,
        })
    }
}

fn gaussian(mean: [f32; 2], std: [f32; 2]) -> Result<Gaussian> {
    let layout = Arc::new(Layout::new([("weights", &[2][..])])?);
    let params = |values: [f32; 2]| Params::from_values(&layout, values.to_vec());
    Gaussian::new(params(mean)?, params(std)?)
}

impl Distances {
    fn between(first: &Gaussian, second: &Gaussian) -> Result<Self> {
        let variances = |gaussian: &Gaussian| -> Vec<f64> {
            gaussian.std().values().iter().map(|std| f64::from(*std).powi(2)).collect()
        };
        let ratios = variances(second).into_iter().zip(variances(first)).map(|(second, first)| second / first);
        Ok(Self { kl: second.divergence(first)?, variance_ratios: ratios.sum(), w2: first.distance(second)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::context::Silent;
    use crate::threads::pool;
    use std::path::Path;

    #[test]
    fn both_criteria_find_a_swap_of_standard_deviations() {
        let settings = SwapSettings { means: [[0.5, 0.5]; 2], stds: [[1.0, 2.0], [2.0, 1.0]] };
        let context = Context { pool: pool(1).unwrap(), data: Path::new(""), host: &Silent };
        let SwapResult { before, after, .. } = settings.run(&context, None).unwrap();
        assert_eq!((before.variance_ratios, after.variance_ratios), (4.25, 2.0));
        assert!((before.kl - 1.125).abs() < 1e-12 && (before.w2 - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((after.kl, after.w2), (0.0, 0.0));
    }

    #[test]
    fn a_negative_standard_deviation_is_an_error() {
        let settings = SwapSettings { means: [[0.0; 2]; 2], stds: [[1.0, 1.0], [1.0, -1.0]] };
        let error = settings.check().unwrap_err();
        assert!(error.to_string().contains("`stds` is a list with -1"), "{error}");
    }
}
