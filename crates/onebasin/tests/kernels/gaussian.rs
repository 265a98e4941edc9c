//! The passes of variational inference against their formulas in f64.

use crate::optimise::{PlainAdam, adam};
use crate::plain::normals;
use onebasin_kernels::Isa;
use onebasin_kernels::gaussian::{
    Draw, Shift, Spread, SquareGaussian, StepGaussian, SumGradients, SumMoments, Weights,
};
use onebasin_kernels::optimise::Momentum;
use proptest::prelude::*;

/// softplus in f64.
fn std_of(rho: f64) -> f64 {
    rho.max(0.0) + (-rho.abs()).exp().ln_1p()
}

/// ρ from far below to far above zero.
fn rhos(len: usize) -> Vec<f32> {
    normals("rho", len).into_iter().enumerate().map(|(index, value)| value + 4.0 * (index % 7) as f32 - 16.0).collect()
}

fn weights() -> impl Strategy<Value = Weights> {
    (0.1..2.0f32, 0.0..1.0f32, 0.0..0.5f32).prop_map(|(scale, decay, entropy)| Weights { scale, decay, entropy })
}

/// The slope of the lower bound in ρ, and the size of the terms that it is summed of.
fn rho_slope(weights: Weights, product: f64, rho: f64) -> [f64; 2] {
    let (std, sigmoid) = (std_of(rho), 1.0 / (1.0 + (-rho).exp()));
    let terms =
        [f64::from(weights.scale) * product / std, -f64::from(weights.decay) * std, f64::from(weights.entropy) / std];
    [terms.iter().sum::<f64>(), terms.iter().map(|term| term.abs()).sum()].map(|sum| sum * sigmoid)
}

fn mean_slope(weights: Weights, gradient: f64, mean: f64) -> f64 {
    f64::from(weights.scale) * gradient - f64::from(weights.decay) * mean
}

/// A Gaussian and what an optimiser remembers of it.
#[derive(Clone, Debug, PartialEq)]
struct Stepped {
    shrink: f32,
    mean: Vec<f32>,
    rho: Vec<f32>,
    mean_moments: [Vec<f32>; 2],
    rho_moments: [Vec<f32>; 2],
}

impl Stepped {
    fn new(len: usize, second: usize) -> Self {
        let moments = || [vec![0.0; len], vec![0.0; second]];
        Self {
            shrink: 0.0,
            mean: normals("mean", len),
            rho: rhos(len),
            mean_moments: moments(),
            rho_moments: moments(),
        }
    }

