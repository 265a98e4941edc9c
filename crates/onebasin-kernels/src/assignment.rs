//! The scans of linear assignment: minima along rows and columns of a matrix of costs, in f32 or f64.

use crate::lanes::{BLOCK, Kernel, Lanes};
use std::fmt::{Debug, Display};
use std::ops::Mul;

/// Where costs and duals meet in f32, both are scaled by this: a dual may be as large as the sum of all costs of its
/// assignment and more, and must not overflow. A power of two, so that it rounds nothing but what is next to zero.
pub const SCALE: f64 = 1.0 / 131_072.0;
/// Vectors that scans take at once, since a maximum alone would wait for the one before.
const TOGETHER: usize = 4;
/// Columns that [`Relax`] and [`ColumnMinima`] take at once, in loops that become vectors.
const WIDTH: usize = 32;

/// A number that costs are given in: f32 or f64.
pub trait Cost: Copy + Debug + Default + Display + PartialOrd + From<i8> + Into<f64> + Mul<Output = Self> {
    /// The largest relative error of a gain, of what it is computed from, with a margin.
    const GAIN_ERROR: f64;
    /// The infinite cost.
    const INFINITY: Self;
    /// Bits of a magnitude.
    type Bits: Copy + Default + Ord;
    /// The bits without the sign: numbers in their order, then infinity, then NaN.
    fn magnitude(self) -> Self::Bits;
    /// The number with such bits.
    fn from_magnitude(bits: Self::Bits) -> Self;
    /// `factor` times the costs from `from` on, plus `term`, rounded to f32; zero costs behind the last.
    ///
    /// # Safety
    /// The caller is compiled for the vector's instruction set, and there are `count` costs, at least one.
    unsafe fn mul_add<V: Lanes>(from: *const Self, count: usize, factor: f64, term: V) -> V;
}

impl Cost for f32 {
    const GAIN_ERROR: f64 = 1.0 / 8_388_608.0;
    const INFINITY: Self = Self::INFINITY;
    type Bits = u32;
    #[inline(always)]
    fn magnitude(self) -> u32 {
        self.abs().to_bits()
    }
    #[inline(always)]
    fn from_magnitude(bits: u32) -> Self {
        Self::from_bits(bits)
    }
    #[inline(always)]
    unsafe fn mul_add<V: Lanes>(from: *const Self, count: usize, factor: f64, term: V) -> V {
        // SAFETY: the caller's promise; as many costs are read as there are.
        unsafe {
            let costs = if count < V::LANES { V::load_part(from, count) } else { V::load(from) };
            costs.mul_add(V::splat(factor as Self), term)
        }
    }
}

impl Cost for f64 {
    // The cost is rounded too, and no larger than the gain and the dual together.
    const GAIN_ERROR: f64 = 2.0 * f32::GAIN_ERROR;
    const INFINITY: Self = Self::INFINITY;
    type Bits = u64;
    #[inline(always)]
    fn magnitude(self) -> u64 {
        self.abs().to_bits()
    }
    #[inline(always)]
    fn from_magnitude(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    #[inline(always)]
    unsafe fn mul_add<V: Lanes>(from: *const Self, count: usize, factor: f64, term: V) -> V {
        // SAFETY: the caller's promise; as many costs are read as there are.
        unsafe {
            if count >= V::LANES {
                return V::load_doubles(from, factor).add(term);
            }
            let mut part = [0.0; BLOCK];
            std::ptr::copy_nonoverlapping(from, part.as_mut_ptr(), count);
            V::load_doubles(part.as_ptr(), factor).add(term)
        }
    }
}

/// The scaled v − sign · c of a row's columns, to f32: large where the column is good for the row, −∞ where forbidden.
#[derive(Clone, Copy, Debug)]
pub struct Gains<'a, T> {
    row: &'a [T],
    factor: f64,
    duals: &'a [f32],
}

impl<'a, T: Cost> Gains<'a, T> {
    /// `row`: c. `factor`: −sign times the scale. `duals`: scaled v, and −∞ to the next multiple of [`BLOCK`].
    pub fn new(row: &'a [T], factor: f64, duals: &'a [f32]) -> Self {
        assert_eq!(duals.len(), row.len().next_multiple_of(BLOCK), "one dual for each column, and the padding");
        Self { row, factor, duals }
    }

