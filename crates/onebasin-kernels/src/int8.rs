//! Products of matrices that are quantised to int8. AVX-512 VNNI multiplies four times as many values as of f32, AVX2 as many.
//!
//! Values are integers times the scale of their row, by places: at each, one or two int8 of each of sixteen rows.

use crate::geometry::{blocks, depth};
use crate::lanes::{BLOCK, Kernel, Lanes};
use crate::thread_pool::ThreadPool;
use std::ops::Range;

/// Lanes, of four int8 each, of a row that are multiplied before the next part of it: three blocks of rows stay in the first-level cache.
const TOGETHER: usize = 128;
/// Blocks of rows of the second matrix that are multiplied together, at most.
const COLUMN_BLOCKS: usize = 3;

/// The int8 of a matrix: (blocks of rows, places, 16), zeros behind the last row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// One int8 of each row at a place.
    Singles(Vec<u8>),
    /// Two int8 of each row at a place.
    Pairs(Vec<u16>),
}

impl Codes {
    /// The first int8 of all pairs alone: those of values of which there is only one at a place.
    pub fn singles(pool: &ThreadPool, pairs: &[u16]) -> Self {
        let mut singles = vec![0; pairs.len()];
        let share = pool.share(pairs.len()).max(1);
        pool.chunks(&mut singles, share, |index, singles| {
            for (single, pair) in singles.iter_mut().zip(&pairs[index * share..]) {
                *single = *pair as u8;
            }
        });
        Self::Singles(singles)
    }

