//! Products with weights: how parameters and inputs are packed, and what is computed with them, in either precision.
//!
//! Nothing else in `net` knows how weights lie in memory or which kernel multiplies them. In bf16 the factors are rounded here, just
//! before they meet, to pairs: of neighbouring channels where these are summed over, of images where the sum is over images.

use super::Precision;
use super::plan::{Channelwise, Plan, Product, Reach, Slot, Step, Task};
use onebasin_kernels::bf16::{Factors, RoundBlocks, RoundNeighbours, RoundTogether};
use onebasin_kernels::convolve::Convolve;
use onebasin_kernels::geometry::{Pass, TILE, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::outer::WeightGradient;
use onebasin_kernels::sparse::{Occupancy, Occupy, SparseForward, SparseWeightGradient, StripFeatures};
use onebasin_kernels::{Aligned, Isa, ThreadPool, pack};
use std::ops::Range;

/// Where at most this part of the inputs, in groups of eight, is not all zero, the zeros are left out: below it that is
/// faster than to multiply them.
const SPARSE: f64 = 0.8;
/// Blocks of inputs whose weight gradients one thread computes at a time.
const INPUT_BLOCKS: usize = 2;

/// Packed copies of one set of parameters. What pads them is zero and stays so.
#[derive(Debug)]
pub(super) struct Packed {
    isa: Isa,
    factors: Factors,
    /// (unit blocks, input blocks, taps, 16 inputs, 16 units) for each product.
    forward: Weights,
    /// (input blocks, unit blocks, mirrored taps, 16 units, 16 inputs) for each product.
    backward: Weights,
    /// Biases and normalisation parameters, padded to whole blocks.
    pub(super) padded: Aligned,
}

/// Packed weights of all products.
#[derive(Debug, Default)]
struct Weights {
    singles: Aligned,
    /// The same rounded to pairs of neighbours in the sum; empty where those are not used.
    pairs: Aligned,
}

impl Weights {
    fn make_room(&mut self, len: usize, factors: Factors) {
        if self.singles.is_empty() {
            self.singles = Aligned::zeros(len);
            self.pairs = Aligned::zeros(if factors == Factors::Pairs { len / 2 } else { 0 });
        }
    }

    /// Those of a product, as factors.
    fn of(&self, product: &Product, factors: Factors) -> &[f32] {
        match factors {
            Factors::Singles => &self.singles[product.packed.clone()],
            Factors::Pairs => &self.pairs[product.packed.start / 2..product.packed.end / 2],
        }
    }

    /// Packs the weights of a product in pieces of `len` by `pack`, and rounds them if need be.
    fn fill(
        &mut self,
        isa: Isa,
        pool: &ThreadPool,
        product: &Product,
        len: usize,
        pack: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let singles = &mut self.singles[product.packed.clone()];
        if self.pairs.is_empty() {
            pool.chunks(singles, len, pack);
            return;
        }
        let pairs = &mut self.pairs[product.packed.start / 2..product.packed.end / 2];
        pool.chunk_pairs((singles, len), (pairs, len / 2), |index, singles, pairs| {
            pack(index, singles);
            isa.run(RoundBlocks { from: singles, to: pairs });
        });
    }
}

impl Packed {
    pub(super) fn new(isa: Isa, precision: Precision) -> Self {
        let (forward, backward) = (Weights::default(), Weights::default());
        Self { isa, factors: precision.factors(), forward, backward, padded: Aligned::default() }
    }

    /// Whether zeros of sparse inputs are left out: in pairs it is faster to multiply them.
    pub(super) fn skips_zeros(&self) -> bool {
        self.factors == Factors::Singles
    }

    /// Packs what the forward pass reads and, if `with_backward`, what the backward pass reads.
    pub(super) fn fill(&mut self, plan: &Plan, params: &[f32], with_backward: bool, pool: &ThreadPool) {
        if self.padded.is_empty() {
            self.padded = Aligned::zeros(plan.padded_len);
        }
        self.forward.make_room(plan.packed_len, self.factors);
        if with_backward {
            self.backward.make_room(plan.packed_len, self.factors);
        }
        for step in &plan.steps {
            self.fill_step(step, params, with_backward, pool);
        }
    }

    /// Packs the parameters of one step again.
    pub(super) fn fill_step(&mut self, step: &Step, params: &[f32], with_backward: bool, pool: &ThreadPool) {
        let channelwise = match &step.task {
            Task::Product(product) => {
                self.pack(product, params, with_backward && step.x_reach != Reach::Nowhere, pool);
                [product.bias.as_ref(), None, None]
            }
            Task::Frn { gamma, beta, tau, .. } => [gamma, beta, tau].map(Some),
            Task::LayerNorm { gamma, beta, .. } => [Some(gamma), Some(beta), None],
            Task::Pool { .. } | Task::Mean | Task::Flatten | Task::PadShortcut { .. } => return,
        };
        for Channelwise { params: from, padded } in channelwise.into_iter().flatten() {
            self.padded[padded.clone()][..from.len()].copy_from_slice(&params[from.clone()]);
        }
    }

    fn pack(&mut self, product: &Product, params: &[f32], with_backward: bool, pool: &ThreadPool) {
        let geometry = &product.geometry;
        let weights = &params[product.weight.clone()];
        let share = pool.share(blocks(geometry.units));
        self.forward.fill(self.isa, pool, product, share * weight_block(product, geometry.inputs), |index, packed| {
            let first = index * share;
            let unit_blocks = first..(first + share).min(blocks(geometry.units));
            pack::weights_forward(geometry, unit_blocks, weights, packed);
        });
        if with_backward {
            self.backward.fill(self.isa, pool, product, weight_block(product, geometry.units), |block, packed| {
                pack::weights_backward(geometry, block, weights, packed);
            });
        }
    }
}

/// Floats of packed weights for each block that is computed: from `inputs` channels, which are the units in the
/// backward pass.
fn weight_block(product: &Product, inputs: usize) -> usize {
    product.geometry.kernel * product.geometry.kernel * blocks(inputs) * TILE
}

/// Loaded images; borders and padding are zero from the start and are never written.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) values: Aligned,
    /// Which inputs are not zero, for each block of features; only of vectors.
    pub(super) occupancy: Vec<Occupancy>,
    /// Which features are not zero in strips of images.
    pub(super) strips: Vec<StripFeatures>,
    /// Whether so few are that the others are worth leaving out.
    pub(super) sparse: bool,
    /// Images in use.
    pub(super) images: usize,
}

