//! The shortest way between two diagonal Gaussians in the Wasserstein distance.

use super::Path;
use super::between;
use super::check;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;

/// Means and standard deviations go straight from one end to the other; for points it is the straight line.
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
        check(tau)?;
        let part = |part: fn(&Gaussian) -> &Params| straight(part(self.from), part(self.to), tau);
        Gaussian::new(part(Gaussian::mean)?, part(Gaussian::std)?)
    }
}

/// Every parameter on its straight line.
pub(super) fn straight(from: &Params, to: &Params, tau: f64) -> Result<Params> {
    let pairs = from.values().iter().zip(to.values());
    let values = pairs.map(|(from, to)| {
        // Of two negative zeros, too, which no sum is.
        let equal = from.to_bits() == to.to_bits();
        if equal { *from } else { between(f64::from(*from), f64::from(*to), tau) as f32 }
    });
    Params::from_values(from.layout(), values.collect())
}
