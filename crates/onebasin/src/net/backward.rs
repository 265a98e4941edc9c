//! The backward pass over one shard: from the gradient at the logits to that of every parameter.

use super::plan::{Reach, Step, Task};
use super::shard::{Call, Shard};
use crate::arch::Activation;
use onebasin_kernels::elementwise::{AddTo, Slope, SlopeAndBias};
use onebasin_kernels::geometry::{blocks, depth};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::likelihood::Labelled;
use onebasin_kernels::normalise::{FrnBackward, LayerNormBackward};
use onebasin_kernels::resample;
use onebasin_kernels::resample::PoolBackward;

impl Shard {
    /// The log-likelihood of each image of the last forward pass; with its gradient at the logits, if wanted.
    pub(super) fn log_likelihood(&mut self, call: Call<'_>, labels: &[u32], out: &mut [f64], with_gradient: bool) {
        let plan = call.plan;
        let slot = plan.slots[plan.logits()];
        let buffer = plan.gradient_of[plan.logits()].expect("the logits have a gradient");
        let (plane, classes) = (slot.plane, slot.channels);
        let outputs = self.values.of(plan.logits());
        let part = |first: usize, labels: &[u32], gradient: Option<&mut [f32]>, out: &mut [f64], row: &mut [f32]| {
            let outputs = &outputs[first * BLOCK..];
            let labelled = Labelled { plane, classes, outputs, labels, gradient, log_likelihood: out, row };
            call.likelihood.evaluate(call.isa, labelled);
        };
        let share = call.pool.share(labels.len());
        let labels_of = |index: usize, count: usize| &labels[index * share..][..count];
        if blocks(classes) > 1 {
            let gradient = with_gradient.then(|| &mut self.gradients[buffer][..]);
            part(0, labels, gradient, out, &mut self.scratch);
        } else if with_gradient {
            let gradient = &mut self.gradients[buffer][..labels.len() * BLOCK];
            call.pool.chunk_pairs((gradient, share * BLOCK), (out, share), |index, gradient, out| {
                part(index * share, labels_of(index, out.len()), Some(gradient), out, &mut [0.0; BLOCK]);
            });
        } else {
            call.pool.chunks(out, share, |index, out| {
                part(index * share, labels_of(index, out.len()), None, out, &mut [0.0; BLOCK]);
            });
        }
    }

    /// Writes (or, unless `fresh`, adds) the gradient of the summed log-likelihood into `gradient`.
    pub(super) fn backward(&mut self, call: Call<'_>, gradient: &mut [f32], fresh: bool) {
        for step in call.plan.steps.iter().rev() {
            let buffer = call.plan.gradient_of[step.out].expect("every step leads to the logits");
            // Taken out for the time of the step, like the activations of the forward pass.
            let mut dy = std::mem::take(&mut self.gradients[buffer]);
            self.slope_and_bias(call, step, &mut dy, gradient, fresh);
            if let Some(residual) = step.residual {
                self.pass_on(call, residual, step.residual_reach, &dy);
            }
            match &step.task {
                Task::Product(product) => {
                    // Taken out, too, for the product reads the rest of the shard.
                    let to = call.plan.gradient_of[step.x].filter(|_| step.x_reach != Reach::Nowhere);
                    let mut dx = to.map(|buffer| std::mem::take(&mut self.gradients[buffer]));
                    let mut rounded = std::mem::take(&mut self.rounded);
                    let multiply = self.multiply(call, step, product);
                    let weights = &mut gradient[product.weight.clone()];
                    multiply.weight_gradient(self.values.of(step.x), &dy, weights, !fresh, &mut rounded);
                    if let Some(dx) = &mut dx {
                        multiply.input_gradient(&dy, dx, step.x_reach == Reach::Add, &mut rounded);
                    }
                    self.rounded = rounded;
                    if let (Some(buffer), Some(dx)) = (to, dx) {
                        self.gradients[buffer] = dx;
                    }
                }
                _ => self.without_weights(call, step, &dy, gradient, fresh),
            }
            self.gradients[buffer] = dy;
        }
    }

    /// Takes `dy` back through the step's non-linearity, in place, and sums it into the bias gradient.
    fn slope_and_bias(&self, call: Call<'_>, step: &Step, dy: &mut [f32], gradient: &mut [f32], fresh: bool) {
        let slope = match step.activation {
            None => Slope::One,
            Some(Activation::Relu) => Slope::Relu,
            Some(Activation::Tanh) => Slope::Tanh,
        };
        let bias = match &step.task {
            Task::Product(product) => product.bias.as_ref().map_or(0..0, |bias| bias.params.clone()),
            _ => 0..0,
        };
        if slope == Slope::One && bias.is_empty() {
            return;
        }
        let bias = &mut gradient[bias];
        if fresh {
            bias.fill(0.0);
        }
        let slot = call.plan.slots[step.out];
        let out = self.values.of(step.out);
        let block_len = slot.plane.block();
        if slot.is_vectors() {
            let used = self.images * BLOCK;
            call.pool.chunk_pairs((dy, block_len), (bias, BLOCK), |block, dy, bias| {
                let out = &out[block * block_len..][..used];
                call.isa.run(SlopeAndBias { slope, out, gradient: &mut dy[..used], bias });
            });
        } else {
            let all = dy.chunks_exact_mut(block_len).zip(out.chunks_exact(block_len));
            for (index, (dy, out)) in all.take(self.images * blocks(slot.channels)).enumerate() {
                let first = (index % blocks(slot.channels) * BLOCK).min(bias.len());
                let last = (first + BLOCK).min(bias.len());
                call.isa.run(SlopeAndBias { slope, out, gradient: dy, bias: &mut bias[first..last] });
            }
        }
    }

