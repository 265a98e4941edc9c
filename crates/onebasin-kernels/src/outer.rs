//! The gradient of convolutions and dense layers with respect to their weights: sums of outer products.
//!
//! A tile of `C` inputs by `N` vectors of unit gradients stays in registers while the positions go by. With 16
//! lanes the three vectors are, for a 3x3 kernel of stride 1, the same units at three neighbouring columns (the
//! three taps of a kernel row), else three blocks of units.

use crate::bf16::{Factors, Multiply, Pairs, Singles};
use crate::geometry::{Geometry, blocks, depth};
use crate::lanes::{BLOCK, Kernel, Lanes};
use std::marker::PhantomData;

/// Positions of a dense layer's sum whose unit gradients stay in the first-level cache for all inputs.
pub const COLUMNS_IN_CACHE: usize = 168;

/// Writes or adds to `gradient` the sum over images and positions of input times gradient at the output.
pub struct WeightGradient<'a> {
    /// The layer.
    pub geometry: &'a Geometry,
    /// What `x` and `dy` hold: pairs are of two images, or of two columns of a dense layer, and count as one.
    pub factors: Factors,
    /// Columns to sum over; for a 3x3 kernel, all of the output's plane.
    pub columns: usize,
    /// Number of images; dense layers have their images as columns of one.
    pub images: usize,
    /// (images, input blocks, rows, columns, 16)
    pub x: &'a [f32],
    /// (images, unit blocks, rows, columns, 16)
    pub dy: &'a [f32],
    /// Which input blocks to compute; for a 3x3 kernel all, else perhaps a part, so that threads can share a layer.
    pub input_blocks: std::ops::Range<usize>,
    /// (kernel, kernel, inputs, units); only the inputs of `input_blocks` if there is one tap.
    pub gradient: &'a mut [f32],
    /// Whether to add to what is in `gradient` rather than to replace it.
    pub accumulate: bool,
}

/// One tile's sums: where its factors begin and how far they reach.
#[derive(Clone, Copy)]
struct Positions {
    images: usize,
    rows: usize,
    columns: usize,
    x: *const f32,
    x_image: usize,
    x_row: usize,
    x_step: usize,
    dy_image: usize,
    dy_row: usize,
}

impl Kernel for WeightGradient<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        if self.images == 0 || self.columns == 0 || self.input_blocks.is_empty() {
            return;
        }
        match self.factors {
            Factors::Singles => self.sum::<V, Singles>(),
            Factors::Pairs if V::has_bf16() => self.sum::<V, Pairs<true>>(),
            Factors::Pairs => self.sum::<V, Pairs<false>>(),
        }
    }
}

