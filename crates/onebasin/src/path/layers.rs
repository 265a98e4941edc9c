//! Which parameters make the units of a network, layer after layer from the input on.

use crate::arch::Arch;
use crate::arch::Op;
use crate::params::Params;

/// The units of one layer, which the last axis of each of its tensors counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Indices in the layout; the last but a threshold is what is added to each unit.
    pub(super) tensors: Vec<usize>,
    /// What is added to each unit, if anything is.
    pub(super) offset: Option<usize>,
    pub(super) units: usize,
    /// Where its units can be seen.
    pub(super) place: Place,
}

/// Where the units of a layer can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the non-linearity of a hidden layer.
    Hidden(usize),
    /// They are the logits.
    Logits,
    /// They are added to something else at once.
    Nowhere,
}

/// All layers whose scale matters: one before a normalisation has none.
pub(super) fn layers(arch: &Arch) -> Vec<Layer> {
    let nodes = arch.nodes();
    let normalised = |index: usize| {
        nodes.iter().any(|node| node.input == index && matches!(node.op, Op::LayerNorm { .. } | Op::Frn { .. }))
    };
    let mut layers = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let (tensors, offset) = match node.op {
            Op::Dense { weight, bias } => (vec![weight, bias], Some(bias)),
            Op::Conv { weight, bias, .. } => ([weight].into_iter().chain(bias).collect(), bias),
            Op::LayerNorm { gamma, beta } => (vec![gamma, beta], Some(beta)),
            Op::Frn { gamma, beta, tau } => (vec![gamma, beta, tau], Some(beta)),
            _ => continue,
        };
        if normalised(index) {
            continue;
        }
        let place = match arch.hidden().position(|(_, hidden)| hidden.input == index) {
            Some(hidden) => Place::Hidden(hidden),
            None if index + 1 == nodes.len() => Place::Logits,
            None => Place::Nowhere,
        };
        layers.push(Layer { tensors, offset, units: node.shape.channels, place });
    }
    layers
}

impl Layer {
    /// Of each unit, the sum of the squares of its parameters.
    pub(super) fn squares(&self, params: &Params) -> Vec<f64> {
        let mut squares = vec![0.0; self.units];
        for tensor in &self.tensors {
            for row in params.values()[params.layout().tensors()[*tensor].range()].chunks_exact(self.units) {
                for (square, value) in squares.iter_mut().zip(row) {
                    *square += f64::from(*value).powi(2);
                }
            }
        }
        squares
    }

    /// Multiplies the parameters of each unit.
    pub(super) fn scale(&self, factors: &[f64], params: &mut Params) {
        let layout = params.layout().clone();
        for tensor in &self.tensors {
            for row in params.values_mut()[layout.tensors()[*tensor].range()].chunks_exact_mut(self.units) {
                for (value, factor) in row.iter_mut().zip(factors) {
                    *value = (f64::from(*value) * factor) as f32;
                }
            }
        }
    }

    /// Adds to each unit.
    pub(super) fn shift(&self, by: &[f64], params: &mut Params) {
        let Some(offset) = self.offset else { return };
        let range = params.layout().tensors()[offset].range();
        for (value, by) in params.values_mut()[range].iter_mut().zip(by) {
            *value = (f64::from(*value) + by) as f32;
        }
    }
}