    /// Hands the gradient of a sum to its second term.
    fn pass_on(&mut self, call: Call<'_>, slot: usize, reach: Reach, dy: &[f32]) {
        let buffer = call.plan.gradient_of[slot].expect("a shortcut has a gradient");
        let used = self.images * call.plan.slots[slot].len();
        let to = &mut self.gradients[buffer][..used];
        if reach == Reach::Write {
            to.copy_from_slice(&dy[..used]);
        } else {
            call.isa.run(AddTo { to, from: &dy[..used] });
        }
    }

    fn without_weights(&mut self, call: Call<'_>, step: &Step, dy: &[f32], gradient: &mut [f32], fresh: bool) {
        if step.x_reach == Reach::Nowhere {
            // A pool right behind the images: nothing before it has parameters.
            return;
        }
        let (isa, packed) = (call.isa, call.packed);
        let (from, to) = (call.plan.slots[step.x], call.plan.slots[step.out]);
        let x = self.values.of(step.x);
        let buffer = call.plan.gradient_of[step.x].expect("the gradient goes on");
        let dx = &mut self.gradients[buffer];
        let adds = matches!(step.task, Task::PadShortcut { .. });
        assert_eq!(step.x_reach == Reach::Add, adds, "but for a shortcut's, a step is the only reader of its layer");
        match &step.task {
            Task::Product(_) => unreachable!("products have weights"),
            Task::Frn { gamma, beta, tau, statistics } => {
                let ranges = [gamma.params.clone(), beta.params.clone(), tau.params.clone()];
                let sums = gradient.get_disjoint_mut(ranges).expect("tensors do not overlap");
                if fresh {
                    for sums in sums {
                        sums.fill(0.0);
                    }
                }
                for index in 0..self.images * blocks(to.channels) {
                    let block = index % blocks(to.channels);
                    let channels = block * BLOCK;
                    let count = depth(to.channels, block);
                    let range = index * to.plane.block()..(index + 1) * to.plane.block();
                    let lanes = |padded: &std::ops::Range<usize>| &packed.padded[padded.start + channels..][..BLOCK];
                    let [gamma_gradient, beta_gradient, tau_gradient] = gradient
                        .get_disjoint_mut([gamma, beta, tau].map(|tensor| {
                            let start = tensor.params.start + channels;
                            start..start + count
                        }))
                        .expect("tensors do not overlap");
                    isa.run(FrnBackward {
                        plane: to.plane,
                        x: &x[range.clone()],
                        dy: &dy[range.clone()],
                        dx: &mut dx[range],
                        gamma: lanes(&gamma.padded),
                        beta: lanes(&beta.padded),
                        tau: lanes(&tau.padded),
                        inverse: &self.statistics[*statistics][index * BLOCK..][..BLOCK],
                        gamma_gradient,
                        beta_gradient,
                        tau_gradient,
                    });
                }
            }
            Task::LayerNorm { gamma, beta, statistics } => {
                let padded = blocks(to.channels) * BLOCK;
                let (gamma_gradient, rest) = self.scratch.split_at_mut(padded);
                let beta_gradient = &mut rest[..padded];
                gamma_gradient.fill(0.0);
                beta_gradient.fill(0.0);
                let positions = to.plane.height * to.plane.width;
                let moments = self.statistics[*statistics].as_chunks::<2>().0;
                for (image, moments) in moments.chunks_exact(positions).take(self.images).enumerate() {
                    let range = image * to.len()..(image + 1) * to.len();
                    isa.run(LayerNormBackward {
                        plane: to.plane,
                        channels: to.channels,
                        x: &x[range.clone()],
                        dy: &dy[range.clone()],
                        dx: &mut dx[range],
                        gamma: &packed.padded[gamma.padded.clone()],
                        moments,
                        gamma_gradient,
                        beta_gradient,
                    });
                }
                for (tensor, sums) in [(gamma, gamma_gradient), (beta, beta_gradient)] {
                    let gradient = &mut gradient[tensor.params.clone()];
                    if fresh {
                        gradient.fill(0.0);
                    }
                    isa.run(AddTo { from: &sums[..gradient.len()], to: gradient });
                }
            }
            Task::Pool { maximum } => {
                let xs = x.chunks_exact(from.plane.block());
                let dys = dy.chunks_exact(to.plane.block());
                let all = dx.chunks_exact_mut(from.plane.block()).zip(dys).zip(xs);
                for ((dx, dy), x) in all.take(self.images * blocks(to.channels)) {
                    isa.run(PoolBackward { maximum: *maximum, from: from.plane, to: to.plane, x, dy, dx });
                }
            }
            Task::Mean => {
                for (image, dx) in dx.chunks_exact_mut(from.len()).take(self.images).enumerate() {
                    for (block, dx) in dx.chunks_exact_mut(from.plane.block()).enumerate() {
                        let at = block * to.plane.block() + image * BLOCK;
                        resample::mean_backward(from.plane, &dy[at..at + BLOCK], dx);
                    }
                }
            }
            Task::Flatten => {
                for (image, dx) in dx.chunks_exact_mut(from.len()).take(self.images).enumerate() {
                    resample::for_each_feature(from.plane, from.channels, to.plane, image, |inner, outer| {
                        dx[inner] = dy[outer];
                    });
                }
            }
            Task::PadShortcut { stride } => {
                for (dx, dy) in dx.chunks_exact_mut(from.len()).zip(dy.chunks_exact(to.len())).take(self.images) {
                    resample::pad_shortcut_backward(from.plane, to.plane, *stride, from.channels, dy, dx);
                }
            }
        }
    }
}
