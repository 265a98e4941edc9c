//! Which reorderings and rescalings of units leave a network's function unchanged, and what they do to its parameters.

mod balance;
mod check;
mod patch;
mod permutation;
mod permutations;
mod prior_units;
mod scale;
mod spec;
mod trace;

pub use check::change_of_logits;
pub use check::relative_change;
pub use patch::Patch;
pub use permutation::Permutation;
pub use permutations::Permutations;
pub use prior_units::PRIOR_THRESHOLD;
pub use prior_units::distance_from_prior;
pub use prior_units::units_at_prior;
pub use scale::Scales;
pub use spec::Action;
pub use spec::Group;
pub use spec::Segment;
pub use spec::Spec;