impl WeightGradient<'_> {
    #[inline(always)]
    fn sum<V: Lanes, M: Multiply>(self) {
        self.check();
        let geometry = *self.geometry;
        let Geometry { kernel, stride, inputs, units, from, to } = geometry;
        let pad = (kernel / 2) as isize;
        let triple = V::LANES == BLOCK && kernel == 3 && stride == 1;
        let taps_together = if triple { 3 } else { 1 };
        let chunk = if to.border > 0 { self.columns } else { COLUMNS_IN_CACHE };
        for start in (0..self.columns).step_by(chunk) {
            let load = self.accumulate || start > 0;
            for tap in (0..kernel * kernel).step_by(taps_together) {
                let tap_row = (tap / kernel) as isize - pad;
                let tap_column = (tap % kernel) as isize - pad;
                // Rows of outputs whose input row is not the zero border.
                let low = usize::from(tap_row < 0);
                let reach = (from.height as isize - 1 - tap_row).div_euclid(stride as isize) + 1;
                let high = to.height.min(reach.max(0) as usize);
                if low >= high {
                    if !load {
                        self.gradient[tap * inputs * units..][..taps_together * inputs * units].fill(0.0);
                    }
                    continue;
                }
                // In threes, inputs are walked from the first column and the outputs are shifted.
                let x_column = if triple { 0 } else { (start * stride) as isize + tap_column };
                let x_at = from.around((low * stride) as isize + tap_row, x_column);
                let dy_at = to.at(low, start);
                let mut unit_block = 0;
                while unit_block < blocks(units) {
                    // With 16 lanes, three blocks of units; but rather two and two than three and one.
                    let together = match (V::LANES, blocks(units) - unit_block) {
                        (16, 2 | 4) if !triple => 2,
                        (16, 3..) if !triple => 3,
                        _ => 1,
                    };
                    for input_block in self.input_blocks.clone() {
                        let first_input = if kernel == 1 { self.input_blocks.start * BLOCK } else { 0 };
                        let row = tap * inputs + input_block * BLOCK - first_input;
                        let count = depth(inputs, input_block);
                        // SAFETY: every offset is inside its slice, as `check` has shown.
                        unsafe {
                            let positions = Positions {
                                images: self.images,
                                rows: high - low,
                                columns: chunk.min(self.columns - start),
                                x: self.x.as_ptr().add(input_block * from.block() + x_at),
                                x_image: blocks(inputs) * from.block(),
                                x_row: stride * from.row(),
                                x_step: stride * BLOCK,
                                dy_image: blocks(units) * to.block(),
                                dy_row: to.row(),
                            };
                            let target = Target {
                                dy: self.dy.as_ptr().add(unit_block * to.block() + dy_at),
                                dy_block: to.block(),
                                gradient: self.gradient.as_mut_ptr().add(row * units + unit_block * BLOCK),
                                units,
                                units_left: units - unit_block * BLOCK,
                                load,
                            };
                            match (V::LANES, triple, together) {
                                (16, true, _) => positions.inputs::<V, M, 3>(count, target.three_taps(inputs)),
                                (16, false, 3) => positions.inputs::<V, M, 3>(count, target.side_by_side::<V, 3>()),
                                (16, false, 2) | (8, _, _) => {
                                    positions.inputs::<V, M, 2>(count, target.side_by_side::<V, 2>());
                                }
                                (16, false, _) => positions.inputs::<V, M, 1>(count, target.side_by_side::<V, 1>()),
                                _ => positions.inputs::<V, M, 4>(count, target.side_by_side::<V, 4>()),
                            }
                        }
                    }
                    unit_block += together;
                }
            }
        }
    }

    /// Panics if any access of the tiles would leave a slice. Saturated products are too large for any slice.
    #[inline(always)]
    fn check(&self) {
        let Geometry { kernel, stride, inputs, units, from, to } = *self.geometry;
        assert!((kernel == 1 || kernel == 3 && from.border == 1 && to.border == 1) && (1..=2).contains(&stride));
        assert!(self.input_blocks.end <= blocks(inputs) && self.columns <= to.width);
        // Kernels of several taps are summed whole.
        assert!(kernel == 1 || self.columns == to.width && self.input_blocks == (0..blocks(inputs)));
        assert!(self.x.len() >= self.images.saturating_mul(blocks(inputs)).saturating_mul(from.block()));
        assert!(self.dy.len() >= self.images.saturating_mul(blocks(units)).saturating_mul(to.block()));
        assert!(
            (to.height - 1).saturating_mul(stride) < from.height && (to.width - 1).saturating_mul(stride) < from.width
        );
        let inputs_here = inputs.min(self.input_blocks.end * BLOCK) - self.input_blocks.start * BLOCK;
        let rows = if kernel == 1 { inputs_here } else { inputs.saturating_mul(kernel * kernel) };
        assert!(self.gradient.len() >= rows.saturating_mul(units));
    }
}

impl Positions {
    /// All inputs of one block, eight at a time where possible.
    #[inline(always)]
    unsafe fn inputs<V: Lanes, M: Multiply, const N: usize>(&self, count: usize, vectors: Vectors<N>) {
        let mut input = 0;
        // SAFETY: the caller's promise, passed on.
        unsafe {
            while input < count {
                let left = count - input;
                let mut part = *self;
                part.x = self.x.add(input);
                let mut to = vectors;
                to.gradient = std::array::from_fn(|n| vectors.gradient[n].wrapping_add(input * vectors.input));
                input += match (V::LANES, left) {
                    (16, 8..) => V::call(Tile::<M, 8, N> { positions: part, vectors: to, multiply: PhantomData }),
                    (_, 4..) if V::LANES > 4 => {
                        V::call(Tile::<M, 4, N> { positions: part, vectors: to, multiply: PhantomData })
                    }
                    (_, 2..) => V::call(Tile::<M, 2, N> { positions: part, vectors: to, multiply: PhantomData }),
                    _ => V::call(Tile::<M, 1, N> { positions: part, vectors: to, multiply: PhantomData }),
                };
            }
        }
    }
}

/// The sums of `C` inputs by `N` vectors; running it returns `C`.
struct Tile<M, const C: usize, const N: usize> {
    positions: Positions,
    vectors: Vectors<N>,
    multiply: PhantomData<M>,
}