impl Input {
    pub(super) fn new(plan: &Plan) -> Self {
        let slot = plan.slots[0];
        let input_blocks = if slot.is_vectors() { blocks(slot.channels) } else { 0 };
        let strips = if input_blocks > 0 { plan.capacity.div_ceil(StripFeatures::IMAGES) } else { 0 };
        Self {
            values: Aligned::zeros(slot.buffer_len(plan.capacity)),
            occupancy: (0..input_blocks).map(|_| Occupancy::with_capacity(plan.capacity)).collect(),
            strips: (0..strips).map(|_| StripFeatures::with_capacity(slot.channels)).collect(),
            ..Self::default()
        }
    }
}

/// Packs `images` (images, height, width, channels) as the first product reads them.
pub(super) fn pack_inputs(isa: Isa, slot: Slot, pool: &ThreadPool, images: &[f32], input: &mut Input) {
    let len = slot.plane.height * slot.plane.width * slot.channels;
    if !slot.is_vectors() {
        input.images = images.len() / len;
        for (image, blocked) in images.chunks_exact(len).zip(input.values.chunks_exact_mut(slot.len())) {
            pack::image(slot.plane, slot.channels, image, blocked);
        }
        return;
    }
    input.images = images.len() / slot.channels;
    let share = pool.share(blocks(slot.channels));
    let (block_len, count) = (slot.plane.block(), input.images);
    let values = (&mut input.values[..], share * block_len);
    pool.chunk_pairs(values, (&mut input.occupancy, share), |index, blocked, occupancy| {
        let first = index * share;
        let feature_blocks = first..(first + share).min(blocks(slot.channels));
        pack::vectors(slot.plane, slot.channels, feature_blocks, images, blocked);
        for (values, occupancy) in blocked.chunks_exact(block_len).zip(occupancy) {
            isa.run(Occupy { values: &values[..count * BLOCK], occupancy });
        }
    });
    let occupied: usize = input.occupancy.iter().map(Occupancy::occupied).sum();
    // Indices of features and images have sixteen bits.
    let small = u16::try_from(slot.channels).is_ok() && u16::try_from(count).is_ok();
    input.sparse = small && (occupied as f64) < SPARSE * (2 * blocks(slot.channels) * count) as f64;
    if input.sparse {
        let (occupancy, strips) = (&input.occupancy, count.div_ceil(StripFeatures::IMAGES));
        pool.chunks(&mut input.strips[..strips], 1, |strip, features| features[0].fill(strip, occupancy));
    }
}

