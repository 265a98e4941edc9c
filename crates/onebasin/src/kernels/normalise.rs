//! Filter response normalisation and layer normalisation, and their gradients, on one image.

use super::elementwise::Position;
use super::elementwise::positions;
use super::elementwise::positions_mut;
use super::elementwise::relu;
use super::geometry::Plane;
use super::geometry::blocks;
use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;

/// Added to the mean square or the variance, as in Singh and Krishnan (2020) and in Flax.
const EPSILON: f32 = 1e-6;

/// One block of channels: max(x / sqrt(mean x^2 + eps) * gamma + beta, tau), then residual and ReLU if wanted.
#[derive(Debug)]
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

/// The 16 channels' parameters as an array.
#[inline(always)]
fn lanes(values: &[f32]) -> Position {
    values.try_into().expect("parameters are padded to 16 channels")
}

impl Kernel for FrnForward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        let mut sums = [[0.0; BLOCK]; 4];
        for (index, x) in positions(self.x).iter().enumerate() {
            let sum = &mut sums[index % 4];
            for lane in 0..BLOCK {
                sum[lane] += x[lane] * x[lane];
            }
        }
        let count = (plane.height * plane.width) as f32;
        let (gamma, beta, tau) = (lanes(self.gamma), lanes(self.beta), lanes(self.tau));
        let mut scale = [0.0; BLOCK];
        for lane in 0..BLOCK {
            let mean = ((sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane])) / count;
            self.inverse[lane] = 1.0 / (mean + EPSILON).sqrt();
            scale[lane] = self.inverse[lane] * gamma[lane];
        }
        let normalised = |x: &Position, lane: usize| -> f32 {
            let y = x[lane] * scale[lane] + beta[lane];
            if y < tau[lane] { tau[lane] } else { y }
        };
        for row in 0..plane.height {
            let range = plane.at(row, 0)..plane.at(row, plane.width);
            let x = positions(&self.x[range.clone()]);
            let out = positions_mut(&mut self.out[range.clone()]);
            match (self.residual, self.relu) {
                (None, false) => {
                    for (out, x) in out.iter_mut().zip(x) {
                        for lane in 0..BLOCK {
                            out[lane] = normalised(x, lane);
                        }
                    }
                }
                (None, true) => {
                    for (out, x) in out.iter_mut().zip(x) {
                        for lane in 0..BLOCK {
                            out[lane] = relu(normalised(x, lane));
                        }
                    }
                }
                (Some(residual), with_relu) => {
                    for ((out, x), residual) in out.iter_mut().zip(x).zip(positions(&residual[range])) {
                        for lane in 0..BLOCK {
                            let sum = normalised(x, lane) + residual[lane];
                            out[lane] = if with_relu { relu(sum) } else { sum };
                        }
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
#[derive(Debug)]
pub struct FrnBackward<'a> {
    /// The positions.
    pub plane: Plane,
    /// One block, with its border.
    pub x: &'a [f32],
    /// The gradient behind the normalisation, zero on the border.
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
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        let (gamma, beta, tau, inverse) = (lanes(self.gamma), lanes(self.beta), lanes(self.tau), lanes(self.inverse));
        let scale: Position = std::array::from_fn(|lane| inverse[lane] * gamma[lane]);
        let mut products = [[0.0; BLOCK]; 2];
        let mut passed = [[0.0; BLOCK]; 2];
        let mut all = [[0.0; BLOCK]; 2];
        for row in 0..plane.height {
            let range = plane.at(row, 0)..plane.at(row, plane.width);
            let x = positions(&self.x[range.clone()]);
            let dy = positions(&self.dy[range.clone()]);
            let dx = positions_mut(&mut self.dx[range]);
            for (index, ((dx, dy), x)) in dx.iter_mut().zip(dy).zip(x).enumerate() {
                let part = index % 2;
                for lane in 0..BLOCK {
                    let y = x[lane] * scale[lane] + beta[lane];
                    let kept = if y < tau[lane] { 0.0 } else { dy[lane] };
                    dx[lane] = kept;
                    products[part][lane] += x[lane] * inverse[lane] * kept;
                    passed[part][lane] += kept;
                    all[part][lane] += dy[lane];
                }
            }
        }
        let count = (plane.height * plane.width) as f32;
        let product: Position = std::array::from_fn(|lane| products[0][lane] + products[1][lane]);
        let pull: Position = std::array::from_fn(|lane| product[lane] / count * inverse[lane]);
        for row in 0..plane.height {
            let range = plane.at(row, 0)..plane.at(row, plane.width);
            let x = positions(&self.x[range.clone()]);
            for (dx, x) in positions_mut(&mut self.dx[range]).iter_mut().zip(x) {
                for lane in 0..BLOCK {
                    dx[lane] = scale[lane] * (dx[lane] - x[lane] * pull[lane]);
                }
            }
        }
        for lane in 0..self.gamma_gradient.len() {
            self.gamma_gradient[lane] += product[lane];
            self.beta_gradient[lane] += passed[0][lane] + passed[1][lane];
            self.tau_gradient[lane] += (all[0][lane] - passed[0][lane]) + (all[1][lane] - passed[1][lane]);
        }
    }
}

/// (x - mean) / sqrt(variance + eps) * gamma + beta over the channels of each position, then residual and ReLU.
#[derive(Debug)]
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

/// Sum of 16 lanes, in the order of a tree.
#[inline(always)]
fn tree_sum(values: &Position) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|lane| values[lane] + values[lane + 8]);
    let four: [f32; 4] = std::array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// One in the real channels of a block, zero in the others.
#[inline(always)]
fn real(channels: usize, block: usize) -> Position {
    std::array::from_fn(|lane| if block * BLOCK + lane < channels { 1.0 } else { 0.0 })
}

/// The 16 channels of block `block` that begin `offset` floats into it.
#[inline(always)]
fn position(values: &[f32], offset: usize) -> &Position {
    values[offset..offset + BLOCK].try_into().expect("sixteen channels")
}

impl Kernel for LayerNormForward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        let count = self.channels as f32;
        let last = blocks(self.channels) - 1;
        let last_real = real(self.channels, last);
        let full = [1.0; BLOCK];
        let mut moments = self.moments.iter_mut();
        for row in 0..plane.height {
            for column in 0..plane.width {
                let at = plane.at(row, column);
                let mut sum = [0.0; BLOCK];
                for block in 0..=last {
                    let x = position(self.x, block * plane.block() + at);
                    for lane in 0..BLOCK {
                        sum[lane] += x[lane];
                    }
                }
                let mean = tree_sum(&sum) / count;
                let mut squares = [0.0; BLOCK];
                for block in 0..=last {
                    let x = position(self.x, block * plane.block() + at);
                    let is_real = if block == last { &last_real } else { &full };
                    for lane in 0..BLOCK {
                        let centred = x[lane] - is_real[lane] * mean;
                        squares[lane] += centred * centred;
                    }
                }
                let inverse = 1.0 / (tree_sum(&squares) / count + EPSILON).sqrt();
                *moments.next().expect("a pair for each position") = [mean, inverse];
                for block in 0..=last {
                    let offset = block * plane.block() + at;
                    let x = position(self.x, offset);
                    let gamma = position(self.gamma, block * BLOCK);
                    let beta = position(self.beta, block * BLOCK);
                    let mut y = [0.0; BLOCK];
                    for lane in 0..BLOCK {
                        y[lane] = (x[lane] - mean) * inverse * gamma[lane] + beta[lane];
                    }
                    if let Some(residual) = self.residual {
                        let residual = position(residual, offset);
                        for lane in 0..BLOCK {
                            y[lane] += residual[lane];
                        }
                    }
                    if self.relu {
                        y = y.map(relu);
                    }
                    self.out[offset..offset + BLOCK].copy_from_slice(&y);
                }
            }
        }
    }
}

