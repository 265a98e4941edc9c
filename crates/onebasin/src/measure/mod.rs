//! What posteriors are worth: one struct for each measurement.

mod agreement;
mod barrier;
mod bootstrap;
mod calibration;
mod curves;
mod mixing;
mod plane;
pub mod prune;
mod quality;
mod temperature;
mod triangle;
mod widths;

pub use agreement::Agreement;
pub use barrier::Barrier;
pub use barrier::Barriers;
pub use barrier::Curve;
pub use barrier::Estimate;
pub use barrier::Point;
pub use calibration::Calibration;
pub use curves::BarrierSettings;
pub use curves::Calibrated;
pub use curves::Curves;
pub use mixing::Mixing;
pub use plane::Density;
pub use plane::Marginal;
pub use plane::Plane;
pub use plane::PlanePoint;
pub use plane::PlaneSettings;
pub use quality::Quality;
pub(crate) use quality::null_is_nan;
pub use triangle::Triangle;
pub use widths::Widths;
