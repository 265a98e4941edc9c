//! Ways from one posterior to another.
//!
//! A [`Path`] gives a Gaussian for every τ from 0 to 1: [`Geodesic`] and [`Natural`] go from parameter to parameter, [`Restored`] keeps the
//! strength of units on the way. [`grid`] says where a path is looked at, and [`barycentre()`] is what a geodesic is for more than two ends.

mod barycentre;
mod geodesic;
mod layers;
mod moments;
mod natural;
mod restored;
mod seen;

pub use barycentre::barycentre;
pub use geodesic::Geodesic;
pub use moments::Moments;
pub use natural::Natural;
pub use restored::Restore;
pub use restored::Restored;
pub use restored::Source;
pub use seen::Seen;

use crate::error::Error;
use crate::error::Result;
use crate::posterior::Gaussian;

/// A way from one Gaussian, at τ = 0, to another, at τ = 1.
pub trait Path {
    /// The Gaussian at `tau`, from 0 to 1.
    fn at(&self, tau: f64) -> Result<Gaussian>;
}

impl<P: Path + ?Sized> Path for &P {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        (**self).at(tau)
    }
}

fn check(tau: f64) -> Result<()> {
    if (0.0..=1.0).contains(&tau) {
        return Ok(());
    }
    Err(Error::OutOfRange { what: "tau", value: tau.to_string(), expected: "from 0 to 1" })
}

/// The number that is the part `tau` of the way from `from` to `to`.
///
/// Computed from the nearer end: an end is met exactly, what is equal at both ends is so everywhere, and if the ends are
/// exchanged, `1 - tau` gives the same bits.
pub fn between(from: f64, to: f64, tau: f64) -> f64 {
    // Whatever the other end is, even if it is not a number.
    if tau == 0.0 {
        from
    } else if tau == 1.0 {
        to
    } else if tau < 0.5 {
        from + tau * (to - from)
    } else if tau > 0.5 {
        to + (1.0 - tau) * (from - to)
    } else {
        0.5 * (from + to)
    }
}

/// More points than anybody can wait for.
const MOST_POINTS: usize = 9999;

/// `points` equally spaced τ from 0 to 1, an odd number, so that one half is among them.
///
/// For each τ there is exactly 1 - τ: the lower half is what the upper half, whose numbers are coarser, leaves of one.
pub fn grid(points: usize) -> Result<Vec<f64>> {
    if !(3..=MOST_POINTS).contains(&points) || points.is_multiple_of(2) {
        let value = points.to_string();
        return Err(Error::OutOfRange { what: "the number of points", value, expected: "odd, from 3 to 9999" });
    }
    let last = points - 1;
    let upper = |index: usize| index as f64 / last as f64;
    let tau = |index: usize| if 2 * index < last { 1.0 - upper(last - index) } else { upper(index) };
    Ok((0..points).map(tau).collect())
}
