//! Turns a preset into nodes and a layout, checking that each layer fits the one before.

use super::Activation;
use super::Arch;
use super::Cnn;
use super::Mlp;
use super::Node;
use super::NodeIndex;
use super::Normalisation;
use super::Op;
use super::Pool;
use super::Preset;
use super::ResNet;
use super::Role;
use super::Shape;
use super::Shortcut;
use super::Stage;
use super::TensorIndex;
use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use std::sync::Arc;

/// Largest number of values an image or an activation may have: a gigabyte, or sixteen with one channel, which is
/// stored as a block of sixteen.
const LARGEST: usize = 1 << 28;

/// Deepest residual network: that of He et al. (2016).
const DEEPEST: usize = 1202;

pub(super) fn build(preset: Preset) -> Result<Arch> {
    let (input, classes) = match &preset {
        Preset::Mlp(Mlp { input, classes, .. })
        | Preset::Cnn(Cnn { input, classes, .. })
        | Preset::Resnet(ResNet { input, classes, .. }) => (*input, *classes),
    };
    if classes < 2 {
        return Err(Error::TooFewClasses { classes });
    }
    let mut builder = Builder { nodes: Vec::new(), roles: Vec::new(), layout: Layout::default() };
    let image = builder.node("input", Op::Input, 0, input)?;
    match &preset {
        Preset::Mlp(mlp) => {
            let flat = builder.flatten(image)?;
            builder.dense_layers(flat, &mlp.hidden, mlp.classes, mlp.activation)?;
        }
        Preset::Cnn(cnn) => builder.cnn(image, cnn)?,
        Preset::Resnet(resnet) => builder.resnet(image, resnet)?,
    }
    Ok(Arch { preset, nodes: builder.nodes, roles: builder.roles, layout: Arc::new(builder.layout) })
}

struct Builder {
    nodes: Vec<Node>,
    roles: Vec<Role>,
    layout: Layout,
}

impl Builder {
    fn node(&mut self, name: &str, op: Op, input: NodeIndex, shape: Shape) -> Result<NodeIndex> {
        for (what, size) in [("height", shape.height), ("width", shape.width), ("channels", shape.channels)] {
            if size == 0 {
                return Err(Error::Zero { what: format!("the {what} of `{name}`") });
            }
        }
        let size = shape.height.saturating_mul(shape.width).saturating_mul(shape.channels);
        if size > LARGEST {
            return Err(Error::TooLarge { what: format!("`{name}` ({shape})"), size });
        }
        self.nodes.push(Node { name: name.to_owned(), op, input, shape });
        Ok(self.nodes.len() - 1)
    }

    fn tensor(&mut self, name: &str, part: &str, shape: &[usize], role: Role) -> Result<TensorIndex> {
        let index = self.layout.push(&format!("{name}.{part}"), shape)?;
        self.roles.push(role);
        Ok(index)
    }

    fn shape(&self, node: NodeIndex) -> Shape {
        self.nodes[node].shape
    }

    fn flatten(&mut self, input: NodeIndex) -> Result<NodeIndex> {
        let shape = self.shape(input);
        self.node("flatten", Op::Flatten, input, Shape::vector(shape.len()))
    }

    fn dense(&mut self, name: &str, input: NodeIndex, units: usize) -> Result<NodeIndex> {
        if units == 0 {
            return Err(Error::Zero { what: format!("the number of units of `{name}`") });
        }
        let fan_in = self.shape(input).channels;
        let weight = self.tensor(name, "weight", &[fan_in, units], Role::Weight { fan_in })?;
        let bias = self.tensor(name, "bias", &[units], Role::Bias)?;
        self.node(name, Op::Dense { weight, bias }, input, Shape::vector(units))
    }

    fn activate(&mut self, name: &str, input: NodeIndex, activation: Activation) -> Result<NodeIndex> {
        let shape = self.shape(input);
        self.node(name, Op::Activate(activation), input, shape)
    }

    fn dense_layers(
        &mut self,
        input: NodeIndex,
        hidden: &[usize],
        classes: usize,
        activation: Activation,
    ) -> Result<()> {
        let mut last = input;
        for (index, units) in hidden.iter().enumerate() {
            let name = format!("hidden{}", index + 1);
            last = self.dense(&name, last, *units)?;
            last = self.activate(&format!("{name}.out"), last, activation)?;
        }
        self.dense("head", last, classes)?;
        Ok(())
    }

    fn conv(
        &mut self,
        name: &str,
        input: NodeIndex,
        kernel: usize,
        stride: usize,
        channels: usize,
        with_bias: bool,
    ) -> Result<NodeIndex> {
        if channels == 0 {
            return Err(Error::Zero { what: format!("the number of units of `{name}`") });
        }
        if !(1..=2).contains(&stride) {
            return Err(Error::Stride { layer: name.to_owned(), stride });
        }
        let from = self.shape(input);
        let fan_in = kernel * kernel * from.channels;
        let shape = [kernel, kernel, from.channels, channels];
        let weight = self.tensor(name, "weight", &shape, Role::Weight { fan_in })?;
        let bias = if with_bias { Some(self.tensor(name, "bias", &[channels], Role::Bias)?) } else { None };
        let shape = Shape { height: from.height.div_ceil(stride), width: from.width.div_ceil(stride), channels };
        self.node(name, Op::Conv { kernel, stride, weight, bias }, input, shape)
    }

