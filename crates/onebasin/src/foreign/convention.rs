//! How other libraries name and store the mean and the standard deviation of each parameter.
//!
//! A convention is a row of [`CONVENTIONS`]. Names are made from that of the parameter in the plain network: `{name}` is `conv1.weight`,
//! `{layer}` is `conv1`, `{leaf}` is `weight`.

use crate::error::{Error, Result};

/// The standard deviation as a function of what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// It is stored itself.
    Identity,
    /// Its logarithm is stored.
    Exp,
    /// ρ is stored, and it is ln(1 + exp ρ).
    Softplus,
    /// The mean of squares is stored, and it is √(mean of squares − mean²).
    MeanOfSquares,
}

impl Transform {
    /// The standard deviation, given what is stored and the mean.
    pub fn std(self, stored: f32, mean: f32) -> f32 {
        let (stored, mean) = (f64::from(stored), f64::from(mean));
        let std = match self {
            Self::Identity => stored,
            Self::Exp => stored.exp(),
            Self::Softplus => stored.max(0.0) + (-stored.abs()).exp().ln_1p(),
            Self::MeanOfSquares => (stored - mean * mean).max(1e-30).sqrt(),
        };
        std as f32
    }
}

/// How a library stores a distribution over the parameters of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convention {
    /// Its name, which `--format` takes.
    pub name: &'static str,
    /// Names of the mean and of what the standard deviation is computed from; the first pair that is there counts.
    pub pairs: &'static [[&'static str; 2]],
    /// How the standard deviation is computed.
    pub transform: Transform,
    /// Names of tensors of the same shape that are permuted along, if they are there.
    pub along: &'static [&'static str],
}

/// A convention, by its names.
const fn convention(
    name: &'static str,
    pairs: &'static [[&'static str; 2]],
    transform: Transform,
    along: &'static [&'static str],
) -> Convention {
    Convention { name, pairs, transform, along }
}

/// The name of the convention without standard deviations.
pub const POINTS: &str = "points";

/// All conventions that are recognised by names.
pub const CONVENTIONS: &[Convention] = &[
    convention("onebasin", &[["mean/{name}", "std/{name}"]], Transform::Identity, &[]),
    convention(
        "bayesian-torch",
        &[["{layer}.mu_{leaf}", "{layer}.rho_{leaf}"], ["{layer}.mu_kernel", "{layer}.rho_kernel"]],
        Transform::Softplus,
        &[
            "{layer}.eps_{leaf}",
            "{layer}.eps_kernel",
            "{layer}.prior_{leaf}_mu",
            "{layer}.prior_{leaf}_sigma",
            "{layer}.prior_kernel_mu",
            "{layer}.prior_kernel_sigma",
        ],
    ),
    convention(
        "torch-uncertainty",
        &[["{layer}.{leaf}_mu", "{layer}.{leaf}_sigma"]],
        Transform::Softplus,
        &["{layer}.{leaf}_sampler.mu", "{layer}.{leaf}_sampler.rho"],
    ),
    convention(
        "blitz",
        &[["{layer}.{leaf}_mu", "{layer}.{leaf}_rho"]],
        Transform::Softplus,
        &["{layer}.{leaf}_sampler.mu", "{layer}.{leaf}_sampler.rho", "{layer}.{leaf}_sampler.eps_w"],
    ),
    convention("bayesian-cnn", &[["{layer}.W_mu", "{layer}.W_rho"]], Transform::Softplus, &[]),
    convention(
        "torchbnn",
        &[["{layer}.{leaf}_mu", "{layer}.{leaf}_log_sigma"]],
        Transform::Exp,
        &["{layer}.{leaf}_eps"],
    ),
    convention("torch-blue", &[["{layer}._{leaf}_mean", "{layer}._{leaf}_log_std"]], Transform::Exp, &[]),
    convention(
        "tyxe",
        &[["net_guide.{name}.loc_unconstrained", "net_guide.{name}.scale_unconstrained"]],
        Transform::Exp,
        &[],
    ),
    convention("pyro", &[["AutoNormal.locs.{name}", "AutoNormal.scales.{name}"]], Transform::Softplus, &[]),
    convention("numpyro", &[["{name}_auto_loc", "{name}_auto_scale"]], Transform::Identity, &[]),
    convention("bnn-hmc", &[["mean.{name}", "inv_softplus_std.{name}"]], Transform::Softplus, &[]),
    convention("posteriors", &[["params.{name}", "log_sd_diag.{name}"]], Transform::Exp, &[]),
    convention("swag", &[["{name}_mean", "{name}_sq_mean"]], Transform::MeanOfSquares, &["{name}_cov_mat_sqrt"]),
];

impl Convention {
    /// The convention of this name.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = CONVENTIONS.iter().find(|convention| convention.name == name);
        found.ok_or_else(|| Error::unknown("format", name, CONVENTIONS.iter().map(|convention| convention.name)))
    }
}

/// The name that a template makes of the name of a parameter.
pub(super) fn fill(template: &str, name: &str) -> String {
    let (layer, leaf) = name.rsplit_once(['.', '/']).unwrap_or(("", name));
    let filled = template.replace("{name}", name).replace("{layer}", layer).replace("{leaf}", leaf);
    filled.strip_prefix('.').map(str::to_owned).unwrap_or(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_layers_and_leaves() {
        assert_eq!(fill("{layer}.mu_{leaf}", "features.0.weight"), "features.0.mu_weight");
        assert_eq!(fill("{layer}.mu_{leaf}", "weight"), "mu_weight");
        assert_eq!(fill("net_guide.{name}.loc_unconstrained", "a.b"), "net_guide.a.b.loc_unconstrained");
    }

    #[test]
    fn softplus_is_stable_on_both_sides() {
        assert_eq!(Transform::Softplus.std(100.0, 0.0), 100.0);
        assert!((Transform::Softplus.std(-50.0, 0.0) / (-50f32).exp() - 1.0).abs() < 1e-6);
        assert!((f64::from(Transform::Softplus.std(-3.0, 0.0)) - (-3f64).exp().ln_1p()).abs() < 1e-8);
        assert!((Transform::MeanOfSquares.std(5.0, 2.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_convention_has_one_name() {
        for (index, convention) in CONVENTIONS.iter().enumerate() {
            assert!(CONVENTIONS[..index].iter().all(|other| other.name != convention.name));
            assert_eq!(Convention::find(convention.name).unwrap(), convention);
        }
    }
}
