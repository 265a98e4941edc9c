//! How other libraries name and store the mean and the standard deviation of each parameter.
//!
//! A convention is a row of [`CONVENTIONS`]. Names are made from that of the parameter in the plain network: `{name}` is `conv1.weight`,
//! `{layer}` is `conv1`, `{leaf}` is `weight`. `{bias}` is `bias` and fits no other leaf, and a
//! name that is made of the layer alone is that of its weight. What stands before all names is found by itself.

use super::transform::Transform;
use crate::error::{Error, Result};

/// How a library stores a distribution over the parameters of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convention {
    /// Its name, which `--format` takes.
    pub name: &'static str,
    /// Names of the mean and of what the standard deviation is computed from; the first pair that is there counts.
    pub pairs: &'static [[&'static str; 2]],
    /// How the standard deviation is computed.
    pub transform: Transform,
    /// Names of tensors of the same shape that are permuted along, if they are there.
    pub along: &'static [&'static str],
    /// Names of tensors that have nothing to do with units, such as those of priors, and stay.
    pub kept: &'static [&'static str],
}

/// A convention, by its names.
const fn convention(
    name: &'static str,
    pairs: &'static [[&'static str; 2]],
    transform: Transform,
    along: &'static [&'static str],
) -> Convention {
    Convention { name, pairs, transform, along, kept: &[] }
}

/// The name of the convention without standard deviations.
pub const POINTS: &str = "points";

/// Names of the conventions that store all parameters in one vector.
pub const FLAT: &[&str] = &["laplace", "ivon", "pyro-flat", "numpyro-flat"];

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
    Convention {
        kept: &["{layer}.{leaf}_prior_dist.mus", "{layer}.{leaf}_prior_dist.sigmas", "{layer}.{leaf}_prior_dist.pi"],
        ..convention(
            "torch-uncertainty",
            &[["{layer}.{leaf}_mu", "{layer}.{leaf}_sigma"]],
            Transform::Softplus,
            &["{layer}.{leaf}_sampler.mu", "{layer}.{leaf}_sampler.rho"],
        )
    },
    convention(
        "torch-uncertainty-swag",
        &[["swag_stats.{name}_mean", "swag_stats.{name}_sq_mean"]],
        Transform::MeanOfSquares { least: 1e-6 },
        &["swag_stats.{name}_covariance_sqrt"],
    ),
    convention(
        "blitz",
        &[["{layer}.{leaf}_mu", "{layer}.{leaf}_rho"]],
        Transform::Softplus,
        &["{layer}.{leaf}_sampler.mu", "{layer}.{leaf}_sampler.rho", "{layer}.{leaf}_sampler.eps_w"],
    ),
    convention(
        "bayesian-cnn",
        &[["{layer}.W_mu", "{layer}.W_rho"], ["{layer}.{bias}_mu", "{layer}.{bias}_rho"]],
        Transform::Softplus,
        &[],
    ),
    convention(
        "torchbnn",
        &[["{layer}.{leaf}_mu", "{layer}.{leaf}_log_sigma"]],
        Transform::Exp,
        &["{layer}.{leaf}_eps"],
    ),
    convention("torch-blue", &[["{layer}._{leaf}_mean", "{layer}._{leaf}_log_std"]], Transform::Exp, &[]),
    convention("tyxe", &[["{name}.loc_unconstrained", "{name}.scale_unconstrained"]], Transform::Exp, &[]),
    convention(
        "pyro",
        &[["locs.{name}", "scales.{name}"], ["locs.{name}_unconstrained", "scales.{name}_unconstrained"]],
        Transform::Softplus,
        &[],
    ),
    convention("numpyro", &[["{name}_auto_loc", "{name}_auto_scale"]], Transform::Identity, &[]),
    convention("bnn-hmc", &[["mean.{name}", "inv_softplus_std.{name}"]], Transform::Softplus, &[]),
    convention("posteriors", &[["params.{name}", "log_sd_diag.{name}"]], Transform::Exp, &[]),
    convention(
        "posteriors-laplace",
        &[["params.{name}", "prec_diag.{name}"]],
        Transform::Precision { factor: 1.0, prior: 0.0 },
        &[],
    ),
    convention(
        "swag",
        &[["{name}_mean", "{name}_sq_mean"]],
        Transform::MeanOfSquares { least: 1e-30 },
        &["{name}_cov_mat_sqrt"],
    ),
];

/// How standard deviations are stored, as a person names it: `NAME` or `NAME:TRANSFORM`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    /// Name of the convention.
    pub(super) name: &'static str,
    /// The transform, if it is not that of the convention.
    pub(super) transform: Option<Transform>,
}

impl Asked {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (name, transform) = text.split_once(':').map_or((text, None), |(name, own)| (name, Some(own)));
        let found = names().find(|own| *own == name).ok_or_else(|| Error::unknown("format", name, names()))?;
        let transform = transform.map(Transform::parse).transpose()?;
        Ok(Self { name: found, transform })
    }
}

/// The names of all conventions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    [POINTS].into_iter().chain(CONVENTIONS.iter().map(|own| own.name)).chain(FLAT.iter().copied())
}

/// The name that a template makes of the name of a parameter; none if the template is for other leaves.
pub(super) fn fill(template: &str, name: &str) -> Option<String> {
    let (layer, leaf) = name.rsplit_once(['.', '/']).unwrap_or(("", name));
    let of_any = template.contains("{name}") || template.contains("{leaf}");
    let only = if template.contains("{bias}") { "bias" } else { "weight" };
    if !of_any && leaf != only {
        return None;
    }
    let filled =
        template.replace("{name}", name).replace("{layer}", layer).replace("{leaf}", leaf).replace("{bias}", leaf);
    Some(filled.strip_prefix('.').map(str::to_owned).unwrap_or(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_layers_and_leaves() {
        let filled = |template, name| fill(template, name).unwrap();
        assert_eq!(filled("{layer}.mu_{leaf}", "features.0.weight"), "features.0.mu_weight");
        assert_eq!(filled("{layer}.mu_{leaf}", "weight"), "mu_weight");
        assert_eq!(filled("{name}.loc_unconstrained", "a.b"), "a.b.loc_unconstrained");
        assert_eq!(filled("{layer}.W_mu", "a.weight"), "a.W_mu");
        assert_eq!((fill("{layer}.W_mu", "a.bias"), fill("{layer}.{bias}_mu", "a.weight")), (None, None));
    }

    #[test]
    fn a_convention_has_one_name() {
        let all: Vec<&str> = names().collect();
        for (index, name) in all.iter().enumerate() {
            assert!(!all[..index].contains(name));
            assert_eq!(Asked::parse(name).unwrap(), Asked { name, transform: None });
        }
        let asked = Asked { name: "numpyro", transform: Some(Transform::Softplus) };
        assert_eq!(Asked::parse("numpyro:softplus").unwrap(), asked);
        assert!(Asked::parse("blits").is_err() && Asked::parse("numpyro:square").is_err());
    }
}