/// A product in its place: what its three passes over a shard have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiply<'a> {
    pub(super) isa: Isa,
    pub(super) pool: &'a ThreadPool,
    pub(super) packed: &'a Packed,
    pub(super) product: &'a Product,
    pub(super) from: Slot,
    pub(super) to: Slot,
    /// Images in use.
    pub(super) images: usize,
    /// The inputs of the network, if the product reads them and they are sparse.
    pub(super) sparse: Option<&'a Input>,
}

/// What follows a product before its result is stored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epilogue<'a> {
    /// Padded to whole blocks.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) residual: Option<&'a [f32]>,
    pub(super) relu: bool,
    /// Whether the result is added to what is there.
    pub(super) accumulate: bool,
}

/// Room for rounded factors; empty until it is needed.
#[derive(Debug, Default)]
pub(super) struct Rounded {
    x: Aligned,
    dy: Aligned,
}

/// The first `len` values of a buffer, which grows if it is shorter.
fn room(buffer: &mut Aligned, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        *buffer = Aligned::zeros(len);
    }
    &mut buffer[..len]
}

/// A pass over packed weights, forward or backward.
#[derive(Clone, Copy)]
struct Blocks<'a> {
    isa: Isa,
    factors: Factors,
    pass: &'a Pass,
    weights: &'a [f32],
    weight_block: usize,
    epilogue: Epilogue<'a>,
}

impl Blocks<'_> {
    /// Computes some of the blocks of units, in so many columns.
    fn run(self, unit_blocks: Range<usize>, columns: usize, x: &[f32], out: &mut [f32]) {
        let Self { isa, factors, pass, weights, weight_block, epilogue } = self;
        let Epilogue { bias, residual, relu, accumulate } = epilogue;
        let first = unit_blocks.start;
        isa.run(Convolve {
            pass,
            columns,
            factors,
            x,
            weights: &weights[first * weight_block..],
            weight_block,
            unit_blocks: unit_blocks.len(),
            out,
            bias: bias.map(|bias| &bias[first * BLOCK..]),
            residual,
            relu,
            accumulate,
        });
    }
}

