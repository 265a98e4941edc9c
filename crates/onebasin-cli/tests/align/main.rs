//! Aligns posteriors that the real binary trained, and looks at all it leaves.

mod activations;
mod harness;
mod mistakes;
mod pairs;
mod relabel;
mod together;
