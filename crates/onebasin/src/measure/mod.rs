//! What posteriors are worth: one struct for each measurement.

mod barrier;
mod bootstrap;
mod curves;
mod quality;
mod temperature;

pub use barrier::Barrier;
pub use barrier::Barriers;
pub use barrier::Curve;
pub use barrier::Estimate;
pub use barrier::Point;
pub use curves::BarrierSettings;
pub use curves::Calibrated;
pub use curves::Curves;
pub use quality::Quality;
pub(crate) use quality::null_is_nan;
