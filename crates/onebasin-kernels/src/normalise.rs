//! Filter response normalisation and layer normalisation, and their gradients, on one image.

use crate::geometry::{Plane, blocks};
use crate::lanes::{BLOCK, Kernel, Lanes};

/// Added to the mean square or the variance, as in Singh and Krishnan (2020) and in Flax.
const EPSILON: f32 = 1e-6;

/// One block of channels: max(x / sqrt(mean x^2 + eps) * gamma + beta, tau), then residual and ReLU if wanted.
pub struct FrnForward<'a> {
    /// The positions.
    pub plane: Plane,
    /// One block, with its border.
    pub x: &'a [f32],
    /// One block, with its border, which is not written.
    pub out: &'a mut [f32],
    /// Added behind the normalisation.
    pub residual: Option<&'a [f32]>,
    /// Whether a ReLU follows.
    pub relu: bool,
    /// Scales of the 16 channels, zero beyond the real ones.
    pub gamma: &'a [f32],
    /// Shifts.
    pub beta: &'a [f32],
    /// Thresholds.
    pub tau: &'a [f32],
    /// Receives 1 / sqrt(mean x^2 + eps) of the 16 channels.
    pub inverse: &'a mut [f32],
}

/// Offsets of the rows of one block, without the border.
#[inline(always)]
fn rows(plane: Plane) -> impl Iterator<Item = usize> {
    (0..plane.height).map(move |row| plane.at(row, 0))
}

/// Positions of one row that are taken together, so that their chains of sums, root and division overlap.
const TOGETHER: usize = 16;

/// Runs of up to `TOGETHER` positions of one block: the offset of the first, and how many.
#[inline(always)]
fn runs(plane: Plane) -> impl Iterator<Item = (usize, usize)> {
    rows(plane).flat_map(move |row| {
        (0..plane.width).step_by(TOGETHER).map(move |column| (row + column * BLOCK, TOGETHER.min(plane.width - column)))
    })
}

/// Adds the residual at `at`, applies the ReLU, and stores there.
///
/// # Safety
/// A vector from `at` on is inside `out` and `residual`.
#[inline(always)]
unsafe fn finish<V: Lanes>(mut y: V, residual: Option<&[f32]>, relu: bool, out: &mut [f32], at: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(residual) = residual {
            y = y.add(V::load(residual.as_ptr().add(at)));
        }
        if relu {
            y = V::splat(0.0).max(y);
        }
        y.store(out.as_mut_ptr().add(at));
    }
}

impl Kernel for FrnForward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        assert!([self.x.len(), self.out.len()].iter().all(|len| *len == plane.block()));
        assert!(self.residual.is_none_or(|residual| residual.len() == plane.block()));
        assert!([self.gamma, self.beta, self.tau, self.inverse].iter().all(|values| values.len() == BLOCK));
        let count = (plane.height * plane.width) as f32;
        for part in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: rows lie inside a block, and every slice holds one, as was just checked.
            unsafe {
                let mut sums = [V::splat(0.0); 4];
                for row in rows(plane) {
                    let x = self.x.as_ptr().add(row + part);
                    for column in 0..plane.width {
                        let value = V::load(x.add(column * BLOCK));
                        sums[column % 4] = value.mul_add(value, sums[column % 4]);
                    }
                }
                sums[0].add(sums[1]).add(sums[2].add(sums[3])).store(self.inverse.as_mut_ptr().add(part));
                for (lane, inverse) in self.inverse[part..part + V::LANES].iter_mut().enumerate() {
                    // Whatever is NaN makes the mean NaN: a comparison with a NaN threshold would hide it.
                    let tau = self.tau[part + lane];
                    let mean = if tau.is_nan() { tau } else { *inverse / count };
                    *inverse = 1.0 / (mean + EPSILON).sqrt();
                }
                let scale = V::load(self.inverse.as_ptr().add(part)).mul(V::load(self.gamma.as_ptr().add(part)));
                let beta = V::load(self.beta.as_ptr().add(part));
                let tau = V::load(self.tau.as_ptr().add(part));
                for row in rows(plane) {
                    for column in 0..plane.width {
                        let at = row + column * BLOCK + part;
                        let y = tau.max(V::load(self.x.as_ptr().add(at)).mul_add(scale, beta));
                        finish(y, self.residual, self.relu, self.out, at);
                    }
                }
            }
        }
    }
}

