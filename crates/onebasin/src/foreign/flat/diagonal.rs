//! The guides `AutoDiagonalNormal` of Pyro and numpyro: a vector of means and a vector of scales.
//!
//! Both have the sites in the order in which the model samples them, which is that of the network's parameters if the model samples
//! each layer when it applies it.

use super::{Prior, Vectors, vectors};
use crate::error::Result;
use crate::foreign::listing::Listing;
use crate::foreign::pyro;
use crate::foreign::transform::Transform;

/// How a library names its vectors.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Names of the means and of the scales; the first pair that is there counts.
    pairs: &'static [[&'static str; 2]],
    /// The transform of scales, unless a constraint is stored.
    transform: Transform,
    /// Whether values are stored without their constraints.
    unconstrained: bool,
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "pyro-flat",
        pairs: &[["loc", "scale_unconstrained"], ["loc", "scale"]],
        transform: Transform::Softplus,
        unconstrained: true,
    },
    Kind {
        name: "numpyro-flat",
        pairs: &[["auto_loc", "auto_scale"]],
        transform: Transform::Identity,
        unconstrained: false,
    },
];

/// Finds the vectors of one library.
///
/// Names such as `scale` alone are recognised only if a constraint is stored with them, or if they are asked for.
pub(super) fn find(
    listing: &Listing<'_>,
    kind: &Kind,
    asked: bool,
    transform: Option<Transform>,
) -> Result<Option<Vectors>> {
    for [mean, scale] in kind.pairs {
        for (mean, prefix) in vectors(listing, mean) {
            let name = format!("{prefix}{scale}");
            let Some(scale) = listing.index(&name).filter(|index| listing.headers[*index].shape.len() == 1) else {
                continue;
            };
            let transform = match transform {
                Some(transform) => transform,
                None if !kind.unconstrained => kind.transform,
                None => match pyro::transform(listing, &name, kind.transform) {
                    Ok(transform) => transform,
                    Err(error) if asked || pyro::has_constraint(listing, &name) => return Err(error),
                    Err(_) => continue,
                },
            };
            let (prefix, along) = (prefix.to_owned(), Vec::new());
            let (convention, prior) = (kind.name, Prior::Same);
            return Ok(Some(Vectors { convention, prefix, mean: Some(mean), scale, along, transform, prior }));
        }
    }
    Ok(None)
}
