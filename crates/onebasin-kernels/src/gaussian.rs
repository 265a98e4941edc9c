//! The passes of mean-field variational inference: draw a point, step the mean and the standard deviation, measure.
//!
//! The standard deviation is σ = softplus(ρ) = ln(1 + eᵖ), and ρ is what is stepped.

use crate::lanes::{Kernel, Lanes};
use crate::optimise::{Rule, Squares};
use crate::{math, optimise};

/// Values that take all steps of a computation before the next ones do.
///
/// Elementary functions are long dependent chains: of a loop with all of them two or three iterations fit into the
/// processor's window, of a loop for each a dozen. With AVX-512 a step of 10⁶ values takes 2.3 ms instead of 3.5 ms.
const CHUNK: usize = 256;

/// exp(−|ρ|) and softplus(ρ) of a chunk.
#[inline(always)]
fn softplus(rho: &[f32], exp: &mut [f32; CHUNK], std: &mut [f32; CHUNK]) {
    let len = rho.len();
    let (exp, std) = (&mut exp[..len], &mut std[..len]);
    for i in 0..len {
        exp[i] = math::exp(-rho[i].abs());
    }
    for i in 0..len {
        std[i] = math::softplus_from(rho[i], exp[i]);
    }
}

/// Draws a point: θ = μ + softplus(ρ) · ε.
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
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.out.len();
        let (mean, rho, noise) = (&self.mean[..len], &self.rho[..len], &self.noise[..len]);
        let (mut exp, mut std) = ([0.0; CHUNK], [0.0; CHUNK]);
        for first in (0..len).step_by(CHUNK) {
            let range = first..(first + CHUNK).min(len);
            prefetch::<V, 3>(range.end, [mean, rho, self.out]);
            softplus(&rho[range.clone()], &mut exp, &mut std);
            let (mean, noise, out) = (&mean[range.clone()], &noise[range.clone()], &mut self.out[range]);
            for i in 0..out.len() {
                out[i] = std[i].mul_add(noise[i], mean[i]);
            }
        }
    }
}

/// Makes a draw of noise: value ← mean + std · value.
pub struct Shift<'a> {
    /// Standard normal numbers, then the draw.
    pub values: &'a mut [f32],
    /// As many.
    pub mean: &'a [f32],
    /// As many.
    pub std: &'a [f32],
}

impl Kernel for Shift<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.values.len();
        let (mean, std) = (&self.mean[..len], &self.std[..len]);
        for i in 0..len {
            self.values[i] = std[i].mul_add(self.values[i], mean[i]);
        }
    }
}

/// Sums of several draws' gradients: `sum += g` and `spread_sum += g · (θ − μ)`.
pub struct SumGradients<'a> {
    /// The sum of the gradients.
    pub sum: &'a mut [f32],
    /// The sum of the gradients times the distance from the mean, as many.
    pub spread_sum: &'a mut [f32],
    /// g, as many.
    pub gradient: &'a [f32],
    /// θ, as many.
    pub point: &'a [f32],
    /// μ, as many.
    pub mean: &'a [f32],
}

impl Kernel for SumGradients<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.sum.len();
        let (spread_sum, gradient) = (&mut self.spread_sum[..len], &self.gradient[..len]);
        let (point, mean) = (&self.point[..len], &self.mean[..len]);
        for i in 0..len {
            self.sum[i] += gradient[i];
            spread_sum[i] = gradient[i].mul_add(point[i] - mean[i], spread_sum[i]);
        }
    }
}

/// One step of μ and ρ uphill on the evidence lower bound, whose slopes are
///
/// ```text
/// dμ = scale · g − decay · μ
/// dρ = (scale · g ε − decay · σ + entropy / σ) · sigmoid(ρ)
/// ```
///
/// The noise ε is not kept: σ ε is θ − μ, rounded as the network saw it. The step of μ also takes shrink · μ off it.
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
    /// g, the gradient at the point drawn, or the sum over several; as many.
    pub gradient: &'a [f32],
    /// Where the gradient was taken; as many.
    pub spread: Spread<'a>,
    /// What the terms of the bound count.
    pub weights: Weights,
    /// Decoupled weight decay of μ, which no rule sees.
    pub shrink: f32,
}

/// What the terms of the evidence lower bound count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Multiplies the gradient of the log-likelihood.
    pub scale: f32,
    /// The precision of the prior, scaled likewise.
    pub decay: f32,
    /// The weight of the entropy, scaled likewise.
    pub entropy: f32,
}

/// How far from the mean gradients were taken.
#[derive(Clone, Copy, Debug)]
pub enum Spread<'a> {
    /// θ, of one draw.
    Point(&'a [f32]),
    /// The sum of g · (θ − μ) over several draws.
    Summed(&'a [f32]),
}

impl<R: Rule> Kernel for StepGaussian<'_, R> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        match self.spread {
            Spread::Point(point) => self.steps::<V>(point, of_point),
            Spread::Summed(sum) => self.steps::<V>(sum, of_sum),
        }
    }
}

/// Makes g · σ ε of g, θ and μ.
#[inline(always)]
fn of_point(gradient: f32, point: f32, mean: f32) -> f32 {
    gradient * (point - mean)
}

/// Makes g · σ ε, summed over draws, of itself.
#[inline(always)]
fn of_sum(_: f32, product: f32, _: f32) -> f32 {
    product
}

/// The slopes of a chunk, and what they are made of.
struct Slopes {
    exp: [f32; CHUNK],
    std: [f32; CHUNK],
    mean: [f32; CHUNK],
    rho: [f32; CHUNK],
}

