//! A pure description of a network: its layers, their wiring, and the parameters they imply.
//!
//! One description, several interpreters: `net` computes with it, and whoever asks which units may
//! be permuted reads the same nodes.

mod build;
mod preset;

pub use preset::{Cnn, Mlp, Preset, ResNet, Stage};

use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Height, width and channels of an image or an activation; written `28x28x1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Shape {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Channels.
    pub channels: usize,
}

impl Shape {
    /// A vector of `channels` features: height and width are one.
    pub const fn vector(channels: usize) -> Self {
        Self { height: 1, width: 1, channels }
    }
    /// Number of values.
    pub const fn len(self) -> usize {
        self.height * self.width * self.channels
    }
    /// Whether there are no values.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.height, self.width, self.channels)
    }
}

impl FromStr for Shape {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let unreadable =
            || Error::Unreadable { text: text.to_owned(), expected: "height x width x channels, such as 28x28x1" };
        let sizes: Vec<usize> =
            text.split('x').map(|size| size.trim().parse().map_err(|_| unreadable())).collect::<Result<_>>()?;
        match sizes[..] {
            [height, width, channels] => Ok(Self { height, width, channels }),
            _ => Err(unreadable()),
        }
    }
}

written_as_text!(Shape);

named_enum! {
    /// The non-linearity between layers.
    pub enum Activation {
        /// max(x, 0)
        Relu = "relu",
        /// tanh(x)
        Tanh = "tanh",
    }
}

named_enum! {
    /// What follows each convolution of a residual network.
    pub enum Normalisation {
        /// Nothing: convolutions have a bias.
        None = "none",
        /// Layer normalisation over the channels of each position; convolutions have no bias.
        Layer = "layer",
        /// Filter response normalisation over the positions of each channel, with a learned threshold; convolutions have a bias.
        Frn = "frn",
    }
}

named_enum! {
    /// How a block that changes shape passes its input on.
    pub enum Shortcut {
        /// A strided 1x1 convolution, normalised like the others.
        Projection = "projection",
        /// Every second position, new channels zero behind the old ones ('option A' of He et al. 2016): no parameters.
        Padded = "padded",
    }
}

named_enum! {
    /// How a 2x2 window becomes one value.
    pub enum Pool {
        /// The largest.
        Max = "max",
        /// The mean.
        Average = "average",
    }
}

/// The part a tensor plays, which fixes its initial value and later its prior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Weights, output units on the last axis, inputs on the one before.
    Weight {
        /// Number of inputs of one unit.
        fan_in: usize,
    },
    /// Added to each unit.
    Bias,
    /// Multiplies each normalised unit.
    Gamma,
    /// Added to each normalised unit.
    Beta,
    /// The threshold of a filter response normalisation.
    Tau,
}

/// Index of a tensor in the layout.
pub type TensorIndex = usize;
/// Index of a node in [`Arch::nodes`].
pub type NodeIndex = usize;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// The images.
    Input,
    /// height x width x channels to a vector in that order.
    Flatten,
    /// A dense layer, weight (inputs, units).
    Dense {
        /// (inputs, units)
        weight: TensorIndex,
        /// (units)
        bias: TensorIndex,
    },
    /// A convolution, padded so that stride 1 keeps the size; weight (kernel, kernel, inputs, units).
    Conv {
        /// 1 or 3.
        kernel: usize,
        /// 1 or 2.
        stride: usize,
        /// (kernel, kernel, inputs, units)
        weight: TensorIndex,
        /// (units)
        bias: Option<TensorIndex>,
    },
    /// Layer normalisation: (x - mean) / sqrt(variance + 1e-6) * gamma + beta over the channels of each position.
    LayerNorm {
        /// (units)
        gamma: TensorIndex,
        /// (units)
        beta: TensorIndex,
    },
    /// Filter response normalisation: max(x / sqrt(mean of x^2 over positions + 1e-6) * gamma + beta, tau).
    Frn {
        /// (units)
        gamma: TensorIndex,
        /// (units)
        beta: TensorIndex,
        /// (units)
        tau: TensorIndex,
    },
    /// The non-linearity.
    Activate(Activation),
    /// 2x2 windows, stride 2; an odd last row or column is left out.
    Pool(Pool),
    /// Mean over all positions.
    GlobalAverage,
    /// The padded shortcut.
    PadShortcut {
        /// 1 or 2.
        stride: usize,
    },
    /// The sum of two nodes.
    Add(NodeIndex),
}

/// An operation in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, the stem of its tensors' names.
    pub name: String,
    /// What it does.
    pub op: Op,
    /// The node it reads (itself, for the input).
    pub input: NodeIndex,
    /// The shape of what it yields.
    pub shape: Shape,
}

/// A network: nodes in the order of evaluation, each reading only earlier ones; the last yields the logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Arch {
    preset: Preset,
    nodes: Vec<Node>,
    roles: Vec<Role>,
    layout: Arc<Layout>,
}

impl Arch {
    /// Builds the network a preset describes, or says what does not fit.
    pub fn new(preset: impl Into<Preset>) -> Result<Self> {
        build::build(preset.into())
    }

    /// The preset this was built from.
    pub fn preset(&self) -> &Preset {
        &self.preset
    }
    /// The nodes; the first is the input, the last the logits.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// The hidden layers: every node that applies a non-linearity, in order.
    pub fn hidden(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| matches!(node.op, Op::Activate(_)))
    }
    /// The parameters' layout.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// The part each tensor of the layout plays, in its order.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }
    /// Shape of one image.
    pub fn input(&self) -> Shape {
        self.nodes[0].shape
    }
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.nodes[self.nodes.len() - 1].shape.channels
    }

    /// He initialisation: weights N(0, 2 / fan-in) (N(0, 1 / fan-in) for tanh networks), scales one, the rest zero.
    ///
    /// Each tensor has a stream of its own, so its values depend on the seed, its name, its shape and the
    /// non-linearity only.
    pub fn initialise(&self, seed: u64) -> Params {
        let gain = match self.preset.activation() {
            Activation::Relu => 2.0,
            Activation::Tanh => 1.0,
        };
        let mut params = Params::zeros(&self.layout);
        for (tensor, role) in self.layout.tensors().iter().zip(&self.roles) {
            let values = &mut params.values_mut()[tensor.range()];
            match role {
                Role::Weight { fan_in } => {
                    Stream::new(seed, &format!("init/{}", tensor.name()), 0).fill_normal(values);
                    let std = (gain / *fan_in as f64).sqrt() as f32;
                    for value in values {
                        *value *= std;
                    }
                }
                Role::Gamma => values.fill(1.0),
                Role::Bias | Role::Beta | Role::Tau => {}
            }
        }
        params
    }

    /// Multiplications and additions of one image's forward pass, in dense layers and convolutions.
    pub fn flops(&self) -> u64 {
        let flops = self.nodes.iter().map(|node| match node.op {
            Op::Dense { weight, .. } | Op::Conv { weight, .. } => {
                let positions = (node.shape.height * node.shape.width) as u64;
                (2 * positions).saturating_mul(self.layout.tensors()[weight].range().len() as u64)
            }
            _ => 0,
        });
        flops.fold(0, u64::saturating_add)
    }
}
