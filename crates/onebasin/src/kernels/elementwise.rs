//! Passes over activations one value at a time: non-linearities, their gradients, sums and copies.
//!
//! Plain loops over blocks of 16 channels, which the compiler turns into vectors of the chosen instruction set.

use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;
use super::math;

/// Replaces each value by tanh of it.
#[derive(Debug)]
pub struct Tanh<'a> {
    /// Any values.
    pub values: &'a mut [f32],
}

impl Kernel for Tanh<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for value in self.values {
            *value = math::tanh(*value);
        }
    }
}

/// Replaces negative values by zero.
#[derive(Debug)]
pub struct Relu<'a> {
    /// Any values.
    pub values: &'a mut [f32],
}

impl Kernel for Relu<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for value in self.values {
            *value = relu(*value);
        }
    }
}

/// max(x, 0) that keeps a NaN.
#[inline(always)]
fn relu(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
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
#[derive(Debug)]
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
    type Output = ();
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
#[derive(Debug)]
pub struct AddTo<'a> {
    /// The sum.
    pub to: &'a mut [f32],
    /// What to add; of the same length.
    pub from: &'a [f32],
}

impl Kernel for AddTo<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert_eq!(self.to.len(), self.from.len());
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to += from;
        }
    }
}
