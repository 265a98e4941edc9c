//! The state of the optimiser IVON beside the state dict of its model, whose parameters are the means.
//!
//! The standard deviation is (N (h + δ))^−1/2, with the effective sample size N, the curvature h and the weight decay δ.

use super::{Prior, Vectors, vectors};
use crate::error::{Error, Result};
use crate::foreign::listing::Listing;
use crate::foreign::transform::Transform;

pub(super) const NAME: &str = "ivon";
const GROUP: &str = "param_groups.0.";

pub(super) fn find(listing: &Listing<'_>, keep: &[String]) -> Result<Option<Vectors>> {
    let own = |(_, before): &(usize, &str)| {
        let prefix = before.strip_suffix(GROUP)?;
        let ess = listing.numbers.get(&format!("{before}ess"))?;
        let decay = listing.numbers.get(&format!("{before}weight_decay"))?;
        Some((prefix.to_owned(), *ess, *decay))
    };
    let found = vectors(listing, "hess").find_map(|vector| Some((vector.0, own(&vector)?)));
    let Some((scale, (prefix, ess, decay))) = found else { return Ok(None) };
    let is_kept = keep.iter().any(|kept| listing.headers[scale].name.starts_with(&**kept));
    if listing.index(&format!("{prefix}param_groups.1.hess")).is_some() && !is_kept {
        let fault = format!(
            "`{prefix}param_groups` has several groups of parameters, whose names IVON does not save: `--format points --keep \
             {prefix}` aligns the means and leaves the state of the optimiser as it is"
        );
        return Err(Error::Checkpoint { fault });
    }
    let others = [format!("{GROUP}momentum"), "state.avg_grad".into(), "state.avg_nxg".into(), "state.avg_gsq".into()];
    let along = others.iter().filter_map(|name| listing.index(&format!("{prefix}{name}"))).collect();
    let transform = Transform::Precision { factor: ess, prior: ess * decay };
    Ok(Some(Vectors { convention: NAME, prefix, mean: None, scale, along, transform, prior: Prior::Same }))
}
