//! The way between two diagonal Gaussians that is straight in precisions: the normalised q₀^(1 − τ) q₁^τ.

use super::Path;
use super::check;
use super::geodesic::straight;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;

/// Each parameter follows the posterior that knows it better: its mean is weighted by precisions.
///
/// This is the exponential geodesic of information geometry. Where both ends are certain of a parameter it goes straight; where one is, that
/// end alone decides everywhere but at the other.
#[derive(Clone, Copy, Debug)]
pub struct Natural<'a> {
    from: &'a Gaussian,
    to: &'a Gaussian,
}

impl<'a> Natural<'a> {
    /// Between two Gaussians of one layout.
    pub fn new(from: &'a Gaussian, to: &'a Gaussian) -> Result<Self> {
        from.mean().layout().check_same(to.mean().layout())?;
        Ok(Self { from, to })
    }
}

impl Path for Natural<'_> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        check(tau)?;
        let (from, to) = (self.from, self.to);
        let mut mean = straight(from.mean(), to.mean(), tau)?;
        let mut std = straight(from.std(), to.std(), tau)?;
        if tau == 0.0 || tau == 1.0 {
            return Gaussian::new(mean, std);
        }
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