    fn len(&self) -> usize {
        match self {
            Self::Singles(singles) => singles.len(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }

    /// How many places a lane of four int8 has.
    fn places_in_lane(&self) -> usize {
        match self {
            Self::Singles(_) => 4,
            Self::Pairs(_) => 2,
        }
    }
}

/// Adds the products of the rows of one matrix with those of another.
pub struct Products<'a> {
    /// Both matrices, with equally many int8 at a place.
    pub codes: [&'a Codes; 2],
    /// How many places each of the rows has.
    pub len: usize,
    /// The scale of each row of the first, and of the second.
    pub scales: [&'a [f32]; 2],
    /// Which places are multiplied, as many of both.
    pub places: [&'a [u32]; 2],
    /// Some blocks of rows of the first.
    pub blocks: Range<usize>,
    /// Memory to work in.
    pub scratch: &'a mut Scratch,
    /// Added to: (rows of the first in `blocks`, rows of the second).
    pub sums: &'a mut [f32],
}

/// Memory that is kept from one product to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    first: Vec<Line>,
    /// For each row of the first, −128 times the sum of its values: what the offset of u8 adds to a product.
    corrections: Vec<i32>,
    second: Vec<Line>,
}

/// Four int8 of each of sixteen rows.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u32; BLOCK]);

const ZERO: Line = Line([0; BLOCK]);

impl Kernel for Products<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { codes, len, scales, places, blocks: range, scratch, sums } = self;
        let [rows, columns] = scales.map(<[f32]>::len);
        let block = len.saturating_mul(BLOCK);
        for (codes, scales) in codes.iter().zip(scales) {
            assert!(codes.len() >= blocks(scales.len()).saturating_mul(block), "a matrix has {}", codes.len());
        }
        let in_lane = codes[0].places_in_lane();
        assert!(in_lane == codes[1].places_in_lane(), "both matrices have as many int8 at a place");
        assert!(places[0].len() == places[1].len());
        assert!(places.iter().all(|places| places.iter().all(|place| (*place as usize) < len)), "behind the last");
        assert!(range.start <= range.end && range.end <= blocks(rows));
        let rows_here = rows.min(range.end * BLOCK).saturating_sub(range.start * BLOCK);
        assert!(sums.len() >= rows_here.saturating_mul(columns));
        scratch.first.resize(range.len() * TOGETHER, ZERO);
        scratch.corrections.resize(range.len() * BLOCK, 0);
        scratch.second.resize(COLUMN_BLOCKS * TOGETHER, ZERO);
        let Scratch { first, corrections, second } = scratch;
        for from in (0..places[0].len()).step_by(in_lane * TOGETHER) {
            let part = from..(from + in_lane * TOGETHER).min(places[0].len());
            let places = places.map(|places| &places[part.clone()]);
            let lanes = places[0].len().div_ceil(in_lane);
            for (index, row) in range.clone().enumerate() {
                let (from, to) = ((codes[0], row * block), &mut first[index * TOGETHER..][..lanes]);
                let corrections = &mut corrections[index * BLOCK..][..BLOCK];
                // SAFETY: this is compiled for the same instruction set, and there are sixteen corrections.
                unsafe { V::call(Collect::<false> { from, places: places[0], to, corrections }) };
            }
            let mut column = 0;
            while column < blocks(columns) {
                // Three blocks together where there are registers; but rather two and two than three and one.
                let column_blocks = match (V::LANES, blocks(columns) - column) {
                    (16, 2 | 4) => 2,
                    (16, 3..) => COLUMN_BLOCKS,
                    _ => 1,
                };
                for at in 0..column_blocks {
                    let (from, to) = ((codes[1], (column + at) * block), &mut second[at * TOGETHER..][..lanes]);
                    // SAFETY: this is compiled for the same instruction set; without a sign nothing is corrected.
                    unsafe { V::call(Collect::<true> { from, places: places[1], to, corrections: &mut [] }) };
                }
                for (index, row) in range.clone().enumerate() {
                    let tiles = Tiles {
                        first: first[index * TOGETHER..].as_ptr(),
                        corrections: &corrections[index * BLOCK..][..BLOCK],
                        second: second.as_ptr(),
                        lanes,
                        scales: [&scales[0][row * BLOCK..][..depth(rows, row)], &scales[1][column * BLOCK..]],
                        sums: &mut sums[index * BLOCK * columns + column * BLOCK..],
                        columns,
                    };
                    match (V::LANES, column_blocks) {
                        (16, 3) => tiles.run::<V, 8, 3>(),
                        (16, 2) => tiles.run::<V, 8, 2>(),
                        (16, _) => tiles.run::<V, 8, 1>(),
                        (8, _) => tiles.run::<V, 4, 2>(),
                        _ => tiles.run::<V, 2, 4>(),
                    }
                }
                column += column_blocks;
            }
        }
    }
}

/// Writes places of a block one behind the other, four int8 in a lane; the second matrix as u8, the first as i8 with corrections.
struct Collect<'a, const UNSIGNED: bool> {
    /// The matrix, and where the block begins.
    from: (&'a Codes, usize),
    places: &'a [u32],
    to: &'a mut [Line],
    corrections: &'a mut [i32],
}

impl<const UNSIGNED: bool> Kernel for Collect<'_, UNSIGNED> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { from: (codes, first), places, to, corrections } = self;
        match codes {
            Codes::Singles(singles) => {
                for (places, to) in places.chunks(4).zip(&mut *to) {
                    let mut four = [[0; BLOCK]; 4];
                    for (one, place) in four.iter_mut().zip(places) {
                        one.copy_from_slice(&singles[first + *place as usize * BLOCK..][..BLOCK]);
                    }
                    for (row, lane) in to.0.iter_mut().enumerate() {
                        *lane = u32::from_le_bytes(four.map(|one| one[row]));
                    }
                }
            }
            Codes::Pairs(pairs) => {
                let nothing = [0u16; BLOCK];
                let pair = |place: u32| pairs[first + place as usize * BLOCK..][..BLOCK].as_ptr();
                for (places, to) in places.chunks(2).zip(&mut *to) {
                    let [low, high] = [pair(places[0]), places.get(1).map_or(nothing.as_ptr(), |place| pair(*place))];
                    for part in (0..BLOCK).step_by(V::LANES) {
                        // SAFETY: there are sixteen of both, and so many lanes of a line.
                        unsafe {
                            V::load_pairs([low.add(part), high.add(part)]).store(to.0.as_mut_ptr().add(part).cast());
                        }
                    }
                }
            }
        }
        let vnni = V::has_vnni();
        for part in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: a line has so many lanes, and whoever made this promised as many corrections of the first matrix.
            unsafe {
                let factor = V::splat(f32::from_bits(0x8080_8080));
                let mut sums = V::splat(0.0);
                for line in &mut *to {
                    let line = line.0.as_mut_ptr().add(part).cast();
                    let lanes = V::load(line);
                    if UNSIGNED {
                        lanes.to_unsigned().store(line);
                    } else if vnni {
                        sums = sums.dot_add::<true>(factor, lanes);
                    } else {
                        sums = sums.dot_add::<false>(factor, lanes);
                    }
                }
                if !UNSIGNED {
                    sums.store(corrections.as_mut_ptr().add(part).cast());
                }
            }
        }
        for correction in corrections {
            *correction = -*correction;
        }
    }
}