    /// Those of the columns from `column` on, −∞ behind the last.
    ///
    /// # Safety
    /// The caller is compiled for the vector's instruction set; `column` is a multiple of the lanes, and there is such a column.
    #[inline(always)]
    unsafe fn at<V: Lanes>(&self, column: usize) -> V {
        let rest = self.row.len() - column;
        // SAFETY: there are so many costs, and duals are padded to whole vectors.
        unsafe {
            let duals = V::load(self.duals.as_ptr().add(column));
            T::mul_add(self.row.as_ptr().add(column), rest, self.factor, duals)
        }
    }
}

/// A gain that a few columns have or exceed: the worst of some groups' best.
pub struct Threshold<'a, T> {
    /// Of all columns.
    pub gains: Gains<'a, T>,
    /// How many groups, a power of two up to [`BLOCK`]. Columns are together whose numbers agree modulo this, and on
    /// independent costs about two or three times as many columns have the gain.
    pub groups: usize,
}

impl<T: Cost> Kernel<f32> for Threshold<'_, T> {
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
pub struct AtLeast<'a, T> {
    /// Where to look.
    pub gains: Gains<'a, T>,
    /// Finite.
    pub threshold: f32,
    /// Receives the columns behind those that it has.
    pub found: &'a mut Vec<u32>,
}

impl<T: Cost> Kernel for AtLeast<'_, T> {
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
pub struct Relax<'a, T> {
    /// c: (column)
    pub row: &'a [T],
    /// 1, or −1 for the minima of −c.
    pub sign: T,
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

impl<T: Cost> Kernel<(usize, f64)> for Relax<'_, T> {
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
                let cost: f64 = (self.sign * row[lane]).into();
                let length = self.offset + (cost - duals[lane]);
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
            let cost: f64 = (self.sign * *cost).into();
            let length = self.offset + (cost - dual_rest[lane]);
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
pub struct ColumnMinima<'a, T> {
    /// c: (column)
    pub row: &'a [T],
    /// 1, or −1 for the minima of −c.
    pub sign: T,
    /// The number of the row.
    pub index: u32,
    /// (column)
    pub minima: &'a mut [T],
    /// The row of each minimum: (column)
    pub rows: &'a mut [u32],
}

impl<T: Cost> Kernel for ColumnMinima<'_, T> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.row.len();
        let take = |cost: T, minimum: &mut T, row: &mut u32| {
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
pub struct LargestMagnitude<'a, T> {
    /// Any number of values.
    pub values: &'a [T],
}

impl<T: Cost> Kernel<T> for LargestMagnitude<'_, T> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> T {
        let largest = |largest: T::Bits, value: &T| largest.max(value.magnitude());
        T::from_magnitude(self.values.iter().fold(T::Bits::default(), largest))
    }
}

/// What the costs of a row are, of which some are not finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed<T> {
    /// How many are below ∞, −∞ and NaN aside.
    pub count: usize,
    /// The largest magnitude of these, zero if there are none.
    pub largest: T,
    /// Whether all others are ∞: none is −∞ or NaN.
    pub valid: bool,
}

/// Finds what the costs sign · c of a row are.
pub struct FindAllowed<'a, T> {
    /// c: (column)
    pub row: &'a [T],
    /// 1, or −1 where −∞ is what is forbidden.
    pub sign: T,
}

impl<T: Cost> Kernel<Allowed<T>> for FindAllowed<'_, T> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> Allowed<T> {
        let infinity = T::INFINITY.magnitude();
        let (mut count, mut forbidden, mut largest) = (0, 0, T::Bits::default());
        for cost in self.row {
            let finite = cost.magnitude() < infinity;
            count += usize::from(finite);
            forbidden += usize::from(self.sign * *cost == T::INFINITY);
            largest = largest.max(if finite { cost.magnitude() } else { T::Bits::default() });
        }
        Allowed { count, largest: T::from_magnitude(largest), valid: count + forbidden == self.row.len() }
    }
}
