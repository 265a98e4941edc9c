//! Quantises matrices to int8: integers of at most [`LARGEST`] times the scale of their row.

use crate::geometry::{blocks, depth};
use crate::isa::Isa;
use crate::lanes::{BLOCK, Kernel, Lanes};
use crate::thread_pool::ThreadPool;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The largest magnitude of a quantised value.
pub const LARGEST: f32 = 127.0;
/// Columns that are quantised together where those of a row are neighbours.
const RUN: usize = 4 * BLOCK;
/// Blocks of rows that are quantised together, at most, for the sake of longer runs in memory.
const SHARE: usize = 8;
/// How many columns ahead values are prefetched.
const AHEAD: usize = 2;

/// Values of some rows, which become the same int8 of as many.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// From the first value of the first row on.
    pub from: &'a [f32],
    /// For each row, what is subtracted from its values.
    pub means: &'a [f32],
    /// For each row, what the differences are multiplied by, to be at most [`LARGEST`].
    pub gains: &'a [f32],
}

/// Where the values of a matrix are that are to be quantised.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// Number of rows, and floats between two.
    pub rows: (usize, usize),
    /// Number of columns, and floats between two.
    pub columns: (usize, usize),
    /// Pairs of a column.
    pub parts: usize,
}

/// Quantises the values of a matrix to pairs of int8: (blocks of rows, columns, parts, 16), zeros behind the last row.
///
/// `sources` gives, for some of the rows, of each part of a column the first int8, then the second.
pub fn quantise<'a>(
    isa: Isa,
    pool: &ThreadPool,
    matrix: Matrix,
    sources: impl Fn(Range<usize>) -> Vec<[Source<'a>; 2]> + Sync,
) -> Vec<u16> {
    let Matrix { rows: (rows, row), columns: (columns, column), parts } = matrix;
    let len = columns * parts * BLOCK;
    let mut pairs = Vec::with_capacity(blocks(rows) * len);
    let share = blocks(rows).div_ceil(pool.threads()).clamp(1, SHARE);
    // Not zeros first: that would take as long as the quantisation itself.
    pool.chunks(&mut pairs.spare_capacity_mut()[..blocks(rows) * len], (share * len).max(1), |index, pairs| {
        let here = index * share * BLOCK..((index + 1) * share * BLOCK).min(rows);
        let sources = &sources(here.clone());
        assert_eq!(sources.len(), parts, "sources for each part");
        isa.run(Quantise { sources, rows: (here.len(), row), columns: (columns, column), pairs });
    });
    // SAFETY: there is capacity for so many, and each of the chunks was written as a whole.
    unsafe { pairs.set_len(blocks(rows) * len) };
    pairs
}

/// Quantises some rows; writes all of `pairs`.
struct Quantise<'a> {
    sources: &'a [[Source<'a>; 2]],
    rows: (usize, usize),
    columns: (usize, usize),
    pairs: &'a mut [MaybeUninit<u16>],
}

