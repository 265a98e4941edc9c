//! The scans of linear assignment: minima along rows and columns of a matrix of costs.

use super::isa::Kernel;
use super::lanes::Lanes;

/// Columns in a group of [`GroupMinima`].
pub const DEPTH: usize = 16;
/// Groups that a scan fills at once: four vectors of eight f64, since one alone would wait for its own minimum.
pub const WIDTH: usize = 32;

/// How many groups the columns of a row make.
pub fn groups(columns: usize) -> usize {
    columns.div_ceil(WIDTH * DEPTH) * WIDTH
}

/// The columns of a group: every `WIDTH`-th of a stretch, so that a vector holds neighbours and no minimum crosses lanes.
pub fn columns_of(group: usize, columns: usize) -> impl Iterator<Item = usize> {
    let first = group / WIDTH * (WIDTH * DEPTH) + group % WIDTH;
    (first..columns).step_by(WIDTH).take(DEPTH)
}

/// The smallest reduced cost, sign · c − v, in each group of a row's columns; infinite where a group is empty.
#[derive(Debug)]
pub struct GroupMinima<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// v: (column)
    pub duals: &'a [f64],
    /// (group)
    pub minima: &'a mut [f64],
}

impl Kernel for GroupMinima<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let columns = self.row.len();
        assert_eq!(self.minima.len(), groups(columns));
        let (rows, row_rest) = self.row.as_chunks::<WIDTH>();
        let (duals, dual_rest) = self.duals[..columns].as_chunks::<WIDTH>();
        let stretches = self.minima.as_chunks_mut::<WIDTH>().0;
        for (stretch, minima) in stretches.iter_mut().enumerate() {
            let mut least = [f64::INFINITY; WIDTH];
            let range = stretch * DEPTH..((stretch + 1) * DEPTH).min(rows.len());
            for (row, duals) in rows[range.clone()].iter().zip(&duals[range]) {
                for lane in 0..WIDTH {
                    let reduced = f64::from(self.sign * row[lane]) - duals[lane];
                    least[lane] = if reduced < least[lane] { reduced } else { least[lane] };
                }
            }
            *minima = least;
        }
        if let Some(last) = stretches.last_mut() {
            for (lane, (cost, dual)) in row_rest.iter().zip(dual_rest).enumerate() {
                last[lane] = last[lane].min(f64::from(self.sign * cost) - dual);
            }
        }
    }
}

/// Takes one row into the minima of columns: where sign · c is below the minimum so far, it and its row replace it.
#[derive(Debug)]
pub struct ColumnMinima<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// The number of the row.
    pub index: u32,
    /// (column)
    pub minima: &'a mut [f32],
    /// The row of each minimum: (column)
    pub rows: &'a mut [u32],
}

impl Kernel for ColumnMinima<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.row.len();
        let (minima, rows) = (&mut self.minima[..len], &mut self.rows[..len]);
        for j in 0..len {
            let cost = self.sign * self.row[j];
            let below = cost < minima[j];
            minima[j] = if below { cost } else { minima[j] };
            rows[j] = if below { self.index } else { rows[j] };
        }
    }
}

/// The largest magnitude among values; NaN or infinite if one of them is.
#[derive(Debug)]
pub struct LargestMagnitude<'a> {
    /// Any number of values.
    pub values: &'a [f32],
}

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;
    #[inline(always)]
    fn run<V: Lanes>(self) -> f32 {
        // Without their sign, floats are in the order of their bits, then come the infinities, then NaN.
        f32::from_bits(self.values.iter().fold(0, |largest, value| largest.max(value.abs().to_bits())))
    }
}
