//! What posteriors are worth: one struct for each measurement.

mod quality;

pub use quality::Quality;
pub(crate) use quality::null_is_nan;
