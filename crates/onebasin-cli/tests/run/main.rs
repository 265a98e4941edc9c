//! Runs whole experiments with the real binary, small ones, and looks at all they leave.

mod harness;
mod interruptions;
mod mistakes;
mod reports;
mod shipped;
mod stages;