/// The products of one block of rows with some that were collected.
struct Tiles<'a> {
    first: *const Line,
    corrections: &'a [i32],
    second: *const Line,
    lanes: usize,
    scales: [&'a [f32]; 2],
    sums: &'a mut [f32],
    columns: usize,
}

impl Tiles<'_> {
    /// `C` rows by `N` vectors at a time.
    #[inline(always)]
    fn run<V: Lanes, const C: usize, const N: usize>(mut self) {
        for row in (0..self.scales[0].len()).step_by(C) {
            // SAFETY: the tiles are of lines that there are, this is compiled for the same instruction set, and the machine was asked for the rest.
            unsafe {
                if V::has_vnni() {
                    V::call(Tile::<C, N, true> { tiles: &mut self, row });
                } else {
                    V::call(Tile::<C, N, false> { tiles: &mut self, row });
                }
            }
        }
    }
}

struct Tile<'t, 'a, const C: usize, const N: usize, const VNNI: bool> {
    tiles: &'t mut Tiles<'a>,
    row: usize,
}

impl<const C: usize, const N: usize, const VNNI: bool> Kernel for Tile<'_, '_, C, N, VNNI> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Tiles { first, corrections, second, lanes, scales: [rows, columns], ref mut sums, columns: stride } =
            *self.tiles;
        let row = self.row;
        // SAFETY: whoever made this promised that there are as many lines; rows behind the last are in their block.
        unsafe {
            let mut sum = [[V::splat(0.0); N]; C];
            unrolled!(c < C, {
                sum[c] = [V::splat(f32::from_bits(*corrections.get_unchecked(row + c) as u32)); N];
            });
            // What is far away has come when the sums are ready.
            unrolled!(c < C, {
                for n in 0..N {
                    V::prefetch(sums.as_ptr().wrapping_add((row + c) * stride + n * V::LANES));
                }
            });
            let mut from = first.cast::<u32>().add(row);
            let mut at: [*const f32; N] = std::array::from_fn(|n| {
                let (block, part) = (n * V::LANES / BLOCK, n * V::LANES % BLOCK);
                second.add(block * TOGETHER).cast::<f32>().add(part)
            });
            for _ in 0..lanes {
                let factor = at.map(|at| V::load(at));
                unrolled!(c < C, {
                    let row = V::splat(f32::from_bits(*from.add(c)));
                    for n in 0..N {
                        sum[c][n] = sum[c][n].dot_add::<VNNI>(factor[n], row);
                    }
                });
                from = from.wrapping_add(BLOCK);
                at = at.map(|at| at.wrapping_add(BLOCK));
            }
            let whole = rows.len() - row >= C && columns.len() >= N * V::LANES;
            assert!(!whole || (row + C - 1) * stride + N * V::LANES <= sums.len());
            unrolled!(c < C, {
                for n in 0..N {
                    let to = (row + c) * stride + n * V::LANES;
                    let products = sum[c][n].i32_to_f32();
                    if whole {
                        let scale = V::splat(rows[row + c]).mul(V::load(columns.as_ptr().add(n * V::LANES)));
                        let to = sums.as_mut_ptr().add(to);
                        products.mul_add(scale, V::load(to)).store(to);
                    } else if row + c < rows.len() && n * V::LANES < columns.len() {
                        let columns = &columns[n * V::LANES..];
                        let count = columns.len().min(V::LANES);
                        let scale = V::splat(rows[row + c]).mul(V::load_part(columns.as_ptr(), count));
                        let to = sums[to..][..count].as_mut_ptr();
                        products.mul_add(scale, V::load_part(to, count)).store_part(to, count);
                    }
                }
            });
        }
    }
}
