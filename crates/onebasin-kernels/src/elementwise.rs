//! Passes over arrays one value at a time: non-linearities, their gradients, sums, pixels, and steps of Hamiltonian Monte Carlo.
//!
//! Plain loops over blocks of 16 channels, which the compiler turns into vectors of the chosen instruction set.

use crate::lanes::{BLOCK, Kernel, Lanes};
use crate::math;

/// Replaces each value by tanh of it.
pub struct Tanh<'a> {
    /// Any values.
    pub values: &'a mut [f32],
}

impl Kernel for Tanh<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for value in self.values {
            *value = math::tanh(*value);
        }
    }
}

/// Replaces negative values by zero; a NaN stays.
pub struct Relu<'a> {
    /// Any values.
    pub values: &'a mut [f32],
}

impl Kernel for Relu<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for value in self.values {
            *value = if *value < 0.0 { 0.0 } else { *value };
        }
    }
}

/// What a gradient is multiplied by on its way back through a non-linearity, from the value behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// 1: there is no non-linearity.
    One,
    /// 1 where the value is positive.
    Relu,
    /// 1 - value^2
    Tanh,
}

/// Takes the gradient of one block of channels back through the non-linearity and sums it into the bias gradient.
pub struct SlopeAndBias<'a> {
    /// Which non-linearity.
    pub slope: Slope,
    /// The values behind the non-linearity, (positions, 16).
    pub out: &'a [f32],
    /// The gradient there, changed in place, (positions, 16).
    pub gradient: &'a mut [f32],
    /// Up to 16 sums to add to; empty for none.
    pub bias: &'a mut [f32],
}

impl Kernel for SlopeAndBias<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert_eq!(self.gradient.len(), self.out.len());
        assert!(self.gradient.len().is_multiple_of(BLOCK) && self.bias.len() <= BLOCK);
        let positions = self.gradient.len() / BLOCK;
        let (gradient, out) = (self.gradient.as_mut_ptr(), self.out.as_ptr());
        for part in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: all positions are inside both slices, and `lanes` is what is left of the bias.
            unsafe {
                let (zero, one) = (V::splat(0.0), V::splat(1.0));
                // Four sums, so that no addition waits for the one before.
                let mut sums = [zero; 4];
                let mut position = 0;
                while position < positions {
                    for sum in sums.iter_mut().take(positions - position) {
                        let at = position * BLOCK + part;
                        let (mut value, out) = (V::load(gradient.add(at)), V::load(out.add(at)));
                        value = match self.slope {
                            Slope::One => value,
                            Slope::Relu => value.keep_where_greater(out, zero),
                            Slope::Tanh => value.mul(one.sub(out.mul(out))),
                        };
                        if self.slope != Slope::One {
                            value.store(gradient.add(at));
                        }
                        *sum = sum.add(value);
                        position += 1;
                    }
                }
                if let Some(bias) = self.bias.get_mut(part..) {
                    let lanes = bias.len().min(V::LANES);
                    let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
                    V::load_part(bias.as_ptr(), lanes).add(sum).store_part(bias.as_mut_ptr(), lanes);
                }
            }
        }
    }
}

/// `to += from`.
pub struct AddTo<'a> {
    /// The sum.
    pub to: &'a mut [f32],
    /// What to add; of the same length.
    pub from: &'a [f32],
}

impl Kernel for AddTo<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert_eq!(self.to.len(), self.from.len());
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to += from;
        }
    }
}

/// value = pixel · scale + shift; each operation is rounded, since a fused one would give other bits on some machines.
pub struct ScaleAndShift<'a> {
    /// The pixels.
    pub pixels: &'a [u8],
    /// As many values.
    pub values: &'a mut [f32],
    /// One, or as many as in a row, which start over with every row.
    pub scale: &'a [f32],
    /// As many as scales.
    pub shift: &'a [f32],
}

impl Kernel for ScaleAndShift<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        if let (&[scale], &[shift]) = (self.scale, self.shift) {
            for (value, &pixel) in self.values.iter_mut().zip(self.pixels) {
                *value = f32::from(pixel) * scale + shift;
            }
            return;
        }
        let row = self.scale.len();
        for (values, pixels) in self.values.chunks_exact_mut(row).zip(self.pixels.chunks_exact(row)) {
            for (((value, &pixel), scale), shift) in values.iter_mut().zip(pixels).zip(self.scale).zip(self.shift) {
                *value = f32::from(pixel) * scale + shift;
            }
        }
    }
}

/// p ← p + kick · (g − precision · θ), then θ ← θ + drift · p.
///
/// A leapfrog step's two halves of the momentum meet between positions, so all but the first and the last are whole.
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
