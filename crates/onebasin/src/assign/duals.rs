//! The duals of columns, exactly and, for scans, rounded to f32 with a bound on what that changes.

use super::matrix::Costs;
use onebasin_kernels::assignment::{Cost, Gains, SCALE};
use onebasin_kernels::lanes::BLOCK;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// What rounding to f32 changes next to zero.
const NEXT_TO_ZERO: f64 = 1e-44;
/// Largest costs that [`SCALE`] suits: scans neither overflow nor lose digits. Others are brought near one as well.
const SUITED: RangeInclusive<f64> = 1e-18..=1e30;

/// Makes a buffer `len` times the value, whatever it was.
pub(super) fn refill<T: Copy>(buffer: &mut Vec<T>, len: usize, value: T) {
    buffer.clear();
    buffer.resize(len, value);
}

/// v, of the costs to minimise.
#[derive(Debug)]
pub(super) struct Duals<T> {
    /// (column)
    pub exact: Vec<f64>,
    /// Scaled, with the padding of [`Gains`].
    rounded: Vec<f32>,
    /// The largest magnitude so far, scaled.
    largest: f64,
    scale: f64,
    costs: PhantomData<T>,
}

impl<T> Default for Duals<T> {
    fn default() -> Self {
        Self { exact: Vec::new(), rounded: Vec::new(), largest: 0.0, scale: SCALE, costs: PhantomData }
    }
}

impl<T: Cost> Duals<T> {
    /// Chooses the scale for costs of such a largest magnitude; whether it is another than before.
    pub(super) fn fit(&mut self, largest: f64) -> bool {
        let mut scale = SCALE;
        if largest > 0.0 && !SUITED.contains(&largest) {
            scale *= 2f64.powi(-(largest.log2() as i32).clamp(-1000, 1000));
        }
        std::mem::replace(&mut self.scale, scale) != scale
    }

    pub(super) fn set(&mut self, duals: impl Iterator<Item = f64>) {
        self.exact.clear();
        self.exact.extend(duals);
        refill(&mut self.rounded, self.exact.len().next_multiple_of(BLOCK), f32::NEG_INFINITY);
        self.largest = 0.0;
        for column in 0..self.exact.len() {
            self.round(column);
        }
    }

    pub(super) fn move_to(&mut self, column: usize, to: f64) {
        self.exact[column] = to;
        self.round(column);
    }

    fn round(&mut self, column: usize) {
        let scaled = self.exact[column] * self.scale;
        self.rounded[column] = scaled as f32;
        self.largest = self.largest.max(scaled.abs());
    }

    pub(super) fn gains<'a>(&'a self, costs: Costs<'a, T>, row: usize) -> Gains<'a, T> {
        Gains::new(costs.row(row), -costs.sign.into() * self.scale, &self.rounded)
    }

    /// The most that a gain of about this size is changed by rounding.
    fn error(&self, gain: f64) -> f64 {
        T::GAIN_ERROR * (self.largest + gain.abs()) + NEXT_TO_ZERO
    }

    /// The threshold of gains that no column with a smaller reduced cost than `limit` is below.
    pub(super) fn threshold(&self, limit: f64) -> f32 {
        let gain = -limit * self.scale;
        ((gain - self.error(gain)) as f32).max(f32::MIN)
    }

    /// A threshold below a gain, and a bound between reduced costs of columns below it and of those with the gain.
    pub(super) fn bound_below(&self, gain: f32) -> (f32, f64) {
        let gain = f64::from(gain.max(f32::MIN));
        let error = self.error(gain);
        let threshold = ((gain - 3.0 * error) as f32).max(f32::MIN);
        (threshold, -(f64::from(threshold) + error) / self.scale)
    }
}
