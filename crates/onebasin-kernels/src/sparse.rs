//! Dense layers with sparse inputs: products with zeros are left out.
//!
//! Four fifths of MNIST's pixels are zero. The forward pass skips a feature that is zero in all images of a strip,
//! and weight gradients skip an image in which eight neighbouring features are zero: both
//! save half of the work or more. What is left out is zero times a weight, so unless that is not a number the
//! results have the same bits (but for the sign of a zero).

use crate::geometry::{TILE, blocks, depth};
use crate::lanes::{BLOCK, Kernel, Lanes};
use crate::outer::{COLUMNS_IN_CACHE, Target};

/// Images or features, at most.
const MOST: usize = 1 << 16;
/// Features whose images are listed together.
const OCTET: usize = 8;
/// Blocks of inputs whose weights for four blocks of units stay in the first-level cache.
const BLOCKS_IN_CACHE: usize = 6;

/// Which values of one block of sixteen features are not zero.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    /// For each image, one bit for each feature.
    masks: Vec<u16>,
    /// The images in which one of the first or the last eight features is not zero, in order.
    images: [Vec<u16>; 2],
}

impl Occupancy {
    /// An empty one with memory for `images`, at most 65,536.
    pub fn with_capacity(images: usize) -> Self {
        Self { masks: Vec::with_capacity(images), images: [0, 1].map(|_| Vec::with_capacity(images)) }
    }

    /// Pairs of an image and eight features that have to be looked at, of two for each image.
    pub fn occupied(&self) -> usize {
        self.images.iter().map(Vec::len).sum()
    }
}

/// Fills an [`Occupancy`].
pub struct Occupy<'a> {
    /// (images, 16)
    pub values: &'a [f32],
    /// What is found.
    pub occupancy: &'a mut Occupancy,
}

impl Kernel for Occupy<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert!(self.values.len() / BLOCK <= MOST, "images are numbered with sixteen bits");
        let Occupancy { masks, images: [low, high] } = self.occupancy;
        masks.clear();
        low.clear();
        high.clear();
        for (image, values) in self.values.as_chunks::<BLOCK>().0.iter().enumerate() {
            let mut mask = 0;
            for part in (0..BLOCK).step_by(V::LANES) {
                // SAFETY: a block has all these lanes.
                mask |= unsafe { V::load(values.as_ptr().add(part)).non_zero() } << part;
            }
            masks.push(mask as u16);
            if mask & 0xff != 0 {
                low.push(image as u16);
            }
            if mask >> OCTET != 0 {
                high.push(image as u16);
            }
        }
    }
}

/// The features that are not zero in at least one image of a strip, in order.
#[derive(Debug)]
pub struct StripFeatures {
    features: Vec<u16>,
    /// For each group of [`BLOCKS_IN_CACHE`] blocks, where its features end.
    ends: Vec<usize>,
}

impl StripFeatures {
    /// Images of a strip. In 32 registers five by four blocks of units leave room for the inputs; six do not.
    pub const IMAGES: usize = 5;

    /// An empty one with memory for `inputs`, at most 65,536.
    pub fn with_capacity(inputs: usize) -> Self {
        let groups = blocks(inputs).div_ceil(BLOCKS_IN_CACHE);
        Self { features: Vec::with_capacity(inputs), ends: Vec::with_capacity(groups) }
    }

    /// Reads strip number `strip` out of the occupancy of all blocks.
    pub fn fill(&mut self, strip: usize, occupancy: &[Occupancy]) {
        assert!(occupancy.len() * BLOCK <= MOST, "features are numbered with sixteen bits");
        self.features.clear();
        self.ends.clear();
        for (block, occupancy) in occupancy.iter().enumerate() {
            if block > 0 && block.is_multiple_of(BLOCKS_IN_CACHE) {
                self.ends.push(self.features.len());
            }
            let masks = occupancy.masks[strip * Self::IMAGES..].iter().take(Self::IMAGES);
            let mut mask = masks.fold(0, |all, mask| all | mask);
            while mask != 0 {
                self.features.push((block * BLOCK) as u16 + mask.trailing_zeros() as u16);
                mask &= mask - 1;
            }
        }
        self.ends.push(self.features.len());
    }
}

/// `out = relu(bias + x · weights)` with few values of `x` that are not zero; the arrays as in `Convolve`.
pub struct SparseForward<'a> {
    /// Number of inputs, at most 65,536.
    pub inputs: usize,
    /// One for each strip of images.
    pub strips: &'a [StripFeatures],
    /// Number of images.
    pub columns: usize,
    /// (input blocks, images, 16), the blocks `x_block` floats apart.
    pub x: &'a [f32],
    /// Floats between two blocks of inputs.
    pub x_block: usize,
    /// (unit blocks, input blocks, 16 inputs, 16 units)
    pub weights: &'a [f32],
    /// Unit blocks to compute.
    pub unit_blocks: usize,
    /// (unit blocks, images, 16), the blocks `out_block` floats apart.
    pub out: &'a mut [f32],
    /// Floats between two blocks of units.
    pub out_block: usize,
    /// Padded to whole blocks.
    pub bias: &'a [f32],
    /// Whether negative results become zero.
    pub relu: bool,
}

