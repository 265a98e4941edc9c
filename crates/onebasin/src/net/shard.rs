//! The buffers of one shard of images, and the forward pass over them.

use super::input::Images;
use super::input::Input;
use super::likelihood::Likelihood;
use super::packed::Packed;
use super::packed::weight_block;
use super::plan::Plan;
use super::plan::Product;
use super::plan::Slot;
use super::plan::Step;
use super::plan::Task;
use crate::arch::Activation;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::convolve::Convolve;
use crate::kernels::elementwise::Relu;
use crate::kernels::elementwise::Tanh;
use crate::kernels::geometry::Plane;
use crate::kernels::geometry::blocks;
use crate::kernels::lanes::BLOCK;
use crate::kernels::normalise::FrnForward;
use crate::kernels::normalise::LayerNormForward;
use crate::kernels::pack;
use crate::kernels::resample;
use crate::kernels::resample::PoolForward;
use crate::kernels::sparse::SparseForward;
use std::sync::Arc;

/// What stays the same for all shards of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) isa: Isa,
    pub(super) likelihood: Likelihood,
    pub(super) plan: &'a Plan,
    pub(super) packed: &'a Packed,
    pub(super) team: &'a Team,
}

/// Buffers for one shard; borders and padding are zero from the beginning and are never written.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// Images in use.
    pub(super) images: usize,
    pub(super) values: Values,
    /// Empty until a gradient is asked for.
    pub(super) gradients: Vec<Aligned>,
    pub(super) statistics: Vec<Vec<f32>>,
    /// Room for one image's logits and for padded sums.
    pub(super) scratch: Vec<f32>,
    /// Pre- and post-activations of each hidden layer, (images, height, width, channels), if recorded.
    pub(super) recorded: Vec<Recorded>,
}

