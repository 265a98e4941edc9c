//! Which reorderings and rescalings of units leave a network's function unchanged, and what they do to its parameters.

mod family;
mod patch;
mod permutations;
mod prior_units;
mod scale;
mod spec;
mod trace;

pub use family::Family;
pub use patch::Patch;
pub use permutations::{Permutation, Permutations};
pub use prior_units::{PRIOR_THRESHOLD, distance_from_prior, prior_like_units};
pub use scale::Scales;
pub use spec::{Action, Group, Segment, Spec, change_of_logits, is_rounding, relative_change};