/// The gradient of [`FrnForward`] at `x`, from the gradient behind the normalisation (residual and ReLU already undone).
///
/// With n = x * inverse and y = n * gamma + beta, and g the gradient where y passes the threshold:
/// dx = inverse * gamma * (g - n * mean(g * n)).
pub struct FrnBackward<'a> {
    /// The positions.
    pub plane: Plane,
    /// One block, with its border.
    pub x: &'a [f32],
    /// The gradient behind the normalisation.
    pub dy: &'a [f32],
    /// Receives the gradient at `x`; its border stays as it is.
    pub dx: &'a mut [f32],
    /// As in the forward pass.
    pub gamma: &'a [f32],
    /// As in the forward pass.
    pub beta: &'a [f32],
    /// As in the forward pass.
    pub tau: &'a [f32],
    /// As the forward pass left it.
    pub inverse: &'a [f32],
    /// Up to 16 sums to add to.
    pub gamma_gradient: &'a mut [f32],
    /// Up to 16 sums to add to.
    pub beta_gradient: &'a mut [f32],
    /// Up to 16 sums to add to.
    pub tau_gradient: &'a mut [f32],
}

impl Kernel for FrnBackward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        assert!([self.x.len(), self.dy.len(), self.dx.len()].iter().all(|len| *len == plane.block()));
        assert!([self.gamma, self.beta, self.tau, self.inverse].iter().all(|values| values.len() == BLOCK));
        let count = (plane.height * plane.width) as f32;
        let mut sums = [[0.0; BLOCK]; 3];
        for part in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: rows lie inside a block, and every slice holds one, as was just checked.
            unsafe {
                let load = |values: &[f32]| V::load(values.as_ptr().add(part));
                let (inverse, beta, tau) = (load(self.inverse), load(self.beta), load(self.tau));
                let scale = inverse.mul(load(self.gamma));
                let zero = V::splat(0.0);
                // Of g * x, of g, and of the gradient that stops at the threshold; twice, to add faster.
                let (mut products, mut passed, mut stopped) = ([zero; 2], [zero; 2], [zero; 2]);
                for row in rows(plane) {
                    for column in 0..plane.width {
                        let at = row + column * BLOCK + part;
                        let (x, dy) = (V::load(self.x.as_ptr().add(at)), V::load(self.dy.as_ptr().add(at)));
                        let dropped = dy.keep_where_greater(tau, x.mul_add(scale, beta));
                        let kept = dy.sub(dropped);
                        kept.store(self.dx.as_mut_ptr().add(at));
                        let half = column % 2;
                        products[half] = x.mul_add(kept, products[half]);
                        passed[half] = passed[half].add(kept);
                        stopped[half] = stopped[half].add(dropped);
                    }
                }
                let product = products[0].add(products[1]).mul(inverse);
                // dx = scale * g - x * pull
                let pull = product.mul(V::splat(1.0 / count)).mul(inverse).mul(scale);
                for row in rows(plane) {
                    for column in 0..plane.width {
                        let at = row + column * BLOCK + part;
                        let dx = self.dx.as_mut_ptr().add(at);
                        V::load(dx).mul(scale).sub(V::load(self.x.as_ptr().add(at)).mul(pull)).store(dx);
                    }
                }
                product.store(sums[0].as_mut_ptr().add(part));
                passed[0].add(passed[1]).store(sums[1].as_mut_ptr().add(part));
                stopped[0].add(stopped[1]).store(sums[2].as_mut_ptr().add(part));
            }
        }
        for (gradient, sums) in [self.gamma_gradient, self.beta_gradient, self.tau_gradient].into_iter().zip(sums) {
            for (gradient, sum) in gradient.iter_mut().zip(sums) {
                *gradient += sum;
            }
        }
    }
}

