//! Normalisations and their gradients against their formulas in f64.

use crate::plain::{close, normals, packed, parameter, unpacked};
use onebasin_kernels::Isa;
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::normalise::{FrnBackward, FrnForward, LayerNormBackward, LayerNormForward};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filter_response_normalisation(channels in 1..17usize, height in 1..9usize, width in 1..9usize, extras in 0..4u8) {
        let plane = Plane::image(height, width);
        let len = height * width * channels;
        let (with_residual, relu) = (extras & 1 != 0, extras & 2 != 0);
        let (x, residual, dy) = (normals("x", len), normals("r", len), normals("dy", len));
        let (gamma, beta, tau) = (parameter("gamma", channels), parameter("beta", channels), parameter("tau", channels));
        let count = (height * width) as f64;
        let mut out = vec![0.0f64; len];
        let mut dx = vec![0.0f64; len];
        let (mut dgamma, mut dbeta, mut dtau) = (vec![0.0; channels], vec![0.0; channels], vec![0.0; channels]);
        for channel in 0..channels {
            let all = || (channel..len).step_by(channels);
            let mean = all().map(|index| f64::from(x[index]).powi(2)).sum::<f64>() / count;
            let inverse = 1.0 / (mean + 1e-6).sqrt();
            let (gamma, beta, tau) = (f64::from(gamma[channel]), f64::from(beta[channel]), f64::from(tau[channel]));
            for index in all() {
                let normal = f64::from(x[index]) * inverse;
                let y = normal * gamma + beta;
                out[index] = y.max(tau) + if with_residual { f64::from(residual[index]) } else { 0.0 };
                if relu { out[index] = out[index].max(0.0); }
                if y < tau { dtau[channel] += f64::from(dy[index]); } else {
                    dgamma[channel] += f64::from(dy[index]) * normal;
                    dbeta[channel] += f64::from(dy[index]);
                }
            }
            for index in all() {
                let normal = f64::from(x[index]) * inverse;
                let kept = if normal * gamma + beta < tau { 0.0 } else { f64::from(dy[index]) };
                dx[index] = inverse * gamma * (kept - normal * dgamma[channel] / count);
            }
        }
        let (x, residual, dy) = (packed(plane, channels, 1, &x), packed(plane, channels, 1, &residual), packed(plane, channels, 1, &dy));
        for isa in Isa::available() {
            let (mut ours, mut inverse) = (vec![0.0; plane.block()], vec![0.0; BLOCK]);
            isa.run(FrnForward {
                plane, x: &x, out: &mut ours, residual: with_residual.then_some(&residual), relu,
                gamma: &gamma, beta: &beta, tau: &tau, inverse: &mut inverse,
            });
            close(&unpacked(plane, channels, 1, &ours), &out, 4.0, 2e-6)?;
            let mut ours = vec![0.0; plane.block()];
            let mut sums = vec![vec![0.0; channels]; 3];
            let [gamma_gradient, beta_gradient, tau_gradient] = &mut sums[..] else { unreachable!() };
            isa.run(FrnBackward {
                plane, x: &x, dy: &dy, dx: &mut ours, gamma: &gamma, beta: &beta, tau: &tau, inverse: &inverse,
                gamma_gradient, beta_gradient, tau_gradient,
            });
            let scale = inverse.iter().fold(1.0f64, |scale, inverse| scale.max(f64::from(*inverse)));
            close(&unpacked(plane, channels, 1, &ours), &dx, 8.0 * scale, 2e-6)?;
            close(&sums[0], &dgamma, 4.0 * count.sqrt() + 4.0, 2e-6)?;
            close(&sums[1], &dbeta, 4.0 * count.sqrt() + 4.0, 2e-6)?;
            close(&sums[2], &dtau, 4.0 * count.sqrt() + 4.0, 2e-6)?;
        }
    }

    #[test]
    fn layer_normalisation(channels in 2..50usize, height in 1..7usize, width in 1..7usize, extras in 0..4u8) {
        let plane = Plane::image(height, width);
        let len = height * width * channels;
        let (with_residual, relu) = (extras & 1 != 0, extras & 2 != 0);
        let (x, residual, dy) = (normals("x", len), normals("r", len), normals("dy", len));
        let padded = blocks(channels) * BLOCK;
        let (gamma, beta) = (parameter("gamma", channels), parameter("beta", channels));
        let (mut out, mut dx) = (vec![0.0f64; len], vec![0.0f64; len]);
        let (mut dgamma, mut dbeta) = (vec![0.0; channels], vec![0.0; channels]);
        let mut largest = 1.0f64;
        for position in 0..height * width {
            let at = |channel: usize| position * channels + channel;
            let count = channels as f64;
            let mean = (0..channels).map(|c| f64::from(x[at(c)])).sum::<f64>() / count;
            let variance = (0..channels).map(|c| (f64::from(x[at(c)]) - mean).powi(2)).sum::<f64>() / count;
            let inverse = 1.0 / (variance + 1e-6).sqrt();
            largest = largest.max(inverse);
            let normal = |c: usize| (f64::from(x[at(c)]) - mean) * inverse;
            let scaled = |c: usize| f64::from(dy[at(c)]) * f64::from(gamma[c]);
            let mean_scaled = (0..channels).map(scaled).sum::<f64>() / count;
            let mean_product = (0..channels).map(|c| scaled(c) * normal(c)).sum::<f64>() / count;
            for c in 0..channels {
                out[at(c)] = normal(c) * f64::from(gamma[c]) + f64::from(beta[c]);
                if with_residual { out[at(c)] += f64::from(residual[at(c)]); }
                if relu { out[at(c)] = out[at(c)].max(0.0); }
                dx[at(c)] = inverse * (scaled(c) - mean_scaled - normal(c) * mean_product);
                dgamma[c] += f64::from(dy[at(c)]) * normal(c);
                dbeta[c] += f64::from(dy[at(c)]);
            }
        }
        let (x, residual, dy) = (packed(plane, channels, 1, &x), packed(plane, channels, 1, &residual), packed(plane, channels, 1, &dy));
        for isa in Isa::available() {
            let mut ours = vec![0.0; x.len()];
            let mut moments = vec![[0.0; 2]; height * width];
            isa.run(LayerNormForward {
                plane, channels, x: &x, out: &mut ours, residual: with_residual.then_some(&residual), relu,
                gamma: &gamma, beta: &beta, moments: &mut moments,
            });
            close(&unpacked(plane, channels, 1, &ours), &out, 8.0 * largest, 2e-6)?;
            let mut ours = vec![0.0; x.len()];
            let (mut gamma_gradient, mut beta_gradient) = (vec![0.0; padded], vec![0.0; padded]);
            isa.run(LayerNormBackward {
                plane, channels, x: &x, dy: &dy, dx: &mut ours, gamma: &gamma, moments: &moments,
                gamma_gradient: &mut gamma_gradient, beta_gradient: &mut beta_gradient,
            });
            close(&unpacked(plane, channels, 1, &ours), &dx, 16.0 * largest * largest, 2e-6)?;
            let inside = packed(plane, channels, 1, &unpacked(plane, channels, 1, &ours));
            prop_assert!(inside == ours, "something outside the image was written");
            close(&gamma_gradient[..channels], &dgamma, 16.0 * largest, 2e-6)?;
            close(&beta_gradient[..channels], &dbeta, 16.0, 2e-6)?;
        }
    }
}
