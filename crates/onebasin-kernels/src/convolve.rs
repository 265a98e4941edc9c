//! Multiplies blocked activations by packed weights: convolutions, their input gradients, and dense layers.
//!
//! A strip of outputs, `P` columns by `N` vectors of units, stays in registers while the taps go by. With 16
//! lanes and a 3x3 kernel of stride 1, each input is broadcast once and serves three taps of its row: without
//! that, a layer of 16 units needs a load for every multiplication and is bound by the two load ports.

use crate::bf16::{Factors, Multiply, Pairs, Singles};
use crate::geometry::{Pass, TILE, Tap};
use crate::lanes::{BLOCK, Kernel, Lanes};
use std::marker::PhantomData;

/// Tiles of weights, a kilobyte each, that stay in the first-level cache while a grid is swept: half of what
/// AVX-512 machines have, and half of what others have.
const TILES_IN_LARGE_CACHE: usize = 24;
const TILES_IN_SMALL_CACHE: usize = 16;

/// The layer `out = relu(bias + x * weights + residual)`, each part optional.
pub struct Convolve<'a> {
    /// Which inputs meet which weights.
    pub pass: &'a Pass,
    /// Columns to compute, at most the pass's.
    pub columns: usize,
    /// What `x` and `weights` hold. Pairs are of neighbouring inputs, so there are half as many of them; the offsets of the pass
    /// count numbers.
    pub factors: Factors,
    /// (input blocks, rows, columns, 16), from the beginning of the first block.
    pub x: &'a [f32],
    /// (unit blocks, taps, 16 inputs, 16 units)
    pub weights: &'a [f32],
    /// Weights, or pairs of them, for each unit block.
    pub weight_block: usize,
    /// Unit blocks to compute.
    pub unit_blocks: usize,
    /// (unit blocks, rows, columns, 16)
    pub out: &'a mut [f32],
    /// Padded to whole blocks.
    pub bias: Option<&'a [f32]>,
    /// Shaped like `out`.
    pub residual: Option<&'a [f32]>,
    /// Whether negative results become zero.
    pub relu: bool,
    /// Whether to add to what is in `out`; excludes a bias.
    pub accumulate: bool,
}

/// The state of one sweep over the grid with one group of taps and some blocks of units.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    pass: &'a Pass,
    columns: usize,
    taps: &'a [Tap],
    x: *const f32,
    weights: *const f32,
    weight_block: usize,
    out: *mut f32,
    bias: Option<*const f32>,
    residual: Option<*const f32>,
    relu: bool,
    load: bool,
}

impl Kernel for Convolve<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let pass = self.pass;
        if pass.rows == 0 || self.columns == 0 || self.unit_blocks == 0 {
            return;
        }
        match self.factors {
            Factors::Singles => self.sweep::<V, Singles>(),
            Factors::Pairs if V::has_bf16() => self.sweep::<V, Pairs<true>>(),
            Factors::Pairs => self.sweep::<V, Pairs<false>>(),
        }
    }
}

