//! Runs whole experiments with the real binary, small ones, and looks at all they leave.

mod failures;
mod harness;
mod interruptions;
mod mistakes;
mod pairs;
mod reports;
mod shares;
mod shipped;
mod stages;
