//! The scans of linear assignment: minima along rows and columns of a matrix of costs.

use crate::lanes::{BLOCK, Kernel, Lanes};

/// Where costs and duals meet in f32, both are scaled by this: a dual may be as large as the sum of all costs of its
/// assignment and more, and must not overflow. A power of two, so that it rounds nothing but what is next to zero.
pub const SCALE: f32 = 1.0 / 131_072.0;
/// Vectors that scans take at once, since a maximum alone would wait for the one before.
const TOGETHER: usize = 4;
/// Columns that [`Relax`] and [`ColumnMinima`] take at once, in loops that become vectors.
const WIDTH: usize = 32;

/// The scaled v − sign · c of a row's columns, to f32: large where the column is good for the row.
#[derive(Clone, Copy, Debug)]
pub struct Gains<'a> {
    row: &'a [f32],
    factor: f32,
    duals: &'a [f32],
}

impl<'a> Gains<'a> {
    /// `row`: c. `sign`: 1, or −1 to maximise. `duals`: scaled v, and −∞ to the next multiple of [`BLOCK`].
    pub fn new(row: &'a [f32], sign: f32, duals: &'a [f32]) -> Self {
        assert_eq!(duals.len(), row.len().next_multiple_of(BLOCK), "one dual for each column, and the padding");
        Self { row, factor: -sign * SCALE, duals }
    }

    /// Those of the columns from `column` on, −∞ behind the last.
    ///
    /// # Safety
    /// `column` is a multiple of the lanes, and there is such a column.
    #[inline(always)]
    unsafe fn at<V: Lanes>(&self, column: usize) -> V {
        let rest = self.row.len() - column;
        // SAFETY: as many costs are read as there are, and duals are padded to whole vectors.
        unsafe {
            let from = self.row.as_ptr().add(column);
            let costs = if rest < V::LANES { V::load_part(from, rest) } else { V::load(from) };
            costs.mul_add(V::splat(self.factor), V::load(self.duals.as_ptr().add(column)))
        }
    }
}

/// A gain that a few columns have or exceed: the worst of some groups' best.
pub struct Threshold<'a> {
    /// Of all columns.
    pub gains: Gains<'a>,
    /// How many groups, a power of two up to [`BLOCK`]. Columns are together whose numbers agree modulo this, and on
    /// independent costs about two or three times as many columns have the gain.
    pub groups: usize,
}

impl Kernel<f32> for Threshold<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> f32 {
        let mut lanes = [f32::NEG_INFINITY; TOGETHER * BLOCK];
        // SAFETY: this runs on the vector's instruction set, reads columns that there are, and writes into `lanes`.
        unsafe {
            let mut best = [V::splat(f32::NEG_INFINITY); TOGETHER];
            for first in (0..self.gains.row.len()).step_by(TOGETHER * V::LANES) {
                for (part, best) in best.iter_mut().enumerate() {
                    let column = first + part * V::LANES;
                    if column < self.gains.row.len() {
                        *best = best.max(self.gains.at(column));
                    }
                }
            }
            for (part, best) in best.iter().enumerate() {
                best.store(lanes.as_mut_ptr().add(part * V::LANES));
            }
        }
        let mut best = [f32::NEG_INFINITY; BLOCK];
        for part in lanes.as_chunks::<BLOCK>().0 {
            for (best, gain) in best.iter_mut().zip(part) {
                *best = if gain > best { *gain } else { *best };
            }
        }
        let mut count = BLOCK;
        while count > self.groups {
            count /= 2;
            for group in 0..count {
                best[group] = best[group].max(best[group + count]);
            }
        }
        best[..count].iter().fold(f32::INFINITY, |worst, best| worst.min(*best))
    }
}

/// Finds the columns whose gain is not below a threshold, in their order.
pub struct AtLeast<'a> {
    /// Where to look.
    pub gains: Gains<'a>,
    /// Finite.
    pub threshold: f32,
    /// Receives the columns behind those that it has.
    pub found: &'a mut Vec<u32>,
}

