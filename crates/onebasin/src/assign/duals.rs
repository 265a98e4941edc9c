//! The costs and the duals of columns, these exactly and, for scans, rounded to f32 with a bound on what that changes.

use onebasin_kernels::assignment::{Gains, SCALE};
use onebasin_kernels::lanes::BLOCK;

/// What rounding to f32 changes, with a margin for the rounding of sums: relatively, and next to zero.
const RELATIVE: f64 = 1.0 / 8_388_608.0;
const NEXT_TO_ZERO: f64 = 1e-44;

/// Makes a buffer `len` times the value, whatever it was.
pub(super) fn refill<T: Copy>(buffer: &mut Vec<T>, len: usize, value: T) {
    buffer.clear();
    buffer.resize(len, value);
}

/// The matrix, seen as one to minimise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    /// (row, column)
    pub values: &'a [f32],
    pub n: usize,
    /// −1 to maximise.
    pub sign: f32,
}

impl<'a> Costs<'a> {
    pub(super) fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.n..][..self.n]
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        f64::from(self.sign * self.values[row * self.n + column])
    }
}

/// v, of the costs to minimise.
#[derive(Debug, Default)]
pub(super) struct Duals {
    /// (column)
    pub exact: Vec<f64>,
    /// Scaled, with the padding of [`Gains`].
    rounded: Vec<f32>,
    /// The largest magnitude so far, scaled.
    largest: f64,
}

impl Duals {
    pub(super) fn set(&mut self, duals: impl Iterator<Item = f64>) {
        self.exact.clear();
        self.exact.extend(duals);
        refill(&mut self.rounded, self.exact.len().next_multiple_of(BLOCK), f32::NEG_INFINITY);
        self.largest = 0.0;
        for column in 0..self.exact.len() {
            self.round(column);
        }
    }

    pub(super) fn lower(&mut self, column: usize, to: f64) {
        self.exact[column] = to;
        self.round(column);
    }

    fn round(&mut self, column: usize) {
        let scaled = self.exact[column] * f64::from(SCALE);
        self.rounded[column] = scaled as f32;
        self.largest = self.largest.max(scaled.abs());
    }

    pub(super) fn gains<'a>(&'a self, costs: Costs<'a>, row: usize) -> Gains<'a> {
        Gains::new(costs.row(row), costs.sign, &self.rounded)
    }

    /// The most that a gain of about this size is changed by rounding.
    fn error(&self, gain: f64) -> f64 {
        RELATIVE * (self.largest + gain.abs()) + NEXT_TO_ZERO
    }

    /// The threshold of gains that no column with a smaller reduced cost than `limit` is below.
    pub(super) fn threshold(&self, limit: f64) -> f32 {
        let gain = -limit * f64::from(SCALE);
        ((gain - self.error(gain)) as f32).max(f32::MIN)
    }

    /// A threshold below a gain, and a bound between reduced costs of columns below it and of those with the gain.
    pub(super) fn bound_below(&self, gain: f32) -> (f32, f64) {
        let gain = f64::from(gain.max(f32::MIN));
        let error = self.error(gain);
        let threshold = ((gain - 3.0 * error) as f32).max(f32::MIN);
        (threshold, -(f64::from(threshold) + error) / f64::from(SCALE))
    }
}
