//! Which reorderings of a network's units leave its function unchanged, and what they do to its parameters.

mod check;
mod patch;
mod permutation;
mod permutations;
mod spec;
mod trace;

pub use check::change_of_logits;
pub use patch::Patch;
pub use permutation::Permutation;
pub use permutations::Permutations;
pub use spec::Action;
pub use spec::Group;
pub use spec::Segment;
pub use spec::Spec;
