//! The families of networks a user can name, as plain data.

use super::{Activation, Normalisation, Pool, Shape, Shortcut};
use crate::error::{Error, Result};
use crate::keys::{deserialize_tagged, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A family of networks with its sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::Subcommand))]
#[serde(tag = "preset", rename_all = "lowercase")]
pub enum Preset {
    /// Dense layers.
    #[cfg_attr(feature = "clap", command(after_help = "Example:\n  onebasin arch mlp --hidden 512,512,512"))]
    Mlp(Mlp),
    /// Convolutions and pools, then dense layers.
    #[cfg_attr(
        feature = "clap",
        command(after_help = "Example:\n  onebasin arch cnn --input 32x32x3 --stack 32/2,64,max")
    )]
    Cnn(Cnn),
    /// A residual network for small images.
    #[cfg_attr(feature = "clap", command(after_help = "Example:\n  onebasin arch resnet --depth 20 --width 2"))]
    Resnet(ResNet),
}

deserialize_tagged!(Preset by "preset" { "mlp" => Mlp, "cnn" => Cnn, "resnet" => Resnet, });

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Height, width and channels of one example.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHAPE", default_value = "28x28x1"))]
    pub input: Shape,
    /// Number of classes.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value = "10"))]
    pub classes: usize,
    /// Number of units of each hidden layer; an empty list (`none`) makes a linear model.
    #[serde(default = "three_layers")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNITS", value_parser = list::<usize>, default_value = "512,512,512"))]
    pub hidden: std::vec::Vec<usize>,
    /// Non-linearity behind each hidden layer.
    #[serde(default = "relu")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", default_value_t = relu()))]
    pub activation: Activation,
}

/// A stack of 3x3 convolutions and 2x2 pools, flattened, then dense layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields)]
pub struct Cnn {
    /// Height, width and channels of one example.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHAPE", default_value = "28x28x1"))]
    pub input: Shape,
    /// Number of classes.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value = "10"))]
    pub classes: usize,
    /// 3x3 convolutions (`32`, or `32/2` with stride 2) and 2x2 pools (`max` or `average`), in order.
    #[serde(default = "two_convolutions")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "STAGES", value_parser = list::<Stage>, default_value = "16,max,32,max"))]
    pub stack: std::vec::Vec<Stage>,
    /// Number of units of each hidden dense layer behind the stack; an empty list (`none`) by default.
    #[serde(default)]
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNITS", value_parser = list::<usize>, default_value = "none"))]
    pub hidden: std::vec::Vec<usize>,
    /// Non-linearity behind each convolution and hidden dense layer.
    #[serde(default = "relu")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", default_value_t = relu()))]
    pub activation: Activation,
}

/// One element of a CNN's stack; written `32`, `32/2`, `max` or `average`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields)]
pub struct ResNet {
    /// Height, width and channels of one example.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHAPE", default_value = "32x32x3"))]
    pub input: Shape,
    /// Number of classes.
    #[schemars(extend("x-else" = "that of the data"))]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value = "10"))]
    pub classes: usize,
    /// Number of layers, 6n + 2.
    #[serde(default = "number::<20, usize>")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAYERS", default_value_t = 20))]
    pub depth: usize,
    /// Factor of all numbers of channels.
    #[serde(default = "number::<1, usize>")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FACTOR", default_value_t = 1))]
    pub width: usize,
    /// Normalisation behind each convolution.
    #[serde(default = "frn")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", default_value_t = frn()))]
    pub normalisation: Normalisation,
    /// Shortcut of blocks that change shape.
    #[serde(default = "projection")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", default_value_t = projection()))]
    pub shortcut: Shortcut,
}

fn three_layers() -> Vec<usize> {
    vec![512; 3]
}
fn two_convolutions() -> Vec<Stage> {
    let conv = |channels| Stage::Conv { channels, stride: 1 };
    vec![conv(16), Stage::Pool(Pool::Max), conv(32), Stage::Pool(Pool::Max)]
}
fn relu() -> Activation {
    Activation::Relu
}
fn frn() -> Normalisation {
    Normalisation::Frn
}
fn projection() -> Shortcut {
    Shortcut::Projection
}

/// Elements with commas between them; `none` is the empty list.
#[cfg(feature = "clap")]
fn list<T: FromStr<Err: fmt::Display>>(text: &str) -> std::result::Result<Vec<T>, String> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let parse = |element: &str| element.trim().parse().map_err(|error| format!("`{element}`: {error}"));
    text.split(',').map(parse).collect()
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
            Self::Pool(pool) => write!(f, "{pool}"),
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
        if let Some(pool) = Pool::ALL.iter().find(|pool| pool.name() == text.trim()) {
            return Ok(Self::Pool(*pool));
        }
        let (channels, stride) = text.split_once('/').unwrap_or((text, "1"));
        let channels = channels.trim().parse().map_err(|_| unreadable())?;
        let stride = ["1", "2"].iter().position(|known| *known == stride.trim()).ok_or_else(unreadable)? + 1;
        Ok(Self::Conv { channels, stride })
    }
}

written_as_text!(Stage);

#[cfg(all(test, feature = "clap"))]
mod tests {
    use super::*;
    use clap::Subcommand;

    fn parse(arguments: &[&str]) -> std::result::Result<Preset, clap::Error> {
        let command = Preset::augment_subcommands(clap::Command::new("arch").no_binary_name(true));
        clap::FromArgMatches::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    #[test]
    fn the_command_line_and_files_have_the_same_names_and_defaults() {
        let command = Preset::augment_subcommands(clap::Command::new("arch"));
        let about = command.find_subcommand("mlp").and_then(|mlp| mlp.get_about()).map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Dense layers"));
        for (preset, input) in [("mlp", "28x28x1"), ("cnn", "28x28x1"), ("resnet", "32x32x3")] {
            let json = format!(r#"{{"preset": "{preset}", "input": "{input}", "classes": 10}}"#);
            assert_eq!(parse(&[preset]).unwrap(), serde_json::from_str(&json).unwrap());
        }
        let json = r#"{"preset": "cnn", "input": "8x8x1", "classes": 3, "stack": ["4/2", "max"], "hidden": [5, 6]}"#;
        let parsed = parse(&["cnn", "--input=8x8x1", "--classes=3", "--stack=4/2,max", "--hidden=5,6"]);
        assert_eq!(parsed.unwrap(), serde_json::from_str(json).unwrap());
        let Ok(Preset::Mlp(linear)) = parse(&["mlp", "--hidden", "none", "--activation", "tanh"]) else { panic!() };
        assert_eq!((linear.hidden, linear.activation), (vec![], Activation::Tanh));
        assert!(parse(&["cnn", "--stack", "32/3"]).is_err());
        assert!(parse(&["mlp", "--hidden", "wide"]).is_err());
    }
}