    fn cnn(&mut self, image: NodeIndex, cnn: &Cnn) -> Result<()> {
        let (mut last, mut convs, mut pools) = (image, 0, 0);
        for stage in &cnn.stack {
            match *stage {
                Stage::Conv { channels, stride } => {
                    convs += 1;
                    let name = format!("conv{convs}");
                    last = self.conv(&name, last, 3, stride, channels, true)?;
                    last = self.activate(&format!("{name}.out"), last, cnn.activation)?;
                }
                Stage::Pool(pool) => {
                    pools += 1;
                    last = self.pool(&format!("pool{pools}"), last, pool)?;
                }
            }
        }
        let flat = self.flatten(last)?;
        self.dense_layers(flat, &cnn.hidden, cnn.classes, cnn.activation)
    }

    fn pool(&mut self, name: &str, input: NodeIndex, pool: Pool) -> Result<NodeIndex> {
        let Shape { height, width, channels } = self.shape(input);
        if height < 2 || width < 2 {
            return Err(Error::DoesNotFit {
                layer: name.to_owned(),
                height,
                width,
                channels,
                reason: "a 2x2 pool needs at least 2x2; leave it out or give larger images".to_owned(),
            });
        }
        self.node(name, Op::Pool(pool), input, Shape { height: height / 2, width: width / 2, channels })
    }

    fn resnet(&mut self, image: NodeIndex, resnet: &ResNet) -> Result<()> {
        let ResNet { depth, width, normalisation, .. } = *resnet;
        if !(8..=DEEPEST).contains(&depth) || !(depth - 2).is_multiple_of(6) {
            return Err(Error::Depth { depth });
        }
        if width == 0 {
            return Err(Error::Zero { what: "the width multiplier of the resnet".to_owned() });
        }
        let stem = self.conv_norm("stem", "stem.norm", image, 3, 1, 16usize.saturating_mul(width), normalisation)?;
        let mut last = self.activate("stem.out", stem, Activation::Relu)?;
        for stage in 0..3 {
            let channels = (16usize << stage).saturating_mul(width);
            for block in 0..(depth - 2) / 6 {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                let name = format!("stage{}.block{}", stage + 1, block + 1);
                last = self.residual_block(&name, last, stride, channels, resnet)?;
            }
        }
        let channels = self.shape(last).channels;
        let mean = self.node("mean", Op::GlobalAverage, last, Shape::vector(channels))?;
        self.dense("head", mean, resnet.classes)?;
        Ok(())
    }

    /// relu(shortcut(x) + norm(conv(relu(norm(conv(x))))))
    fn residual_block(
        &mut self,
        name: &str,
        input: NodeIndex,
        stride: usize,
        channels: usize,
        resnet: &ResNet,
    ) -> Result<NodeIndex> {
        let part = |part: &str| format!("{name}.{part}");
        let norm = resnet.normalisation;
        let shortcut = if stride == 1 && self.shape(input).channels == channels {
            input
        } else {
            let (conv_name, norm_name) = (part("shortcut"), part("shortcut.norm"));
            match resnet.shortcut {
                Shortcut::Projection => self.conv_norm(&conv_name, &norm_name, input, 1, stride, channels, norm)?,
                Shortcut::Padded => {
                    let from = self.shape(input);
                    let (height, width) = (from.height.div_ceil(stride), from.width.div_ceil(stride));
                    self.node(&conv_name, Op::PadShortcut { stride }, input, Shape { height, width, channels })?
                }
            }
        };
        let inner = self.conv_norm(&part("conv1"), &part("norm1"), input, 3, stride, channels, norm)?;
        let inner = self.activate(&part("inner"), inner, Activation::Relu)?;
        let outer = self.conv_norm(&part("conv2"), &part("norm2"), inner, 3, 1, channels, norm)?;
        let shape = self.shape(outer);
        let sum = self.node(&part("sum"), Op::Add(shortcut), outer, shape)?;
        self.activate(&part("out"), sum, Activation::Relu)
    }

    #[expect(clippy::too_many_arguments, reason = "names and geometry of one layer")]
    fn conv_norm(
        &mut self,
        name: &str,
        norm_name: &str,
        input: NodeIndex,
        kernel: usize,
        stride: usize,
        channels: usize,
        normalisation: Normalisation,
    ) -> Result<NodeIndex> {
        let with_bias = normalisation != Normalisation::Layer;
        let conv = self.conv(name, input, kernel, stride, channels, with_bias)?;
        let shape = self.shape(conv);
        let op = match normalisation {
            Normalisation::None => return Ok(conv),
            Normalisation::Layer => Op::LayerNorm {
                gamma: self.tensor(norm_name, "gamma", &[channels], Role::Gamma)?,
                beta: self.tensor(norm_name, "beta", &[channels], Role::Beta)?,
            },
            Normalisation::Frn => Op::Frn {
                gamma: self.tensor(norm_name, "gamma", &[channels], Role::Gamma)?,
                beta: self.tensor(norm_name, "beta", &[channels], Role::Beta)?,
                tau: self.tensor(norm_name, "tau", &[channels], Role::Tau)?,
            },
        };
        self.node(norm_name, op, conv, shape)
    }
}
