//! The constraints of Pyro: how a value is computed from the unconstrained one that is stored.
//!
//! A parameter store has `params.NAME` and, in an object of its own, the constraint `constraints.NAME`. The state dict of a guide has only
//! `NAME_unconstrained`, so that the constraint that guides have by default is assumed.

use super::listing::Listing;
use super::transform::Transform;
use crate::error::{Error, Result};

const PARAMS: &str = "params.";

/// The transform of a scale in a parameter store; `default` if the file is none.
pub(super) fn transform(listing: &Listing<'_>, scale: &str, default: Transform) -> Result<Transform> {
    if scale.ends_with("_unconstrained") {
        return Ok(default);
    }
    let Some(name) = constraint(listing, scale) else {
        let fault = format!(
            "the constraint of `{scale}` is not in the file, so its transform is not known: save the file by \
             `pyro.get_param_store().save`, or name the transform, as in `--format pyro:softplus` or `pyro-flat:identity`"
        );
        return Err(Error::Checkpoint { fault });
    };
    let class = &listing.classes[&name];
    let bound = |which: &str| listing.numbers.get(&format!("{name}.{which}_bound")).copied();
    match (class.rsplit('.').next().unwrap_or_default(), bound("lower"), bound("upper")) {
        ("_SoftplusPositive" | "SoftplusPositive", ..) => Ok(Transform::Softplus),
        ("_Positive" | "_GreaterThan" | "_GreaterThanEq", None | Some(0.0), None) => Ok(Transform::Exp),
        ("_Interval" | "_HalfOpenInterval", Some(0.0), Some(most)) => Ok(Transform::Sigmoid { most }),
        _ => {
            let fault = format!("the constraint of `{scale}` is a `{class}`, which is not read; those from 0 on are");
            Err(Error::Checkpoint { fault })
        }
    }
}

/// Whether a constraint of a parameter is stored.
pub(super) fn has_constraint(listing: &Listing<'_>, parameter: &str) -> bool {
    constraint(listing, parameter).is_some()
}

/// The name of the constraint of a parameter of a store.
fn constraint(listing: &Listing<'_>, parameter: &str) -> Option<String> {
    let at = parameter.find(PARAMS)?;
    let name = format!("{}constraints.{}", &parameter[..at], &parameter[at + PARAMS.len()..]);
    listing.classes.contains_key(&name).then_some(name)
}