/// Where `columns` of the last of some blocks end; what is too large for a number is too large for a slice.
fn reach(blocks: usize, block: usize, columns: usize) -> usize {
    (blocks - 1).saturating_mul(block).saturating_add(columns.saturating_mul(BLOCK))
}

/// One strip of images by some vectors of units, from `unit` on.
struct Strip<'a, const P: usize, const N: usize> {
    layer: &'a SparseForward<'a>,
    out: *mut f32,
    unit: usize,
    column: usize,
    features: &'a [u16],
    first: bool,
    last: bool,
}

impl Kernel for SparseForward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let input_blocks = blocks(self.inputs);
        let groups = input_blocks.div_ceil(BLOCKS_IN_CACHE);
        assert!(self.columns > 0 && self.unit_blocks > 0);
        let strips = &self.strips[..self.columns.div_ceil(StripFeatures::IMAGES)];
        assert!(strips.iter().all(|strip| {
            strip.ends.len() == groups && strip.features.last().is_none_or(|last| usize::from(*last) < self.inputs)
        }));
        assert!(self.x.len() >= reach(input_blocks, self.x_block, self.columns));
        assert!(self.weights.len() / TILE / input_blocks >= self.unit_blocks);
        assert!(self.out.len() >= reach(self.unit_blocks, self.out_block, self.columns));
        assert!(self.bias.len() / BLOCK >= self.unit_blocks);
        let out = self.out.as_mut_ptr();
        for group in 0..groups {
            let mut unit = 0;
            while unit < self.unit_blocks * BLOCK {
                let wide = V::LANES == BLOCK && self.unit_blocks * BLOCK - unit >= 4 * BLOCK;
                for (index, column) in (0..self.columns).step_by(StripFeatures::IMAGES).enumerate() {
                    let strip = &strips[index];
                    let begin = if group == 0 { 0 } else { strip.ends[group - 1] };
                    let features = &strip.features[begin..strip.ends[group]];
                    let (first, last) = (group == 0, group + 1 == groups);
                    let layer = &self;
                    macro_rules! strip {
                        ($N:literal, [$($P:literal)*]) => {
                            match StripFeatures::IMAGES.min(self.columns - column) {
                                // SAFETY: compiled for this instruction set, like its caller.
                                $($P => unsafe {
                                    V::call(Strip::<$P, $N> { layer, out, unit, column, features, first, last });
                                },)*
                                _ => unreachable!("a strip has at most {} images", StripFeatures::IMAGES),
                            }
                        };
                    }
                    if wide { strip!(4, [5 4 3 2 1]) } else { strip!(1, [5 4 3 2 1]) }
                }
                unit += if wide { 4 * BLOCK } else { V::LANES };
            }
        }
    }
}

impl<const P: usize, const N: usize> Kernel for Strip<'_, P, N> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { layer, out, unit, column, features, first, last } = self;
        let weight_block = blocks(layer.inputs) * TILE;
        // Where vector number `n` of the strip begins in an array whose blocks of units are `block` floats apart.
        let place = |n: usize, block: usize| {
            let unit = unit + n * V::LANES;
            unit / BLOCK * block + unit % BLOCK
        };
        // SAFETY: `SparseForward::run` has compared all lengths, and the features are in order.
        unsafe {
            let out: [*mut f32; N] = std::array::from_fn(|n| out.add(place(n, layer.out_block) + column * BLOCK));
            let weights: [*const f32; N] = std::array::from_fn(|n| layer.weights.as_ptr().add(place(n, weight_block)));
            let x = layer.x.as_ptr().add(column * BLOCK);
            let mut sum = [[V::splat(0.0); N]; P];
            unrolled!(p < P, {
                for n in 0..N {
                    let bias = layer.bias.as_ptr().wrapping_add(unit + n * V::LANES);
                    sum[p][n] = V::load(if first { bias } else { out[n].add(p * BLOCK).cast_const() });
                }
            });
            for feature in features {
                let feature = usize::from(*feature);
                // Tiles are as many floats as inputs and units: those of a feature follow each other across tiles.
                let weight = weights.map(|weights| V::load(weights.add(feature * BLOCK)));
                let x = x.add(feature / BLOCK * layer.x_block + feature % BLOCK);
                unrolled!(p < P, {
                    let input = V::splat(*x.add(p * BLOCK));
                    for n in 0..N {
                        sum[p][n] = input.mul_add(weight[n], sum[p][n]);
                    }
                });
            }
            let zero = V::splat(0.0);
            unrolled!(p < P, {
                for n in 0..N {
                    let value = if layer.relu && last { zero.max(sum[p][n]) } else { sum[p][n] };
                    value.store(out[n].add(p * BLOCK));
                }
            });
        }
    }
}

