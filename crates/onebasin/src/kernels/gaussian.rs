//! The passes of mean-field variational inference: draw a point, step the mean and the standard deviation, measure.
//!
//! The standard deviation is σ = softplus(ρ) = ln(1 + eᵖ), and ρ is what is stepped.

use super::isa::Kernel;
use super::lanes::Lanes;
use super::math;
use super::optimise::Rule;

/// Draws a point: θ = μ + softplus(ρ) · ε.
#[derive(Debug)]
pub struct Draw<'a> {
    /// μ
    pub mean: &'a [f32],
    /// ρ, as many.
    pub rho: &'a [f32],
    /// ε, standard normal numbers, as many.
    pub noise: &'a [f32],
    /// θ, as many.
    pub out: &'a mut [f32],
}

impl Kernel for Draw<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.out.len();
        let (mean, rho, noise) = (&self.mean[..len], &self.rho[..len], &self.noise[..len]);
        for i in 0..len {
            self.out[i] = math::softplus(rho[i]).mul_add(noise[i], mean[i]);
        }
    }
}

/// Sums of several draws' gradients: `sum += g` and `noisy_sum += g · ε`.
#[derive(Debug)]
pub struct SumGradients<'a> {
    /// The sum of the gradients.
    pub sum: &'a mut [f32],
    /// The sum of the gradients times the noise, as many.
    pub noisy_sum: &'a mut [f32],
    /// As many.
    pub gradient: &'a [f32],
    /// As many.
    pub noise: &'a [f32],
}

impl Kernel for SumGradients<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.sum.len();
        let (noisy_sum, gradient, noise) = (&mut self.noisy_sum[..len], &self.gradient[..len], &self.noise[..len]);
        for i in 0..len {
            self.sum[i] += gradient[i];
            noisy_sum[i] = gradient[i].mul_add(noise[i], noisy_sum[i]);
        }
    }
}

/// One step of μ and ρ uphill on the evidence lower bound, whose slopes are
///
/// ```text
/// dμ = scale · g − decay · μ
/// dρ = (scale · g ε − decay · σ + entropy / σ) · sigmoid(ρ)
/// ```
#[derive(Debug)]
pub struct StepGaussian<'a, R> {
    /// How a gradient becomes a step.
    pub rule: R,
    /// μ
    pub mean: &'a mut [f32],
    /// ρ, as many.
    pub rho: &'a mut [f32],
    /// The rule's numbers for μ, as many each; the second may be empty if the rule has no use for it.
    pub mean_moments: [&'a mut [f32]; 2],
    /// The same for ρ.
    pub rho_moments: [&'a mut [f32]; 2],
    /// g, the gradient at the point drawn (or the sum of several), as many.
    pub gradient: &'a [f32],
    /// What the point was drawn with or, for several draws, the sum of gradients times noise; as many.
    pub noise: Noise<'a>,
    /// Multiplies the gradient of the log-likelihood.
    pub scale: f32,
    /// The precision of the prior, scaled likewise.
    pub decay: f32,
    /// The weight of the entropy, scaled likewise.
    pub entropy: f32,
}

/// The noise of one draw, or what was already summed over several.
#[derive(Clone, Copy, Debug)]
pub enum Noise<'a> {
    /// ε
    Drawn(&'a [f32]),
    /// The sum of g ε.
    Summed(&'a [f32]),
}

impl<R: Rule> Kernel for StepGaussian<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        match self.noise {
            Noise::Drawn(noise) => self.steps(noise, |gradient, noise| gradient * noise),
            Noise::Summed(noise) => self.steps(noise, |_, product| product),
        }
    }
}

impl<R: Rule> StepGaussian<'_, R> {
    #[inline(always)]
    fn steps(self, noise: &[f32], product: impl Fn(f32, f32) -> f32) {
        let len = self.mean.len();
        let (mean, rho) = (self.mean, &mut self.rho[..len]);
        let (gradient, noise) = (&self.gradient[..len], &noise[..len]);
        let second_len = if R::SECOND { len } else { 0 };
        let [mean_first, mean_second] = self.mean_moments;
        let [rho_first, rho_second] = self.rho_moments;
        let (mean_first, mean_second) = (&mut mean_first[..len], &mut mean_second[..second_len]);
        let (rho_first, rho_second) = (&mut rho_first[..len], &mut rho_second[..second_len]);
        let mut unused = 0.0;
        for i in 0..len {
            let slope = (-self.decay).mul_add(mean[i], self.scale * gradient[i]);
            let second = if R::SECOND { &mut mean_second[i] } else { &mut unused };
            mean[i] += self.rule.delta(slope, &mut mean_first[i], second);

            // With e = exp(-|ρ|) and r = 1 / ((1 + e) σ), sigmoid(ρ) = σ r · (e if ρ < 0, else 1): one reciprocal for
            // the sigmoid and for 1 / σ.
            let e = math::exp(-rho[i].abs());
            let std = math::softplus_from(rho[i], e);
            let ratio = if rho[i] < 0.0 { e } else { 1.0 } * math::reciprocal((1.0 + e) * std);
            let of_std = (-self.decay).mul_add(std, self.scale * product(gradient[i], noise[i]));
            let slope = ratio * of_std.mul_add(std, self.entropy);
            let second = if R::SECOND { &mut rho_second[i] } else { &mut unused };
            rho[i] += self.rule.delta(slope, &mut rho_first[i], second);
        }
    }
}

/// Sums over a Gaussian that its divergence from a Gaussian prior is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Sum of μ² + σ².
    pub squares: f64,
    /// Sum of ln σ.
    pub log_stds: f64,
}

/// Computes [`Moments`].
#[derive(Debug)]
pub struct SumMoments<'a> {
    /// μ
    pub mean: &'a [f32],
    /// ρ, as many.
    pub rho: &'a [f32],
}

impl Kernel for SumMoments<'_> {
    type Output = Moments;
    #[inline(always)]
    fn run<V: Lanes>(self) -> Moments {
        /// Sums side by side, so that the order of the additions is fixed and they fill vectors.
        const SUMS: usize = 16;
        let mut sums = [[0.0f64; SUMS]; 2];
        let mut add = |lane: usize, mean: f32, rho: f32| {
            let std = math::softplus(rho);
            sums[0][lane] += f64::from(mean.mul_add(mean, std * std));
            sums[1][lane] += f64::from(math::ln(std));
        };
        let ((means, mean_rest), (rhos, rho_rest)) = (self.mean.as_chunks::<SUMS>(), self.rho.as_chunks::<SUMS>());
        for (means, rhos) in means.iter().zip(rhos) {
            for lane in 0..SUMS {
                add(lane, means[lane], rhos[lane]);
            }
        }
        for (lane, (mean, rho)) in mean_rest.iter().zip(rho_rest).enumerate() {
            add(lane, *mean, *rho);
        }
        Moments { squares: sums[0].iter().sum(), log_stds: sums[1].iter().sum() }
    }
}