/// (x - mean) / sqrt(variance + eps) * gamma + beta over the channels of each position, then residual and ReLU.
pub struct LayerNormForward<'a> {
    /// The positions.
    pub plane: Plane,
    /// Real channels.
    pub channels: usize,
    /// All blocks.
    pub x: &'a [f32],
    /// All blocks; the border is not written.
    pub out: &'a mut [f32],
    /// Added behind the normalisation.
    pub residual: Option<&'a [f32]>,
    /// Whether a ReLU follows.
    pub relu: bool,
    /// Scales, zero beyond the real channels.
    pub gamma: &'a [f32],
    /// Shifts.
    pub beta: &'a [f32],
    /// Receives mean and inverse deviation of each position.
    pub moments: &'a mut [[f32; 2]],
}

/// The channels of one position, vector by vector: where each begins in its plane and among the channels.
#[inline(always)]
fn vectors<V: Lanes>(plane: Plane, channels: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..blocks(channels) * BLOCK).step_by(V::LANES).map(move |channel| {
        let block = channel / BLOCK * plane.block();
        (block + channel % BLOCK, channel)
    })
}

/// `value` in the real channels of the vector that begins at `channel`, zero in the others.
#[inline(always)]
unsafe fn in_real_channels<V: Lanes>(channels: usize, channel: usize, value: f32) -> V {
    // SAFETY: the array has as many values as a vector has lanes, at least.
    unsafe {
        if channel + V::LANES <= channels {
            V::splat(value)
        } else {
            V::load_part([value; BLOCK].as_ptr(), channels.saturating_sub(channel))
        }
    }
}

impl Kernel for LayerNormForward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (plane, channels) = (self.plane, self.channels);
        let len = blocks(channels).saturating_mul(plane.block());
        assert!(self.x.len() == len && self.out.len() == len && self.residual.is_none_or(|values| values.len() == len));
        assert!([self.gamma, self.beta].iter().all(|values| values.len() == blocks(channels).saturating_mul(BLOCK)));
        assert_eq!(self.moments.len(), plane.height.saturating_mul(plane.width));
        let share = 1.0 / channels as f32;
        let mut rest = self.moments;
        for (at, count) in runs(plane) {
            let moments;
            (moments, rest) = rest.split_at_mut(count);
            // SAFETY: every vector of every position is inside the slices, as was just checked.
            unsafe {
                let x = self.x.as_ptr().add(at);
                let zero = V::splat(0.0);
                for (position, [mean, _]) in moments.iter_mut().enumerate() {
                    let mut sum = zero;
                    for (offset, _) in vectors::<V>(plane, channels) {
                        sum = sum.add(V::load(x.add(position * BLOCK + offset)));
                    }
                    *mean = sum.sum() * share;
                }
                for (position, [mean, variance]) in moments.iter_mut().enumerate() {
                    let mut squares = zero;
                    for (offset, channel) in vectors::<V>(plane, channels) {
                        let value = V::load(x.add(position * BLOCK + offset));
                        let centred = value.sub(in_real_channels(channels, channel, *mean));
                        squares = centred.mul_add(centred, squares);
                    }
                    *variance = squares.sum() * share;
                }
                for [_, moment] in moments.iter_mut() {
                    *moment = 1.0 / (*moment + EPSILON).sqrt();
                }
                for (offset, channel) in vectors::<V>(plane, channels) {
                    let gamma = V::load(self.gamma.as_ptr().add(channel));
                    let beta = V::load(self.beta.as_ptr().add(channel));
                    for (position, [mean, inverse]) in moments.iter().enumerate() {
                        let at = at + position * BLOCK + offset;
                        let centred = V::load(self.x.as_ptr().add(at)).sub(V::splat(*mean));
                        let y = centred.mul(V::splat(*inverse)).mul_add(gamma, beta);
                        finish(y, self.residual, self.relu, self.out, at);
                    }
                }
            }
        }
    }
}