    fn step(
        &mut self,
        isa: Isa,
        rule: impl onebasin_kernels::optimise::Rule,
        weights: Weights,
        gradient: &[f32],
        spread: Spread<'_>,
    ) {
        let ([first, second], [third, fourth]) = (&mut self.mean_moments, &mut self.rho_moments);
        isa.run(StepGaussian {
            rule,
            mean: &mut self.mean,
            rho: &mut self.rho,
            mean_moments: [first, second],
            rho_moments: [third, fourth],
            gradient,
            spread,
            weights,
            shrink: self.shrink,
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_draw_is_the_mean_plus_noise_of_the_standard_deviation(len in 0..700usize) {
        let (mean, rho, noise) = (normals("mean", len), rhos(len), normals("noise", len));
        for isa in Isa::available() {
            let mut out = vec![f32::NAN; len];
            isa.run(Draw { mean: &mean, rho: &rho, noise: &noise, out: &mut out });
            for (index, found) in out.into_iter().enumerate() {
                let [mean, rho, noise] = [mean[index], rho[index], noise[index]].map(f64::from);
                let (expected, size) = (mean + std_of(rho) * noise, mean.abs() + std_of(rho) * noise.abs());
                // softplus is off by 3 units of 1.2e-7 at most.
                prop_assert!((f64::from(found) - expected).abs() <= 4e-7 * size, "{found}, not {expected}");
            }
        }
    }

    #[test]
    fn a_shift_makes_noise_a_draw(len in 0..100usize) {
        let (noise, mean, std) = (normals("noise", len), normals("mean", len), normals("std", len));
        let expected: Vec<f32> = (0..len).map(|index| std[index].mul_add(noise[index], mean[index])).collect();
        for isa in Isa::available() {
            let mut values = noise.clone();
            isa.run(Shift { values: &mut values, mean: &mean, std: &std });
            prop_assert_eq!(&values, &expected, "{:?}", isa);
        }
    }

    #[test]
    fn gradients_are_summed(len in 0..700usize) {
        let (gradient, point, mean) = (normals("gradient", len), normals("point", len), normals("mean", len));
        let before = [normals("sum", len), normals("spread", len)];
        for isa in Isa::available() {
            let [mut sum, mut spread_sum] = before.clone();
            isa.run(SumGradients { sum: &mut sum, spread_sum: &mut spread_sum, gradient: &gradient, point: &point, mean: &mean });
            for index in 0..len {
                prop_assert_eq!(sum[index], before[0][index] + gradient[index]);
                let [old, g, point, mean] = [before[1][index], gradient[index], point[index], mean[index]].map(f64::from);
                let (expected, size) = (old + g * (point - mean), old.abs() + (g * (point - mean)).abs());
                prop_assert!((f64::from(spread_sum[index]) - expected).abs() <= 2e-7 * size);
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_lower_bound(len in 0..700usize, weights in weights(), shrink in 0.0..0.1f32) {
        let start = Stepped { shrink, ..Stepped::new(len, 0) };
        let (gradient, noise) = (normals("gradient", len), normals("noise", len));
        for isa in Isa::available() {
            let mut point = vec![0.0; len];
            isa.run(Draw { mean: &start.mean, rho: &start.rho, noise: &noise, out: &mut point });
            let mut found = start.clone();
            // Without momentum the first numbers become the slopes.
            let rule = Momentum { rate: 0.25, momentum: 0.0, nesterov: false };
            found.step(isa, rule, weights, &gradient, Spread::Point(&point));
            let squares: f64 = found.mean_moments[0].iter().chain(&found.rho_moments[0]).map(|slope| f64::from(*slope).powi(2)).sum();
            let (mean, rho, spread) = (&start.mean, &start.rho, Spread::Point(&point));
            let summed = isa.run(SquareGaussian { mean, rho, gradient: &gradient, spread, weights });
            prop_assert!((summed - squares).abs() <= 1e-12 * squares, "{summed}, not {squares}");
            for index in 0..len {
                let [g, mean, rho, point] = [gradient[index], start.mean[index], start.rho[index], point[index]].map(f64::from);
                let slopes = [found.mean_moments[0][index], found.rho_moments[0][index]].map(f64::from);
                let off = (slopes[0] - mean_slope(weights, g, mean)).abs();
                prop_assert!(off <= 3e-7 * (2.0 * g.abs() + mean.abs()), "mean {index}: off by {off}");
                // σ is off by 3 units of 1.2e-7 and enters up to twice; sigmoid, products and sums by one each.
                let [expected, size] = rho_slope(weights, g * (point - mean), rho);
                let off = (slopes[1] - expected).abs();
                prop_assert!(off <= 2e-6 * size, "rho {index}: off by {off} of {expected}, size {size}");
                for (new, old, slope) in [
                    (found.mean[index], mean, slopes[0] - 4.0 * f64::from(shrink) * mean),
                    (found.rho[index], rho, slopes[1]),
                ] {
                    let expected = old + 0.25 * slope;
                    prop_assert!((f64::from(new) - expected).abs() <= 1e-7 * (expected.abs() + old.abs() + slope.abs()));
                }
            }
        }
    }

    #[test]
    fn one_summed_draw_is_like_one_point(len in 0..700usize, weights in weights()) {
        let (gradient, point) = (normals("gradient", len), normals("point", len));
        let start = Stepped::new(len, len);
        let products: Vec<f32> = (0..len).map(|index| gradient[index] * (point[index] - start.mean[index])).collect();
        for isa in Isa::available() {
            let (mut one, mut other) = (start.clone(), start.clone());
            one.step(isa, adam(0.1, 1), weights, &gradient, Spread::Point(&point));
            other.step(isa, adam(0.1, 1), weights, &gradient, Spread::Summed(&products));
            prop_assert!(one == other, "{isa:?}");
        }
    }

    #[test]
    fn several_steps_of_adam(len in 0..700usize, weights in weights()) {
        const STEPS: u64 = 5;
        const RATE: f64 = 0.02;
        let start = Stepped::new(len, len);
        // The entropy pulls so strongly that no slope is a difference of almost equal numbers, which Adam would magnify.
        let weights = Weights { entropy: 3.0 + weights.entropy, ..weights };
        let gradients = |step: u64| -> Vec<f32> {
            normals(&format!("gradient{step}"), len).into_iter().map(|value| 2.0 + value.clamp(-1.0, 1.0)).collect()
        };
        let products = |step: u64| -> Vec<f32> {
            normals(&format!("product{step}"), len).into_iter().map(|value| value.clamp(-1.0, 1.0)).collect()
        };
        let mut plain: Vec<[f64; 2]> =
            start.mean.iter().zip(&start.rho).map(|(mean, rho)| [*mean, *rho].map(f64::from)).collect();
        let mut rules = vec![[PlainAdam::default(); 2]; len];
        for step in 1..=STEPS {
            let (gradient, product) = (gradients(step), products(step));
            for (index, ([mean, rho], [mean_rule, rho_rule])) in plain.iter_mut().zip(&mut rules).enumerate() {
                let of_mean = mean_slope(weights, f64::from(gradient[index]), *mean);
                let [of_rho, _] = rho_slope(weights, f64::from(product[index]), *rho);
                *mean += mean_rule.step(RATE, of_mean);
                *rho += rho_rule.step(RATE, of_rho);
            }
        }
        for isa in Isa::available() {
            let mut found = start.clone();
            for step in 1..=STEPS {
                let (gradient, product) = (gradients(step), products(step));
                found.step(isa, adam(RATE, step), weights, &gradient, Spread::Summed(&product));
            }
            for (index, [mean, rho]) in plain.iter().enumerate() {
                for (found, expected) in [(found.mean[index], mean), (found.rho[index], rho)] {
                    // Each step is off by 1e-4 of the rate where slopes nearly cancel, and the sum is rounded.
                    let off = (f64::from(found) - expected).abs();
                    prop_assert!(off <= STEPS as f64 * (1e-4 * RATE + 1e-7 * expected.abs()), "{index}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn moments_are_summed(len in 0..700usize) {
        let (mean, rho) = (normals("mean", len), rhos(len));
        let (mut squares, mut log_stds, mut allowed) = (0.0, 0.0, 0.0);
        for (mean, rho) in mean.iter().zip(&rho) {
            let (mean, std) = (f64::from(*mean), std_of(f64::from(*rho)));
            squares += mean * mean + std * std;
            log_stds += std.ln();
            // softplus is off by 3 units of 1.2e-7, its logarithm by as much and by one unit of its own.
            allowed += 4e-7 + 1.2e-7 * std.ln().abs();
        }
        for isa in Isa::available() {
            let found = isa.run(SumMoments { mean: &mean, rho: &rho });
            prop_assert!((found.squares - squares).abs() <= 1e-6 * squares, "{}, not {squares}", found.squares);
            prop_assert!((found.log_stds - log_stds).abs() <= allowed, "{}, not {log_stds}", found.log_stds);
        }
    }
}
