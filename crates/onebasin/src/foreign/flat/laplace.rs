//! Diagonal Laplace approximations of laplace-torch: the state dict of `Laplace(model, …, hessian_structure="diag")`.
//!
//! The standard deviation is (H / (σ² T) + prior precision)^−1/2, with the noise σ and the temperature T.

use super::{Prior, Vectors, vectors};
use crate::error::{Error, Result};
use crate::foreign::listing::Listing;
use crate::foreign::transform::Transform;

pub(super) const NAME: &str = "laplace";

pub(super) fn find(listing: &Listing<'_>) -> Result<Option<Vectors>> {
    let is_own = |(_, prefix): &(usize, &str)| listing.index(&format!("{prefix}prior_precision")).is_some();
    let Some((mean, prefix)) = vectors(listing, "mean").find(is_own) else { return Ok(None) };
    let named = |name: &str| format!("{prefix}{name}");
    let curvature = listing.index(&named("H"));
    let Some(scale) = curvature.filter(|index| listing.headers[*index].shape.len() == 1) else {
        let factors = named("H.");
        if curvature.is_none() && !listing.headers.iter().any(|header| header.name.starts_with(&factors)) {
            return Ok(None);
        }
        let fault = "it is a Laplace approximation with a full or Kronecker-factored curvature, of which no standard deviation \
                     of each parameter is stored: fit it with hessian_structure=\"diag\"";
        return Err(Error::Checkpoint { fault: fault.to_owned() });
    };
    let number = |name: &str| Ok::<f64, Error>(listing.number(&named(name))?.unwrap_or(1.0));
    let factor = (number("sigma_noise")?.powi(2) * number("temperature")?).recip();
    let index = listing.index(&named("prior_precision")).expect("it was found");
    let (count, total) = (listing.headers[index].entries(), listing.headers[scale].entries());
    let (prior, each) = match count {
        1 => (f64::from((listing.read)(index)?[0]), Prior::Same),
        _ if count == total => (0.0, Prior::OfEntries(index)),
        _ => (0.0, Prior::OfTensors((listing.read)(index)?.into_iter().map(f64::from).collect())),
    };
    // The mean of the prior is a number, or a vector that follows the parameters.
    let along = listing.index(&named("prior_mean")).filter(|index| listing.headers[*index].shape == [total]);
    let along = along.into_iter().collect();
    let transform = Transform::Precision { factor, prior };
    let prefix = prefix.to_owned();
    Ok(Some(Vectors { convention: NAME, prefix, mean: Some(mean), scale, along, transform, prior: each }))
}
