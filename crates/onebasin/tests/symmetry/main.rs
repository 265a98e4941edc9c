//! Permutations, what they do to parameters, and that a network does not notice.

mod algebra;
mod families;
mod function;
mod json;
mod networks;
mod prior_units;
mod scale;
mod spec;
mod spec_json;