impl Slopes {
    const ZERO: Self = Self { exp: [0.0; CHUNK], std: [0.0; CHUNK], mean: [0.0; CHUNK], rho: [0.0; CHUNK] };

    /// Computes those of a chunk; `product` makes g · σ ε of g, a value of `spread` and μ.
    #[inline(always)]
    fn compute(
        &mut self,
        weights: Weights,
        [mean, rho, gradient, spread]: [&[f32]; 4],
        product: impl Fn(f32, f32, f32) -> f32,
    ) {
        let (len, Weights { scale, decay, entropy }) = (mean.len(), weights);
        let (rho, gradient, spread) = (&rho[..len], &gradient[..len], &spread[..len]);
        softplus(rho, &mut self.exp, &mut self.std);
        let (mean_slopes, rho_slopes) = (&mut self.mean[..len], &mut self.rho[..len]);
        let (exp, std) = (&self.exp[..len], &self.std[..len]);
        for i in 0..len {
            // With e = exp(-|ρ|): sigmoid(ρ) = (e if ρ < 0, else 1) / (1 + e).
            let (e, std) = (exp[i], std[i]);
            let ratio = if rho[i] < 0.0 { e } else { 1.0 } * math::reciprocal((1.0 + e) * std);
            let of_log_std = scale.mul_add(product(gradient[i], spread[i], mean[i]), entropy);
            rho_slopes[i] = ratio * (-decay * std).mul_add(std, of_log_std);
            mean_slopes[i] = (-decay).mul_add(mean[i], scale * gradient[i]);
        }
    }
}

impl<R: Rule> StepGaussian<'_, R> {
    #[inline(always)]
    fn steps<V: Lanes>(self, spread: &[f32], product: impl Fn(f32, f32, f32) -> f32) {
        let len = self.mean.len();
        let (mean, rho) = (self.mean, &mut self.rho[..len]);
        let (gradient, spread) = (&self.gradient[..len], &spread[..len]);
        let second_len = if R::SECOND { len } else { 0 };
        let [mean_first, mean_second] = self.mean_moments;
        let [rho_first, rho_second] = self.rho_moments;
        let (mean_first, mean_second) = (&mut mean_first[..len], &mut mean_second[..second_len]);
        let (rho_first, rho_second) = (&mut rho_first[..len], &mut rho_second[..second_len]);
        let mut slopes = Slopes::ZERO;
        for first in (0..len).step_by(CHUNK) {
            let range = first..(first + CHUNK).min(len);
            let second_range = range.start.min(second_len)..range.end.min(second_len);
            prefetch::<V, 8>(range.end, [mean, rho, gradient, spread, mean_first, rho_first, mean_second, rho_second]);
            let (mean, rho) = (&mut mean[range.clone()], &mut rho[range.clone()]);
            slopes.compute(self.weights, [mean, rho, &gradient[range.clone()], &spread[range.clone()]], &product);
            let (mean_slopes, rho_slopes) = (&slopes.mean[..mean.len()], &slopes.rho[..mean.len()]);
            let moments = [&mut mean_first[range.clone()], &mut mean_second[second_range.clone()]];
            optimise::step::<V, R>(self.rule, self.shrink, mean, mean_slopes, moments);
            let moments = [&mut rho_first[range], &mut rho_second[second_range]];
            optimise::step::<V, R>(self.rule, 0.0, rho, rho_slopes, moments);
        }
    }
}

/// The sum of the squared slopes of a step of μ and ρ.
pub struct SquareGaussian<'a> {
    /// μ
    pub mean: &'a [f32],
    /// ρ, as many.
    pub rho: &'a [f32],
    /// g, as many.
    pub gradient: &'a [f32],
    /// Where the gradient was taken; as many.
    pub spread: Spread<'a>,
    /// What the terms of the bound count.
    pub weights: Weights,
}

impl Kernel<f64> for SquareGaussian<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        match self.spread {
            Spread::Point(point) => self.sum(point, of_point),
            Spread::Summed(sum) => self.sum(sum, of_sum),
        }
    }
}

impl SquareGaussian<'_> {
    #[inline(always)]
    fn sum(self, spread: &[f32], product: impl Fn(f32, f32, f32) -> f32) -> f64 {
        let (mut slopes, mut squares) = (Slopes::ZERO, Squares::default());
        for first in (0..self.mean.len()).step_by(CHUNK) {
            let range = first..(first + CHUNK).min(self.mean.len());
            let chunk = [self.mean, self.rho, self.gradient, spread].map(|array| &array[range.clone()]);
            slopes.compute(self.weights, chunk, &product);
            squares.add(&slopes.mean[..range.len()]);
            squares.add(&slopes.rho[..range.len()]);
        }
        squares.sum()
    }
}

/// Asks for the chunk that begins at `at`, of each array.
#[inline(always)]
fn prefetch<V: Lanes, const N: usize>(at: usize, arrays: [&[f32]; N]) {
    /// Values in a cache line.
    const LINE: usize = 16;
    for array in arrays {
        for line in (at..at + CHUNK).step_by(LINE) {
            // SAFETY: any address may be asked for.
            unsafe { V::prefetch(array.as_ptr().wrapping_add(line)) };
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
pub struct SumMoments<'a> {
    /// μ
    pub mean: &'a [f32],
    /// ρ, as many.
    pub rho: &'a [f32],
}

impl Kernel<Moments> for SumMoments<'_> {
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
        assert_eq!(self.mean.len(), self.rho.len());
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
