//! The families of networks a user can name, as plain data.

use super::Activation;
use super::Normalisation;
use super::Pool;
use super::Shape;
use super::Shortcut;
use crate::error::Error;
use crate::error::Result;
use serde::Deserialize;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A family of networks with its sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "preset", rename_all = "lowercase")]
pub enum Preset {
    /// Dense layers.
    Mlp(Mlp),
    /// Convolutions and pools, then dense layers.
    Cnn(Cnn),
    /// A residual network for small images.
    Resnet(ResNet),
}

impl Preset {
    /// The non-linearity used throughout.
    pub fn activation(&self) -> Activation {
        match self {
            Self::Mlp(mlp) => mlp.activation,
            Self::Cnn(cnn) => cnn.activation,
            Self::Resnet(_) => Activation::Relu,
        }
    }
}

/// Dense layers: input - hidden... - classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Shape of one image.
    pub input: Shape,
    /// Number of classes.
    pub classes: usize,
    /// Units of each hidden layer; none makes a linear model.
    pub hidden: Vec<usize>,
    /// The non-linearity.
    #[serde(default = "relu")]
    pub activation: Activation,
}

/// A stack of 3x3 convolutions and 2x2 pools, flattened, then dense layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cnn {
    /// Shape of one image.
    pub input: Shape,
    /// Number of classes.
    pub classes: usize,
    /// The convolutions and pools, in order.
    pub stack: Vec<Stage>,
    /// Units of each hidden dense layer behind the stack.
    #[serde(default)]
    pub hidden: Vec<usize>,
    /// The non-linearity behind each convolution and hidden dense layer.
    #[serde(default = "relu")]
    pub activation: Activation,
}

/// One element of a CNN's stack; written `32`, `32/2`, `max` or `average`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Stage {
    /// A 3x3 convolution with a bias, then the non-linearity.
    Conv {
        /// Output channels.
        channels: usize,
        /// 1 or 2.
        stride: usize,
    },
    /// A 2x2 pool with stride 2.
    Pool(Pool),
}

/// The residual network of He et al. (2016) for small images, 6n + 2 layers deep.
///
/// A 3x3 convolution with 16 channels, three stages of n blocks with 16, 32 and 64 channels (all times `width`)
/// of which the second and third begin with stride 2, the mean over all positions, and a dense layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResNet {
    /// Shape of one image.
    pub input: Shape,
    /// Number of classes.
    pub classes: usize,
    /// 6n + 2.
    #[serde(default = "twenty")]
    pub depth: usize,
    /// Multiplies all channel numbers.
    #[serde(default = "one")]
    pub width: usize,
    /// What follows each convolution.
    #[serde(default = "frn")]
    pub normalisation: Normalisation,
    /// The shortcut of blocks that change shape.
    #[serde(default = "projection")]
    pub shortcut: Shortcut,
}

fn relu() -> Activation {
    Activation::Relu
}
fn twenty() -> usize {
    20
}
fn one() -> usize {
    1
}
fn frn() -> Normalisation {
    Normalisation::Frn
}
fn projection() -> Shortcut {
    Shortcut::Projection
}

impl From<Mlp> for Preset {
    fn from(mlp: Mlp) -> Self {
        Self::Mlp(mlp)
    }
}
impl From<Cnn> for Preset {
    fn from(cnn: Cnn) -> Self {
        Self::Cnn(cnn)
    }
}
impl From<ResNet> for Preset {
    fn from(resnet: ResNet) -> Self {
        Self::Resnet(resnet)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conv { channels, stride: 1 } => write!(f, "{channels}"),
            Self::Conv { channels, stride } => write!(f, "{channels}/{stride}"),
            Self::Pool(Pool::Max) => f.write_str("max"),
            Self::Pool(Pool::Average) => f.write_str("average"),
        }
    }
}

impl FromStr for Stage {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let unreadable = || Error::Unreadable {
            text: text.to_owned(),
            expected: "a stage: channels (32), channels/stride (32/2), max or average",
        };
        match text.trim() {
            "max" => return Ok(Self::Pool(Pool::Max)),
            "average" => return Ok(Self::Pool(Pool::Average)),
            _ => {}
        }
        let (channels, stride) = text.split_once('/').unwrap_or((text, "1"));
        let channels = channels.trim().parse().map_err(|_| unreadable())?;
        match stride.trim() {
            "1" => Ok(Self::Conv { channels, stride: 1 }),
            "2" => Ok(Self::Conv { channels, stride: 2 }),
            _ => Err(unreadable()),
        }
    }
}

impl From<Stage> for String {
    fn from(stage: Stage) -> Self {
        stage.to_string()
    }
}

impl TryFrom<String> for Stage {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}