impl Convolve<'_> {
    #[inline(always)]
    fn sweep<V: Lanes, M: Multiply>(self) {
        self.check();
        let pass = self.pass;
        // Blocks of units swept together. With 32 registers, four by six columns load least for each product; a
        // 3x3 kernel needs registers for the weights of three taps as well. With 16 registers, one.
        let near = pass.x_step == BLOCK;
        let (together, tiles) = match (V::LANES, pass.triple, near) {
            (16, false, true) => (4, TILES_IN_LARGE_CACHE / 4),
            (16, _, _) => (2, TILES_IN_LARGE_CACHE / 2),
            _ => (1, TILES_IN_SMALL_CACHE),
        };
        let tiles = tiles * M::PACKED;
        let group = pass.taps_per_block * (tiles / pass.taps_per_block.max(1)).max(1);
        let groups = pass.taps.len().div_ceil(group.max(1)).max(1);
        // Groups of taps outside, blocks of units inside: the inputs of a group stay in the second-level cache.
        for index in 0..groups {
            let taps = &pass.taps[(index * group).min(pass.taps.len())..((index + 1) * group).min(pass.taps.len())];
            let (first, last) = (index == 0, index + 1 == groups);
            let mut block = 0;
            while block < self.unit_blocks {
                let count = together.min(self.unit_blocks - block);
                let out = block * pass.out_block + pass.out;
                // SAFETY: `check` has shown that every offset formed from the pass stays inside its slice.
                unsafe {
                    let sweep = Sweep {
                        pass,
                        columns: self.columns,
                        taps,
                        x: self.x.as_ptr(),
                        weights: self.weights.as_ptr().add(block * self.weight_block),
                        weight_block: self.weight_block,
                        out: self.out.as_mut_ptr().add(out),
                        bias: self.bias.filter(|_| first).map(|bias| bias.as_ptr().add(block * BLOCK)),
                        residual: self.residual.filter(|_| last).map(|residual| residual.as_ptr().add(out)),
                        relu: self.relu && last,
                        load: self.accumulate || !first,
                    };
                    sweep.run::<V, M>(count);
                }
                block += count;
            }
        }
    }

    /// Panics if any access of the sweeps would leave a slice. Saturated sums are too large for any slice.
    #[inline(always)]
    fn check(&self) {
        let (pass, packed) = (self.pass, self.factors.packed());
        let end = |parts: [(usize, usize); 3], first: usize| {
            parts.iter().fold(first, |sum, (count, step)| sum.saturating_add(count.saturating_mul(*step)))
        };
        let (rows, columns, units) = (pass.rows - 1, self.columns - 1, self.unit_blocks - 1);
        let out_end = end([(rows, pass.out_row), (columns, pass.out_step), (units, pass.out_block)], pass.out);
        let out_end = out_end.saturating_add(BLOCK);
        assert!(self.columns <= pass.columns && (pass.x_step == BLOCK || pass.x_step == 2 * BLOCK));
        assert!(out_end <= self.out.len());
        assert!(self.residual.is_none_or(|residual| out_end <= residual.len()));
        assert!(
            self.bias.is_none_or(|bias| bias.len() / BLOCK >= self.unit_blocks)
                && !(self.accumulate && self.bias.is_some())
        );
        for tap in &pass.taps {
            assert!(tap.depth <= BLOCK);
            let x_end = end([(rows, pass.x_row), (columns, pass.x_step), (1, BLOCK)], tap.x);
            let w_end = end([(units, self.weight_block.saturating_mul(packed)), (1, TILE), (0, 0)], tap.w);
            // Whole blocks all of them: halves of offsets are exact.
            assert!(tap.x.is_multiple_of(BLOCK) && tap.w.is_multiple_of(BLOCK) && pass.x_row.is_multiple_of(BLOCK));
            assert!(x_end <= self.x.len().saturating_mul(packed) && w_end <= self.weights.len().saturating_mul(packed));
        }
        if pass.triple {
            // Three taps are read from where the first of them says.
            assert!(pass.x_step == BLOCK && pass.taps_per_block.is_multiple_of(3));
            let (threes, rest) = pass.taps.as_chunks::<3>();
            assert!(rest.is_empty());
            for [first, second, third] in threes {
                assert!(second.x == first.x + BLOCK && third.x == second.x + BLOCK);
                assert!(second.w == first.w + TILE && third.w == second.w + TILE);
            }
        }
    }
}

/// Sweeps the grid in strips of at most `$widest` columns, then 8, then whatever is left; the list has all widths.
macro_rules! sweep_with {
    ($sweep:expr, $V:ty, $M:ty, $N:literal, $K:literal, $STEP:expr, $widest:literal, [$($P:literal)*]) => {
        for row in 0..$sweep.pass.rows {
            let mut column = 0;
            while column < $sweep.columns {
                let left = $sweep.columns - column;
                let width = if left >= $widest {
                    $widest
                } else if left >= 8 {
                    8
                } else {
                    left
                };
                match width {
                    $($P => <$V>::call(Strip::<$M, $P, $N, $K, { $STEP }> { sweep: $sweep, row, column, multiply: PhantomData }),)*
                    _ => unreachable!("no strip of this width"),
                }
                column += width;
            }
        }
    };
}

