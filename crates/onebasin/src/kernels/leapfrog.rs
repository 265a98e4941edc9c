//! The passes of Hamiltonian Monte Carlo over flat vectors: half steps of the momentum, steps of both.

use super::isa::Kernel;
use super::lanes::Lanes;

/// p ← p + kick · (g − precision · θ), then θ ← θ + drift · p.
///
/// A leapfrog step's two halves of the momentum meet between positions, so all but the first and the last are whole.
#[derive(Debug)]
pub struct KickAndDrift<'a> {
    /// p
    pub momentum: &'a mut [f32],
    /// θ, as many.
    pub position: &'a mut [f32],
    /// g, the gradient of the log-likelihood at θ, as many.
    pub gradient: &'a [f32],
    /// The precision of the prior.
    pub precision: f32,
    /// The step of the momentum, in units of the gradient.
    pub kick: f32,
    /// The step of the position; 0 leaves it.
    pub drift: f32,
}

impl Kernel for KickAndDrift<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.momentum.len();
        let (position, gradient) = (&mut self.position[..len], &self.gradient[..len]);
        for i in 0..len {
            let slope = (-self.precision).mul_add(position[i], gradient[i]);
            self.momentum[i] = self.kick.mul_add(slope, self.momentum[i]);
            position[i] = self.drift.mul_add(self.momentum[i], position[i]);
        }
    }
}