impl Multiply<'_> {
    /// Values as factors of a sum over channels.
    fn over_channels<'v>(self, values: &'v [f32], rounded: &'v mut Aligned) -> &'v [f32] {
        if self.packed.factors == Factors::Singles {
            return values;
        }
        let pairs = room(rounded, values.len() / 2);
        let share = self.pool.share(values.len() / BLOCK) * BLOCK;
        self.pool.chunks(pairs, share / 2, |index, to| {
            self.isa.run(RoundNeighbours { from: &values[index * share..][..2 * to.len()], to });
        });
        pairs
    }

    /// Values of a slot as factors of a sum over images.
    fn over_images<'v>(self, slot: Slot, values: &'v [f32], rounded: &'v mut Aligned) -> &'v [f32] {
        if self.packed.factors == Factors::Singles {
            return values;
        }
        let Self { isa, pool, images, .. } = self;
        if slot.is_vectors() {
            let (block, half) = (slot.plane.block(), slot.plane.in_pairs().block());
            let pairs = room(rounded, blocks(slot.channels) * half);
            pool.chunks(pairs, half, |index, to| {
                let from = &values[index * block..][..images * BLOCK];
                isa.run(RoundBlocks { from, to: &mut to[..images.div_ceil(2) * BLOCK] });
            });
            return pairs;
        }
        let pairs = room(rounded, images.div_ceil(2) * slot.len());
        for (both, to) in values[..images * slot.len()].chunks(2 * slot.len()).zip(pairs.chunks_exact_mut(slot.len())) {
            let (first, second) = both.split_at(slot.len());
            isa.run(RoundTogether { first, second: (!second.is_empty()).then_some(second), to });
        }
        pairs
    }

    /// out = x W, then what follows.
    pub(super) fn forward(self, x: &[f32], out: &mut [f32], epilogue: Epilogue<'_>, rounded: &mut Rounded) {
        let Self { isa, pool, product, from, to, images, .. } = self;
        let factors = self.packed.factors;
        let weights = self.packed.forward.of(product, factors);
        let weight_block = weight_block(product, from.channels) / factors.packed();
        let all = blocks(to.channels);
        let pass = Blocks { isa, factors, pass: &product.forward, weights, weight_block, epilogue };
        if !to.is_vectors() {
            for image in 0..images {
                let at = image * to.len()..(image + 1) * to.len();
                let residual = epilogue.residual.map(|residual| &residual[at.clone()]);
                let pass = Blocks { epilogue: Epilogue { residual, ..epilogue }, ..pass };
                let x = self.over_channels(&x[image * from.len()..][..from.len()], &mut rounded.x);
                pass.run(0..all, product.forward.columns, x, &mut out[at]);
            }
            return;
        }
        let x = if self.sparse.is_some() { x } else { self.over_channels(x, &mut rounded.x) };
        // With one block of units the images are shared among threads: whole strips, of 14 columns at most.
        if all == 1 && self.sparse.is_none() {
            let share = pool.share(images).next_multiple_of(14);
            pool.chunks(&mut out[..images * BLOCK], share * BLOCK, |chunk, out| {
                pass.run(0..1, out.len() / BLOCK, &x[chunk * share * BLOCK / factors.packed()..], out);
            });
            return;
        }
        // Kernels take four blocks at a time.
        let share = pool.share(all).next_multiple_of(4);
        pool.chunks(out, share * to.plane.block(), |chunk, out| {
            let unit_blocks = chunk * share..all.min((chunk + 1) * share);
            match self.sparse {
                None => pass.run(unit_blocks, images, x, out),
                Some(input) => isa.run(SparseForward {
                    inputs: from.channels,
                    strips: &input.strips,
                    columns: images,
                    x,
                    x_block: from.plane.block(),
                    weights: &weights[unit_blocks.start * weight_block..],
                    unit_blocks: unit_blocks.len(),
                    out,
                    out_block: to.plane.block(),
                    bias: &epilogue.bias.expect("a dense layer has a bias")[unit_blocks.start * BLOCK..],
                    relu: epilogue.relu,
                }),
            }
        });
    }

    /// gradient = xᵀ dy, or is added to if `accumulate`.
    pub(super) fn weight_gradient(
        self,
        x: &[f32],
        dy: &[f32],
        gradient: &mut [f32],
        accumulate: bool,
        rounded: &mut Rounded,
    ) {
        let Self { isa, pool, product, from, to, images, .. } = self;
        let factors = self.packed.factors;
        let (x, dy) = match self.sparse {
            None => (self.over_images(from, x, &mut rounded.x), self.over_images(to, dy, &mut rounded.dy)),
            Some(_) => (x, dy),
        };
        // Two images that are paired count as one.
        let (geometry, images_or_pairs) = match factors {
            Factors::Singles => (&product.geometry, images),
            Factors::Pairs => (&product.in_pairs, images.div_ceil(2)),
        };
        let all = blocks(from.channels);
        if !to.is_vectors() {
            let (columns, images, input_blocks) = (to.plane.width, images_or_pairs, 0..all);
            isa.run(WeightGradient { geometry, factors, columns, images, x, dy, input_blocks, gradient, accumulate });
            return;
        }
        pool.chunks(gradient, INPUT_BLOCKS * BLOCK * to.channels, |chunk, gradient| {
            let first = chunk * INPUT_BLOCKS;
            let input_blocks = first..(first + INPUT_BLOCKS).min(all);
            match self.sparse {
                None => isa.run(WeightGradient {
                    geometry,
                    factors,
                    columns: images_or_pairs,
                    images: 1,
                    x,
                    dy,
                    input_blocks,
                    gradient,
                    accumulate,
                }),
                Some(input) => isa.run(SparseWeightGradient {
                    inputs: from.channels,
                    units: to.channels,
                    occupancy: &input.occupancy,
                    columns: images,
                    x,
                    x_block: from.plane.block(),
                    dy,
                    dy_block: to.plane.block(),
                    input_blocks,
                    gradient,
                    accumulate,
                }),
            }
        });
    }

    /// dx = dy Wᵀ, or is added to if `accumulate`.
    pub(super) fn input_gradient(self, dy: &[f32], dx: &mut [f32], accumulate: bool, rounded: &mut Rounded) {
        let Self { isa, pool, product, from, to, images, .. } = self;
        let factors = self.packed.factors;
        let weights = self.packed.backward.of(product, factors);
        let weight_block = weight_block(product, to.channels) / factors.packed();
        let all = blocks(from.channels);
        let epilogue = Epilogue { accumulate, ..Epilogue::default() };
        let blocks_of = |pass| Blocks { isa, factors, pass, weights, weight_block, epilogue };
        if !to.is_vectors() {
            for (dx, dy) in dx.chunks_exact_mut(from.len()).zip(dy.chunks_exact(to.len())).take(images) {
                let dy = self.over_channels(dy, &mut rounded.dy);
                for pass in &product.backward {
                    blocks_of(pass).run(0..all, pass.columns, dy, dx);
                }
            }
            return;
        }
        let dy = self.over_channels(dy, &mut rounded.dy);
        let share = pool.share(all).next_multiple_of(4);
        pool.chunks(dx, share * from.plane.block(), |chunk, dx| {
            blocks_of(&product.backward[0]).run(chunk * share..all.min((chunk + 1) * share), images, dy, dx);
        });
    }
}
