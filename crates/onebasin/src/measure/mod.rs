//! What posteriors are worth: one struct for each measurement.

mod barrier;
mod curves;
mod parameters;
mod plane;
pub mod prune;
mod quality;
mod spread;
mod temperature;

pub use barrier::{Barrier, Barriers, Curve, Estimate, Point};
pub use curves::{BarrierSettings, Calibrated, Curves};
pub use parameters::{StdHistogram, mixing};
pub use plane::{Density, Marginal, Plane, PlanePoint, PlaneSettings, Triangle};
pub use quality::{Agreement, Calibration, Quality};
pub use spread::Spread;