/// What each slot has.
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

    fn load(&mut self, call: Call<'_>, images: Images<'_>) {
        match images {
            Images::Loaded(input) => self.input = Arc::clone(input),
            Images::Plain(images) => {
                // One that others read too.
                if Arc::get_mut(&mut self.input).is_none() {
                    self.input = Arc::new(Input::new(call.plan));
                }
                let input = Arc::get_mut(&mut self.input).expect("nobody else reads it");
                input.load(call.isa, call.plan, call.team, images);
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
        let outputs = plan.slots[1..].iter().map(|slot| Aligned::zeros(slot.buffer_len(plan.capacity)));
        Self {
            values: Values {
                input: Arc::new(Input::new(plan)),
                layers: std::iter::once(Aligned::default()).chain(outputs).collect(),
            },
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

    /// Computes all activations.
    pub(super) fn forward(&mut self, call: Call<'_>, images: Images<'_>, record: bool) {
        self.values.load(call, images);
        self.images = self.values.input.images;
        for step in &call.plan.steps {
            // The buffer is taken out for the time of the step, so that the others can be read.
            let mut out = std::mem::take(&mut self.values.layers[step.out]);
            let deferred = record || step.activation == Some(Activation::Tanh);
            self.run(call, step, &mut out, step.activation.is_some() && !deferred);
            if let Some(activation) = step.activation.filter(|_| deferred) {
                self.activate(call, step, activation, &mut out, record);
            }
            self.values.layers[step.out] = out;
        }
    }

    /// The logits, (images, classes).
    pub(super) fn logits(&self, plan: &Plan, out: &mut [f32]) {
        let slot = plan.slots[plan.logits()];
        unpack(slot, self.values.of(plan.logits()), self.images, out);
    }

    fn run(&mut self, call: Call<'_>, step: &Step, out: &mut [f32], relu: bool) {
        let Call { isa, plan, packed, .. } = call;
        let (from, to) = (plan.slots[step.x], plan.slots[step.out]);
        let x = self.values.of(step.x);
        let residual = step.residual.map(|slot| self.values.of(slot));
        let images = || (0..self.images).map(|image| (image, image * from.len(), image * to.len()));
        match &step.task {
            Task::Product(product) if to.is_vectors() && step.x == 0 && self.values.input.sparse => {
                sparse(call, product, self, x, out, relu);
            }
            Task::Product(product) if to.is_vectors() => dense(call, product, self.images, x, out, relu),
            Task::Product(product) => {
                for (_, x_at, out_at) in images() {
                    isa.run(Convolve {
                        pass: &product.forward,
                        columns: product.forward.columns,
                        x: &x[x_at..x_at + from.len()],
                        weights: &packed.forward[product.packed.clone()],
                        weight_block: weight_block(product, from.channels),
                        unit_blocks: blocks(to.channels),
                        out: &mut out[out_at..out_at + to.len()],
                        bias: product.bias.is_some().then(|| &packed.padded[product.padded_bias.clone()]),
                        residual: residual.map(|residual| &residual[out_at..out_at + to.len()]),
                        relu,
                        accumulate: false,
                    });
                }
            }
            Task::Frn { gamma, beta, tau, statistics } => {
                let inverses = self.statistics[*statistics].chunks_exact_mut(BLOCK);
                let blocks_of_all = (0..self.images * blocks(to.channels)).zip(inverses);
                for (index, inverse) in blocks_of_all {
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
                let (x_blocks, out_blocks) = (from.plane.block(), to.plane.block());
                let pairs = x.chunks_exact(x_blocks).zip(out.chunks_exact_mut(out_blocks));
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
        call.team.chunks(&mut out[..used], slot.plane.block(), |_, values| match activation {
            Activation::Relu => call.isa.run(Relu { values }),
            Activation::Tanh => call.isa.run(Tanh { values }),
        });
        if let Some(hidden) = hidden {
            unpack_into(slot, out, self.images, &mut self.recorded[hidden].after);
        }
    }
}

/// A dense layer: the blocks of units are shared among threads or, if there is only one, the images.
fn dense(call: Call<'_>, product: &Product, images: usize, x: &[f32], out: &mut [f32], relu: bool) {
    let geometry = &product.geometry;
    let weights = &call.packed.forward[product.packed.clone()];
    let padded_bias = &call.packed.padded[product.padded_bias.clone()];
    let weight_block = weight_block(product, geometry.inputs);
    let part = |first_block: usize, unit_blocks: usize, columns: usize, x: &[f32], out: &mut [f32]| {
        call.isa.run(Convolve {
            pass: &product.forward,
            columns,
            x,
            weights: &weights[first_block * weight_block..],
            weight_block,
            unit_blocks,
            out,
            bias: Some(&padded_bias[first_block * BLOCK..]),
            residual: None,
            relu,
            accumulate: false,
        });
    };
    if blocks(geometry.units) == 1 {
        // Whole strips, of 14 columns at most.
        let share = call.team.share(images).next_multiple_of(14);
        call.team.chunks(&mut out[..images * BLOCK], share * BLOCK, |chunk, out| {
            part(0, 1, out.len() / BLOCK, &x[chunk * share * BLOCK..], out);
        });
        return;
    }
    // Kernels take four blocks at a time.
    let share = call.team.share(blocks(geometry.units)).next_multiple_of(4);
    call.team.chunks(out, share * geometry.to.block(), |chunk, out| {
        let first = chunk * share;
        part(first, share.min(blocks(geometry.units) - first), images, x, out);
    });
}

/// A dense layer of which most inputs are zero.
fn sparse(call: Call<'_>, product: &Product, shard: &Shard, x: &[f32], out: &mut [f32], relu: bool) {
    let geometry = &product.geometry;
    let weights = &call.packed.forward[product.packed.clone()];
    let padded_bias = &call.packed.padded[product.padded_bias.clone()];
    let weight_block = weight_block(product, geometry.inputs);
    let share = call.team.share(blocks(geometry.units)).next_multiple_of(4);
    call.team.chunks(out, share * geometry.to.block(), |chunk, out| {
        let first = chunk * share;
        call.isa.run(SparseForward {
            inputs: geometry.inputs,
            strips: &shard.values.input.strips,
            columns: shard.images,
            x,
            x_block: geometry.from.block(),
            weights: &weights[first * weight_block..],
            unit_blocks: share.min(blocks(geometry.units) - first),
            out,
            out_block: geometry.to.block(),
            bias: &padded_bias[first * BLOCK..],
            relu,
        });
    });
}

/// Reads (images, height, width, channels) out of a slot.
fn unpack(slot: Slot, values: &[f32], images: usize, out: &mut [f32]) {
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
