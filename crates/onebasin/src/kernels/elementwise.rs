//! Passes over activations one value at a time: non-linearities, their gradients, sums and copies.
//!
//! Plain loops over blocks of 16 channels, which the compiler turns into vectors of the chosen instruction set.

use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;
use super::math;

/// The 16 channels of one position.
pub(super) type Position = [f32; BLOCK];

/// Views a blocked array as positions.
#[inline(always)]
pub(super) fn positions(values: &[f32]) -> &[Position] {
    let (positions, rest) = values.as_chunks();
    debug_assert!(rest.is_empty());
    positions
}

/// Views a blocked array as positions, to be changed.
#[inline(always)]
pub(super) fn positions_mut(values: &mut [f32]) -> &mut [Position] {
    let (positions, rest) = values.as_chunks_mut();
    debug_assert!(rest.is_empty());
    positions
}

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
pub(super) fn relu(value: f32) -> f32 {
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
        let gradient = positions_mut(self.gradient);
        let out = positions(self.out);
        let mut sums = [[0.0; BLOCK]; 4];
        match self.slope {
            Slope::One => each(gradient, out, &mut sums, |gradient, _| gradient),
            Slope::Relu => each(gradient, out, &mut sums, |gradient, out| if out > 0.0 { gradient } else { 0.0 }),
            Slope::Tanh => each(gradient, out, &mut sums, |gradient, out| gradient * (1.0 - out * out)),
        }
        for (lane, bias) in self.bias.iter_mut().enumerate() {
            *bias += (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
        }
    }
}

/// Changes each gradient and sums it, four positions at a time so that no addition waits for the one before.
#[inline(always)]
fn each(gradient: &mut [Position], out: &[Position], sums: &mut [Position; 4], slope: impl Fn(f32, f32) -> f32) {
    assert_eq!(gradient.len(), out.len());
    let mut gradients = gradient.chunks_exact_mut(4);
    let mut outs = out.chunks_exact(4);
    for (gradient, out) in (&mut gradients).zip(&mut outs) {
        for part in 0..4 {
            for lane in 0..BLOCK {
                gradient[part][lane] = slope(gradient[part][lane], out[part][lane]);
                sums[part][lane] += gradient[part][lane];
            }
        }
    }
    for (gradient, out) in gradients.into_remainder().iter_mut().zip(outs.remainder()) {
        for lane in 0..BLOCK {
            gradient[lane] = slope(gradient[lane], out[lane]);
            sums[0][lane] += gradient[lane];
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