impl Kernel for Quantise<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { sources, rows: (rows, row), columns: (columns, column), pairs } = self;
        assert!(rows > 0 && columns > 0);
        let reach = (rows - 1).saturating_mul(row).saturating_add((columns - 1).saturating_mul(column));
        for source in sources.iter().flatten() {
            assert!(reach < source.from.len(), "the last row ends at {reach}, the array at {}", source.from.len());
            assert!(source.means.len() == rows && source.gains.len() == rows);
        }
        let block_len = columns.saturating_mul(sources.len()).saturating_mul(BLOCK);
        assert_eq!(pairs.len(), blocks(rows).saturating_mul(block_len));
        // Rows whose values are neighbours are turned in squares.
        let squares = if column == 1 && row != 1 { (rows / BLOCK, columns - columns % RUN) } else { (0, 0) };
        for block in 0..squares.0 {
            for first in (0..squares.1).step_by(RUN) {
                for (part, source) in sources.iter().enumerate() {
                    let to = &mut pairs[block * block_len + (first * sources.len() + part) * BLOCK..];
                    let at = block * BLOCK * row + first;
                    let square = Square { source, first: block * BLOCK, at, row, to, step: sources.len() * BLOCK };
                    // SAFETY: this is compiled for the same instruction set.
                    unsafe { V::call(square) };
                }
            }
        }
        if row == 1 {
            // Neighbouring rows are read together, and all of them before the next column.
            for index in 0..columns {
                for (part, source) in sources.iter().enumerate() {
                    for block in 0..rows / BLOCK {
                        let at = block * BLOCK + index * column;
                        let to = block * block_len + (index * sources.len() + part) * BLOCK;
                        for lane in (0..BLOCK).step_by(V::LANES) {
                            // SAFETY: no value is behind `reach`; `pairs` has all columns of all blocks.
                            unsafe {
                                // Pages apart, which the processor does not foresee.
                                V::prefetch(source[0].from.as_ptr().wrapping_add(at + AHEAD * column));
                                V::prefetch(source[1].from.as_ptr().wrapping_add(at + AHEAD * column));
                                let low = source[0].rows::<V>(block * BLOCK + lane, at + lane);
                                let high = source[1].rows::<V>(block * BLOCK + lane, at + lane);
                                V::quantise(low, high).store_low_pairs(pairs.as_mut_ptr().add(to + lane).cast());
                            }
                        }
                    }
                }
            }
        }
        // What is left, one by one.
        for block in 0..blocks(rows) {
            let whole = row == 1 && depth(rows, block) == BLOCK;
            let first = if whole {
                columns
            } else if block < squares.0 {
                squares.1
            } else {
                0
            };
            for index in first..columns {
                for (part, source) in sources.iter().enumerate() {
                    let mut scaled = [[0.0f32; BLOCK]; 2];
                    for (scaled, source) in scaled.iter_mut().zip(source) {
                        for (one, scaled_value) in scaled.iter_mut().take(depth(rows, block)).enumerate() {
                            let unit = block * BLOCK + one;
                            let value = source.from[unit * row + index * column];
                            *scaled_value = (value - source.means[unit]) * source.gains[unit];
                        }
                    }
                    let to = &mut pairs[block * block_len + (index * sources.len() + part) * BLOCK..][..BLOCK];
                    for lane in (0..BLOCK).step_by(V::LANES) {
                        // SAFETY: all lane counts divide a block.
                        unsafe {
                            let [low, high] =
                                [V::load(scaled[0].as_ptr().add(lane)), V::load(scaled[1].as_ptr().add(lane))];
                            V::quantise(low, high).store_low_pairs(to.as_mut_ptr().add(lane).cast());
                        }
                    }
                }
            }
        }
    }
}

impl Source<'_> {
    /// The values of as many rows as a vector has lanes, which are neighbours.
    ///
    /// # Safety
    /// The values are inside of `from`, and the rows are some that there are.
    #[inline(always)]
    unsafe fn rows<V: Lanes>(&self, first: usize, at: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let [means, gains] = [V::load(self.means.as_ptr().add(first)), V::load(self.gains.as_ptr().add(first))];
            V::load(self.from.as_ptr().add(at)).sub(means).mul(gains)
        }
    }

    /// The values of as many columns of one row as a vector has lanes.
    ///
    /// # Safety
    /// The values are inside of `from`.
    #[inline(always)]
    unsafe fn run<V: Lanes>(&self, row: usize, at: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(self.from.as_ptr().add(at)).sub(V::splat(self.means[row])).mul(V::splat(self.gains[row])) }
    }
}

/// Quantises [`RUN`] columns of sixteen rows.
struct Square<'a> {
    source: &'a [Source<'a>; 2],
    /// The first row.
    first: usize,
    /// Where its values begin.
    at: usize,
    /// Floats between two rows.
    row: usize,
    to: &'a mut [MaybeUninit<u16>],
    /// From one column to the next.
    step: usize,
}

impl Kernel for Square<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { source, first, at, row, to, step } = self;
        assert!(source.iter().all(|source| at + (BLOCK - 1) * row + RUN <= source.from.len()));
        assert!(to.len() >= (RUN - 1) * step + BLOCK);
        let mut values = [0.0f32; BLOCK * RUN];
        for one in 0..BLOCK {
            for column in (0..RUN).step_by(V::LANES) {
                // SAFETY: as has been asserted.
                unsafe {
                    V::prefetch(source[0].from.as_ptr().wrapping_add(at + one * row + column + RUN));
                    V::prefetch(source[1].from.as_ptr().wrapping_add(at + one * row + column + RUN));
                    let low = source[0].run::<V>(first + one, at + one * row + column);
                    let high = source[1].run::<V>(first + one, at + one * row + column);
                    V::quantise(low, high).store(values.as_mut_ptr().add(one * RUN + column));
                }
            }
        }
        for column in 0..RUN {
            for lane in (0..BLOCK).step_by(V::LANES) {
                // SAFETY: as has been asserted.
                unsafe {
                    let rows = V::load_apart(values.as_ptr().add(lane * RUN + column), RUN);
                    rows.store_low_pairs(to.as_mut_ptr().add(column * step + lane).cast());
                }
            }
        }
    }
}
