//! The buffers of one shard of images, and the forward pass over them.

use super::likelihood::Likelihood;
use super::plan::{Plan, Product, Slot, Step, Task};
use super::products;
use super::products::{Epilogue, Input, Multiply, Packed, Rounded};
use crate::arch::Activation;
use onebasin_kernels::elementwise::{Relu, Tanh};
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::normalise::{FrnForward, LayerNormForward};
use onebasin_kernels::resample::PoolForward;
use onebasin_kernels::{Aligned, Isa, ThreadPool, pack, resample};
use std::sync::Arc;

/// Where the images of a shard come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Images<'a> {
    /// (images, height, width, channels)
    Plain(&'a [f32]),
    /// Loaded before.
    Loaded(&'a Arc<Input>),
}

/// What stays the same for all shards of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) isa: Isa,
    pub(super) likelihood: Likelihood,
    pub(super) plan: &'a Plan,
    pub(super) packed: &'a Packed,
    pub(super) pool: &'a ThreadPool,
}

/// Buffers for one shard; borders and padding are zero from the start and are never written.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// Images in use.
    pub(super) images: usize,
    pub(super) values: Values,
    /// Empty until a gradient is asked for.
    pub(super) gradients: Vec<Aligned>,
    pub(super) statistics: Vec<Vec<f32>>,
    pub(super) rounded: Rounded,
    /// Room for one image's logits and for padded sums.
    pub(super) scratch: Vec<f32>,
    /// Pre- and post-activations of each hidden layer, (images, height, width, channels), if recorded.
    pub(super) recorded: Vec<Recorded>,
}

#[derive(Debug, Default)]
pub(super) struct Values {
    /// Of the first slot; the shard's own, or one that several shards read.
    pub(super) input: Arc<Input>,
    /// Of the others; the first of these is empty.
    layers: Vec<Aligned>,
}

impl Values {
    pub(super) fn of(&self, slot: usize) -> &[f32] {
        if slot == 0 { &self.input.values } else { &self.layers[slot] }
    }

    /// Takes the buffer of a slot other than the first out.
    pub(super) fn take(&mut self, slot: usize) -> Aligned {
        std::mem::take(&mut self.layers[slot])
    }

    /// Puts a buffer in.
    pub(super) fn put(&mut self, slot: usize, values: Aligned) {
        self.layers[slot] = values;
    }

    fn load(&mut self, call: Call<'_>, images: Images<'_>) {
        match images {
            Images::Loaded(input) => self.input = Arc::clone(input),
            Images::Plain(images) => {
                // One that others read too.
                if Arc::get_mut(&mut self.input).is_none() {
                    self.input = Arc::new(Input::new(call.plan));
                }
                let input = Arc::get_mut(&mut self.input).expect("nobody else reads it");
                products::pack_inputs(call.isa, call.plan.slots[0], call.pool, images, input);
            }
        }
    }
}

/// One hidden layer's activations, before and after its non-linearity.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) before: Vec<f32>,
    pub(super) after: Vec<f32>,
}