impl<M: Multiply, const C: usize, const N: usize> Kernel<usize> for Tile<M, C, N> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> usize {
        let Self { positions, vectors, .. } = self;
        // SAFETY: whoever made this promised: all positions and the gradient's rows are inside their slices.
        unsafe {
            let mut sum = vectors.load::<V, C>();
            for image in 0..positions.images {
                for row in 0..positions.rows {
                    let mut x = positions.x.add(image * positions.x_image + row * positions.x_row);
                    let mut dy = vectors.dy.map(|dy| dy.add(image * positions.dy_image + row * positions.dy_row));
                    for _ in 0..positions.columns {
                        let factor = dy.map(|dy| V::load(dy));
                        unrolled!(c < C, {
                            let input = V::splat(*x.add(c));
                            for n in 0..N {
                                sum[c][n] = M::multiply(input, factor[n], sum[c][n]);
                            }
                        });
                        x = x.add(positions.x_step);
                        dy = dy.map(|dy| dy.add(BLOCK));
                    }
                }
            }
            vectors.store(sum);
        }
        C
    }
}

/// Where the tiles of one block of inputs and some units begin.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) dy: *const f32,
    pub(super) dy_block: usize,
    pub(super) gradient: *mut f32,
    pub(super) units: usize,
    /// Units from the first of these to the last of the layer.
    pub(super) units_left: usize,
    pub(super) load: bool,
}

impl Target {
    /// The same block of units at three neighbouring columns, which belong to the three taps of a kernel row.
    #[inline(always)]
    unsafe fn three_taps(self, inputs: usize) -> Vectors<3> {
        let tap = inputs * self.units;
        // SAFETY: the columns before the first and behind the last are the border; all taps are in the gradient.
        let (dy, gradient) = unsafe {
            (
                [self.dy.add(BLOCK), self.dy, self.dy.sub(BLOCK)],
                [self.gradient, self.gradient.add(tap), self.gradient.add(2 * tap)],
            )
        };
        Vectors { dy, gradient, lanes: [self.units_left.min(BLOCK); 3], input: self.units, load: self.load }
    }

    #[inline(always)]
    pub(super) unsafe fn side_by_side<V: Lanes, const N: usize>(self) -> Vectors<N> {
        Vectors {
            dy: std::array::from_fn(|n| {
                let (block, part) = (n * V::LANES / BLOCK, n * V::LANES % BLOCK);
                // SAFETY: `dy` has whole blocks, and the caller asks for no more of them than there are.
                unsafe { self.dy.add(block * self.dy_block + part) }
            }),
            // A vector without a lane in the gradient points behind its end, and is never touched.
            gradient: std::array::from_fn(|n| self.gradient.wrapping_add(n * V::LANES)),
            lanes: std::array::from_fn(|n| self.units_left.saturating_sub(n * V::LANES).min(V::LANES)),
            input: self.units,
            load: self.load,
        }
    }
}

/// The `N` vectors of one tile: where their factors and their sums are.
#[derive(Clone, Copy)]
pub(super) struct Vectors<const N: usize> {
    pub(super) dy: [*const f32; N],
    gradient: [*mut f32; N],
    lanes: [usize; N],
    /// Floats from one input's gradient to the next.
    input: usize,
    /// Whether the sums begin with what is in memory.
    load: bool,
}

impl<const N: usize> Vectors<N> {
    /// The sums of `C` inputs to begin with: zero, or what is in memory.
    ///
    /// # Safety
    /// The lanes of all rows are inside the gradient; for [`Self::store`] too.
    #[inline(always)]
    pub(super) unsafe fn load<V: Lanes, const C: usize>(&self) -> [[V; N]; C] {
        let full = self.lanes.iter().all(|lanes| *lanes == V::LANES);
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = [[V::splat(0.0); N]; C];
            if self.load {
                unrolled!(c < C, {
                    for n in 0..N {
                        let from = self.gradient[n].wrapping_add(c * self.input);
                        sum[c][n] = if full { V::load(from) } else { V::load_part(from, self.lanes[n]) };
                    }
                });
            }
            sum
        }
    }

    #[inline(always)]
    pub(super) unsafe fn store<V: Lanes, const C: usize>(&self, sum: [[V; N]; C]) {
        let full = self.lanes.iter().all(|lanes| *lanes == V::LANES);
        // SAFETY: the caller's promise.
        unsafe {
            unrolled!(c < C, {
                for n in 0..N {
                    let to = self.gradient[n].wrapping_add(c * self.input);
                    if full {
                        sum[c][n].store(to);
                    } else {
                        sum[c][n].store_part(to, self.lanes[n]);
                    }
                }
            });
        }
    }
}