impl Kernel for AtLeast<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert!(self.threshold.is_finite(), "no column behind the last is found");
        let columns = self.gains.row.len();
        // In words of many columns: a branch for every vector would often be mispredicted.
        for first in (0..columns).step_by(u64::BITS as usize) {
            let mut word = 0u64;
            for part in (0..u64::BITS as usize).step_by(V::LANES) {
                if first + part < columns {
                    // SAFETY: this runs on the vector's instruction set, and reads columns that there are.
                    let lanes = unsafe { self.gains.at::<V>(first + part).at_least(V::splat(self.threshold)) };
                    word |= u64::from(lanes) << part;
                }
            }
            while word != 0 {
                self.found.push(first as u32 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }
}

/// Relaxes the distances of columns by the paths through one row: offset + sign · c − v where that is shorter.
///
/// Returns the nearest column with a distance above −∞ and that distance, or ∞ if there is none.
pub struct Relax<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// The number of the row.
    pub index: u32,
    /// v: (column)
    pub duals: &'a [f64],
    /// What the distance of a column is beyond its reduced cost.
    pub offset: f64,
    /// (column)
    pub distances: &'a mut [f64],
    /// The row that each distance leads through: (column)
    pub before: &'a mut [u32],
}

impl Kernel<(usize, f64)> for Relax<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> (usize, f64) {
        let columns = self.row.len();
        let (rows, row_rest) = self.row.as_chunks::<WIDTH>();
        let (duals, dual_rest) = self.duals[..columns].as_chunks::<WIDTH>();
        let (distances, distance_rest) = self.distances[..columns].as_chunks_mut::<WIDTH>();
        let (before, before_rest) = self.before[..columns].as_chunks_mut::<WIDTH>();
        let (mut least, mut chunks) = ([f64::INFINITY; WIDTH], [0u32; WIDTH]);
        for (chunk, row) in rows.iter().enumerate() {
            let (duals, distances, before) = (&duals[chunk], &mut distances[chunk], &mut before[chunk]);
            for lane in 0..WIDTH {
                let length = self.offset + (f64::from(self.sign * row[lane]) - duals[lane]);
                let shorter = length < distances[lane];
                let distance = if shorter { length } else { distances[lane] };
                distances[lane] = distance;
                before[lane] = if shorter { self.index } else { before[lane] };
                let open = if distance > f64::NEG_INFINITY { distance } else { f64::INFINITY };
                let nearer = open < least[lane];
                least[lane] = if nearer { open } else { least[lane] };
                chunks[lane] = if nearer { chunk as u32 } else { chunks[lane] };
            }
        }
        let mut nearest = (0, f64::INFINITY);
        for lane in 0..WIDTH {
            if least[lane] < nearest.1 {
                nearest = (chunks[lane] as usize * WIDTH + lane, least[lane]);
            }
        }
        for (lane, cost) in row_rest.iter().enumerate() {
            let length = self.offset + (f64::from(self.sign * cost) - dual_rest[lane]);
            if length < distance_rest[lane] {
                distance_rest[lane] = length;
                before_rest[lane] = self.index;
            }
            if distance_rest[lane] > f64::NEG_INFINITY && distance_rest[lane] < nearest.1 {
                nearest = (rows.len() * WIDTH + lane, distance_rest[lane]);
            }
        }
        nearest
    }
}

/// Takes one row into the minima of columns: where sign · c is below the minimum so far, it and its row replace it.
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
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.row.len();
        let take = |cost: f32, minimum: &mut f32, row: &mut u32| {
            let below = self.sign * cost < *minimum;
            *minimum = if below { self.sign * cost } else { *minimum };
            *row = if below { self.index } else { *row };
        };
        // In chunks of known length: in one loop the compiler would write by masks, which is half as fast.
        let (costs, cost_rest) = self.row.as_chunks::<WIDTH>();
        let (minima, minimum_rest) = self.minima[..len].as_chunks_mut::<WIDTH>();
        let (rows, row_rest) = self.rows[..len].as_chunks_mut::<WIDTH>();
        for ((costs, minima), rows) in costs.iter().zip(minima).zip(rows) {
            for lane in 0..WIDTH {
                take(costs[lane], &mut minima[lane], &mut rows[lane]);
            }
        }
        for ((cost, minimum), row) in cost_rest.iter().zip(minimum_rest).zip(row_rest) {
            take(*cost, minimum, row);
        }
    }
}

/// The largest magnitude among values; NaN or infinite if one of them is.
pub struct LargestMagnitude<'a> {
    /// Any number of values.
    pub values: &'a [f32],
}

impl Kernel<f32> for LargestMagnitude<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> f32 {
        // Without their sign, floats are in the order of their bits, then come the infinities, then NaN.
        f32::from_bits(self.values.iter().fold(0, |largest, value| largest.max(value.abs().to_bits())))
    }
}