/// The gradient of [`LayerNormForward`] at `x`, from the gradient behind the normalisation.
///
/// With n = (x - mean) * inverse and g = dy * gamma: dx = inverse * (g - mean(g) - n * mean(g * n)).
pub struct LayerNormBackward<'a> {
    /// The positions.
    pub plane: Plane,
    /// Real channels.
    pub channels: usize,
    /// All blocks.
    pub x: &'a [f32],
    /// The gradient behind the normalisation.
    pub dy: &'a [f32],
    /// Receives the gradient at `x`; its border stays as it is.
    pub dx: &'a mut [f32],
    /// As in the forward pass.
    pub gamma: &'a [f32],
    /// As the forward pass left them.
    pub moments: &'a [[f32; 2]],
    /// Sums to add to, padded to whole blocks.
    pub gamma_gradient: &'a mut [f32],
    /// Sums to add to, padded to whole blocks.
    pub beta_gradient: &'a mut [f32],
}

impl Kernel for LayerNormBackward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (plane, channels) = (self.plane, self.channels);
        let len = blocks(channels).saturating_mul(plane.block());
        assert!(self.x.len() == len && self.dy.len() == len && self.dx.len() == len);
        let padded = blocks(channels).saturating_mul(BLOCK);
        assert!([self.gamma, self.gamma_gradient, self.beta_gradient].iter().all(|values| values.len() == padded));
        assert_eq!(self.moments.len(), plane.height.saturating_mul(plane.width));
        let share = 1.0 / channels as f32;
        let mut rest = self.moments;
        for (at, count) in runs(plane) {
            let moments;
            (moments, rest) = rest.split_at(count);
            // SAFETY: every vector of every position is inside the slices, as was just checked.
            unsafe {
                let (x, dy, dx) = (self.x.as_ptr().add(at), self.dy.as_ptr().add(at), self.dx.as_mut_ptr().add(at));
                let zero = V::splat(0.0);
                // Means of g and of g * n.
                let mut means = [[0.0; 2]; TOGETHER];
                for (position, [mean, inverse]) in moments.iter().enumerate() {
                    let (mean, inverse) = (V::splat(*mean), V::splat(*inverse));
                    let (mut sum, mut product) = (zero, zero);
                    for (offset, channel) in vectors::<V>(plane, channels) {
                        let at = position * BLOCK + offset;
                        let scaled = V::load(dy.add(at)).mul(V::load(self.gamma.as_ptr().add(channel)));
                        sum = sum.add(scaled);
                        product = V::load(x.add(at)).sub(mean).mul(inverse).mul_add(scaled, product);
                    }
                    means[position] = [sum.sum() * share, product.sum() * share];
                }
                for (offset, channel) in vectors::<V>(plane, channels) {
                    let gamma = V::load(self.gamma.as_ptr().add(channel));
                    let real = in_real_channels::<V>(channels, channel, 1.0);
                    // Sums over the positions; twice, to add faster.
                    let (mut gamma_sums, mut beta_sums) = ([zero; 2], [zero; 2]);
                    for (position, [mean, inverse]) in moments.iter().enumerate() {
                        let at = position * BLOCK + offset;
                        let inverse = V::splat(*inverse);
                        let normal = V::load(x.add(at)).sub(V::splat(*mean)).mul(inverse);
                        let value = V::load(dy.add(at));
                        let [mean_scaled, mean_product] = means[position];
                        let inner = normal.mul_add(V::splat(mean_product), V::splat(mean_scaled));
                        value.mul(gamma).sub(inner).mul(inverse.mul(real)).store(dx.add(at));
                        gamma_sums[position % 2] = normal.mul_add(value, gamma_sums[position % 2]);
                        beta_sums[position % 2] = beta_sums[position % 2].add(value);
                    }
                    let gamma_gradient = self.gamma_gradient.as_mut_ptr().add(channel);
                    V::load(gamma_gradient).add(gamma_sums[0].add(gamma_sums[1])).store(gamma_gradient);
                    let beta_gradient = self.beta_gradient.as_mut_ptr().add(channel);
                    V::load(beta_gradient).add(beta_sums[0].add(beta_sums[1])).store(beta_gradient);
                }
            }
        }
    }
}