/// The gradient of [`LayerNormForward`] at `x`, from the gradient behind the normalisation.
///
/// With n = (x - mean) * inverse and g = dy * gamma: dx = inverse * (g - mean(g) - n * mean(g * n)).
#[derive(Debug)]
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
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.plane;
        let count = self.channels as f32;
        let last = blocks(self.channels) - 1;
        let last_real = real(self.channels, last);
        let full = [1.0; BLOCK];
        let gamma_gradient = positions_mut(self.gamma_gradient);
        let beta_gradient = positions_mut(self.beta_gradient);
        let mut moments = self.moments.iter();
        for row in 0..plane.height {
            for column in 0..plane.width {
                let at = plane.at(row, column);
                let [mean, inverse] = *moments.next().expect("a pair for each position");
                let mut sum = [0.0; BLOCK];
                let mut product = [0.0; BLOCK];
                for block in 0..=last {
                    let offset = block * plane.block() + at;
                    let (x, dy) = (position(self.x, offset), position(self.dy, offset));
                    let gamma = position(self.gamma, block * BLOCK);
                    for lane in 0..BLOCK {
                        let normal = (x[lane] - mean) * inverse;
                        let scaled = dy[lane] * gamma[lane];
                        sum[lane] += scaled;
                        product[lane] += scaled * normal;
                        gamma_gradient[block][lane] += dy[lane] * normal;
                        beta_gradient[block][lane] += dy[lane];
                    }
                }
                let mean_sum = tree_sum(&sum) / count;
                let mean_product = tree_sum(&product) / count;
                for block in 0..=last {
                    let offset = block * plane.block() + at;
                    let (x, dy) = (position(self.x, offset), position(self.dy, offset));
                    let gamma = position(self.gamma, block * BLOCK);
                    let is_real = if block == last { &last_real } else { &full };
                    let mut dx = [0.0; BLOCK];
                    for lane in 0..BLOCK {
                        let normal = (x[lane] - mean) * inverse;
                        let inner = normal * mean_product + mean_sum;
                        dx[lane] = inverse * is_real[lane] * (dy[lane] * gamma[lane] - inner);
                    }
                    self.dx[offset..offset + BLOCK].copy_from_slice(&dx);
                }
            }
        }
    }
}
