//! Paths from one posterior to another.
//!
//! A [`Path`] gives a Gaussian for every τ from 0 to 1: [`Geodesic`] and [`Natural`] go from parameter to parameter, [`Rescaled`] keeps
//! the variance of activations from collapsing. [`grid`] says at which τ a path is measured.

mod repair;
mod rescaled;
mod statistics;

pub use repair::Repair;
pub use rescaled::{Rescale, Rescaled, Source};
pub use statistics::{DataStatistics, Moments};

use crate::error::{Error, Result};
use crate::params::Params;
use crate::posterior::Gaussian;

/// A path from one Gaussian, at τ = 0, to another, at τ = 1.
pub trait Path {
    /// The Gaussian at `tau`, from 0 to 1.
    fn at(&self, tau: f64) -> Result<Gaussian>;
}

impl<P: Path + ?Sized> Path for &P {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        (**self).at(tau)
    }
}

/// The shortest path in the Wasserstein distance: means and standard deviations go straight from one end to the other; for
/// points it is the straight line.
#[derive(Clone, Copy, Debug)]
pub struct Geodesic<'a> {
    from: &'a Gaussian,
    to: &'a Gaussian,
}

impl<'a> Geodesic<'a> {
    /// Between two Gaussians of one layout.
    pub fn new(from: &'a Gaussian, to: &'a Gaussian) -> Result<Self> {
        from.mean().layout().check_same(to.mean().layout())?;
        Ok(Self { from, to })
    }
}

impl Path for Geodesic<'_> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        Error::unless((0.0..=1.0).contains(&tau), "tau", tau, "from 0 to 1")?;
        let straight = |part: fn(&Gaussian) -> &Params| {
            let pairs = part(self.from).values().iter().zip(part(self.to).values());
            let values = pairs.map(|(from, to)| {
                // Of two negative zeros, too, which no sum is.
                let equal = from.to_bits() == to.to_bits();
                if equal { *from } else { between(f64::from(*from), f64::from(*to), tau) as f32 }
            });
            Params::from_values(self.from.mean().layout(), values.collect())
        };
        Gaussian::new(straight(Gaussian::mean)?, straight(Gaussian::std)?)
    }
}

/// The path that is straight in precisions, the normalised q₀^(1 − τ) q₁^τ: each parameter follows the posterior that knows
/// it better, as its mean is weighted by precisions.
///
/// This is the exponential geodesic of information geometry. Where both ends are certain of a parameter it goes straight; where one is, that
/// end alone decides everywhere but at the other.
#[derive(Clone, Copy, Debug)]
pub struct Natural<'a>(Geodesic<'a>);

impl<'a> Natural<'a> {
    /// Between two Gaussians of one layout.
    pub fn new(from: &'a Gaussian, to: &'a Gaussian) -> Result<Self> {
        Geodesic::new(from, to).map(Self)
    }
}

impl Path for Natural<'_> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        let straight = self.0.at(tau)?;
        if tau == 0.0 || tau == 1.0 {
            return Ok(straight);
        }
        let Geodesic { from, to } = self.0;
        let (mut mean, mut std) = straight.into_parts();
        let values = |params: &Params, at: usize| f64::from(params.values()[at]);
        for (at, (mean, std)) in mean.values_mut().iter_mut().zip(std.values_mut()).enumerate() {
            let [near, far] = [from.std(), to.std()].map(|std| values(std, at));
            let [here, there] = [from.mean(), to.mean()].map(|mean| values(mean, at));
            if near == 0.0 && far == 0.0 || near == far && here == there {
                continue;
            }
            // (1 − τ) / s₀² and τ / s₁², multiplied by both variances.
            let [ours, theirs] = [(1.0 - tau) * far * far, tau * near * near];
            *mean = ((ours * here + theirs * there) / (ours + theirs)) as f32;
            *std = (near * far / (ours + theirs).sqrt()) as f32;
        }
        Gaussian::new(mean, std)
    }
}

/// The linear interpolation (1 − τ) · `from` + τ · `to`.
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

/// `points` equally spaced τ from 0 to 1, an odd number, so that one half is among them.
///
/// For each τ there is exactly 1 - τ: the lower half is what the upper half, whose numbers are coarser, leaves of one.
pub fn grid(points: usize) -> Result<Vec<f64>> {
    // More points than these nobody can wait for.
    let allowed = (3..=9999).contains(&points) && !points.is_multiple_of(2);
    Error::unless(allowed, "points", points, "odd, from 3 to 9999")?;
    let last = points - 1;
    let upper = |index: usize| index as f64 / last as f64;
    let tau = |index: usize| if 2 * index < last { 1.0 - upper(last - index) } else { upper(index) };
    Ok((0..points).map(tau).collect())
}
