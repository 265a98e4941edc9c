//! The parameters in the shapes the kernels read: tiles of weights, and vectors padded to whole blocks.

use super::plan::Channelwise;
use super::plan::Plan;
use super::plan::Product;
use super::plan::Reach;
use super::plan::Task;
use crate::kernels::Aligned;
use crate::kernels::Team;
use crate::kernels::geometry::TILE;
use crate::kernels::geometry::blocks;
use crate::kernels::pack;
use std::ops::Range;

/// Packed copies of one set of parameters. What pads them is zero and stays so.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// (unit blocks, input blocks, taps, 16 inputs, 16 units) for each product.
    pub(super) forward: Aligned,
    /// (input blocks, unit blocks, mirrored taps, 16 units, 16 inputs) for each product.
    pub(super) backward: Aligned,
    /// Biases and normalisation parameters.
    pub(super) padded: Aligned,
}

/// Floats of packed weights for each block that is computed: from `inputs` channels, which are the units in the
/// backward pass.
pub(super) fn weight_block(product: &Product, inputs: usize) -> usize {
    product.geometry.kernel * product.geometry.kernel * blocks(inputs) * TILE
}

impl Packed {
    /// Packs what the forward pass reads and, if `with_backward`, what the backward pass reads.
    pub(super) fn fill(&mut self, plan: &Plan, params: &[f32], with_backward: bool, team: &Team) {
        if self.forward.is_empty() {
            self.forward = Aligned::zeros(plan.packed_len);
            self.padded = Aligned::zeros(plan.padded_len);
        }
        if with_backward && self.backward.is_empty() {
            self.backward = Aligned::zeros(plan.packed_len);
        }
        for step in &plan.steps {
            match &step.task {
                Task::Product(product) => {
                    let geometry = &product.geometry;
                    let weights = &params[product.weight.clone()];
                    let forward = &mut self.forward[product.packed.clone()];
                    let share = team.share(blocks(geometry.units));
                    team.chunks(forward, share * weight_block(product, geometry.inputs), |index, packed| {
                        let first = index * share;
                        let unit_blocks = first..(first + share).min(blocks(geometry.units));
                        pack::weights_forward(geometry, unit_blocks, weights, packed);
                    });
                    if with_backward && step.x_reach != Reach::Nowhere {
                        let backward = &mut self.backward[product.packed.clone()];
                        team.chunks(backward, weight_block(product, geometry.units), |block, packed| {
                            pack::weights_backward(geometry, block, weights, packed);
                        });
                    }
                    if let Some(bias) = &product.bias {
                        self.pad(params, bias, &product.padded_bias);
                    }
                }
                Task::Frn { gamma, beta, tau, .. } => {
                    for Channelwise { params: from, padded } in [gamma, beta, tau] {
                        self.pad(params, from, padded);
                    }
                }
                Task::LayerNorm { gamma, beta, .. } => {
                    for Channelwise { params: from, padded } in [gamma, beta] {
                        self.pad(params, from, padded);
                    }
                }
                Task::Pool { .. } | Task::Mean | Task::Flatten | Task::PadShortcut { .. } => {}
            }
        }
    }

    fn pad(&mut self, params: &[f32], from: &Range<usize>, padded: &Range<usize>) {
        self.padded[padded.clone()][..from.len()].copy_from_slice(&params[from.clone()]);
    }
}
