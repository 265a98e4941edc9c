//! The passes of IVON, variational inference by an online Newton method: draw a point, step mean and Hessian, measure.
//!
//! The standard deviation is σ = 1/√(λ(h + δ)), with h an estimate of the diagonal of the Hessian of the mean loss.

use crate::lanes::{Kernel, Lanes};

/// What the passes over one piece of the parameters share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// λ, the number of examples over the temperature.
    pub lambda: f32,
    /// δ, the precision of the prior over the number of examples.
    pub delta: f32,
}

/// Draws a point: θ = m + ε/√(λ(h + δ)).
pub struct DrawIvon<'a> {
    /// λ and δ.
    pub scale: Scale,
    /// m
    pub mean: &'a [f32],
    /// h, as many.
    pub hessian: &'a [f32],
    /// ε, standard normal numbers, as many.
    pub noise: &'a [f32],
    /// θ, as many.
    pub out: &'a mut [f32],
}

impl Kernel for DrawIvon<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (len, Scale { lambda, delta }) = (self.out.len(), self.scale);
        let (mean, hessian, noise) = (&self.mean[..len], &self.hessian[..len], &self.noise[..len]);
        for i in 0..len {
            self.out[i] = mean[i] + noise[i] / (lambda * (hessian[i] + delta)).sqrt();
        }
    }
}

/// One step of m and h, with g the gradient of the mean loss and s that gradient times θ − m, both means over draws:
///
/// ```text
/// u ← β₁ u + (1 − β₁) g
/// f = λ (h + δ) s
/// h ← β₂ h + (1 − β₂) f + ½ (1 − β₂)² (h − f)² / (h + δ)
/// m ← m − rate · (h₀ + δ) · clip((u / (1 − β₁ᵗ) + δ m) / (h + δ))
/// ```
pub struct StepIvon<'a> {
    /// λ and δ.
    pub scale: Scale,
    /// m
    pub mean: &'a mut [f32],
    /// u, as many.
    pub momentum: &'a mut [f32],
    /// h, as many.
    pub hessian: &'a mut [f32],
    /// Sum over draws of the gradients of the log-likelihood of the batch, as many.
    pub gradient: &'a [f32],
    /// Sum over draws of these gradients times θ − m, as many.
    pub spread: &'a [f32],
    /// Makes g and s of the sums: minus one over examples and draws.
    pub mean_loss: f32,
    /// β₁
    pub decay: f32,
    /// 1/(1 − β₁ᵗ), t the number of this step from one.
    pub correction: f32,
    /// 1 − β₂; zero while h is held.
    pub hessian_gain: f32,
    /// The learning rate times h₀ + δ.
    pub rate: f32,
    /// Largest absolute value of a step before it is multiplied by `rate`.
    pub clip: f32,
}

impl Kernel for StepIvon<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (len, Scale { lambda, delta }) = (self.mean.len(), self.scale);
        let (momentum, hessian) = (&mut self.momentum[..len], &mut self.hessian[..len]);
        let (gradient, spread) = (&self.gradient[..len], &self.spread[..len]);
        let (decay, gain) = (self.decay, self.hessian_gain);
        for i in 0..len {
            let curvature = hessian[i] + delta;
            momentum[i] = decay * momentum[i] + (1.0 - decay) * (self.mean_loss * gradient[i]);
            let estimate = lambda * curvature * (self.mean_loss * spread[i]);
            let away = hessian[i] - estimate;
            hessian[i] += gain * (0.5 * gain * away * away / curvature - away);
            let newton = (self.correction * momentum[i] + delta * self.mean[i]) / (hessian[i] + delta);
            self.mean[i] -= self.rate * newton.clamp(-self.clip, self.clip);
        }
    }
}

/// The sums behind the entropy and the expected log prior: of log σ, and of m² + σ².
pub struct SumIvon<'a> {
    /// λ and δ.
    pub scale: Scale,
    /// m
    pub mean: &'a [f32],
    /// h, as many.
    pub hessian: &'a [f32],
}

impl Kernel<[f64; 2]> for SumIvon<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> [f64; 2] {
        let Scale { lambda, delta } = self.scale;
        let mut sums = [0.0; 2];
        for (mean, hessian) in self.mean.iter().zip(self.hessian) {
            let variance = 1.0 / (f64::from(lambda) * (f64::from(*hessian) + f64::from(delta)));
            sums[0] += 0.5 * variance.ln();
            sums[1] += f64::from(*mean) * f64::from(*mean) + variance;
        }
        sums
    }
}