impl Sweep<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes, M: Multiply>(&self, unit_blocks: usize) {
        const NEAR: usize = BLOCK;
        const FAR: usize = 2 * BLOCK;
        let far = self.pass.x_step == FAR;
        // SAFETY: the caller's promise, passed on.
        unsafe {
            match (V::LANES, unit_blocks, self.pass.triple, far) {
                (16, 4, false, false) => sweep_with!(self, V, M, 4, 1, NEAR, 6, [6 5 4 3 2 1]),
                (16, 3, false, false) => sweep_with!(self, V, M, 3, 1, NEAR, 8, [8 7 6 5 4 3 2 1]),
                (16, 2, true, _) => sweep_with!(self, V, M, 2, 3, NEAR, 8, [8 7 6 5 4 3 2 1]),
                (16, 2, false, false) => sweep_with!(self, V, M, 2, 1, NEAR, 14, [14 8 7 6 5 4 3 2 1]),
                (16, 2, false, true) => sweep_with!(self, V, M, 2, 1, FAR, 8, [8 7 6 5 4 3 2 1]),
                (16, _, true, _) => sweep_with!(self, V, M, 1, 3, NEAR, 16, [16 8 7 6 5 4 3 2 1]),
                (16, _, false, false) => sweep_with!(self, V, M, 1, 1, NEAR, 14, [14 8 7 6 5 4 3 2 1]),
                (16, _, false, true) => sweep_with!(self, V, M, 1, 1, FAR, 8, [8 7 6 5 4 3 2 1]),
                (8, _, _, false) => sweep_with!(self, V, M, 2, 1, NEAR, 6, [6 5 4 3 2 1]),
                (8, _, _, true) => sweep_with!(self, V, M, 2, 1, FAR, 6, [6 5 4 3 2 1]),
                (_, _, _, false) => sweep_with!(self, V, M, 4, 1, NEAR, 2, [2 1]),
                (_, _, _, true) => sweep_with!(self, V, M, 4, 1, FAR, 2, [2 1]),
            }
        }
    }
}

/// `P` neighbouring outputs of one row, `N` vectors of units, `K` taps of a row at a time.
struct Strip<'a, M, const P: usize, const N: usize, const K: usize, const STEP: usize> {
    sweep: &'a Sweep<'a>,
    row: usize,
    column: usize,
    multiply: PhantomData<M>,
}

impl<M: Multiply, const P: usize, const N: usize, const K: usize, const STEP: usize> Kernel
    for Strip<'_, M, P, N, K, STEP>
{
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { sweep, row, column, .. } = self;
        let pass = sweep.pass;
        let edge = u8::from(row == 0) | u8::from(row + 1 == pass.rows) << 1;
        // Vector number `n` of the strip: which block of units, and where in it.
        let place = |n: usize, block: usize| (n * V::LANES / BLOCK) * block + n * V::LANES % BLOCK;
        // SAFETY: `Convolve::check`.
        unsafe {
            let x = sweep.x.add((row * pass.x_row + column * STEP) / M::PACKED);
            let out_offset = row * pass.out_row + column * pass.out_step;
            let out = sweep.out.add(out_offset);
            let mut sum = [[V::splat(0.0); N]; P];
            if sweep.load {
                unrolled!(p < P, {
                    for n in 0..N {
                        sum[p][n] = V::load(out.add(p * pass.out_step + place(n, pass.out_block)));
                    }
                });
            } else if let Some(bias) = sweep.bias {
                unrolled!(p < P, {
                    for n in 0..N {
                        sum[p][n] = V::load(bias.add(n * V::LANES));
                    }
                });
            }
            let mut index = 0;
            while index < sweep.taps.len() {
                let tap = sweep.taps.get_unchecked(index);
                index += K;
                if tap.absent & edge != 0 {
                    continue;
                }
                let mut x = x.add(tap.x / M::PACKED);
                let mut w = sweep.weights.add(tap.w / M::PACKED);
                for _ in 0..tap.depth.div_ceil(M::PACKED) {
                    let mut weight = [[V::splat(0.0); N]; K];
                    for k in 0..K {
                        for n in 0..N {
                            weight[k][n] = V::load(w.add(k * (TILE / M::PACKED) + place(n, sweep.weight_block)));
                        }
                    }
                    unrolled!(q < P + K - 1, {
                        let input = V::splat(*x.add(q * (STEP / M::PACKED)));
                        for k in 0..K {
                            // Output p reads input p + k.
                            if q >= k && q - k < P {
                                for n in 0..N {
                                    sum[q - k][n] = M::multiply(input, weight[k][n], sum[q - k][n]);
                                }
                            }
                        }
                    });
                    x = x.add(1);
                    w = w.add(BLOCK);
                }
            }
            let zero = V::splat(0.0);
            unrolled!(p < P, {
                for n in 0..N {
                    let offset = p * pass.out_step + place(n, pass.out_block);
                    if let Some(residual) = sweep.residual {
                        sum[p][n] = sum[p][n].add(V::load(residual.add(out_offset + offset)));
                    }
                    if sweep.relu {
                        sum[p][n] = zero.max(sum[p][n]);
                    }
                    sum[p][n].store(out.add(offset));
                }
            });
        }
    }
}
