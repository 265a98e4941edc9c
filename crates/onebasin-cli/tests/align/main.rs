//! Aligns posteriors that the real binary trained, and looks at all it leaves.

mod harness;
mod mistakes;
mod pairs;
mod relabel;
mod together;
