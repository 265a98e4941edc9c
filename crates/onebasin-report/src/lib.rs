//! Turns results into text that people and other programs read; computes and prints nothing.

#![forbid(unsafe_code)]

mod table;

pub use table::Alignment;
pub use table::Table;
