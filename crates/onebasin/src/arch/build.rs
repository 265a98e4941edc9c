//! Turns a preset into nodes and a layout, checking that each layer fits the one before.

use super::{
    Activation, Arch, Cnn, Mlp, Node, NodeIndex, Normalisation, Op, Pool, Preset, ResNet, Role, Shape, Shortcut, Stage,
    TensorIndex,
};
use crate::error::{Error, Result};
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
        return Err(Error::Count { need: "a classifier needs at least 2 classes", got: classes });
    }
    let mut builder = Builder { nodes: Vec::new(), roles: Vec::new(), layout: Layout::default() };
    let image = builder.node("input", Op::Input, 0, input)?;
    match &preset {
        Preset::Mlp(mlp) => builder.dense_head(image, &mlp.hidden, mlp.classes, mlp.activation)?,
        Preset::Cnn(cnn) => builder.cnn(image, cnn)?,
        Preset::Resnet(resnet) => builder.resnet(image, resnet)?,
    }
    Ok(Arch { preset, nodes: builder.nodes, roles: builder.roles, layout: Arc::new(builder.layout) })
}

#[derive(Clone, Copy)]
struct Filter {
    kernel: usize,
    stride: usize,
    channels: usize,
    normalisation: Normalisation,
}

struct Builder {
    nodes: Vec<Node>,
    roles: Vec<Role>,
    layout: Layout,
}

impl Builder {
    fn node(&mut self, name: &str, op: Op, input: NodeIndex, shape: Shape) -> Result<NodeIndex> {
        for (what, size) in [("height", shape.height), ("width", shape.width), ("channels", shape.channels)] {
            Error::unless_zero(format_args!("the {what} of `{name}`"), size)?;
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

    fn dense(&mut self, name: &str, input: NodeIndex, units: usize) -> Result<NodeIndex> {
        Error::unless_zero(format_args!("the number of units of `{name}`"), units)?;
        let fan_in = self.shape(input).channels;
        let weight = self.tensor(name, "weight", &[fan_in, units], Role::Weight { fan_in })?;
        let bias = self.tensor(name, "bias", &[units], Role::Bias)?;
        self.node(name, Op::Dense { weight, bias }, input, Shape::vector(units))
    }

    fn activate(&mut self, name: &str, input: NodeIndex, activation: Activation) -> Result<NodeIndex> {
        let shape = self.shape(input);
        self.node(name, Op::Activate(activation), input, shape)
    }

    fn dense_head(&mut self, input: NodeIndex, hidden: &[usize], classes: usize, activation: Activation) -> Result<()> {
        let mut last = self.node("flatten", Op::Flatten, input, Shape::vector(self.shape(input).len()))?;
        for (index, units) in hidden.iter().enumerate() {
            let name = format!("hidden{}", index + 1);
            last = self.dense(&name, last, *units)?;
            last = self.activate(&format!("{name}.out"), last, activation)?;
        }
        self.dense("head", last, classes)?;
        Ok(())
    }

    /// A convolution, and its normalisation under a name of its own.
    fn conv(&mut self, [name, norm_name]: [&str; 2], input: NodeIndex, filter: Filter) -> Result<NodeIndex> {
        let Filter { kernel, stride, channels, normalisation } = filter;
        Error::unless_zero(format_args!("the number of units of `{name}`"), channels)?;
        if !(1..=2).contains(&stride) {
            return Err(Error::out_of_range(format!("the stride of `{name}`"), stride, "1 or 2"));
        }
        let from = self.shape(input);
        let fan_in = kernel * kernel * from.channels;
        let shape = [kernel, kernel, from.channels, channels];
        let weight = self.tensor(name, "weight", &shape, Role::Weight { fan_in })?;
        let with_bias = normalisation != Normalisation::Layer;
        let bias = if with_bias { Some(self.tensor(name, "bias", &[channels], Role::Bias)?) } else { None };
        let shape = Shape { height: from.height.div_ceil(stride), width: from.width.div_ceil(stride), channels };
        let conv = self.node(name, Op::Conv { kernel, stride, weight, bias }, input, shape)?;
        let mut add = |part, role| self.tensor(norm_name, part, &[channels], role);
        let op = match normalisation {
            Normalisation::None => return Ok(conv),
            Normalisation::Layer => Op::LayerNorm { gamma: add("gamma", Role::Gamma)?, beta: add("beta", Role::Beta)? },
            Normalisation::Frn => {
                let (gamma, beta) = (add("gamma", Role::Gamma)?, add("beta", Role::Beta)?);
                Op::Frn { gamma, beta, tau: add("tau", Role::Tau)? }
            }
        };
        self.node(norm_name, op, conv, shape)
    }

    fn cnn(&mut self, image: NodeIndex, cnn: &Cnn) -> Result<()> {
        let (mut last, mut convs, mut pools) = (image, 0, 0);
        for stage in &cnn.stack {
            match *stage {
                Stage::Conv { channels, stride } => {
                    convs += 1;
                    let name = format!("conv{convs}");
                    let filter = Filter { kernel: 3, stride, channels, normalisation: Normalisation::None };
                    last = self.conv([&name; 2], last, filter)?;
                    last = self.activate(&format!("{name}.out"), last, cnn.activation)?;
                }
                Stage::Pool(pool) => {
                    pools += 1;
                    last = self.pool(&format!("pool{pools}"), last, pool)?;
                }
            }
        }
        self.dense_head(last, &cnn.hidden, cnn.classes, cnn.activation)
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
            return Err(Error::Count { need: "a resnet has 6n + 2 layers (8, 14, 20, ..., 1202)", got: depth });
        }
        Error::unless_zero("the width multiplier of the resnet", width)?;
        let filter = Filter { kernel: 3, stride: 1, channels: 16usize.saturating_mul(width), normalisation };
        let stem = self.conv(["stem", "stem.norm"], image, filter)?;
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
        let filter = Filter { kernel: 3, stride, channels, normalisation: resnet.normalisation };
        let shortcut = if stride == 1 && self.shape(input).channels == channels {
            input
        } else {
            let names = [&*part("shortcut"), &part("shortcut.norm")];
            match resnet.shortcut {
                Shortcut::Projection => self.conv(names, input, Filter { kernel: 1, ..filter })?,
                Shortcut::Padded => {
                    let from = self.shape(input);
                    let (height, width) = (from.height.div_ceil(stride), from.width.div_ceil(stride));
                    self.node(names[0], Op::PadShortcut { stride }, input, Shape { height, width, channels })?
                }
            }
        };
        let inner = self.conv([&part("conv1"), &part("norm1")], input, filter)?;
        let inner = self.activate(&part("inner"), inner, Activation::Relu)?;
        let outer = self.conv([&part("conv2"), &part("norm2")], inner, Filter { stride: 1, ..filter })?;
        let shape = self.shape(outer);
        let sum = self.node(&part("sum"), Op::Add(shortcut), outer, shape)?;
        self.activate(&part("out"), sum, Activation::Relu)
    }
}