impl Shard {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut shard = Self::empty(plan, Arc::new(Input::new(plan)));
        for (layer, slot) in shard.values.layers.iter_mut().zip(&plan.slots).skip(1) {
            *layer = Aligned::zeros(slot.buffer_len(plan.capacity));
        }
        shard
    }

    /// A shard of loaded images that has no buffers for layers yet.
    pub(super) fn empty(plan: &Plan, input: Arc<Input>) -> Self {
        Self {
            images: input.images,
            values: Values { input, layers: plan.slots.iter().map(|_| Aligned::default()).collect() },
            statistics: plan.statistics.iter().map(|floats| vec![0.0; floats * plan.capacity]).collect(),
            scratch: vec![0.0; 2 * plan.slots.iter().map(|slot| blocks(slot.channels) * BLOCK).max().unwrap_or(0)],
            ..Self::default()
        }
    }

    /// Allocates what the backward pass needs, once.
    pub(super) fn make_room_for_gradients(&mut self, plan: &Plan) {
        if self.gradients.is_empty() {
            self.gradients = plan.gradients.iter().map(|slot| Aligned::zeros(slot.buffer_len(plan.capacity))).collect();
        }
    }

    pub(super) fn forward(&mut self, call: Call<'_>, images: Images<'_>, record: bool) {
        self.values.load(call, images);
        self.images = self.values.input.images;
        for step in &call.plan.steps {
            self.advance(call, step, record);
        }
    }

    /// Computes one step from those before it.
    pub(super) fn advance(&mut self, call: Call<'_>, step: &Step, record: bool) {
        // The buffer is taken out for the time of the step, so that the others can be read.
        let mut out = self.values.take(step.out);
        let deferred = record || step.activation == Some(Activation::Tanh);
        self.run(call, step, &mut out, step.activation.is_some() && !deferred);
        if let Some(activation) = step.activation.filter(|_| deferred) {
            self.activate(call, step, activation, &mut out, record);
        }
        self.values.put(step.out, out);
    }

    /// The logits, (images, classes).
    pub(super) fn logits(&self, plan: &Plan, out: &mut [f32]) {
        let slot = plan.slots[plan.logits()];
        unpack(slot, self.values.of(plan.logits()), self.images, out);
    }

    fn run(&mut self, call: Call<'_>, step: &Step, out: &mut [f32], relu: bool) {
        let Call { isa, plan, packed, .. } = call;
        let (from, to) = (plan.slots[step.x], plan.slots[step.out]);
        let mut rounded = std::mem::take(&mut self.rounded);
        let x = self.values.of(step.x);
        let residual = step.residual.map(|slot| self.values.of(slot));
        let images = || (0..self.images).map(|image| (image, image * from.len(), image * to.len()));
        match &step.task {
            Task::Product(product) => {
                let bias = product.bias.as_ref().map(|bias| &packed.padded[bias.padded.clone()]);
                let epilogue = Epilogue { bias, residual, relu, accumulate: false };
                self.multiply(call, step, product).forward(x, out, epilogue, &mut rounded);
            }
            Task::Frn { gamma, beta, tau, statistics } => {
                let inverses = self.statistics[*statistics].chunks_exact_mut(BLOCK);
                for (index, inverse) in (0..self.images * blocks(to.channels)).zip(inverses) {
                    let channels = index % blocks(to.channels) * BLOCK;
                    let range = index * to.plane.block()..(index + 1) * to.plane.block();
                    let lanes = |padded: &std::ops::Range<usize>| &packed.padded[padded.start + channels..][..BLOCK];
                    isa.run(FrnForward {
                        plane: to.plane,
                        x: &x[range.clone()],
                        residual: residual.map(|residual| &residual[range.clone()]),
                        out: &mut out[range],
                        relu,
                        gamma: lanes(&gamma.padded),
                        beta: lanes(&beta.padded),
                        tau: lanes(&tau.padded),
                        inverse,
                    });
                }
            }
            Task::LayerNorm { gamma, beta, statistics } => {
                let positions = to.plane.height * to.plane.width;
                let moments = self.statistics[*statistics].as_chunks_mut::<2>().0;
                for ((_, _, at), moments) in images().zip(moments.chunks_exact_mut(positions)) {
                    isa.run(LayerNormForward {
                        plane: to.plane,
                        channels: to.channels,
                        x: &x[at..at + to.len()],
                        residual: residual.map(|residual| &residual[at..at + to.len()]),
                        out: &mut out[at..at + to.len()],
                        relu,
                        gamma: &packed.padded[gamma.padded.clone()],
                        beta: &packed.padded[beta.padded.clone()],
                        moments,
                    });
                }
            }
            Task::Pool { maximum } => {
                let pairs = x.chunks_exact(from.plane.block()).zip(out.chunks_exact_mut(to.plane.block()));
                for (x, out) in pairs.take(self.images * blocks(to.channels)) {
                    isa.run(PoolForward { maximum: *maximum, from: from.plane, to: to.plane, x, out });
                }
            }
            Task::Mean => {
                for (image, x_at, _) in images() {
                    for (block, x) in x[x_at..x_at + from.len()].chunks_exact(from.plane.block()).enumerate() {
                        let at = block * to.plane.block() + image * BLOCK;
                        resample::mean(from.plane, x, &mut out[at..at + BLOCK]);
                    }
                }
            }
            Task::Flatten => {
                for (image, x_at, _) in images() {
                    resample::for_each_feature(from.plane, from.channels, to.plane, image, |inner, outer| {
                        out[outer] = x[x_at + inner];
                    });
                }
            }
            Task::PadShortcut { stride } => {
                for (_, x_at, out_at) in images() {
                    let (x, out) = (&x[x_at..x_at + from.len()], &mut out[out_at..out_at + to.len()]);
                    resample::pad_shortcut(from.plane, to.plane, *stride, from.channels, x, out);
                }
            }
        }
        self.rounded = rounded;
    }

    pub(super) fn multiply<'a>(&'a self, call: Call<'a>, step: &Step, product: &'a Product) -> Multiply<'a> {
        let (from, to) = (call.plan.slots[step.x], call.plan.slots[step.out]);
        let sparse = to.is_vectors() && step.x == 0 && self.values.input.sparse && call.packed.skips_zeros();
        Multiply {
            isa: call.isa,
            pool: call.pool,
            packed: call.packed,
            product,
            from,
            to,
            images: self.images,
            sparse: sparse.then_some(&self.values.input),
        }
    }

    /// Applies a non-linearity that was not fused, recording what is before and behind it if asked.
    fn activate(&mut self, call: Call<'_>, step: &Step, activation: Activation, out: &mut [f32], record: bool) {
        let slot = call.plan.slots[step.out];
        let hidden = step.hidden.filter(|_| record);
        if let Some(hidden) = hidden {
            self.recorded.resize_with(call.plan.hidden, Recorded::default);
            unpack_into(slot, out, self.images, &mut self.recorded[hidden].before);
        }
        let used = if slot.is_vectors() { slot.len() } else { self.images * slot.len() };
        call.pool.chunks(&mut out[..used], slot.plane.block(), |_, values| match activation {
            Activation::Relu => call.isa.run(Relu { values }),
            Activation::Tanh => call.isa.run(Tanh { values }),
        });
        if let Some(hidden) = hidden {
            unpack_into(slot, out, self.images, &mut self.recorded[hidden].after);
        }
    }
}

/// Reads (images, height, width, channels) out of a slot.
pub(super) fn unpack(slot: Slot, values: &[f32], images: usize, out: &mut [f32]) {
    if slot.is_vectors() {
        for (image, out) in out.chunks_exact_mut(slot.channels).take(images).enumerate() {
            // One vector is an image of a single position, its blocks as far apart as the slot's.
            for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                let at = block * slot.plane.block() + image * BLOCK;
                out.copy_from_slice(&values[at..at + out.len()]);
            }
        }
    } else {
        let Plane { height, width, .. } = slot.plane;
        for (values, out) in values.chunks_exact(slot.len()).zip(out.chunks_exact_mut(height * width * slot.channels)) {
            pack::unpack_image(slot.plane, slot.channels, values, out);
        }
    }
}

fn unpack_into(slot: Slot, values: &[f32], images: usize, out: &mut Vec<f32>) {
    let positions = if slot.is_vectors() { 1 } else { slot.plane.height * slot.plane.width };
    out.resize(images * positions * slot.channels, 0.0);
    unpack(slot, values, images, out);
}
