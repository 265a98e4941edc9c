//! How a network is described on the command line.

use super::named;
use crate::commands::arch;
use onebasin::arch::Activation;
use onebasin::arch::Cnn;
use onebasin::arch::Mlp;
use onebasin::arch::Normalisation;
use onebasin::arch::Preset;
use onebasin::arch::ResNet;
use onebasin::arch::Shape;
use onebasin::arch::Shortcut;
use onebasin::arch::Stage;
use onebasin::error::Error;
use onebasin::error::Result;

#[derive(Debug, clap::Subcommand)]
pub(super) enum PresetArgs {
    /// Dense layers
    #[command(after_help = "Example:\n  onebasin arch mlp --input 8x8x1 --hidden 32,16")]
    Mlp(MlpArgs),
    /// Convolutions and pools, then dense layers
    #[command(after_help = "Example:\n  onebasin arch cnn --input 32x32x3 --stack 32,max,64/2")]
    Cnn(CnnArgs),
    /// A residual network for small images
    #[command(after_help = "Example:\n  onebasin arch resnet --depth 32 --normalisation layer")]
    Resnet(ResNetArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct MlpArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Units per hidden layer, or none
    #[arg(long, value_name = "UNITS", value_parser = units, default_value = "512,512,512")]
    hidden: List<usize>,
    #[command(flatten)]
    activation: ActivationArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct CnnArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// 3x3 convolutions (32, or 32/2 with stride 2) and 2x2 pools (max or average)
    #[arg(long, value_name = "STAGES", value_parser = stages, default_value = "16,max,32,max")]
    stack: List<Stage>,
    /// Units per hidden dense layer behind the stack, or none
    #[arg(long, value_name = "UNITS", value_parser = units, default_value = "none")]
    hidden: List<usize>,
    #[command(flatten)]
    activation: ActivationArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("input", |input| input.default_value("32x32x3")))]
pub(super) struct ResNetArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Number of layers, 6n + 2
    #[arg(long, value_name = "LAYERS", default_value = "20")]
    depth: usize,
    /// Multiplies all channel numbers
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    width: usize,
    /// After each convolution
    #[arg(long, value_name = "NAME", default_value = "frn")]
    #[arg(value_parser = named::<Normalisation>(&["none", "layer", "frn"]))]
    normalisation: Normalisation,
    /// Of blocks that change shape
    #[arg(long, value_name = "NAME", default_value = "projection")]
    #[arg(value_parser = named::<Shortcut>(&["projection", "padded"]))]
    shortcut: Shortcut,
    #[command(flatten)]
    format: FormatArgs,
}

/// What the data set decides.
#[derive(Debug, clap::Args)]
struct TaskArgs {
    /// Height, width and channels of one image
    #[arg(long, value_name = "SHAPE", default_value = "28x28x1")]
    input: Shape,
    /// Number of classes
    #[arg(long, value_name = "NUMBER", default_value = "10")]
    classes: usize,
}

#[derive(Debug, clap::Args)]
struct ActivationArgs {
    /// Non-linearity
    #[arg(long, value_name = "NAME", default_value = "relu")]
    #[arg(value_parser = named::<Activation>(&["relu", "tanh"]))]
    activation: Activation,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct FormatArgs {
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl PresetArgs {
    pub(super) fn resolve(self) -> arch::Settings {
        let (preset, format) = match self {
            Self::Mlp(MlpArgs { task, hidden, activation, format }) => {
                let (TaskArgs { input, classes }, activation) = (task, activation.activation);
                (Preset::Mlp(Mlp { input, classes, hidden: hidden.0, activation }), format)
            }
            Self::Cnn(CnnArgs { task, stack, hidden, activation, format }) => {
                let (TaskArgs { input, classes }, activation) = (task, activation.activation);
                let (stack, hidden) = (stack.0, hidden.0);
                (Preset::Cnn(Cnn { input, classes, stack, hidden, activation }), format)
            }
            Self::Resnet(ResNetArgs { task, depth, width, normalisation, shortcut, format }) => {
                let TaskArgs { input, classes } = task;
                let resnet = ResNet { input, classes, depth, width, normalisation, shortcut };
                (Preset::Resnet(resnet), format)
            }
        };
        arch::Settings { preset, format: format.resolve() }
    }
}

impl FormatArgs {
    fn resolve(&self) -> arch::Format {
        match self {
            Self { markdown: true, .. } => arch::Format::Markdown,
            Self { json: true, .. } => arch::Format::Json,
            _ => arch::Format::Text,
        }
    }
}

/// Elements with commas between them; `none` is the empty list.
#[derive(Clone, Debug)]
struct List<T>(Vec<T>);

impl<T> List<T> {
    fn parse(text: &str, element: impl Fn(&str) -> Result<T>) -> Result<Self> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        text.split(',').map(element).collect::<Result<_>>().map(Self)
    }
}

fn units(text: &str) -> Result<List<usize>> {
    List::parse(text, |element| {
        element.trim().parse().map_err(|_| Error::Unreadable {
            text: element.to_owned(),
            expected: "a number of units; write 512,512 or none",
        })
    })
}

fn stages(text: &str) -> Result<List<Stage>> {
    List::parse(text, str::parse)
}