/// The sum of `WeightGradient`, with the same arrays, for few inputs that are not zero.
pub struct SparseWeightGradient<'a> {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of units.
    pub units: usize,
    /// One for each block of inputs.
    pub occupancy: &'a [Occupancy],
    /// Number of images.
    pub columns: usize,
    /// (input blocks, images, 16), the blocks `x_block` floats apart.
    pub x: &'a [f32],
    /// Floats between two blocks of inputs.
    pub x_block: usize,
    /// (unit blocks, images, 16), the blocks `dy_block` floats apart.
    pub dy: &'a [f32],
    /// Floats between two blocks of units.
    pub dy_block: usize,
    /// Which input blocks to compute.
    pub input_blocks: std::ops::Range<usize>,
    /// (inputs of these blocks, units)
    pub gradient: &'a mut [f32],
    /// Whether to add to what is in `gradient` rather than to replace it.
    pub accumulate: bool,
}

/// `C` inputs by `N` vectors of units.
struct Tile<'a, const C: usize, const N: usize> {
    images: &'a [u16],
    x: *const f32,
    target: Target,
}

impl Kernel for SparseWeightGradient<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert!(self.input_blocks.end <= blocks(self.inputs) && self.occupancy.len() == blocks(self.inputs));
        assert!(self.columns > 0 && self.x.len() >= reach(blocks(self.inputs), self.x_block, self.columns));
        assert!(self.dy.len() >= reach(blocks(self.units), self.dy_block, self.columns));
        let inputs = self.inputs.min(self.input_blocks.end * BLOCK) - self.input_blocks.start * BLOCK;
        assert!(self.gradient.len() >= inputs.saturating_mul(self.units));
        let gradient = self.gradient.as_mut_ptr();
        for start in (0..self.columns).step_by(COLUMNS_IN_CACHE) {
            let end = self.columns.min(start + COLUMNS_IN_CACHE);
            let mut unit = 0;
            while unit < self.units {
                let mut width = 0;
                for block in self.input_blocks.clone() {
                    for half in 0..2 {
                        let all = &self.occupancy[block].images[half];
                        let [from, to] = [start, end].map(|at| all.partition_point(|image| usize::from(*image) < at));
                        assert!(all.last().is_none_or(|image| usize::from(*image) < self.columns));
                        let count = depth(self.inputs, block).saturating_sub(half * OCTET).min(OCTET);
                        let first_row = (block - self.input_blocks.start) * BLOCK + half * OCTET;
                        let mut input = 0;
                        while input < count {
                            // SAFETY: the lengths were compared above; `input` and `unit` are inside the layer.
                            unsafe {
                                let x = self.x.as_ptr().add(block * self.x_block + half * OCTET + input);
                                let images = &all[from..to];
                                let target = Target {
                                    dy: self.dy.as_ptr().add(unit / BLOCK * self.dy_block + unit % BLOCK),
                                    dy_block: self.dy_block,
                                    gradient: gradient.add((first_row + input) * self.units + unit),
                                    units: self.units,
                                    units_left: self.units - unit,
                                    load: self.accumulate || start > 0,
                                };
                                macro_rules! tile {
                                    ($C:literal, $N:literal) => {{
                                        width = $N * V::LANES;
                                        input += $C;
                                        V::call(Tile::<$C, $N> { images, x, target });
                                    }};
                                }
                                // Whole blocks of units, so that no vector reads beyond the last.
                                match (V::LANES, count - input, blocks(self.units) - unit / BLOCK) {
                                    (16, 8.., 2 | 4) => tile!(8, 2),
                                    (16, 8.., 3..) => tile!(8, 3),
                                    (16, 8.., _) => tile!(8, 1),
                                    (16, _, 2 | 4) => tile!(1, 2),
                                    (16, _, 3..) => tile!(1, 3),
                                    (16, _, _) => tile!(1, 1),
                                    (8, 4.., _) => tile!(4, 2),
                                    (8, _, _) => tile!(1, 2),
                                    (_, 2.., _) => tile!(2, 4),
                                    _ => tile!(1, 4),
                                }
                            }
                        }
                    }
                }
                unit += width.max(1);
            }
        }
    }
}

impl<const C: usize, const N: usize> Kernel for Tile<'_, C, N> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        // SAFETY: whoever made this has compared the lengths; lanes beyond the units are not touched in the gradient.
        unsafe {
            let vectors = self.target.side_by_side::<V, N>();
            let mut sum = vectors.load::<V, C>();
            for image in self.images {
                let offset = usize::from(*image) * BLOCK;
                let factor = vectors.dy.map(|dy| V::load(dy.add(offset)));
                unrolled!(c < C, {
                    let input = V::splat(*self.x.add(offset + c));
                    for n in 0..N {
                        sum[c][n] = input.mul_add(factor[n], sum[c][n]);
                    }
                });
            }
            vectors.store(sum);
        }
    }
}
