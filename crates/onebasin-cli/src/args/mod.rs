//! What can be typed on the command line, and how it becomes settings.

mod arch;
mod barrier;
mod compact;
mod pair;
mod plane;
mod run;

use crate::commands::Settings;
use crate::commands::align;
use crate::commands::completions;
use crate::commands::data;
use crate::commands::train;
use arch::PresetArgs;
use barrier::BarrierArgs;
use clap::Parser;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap_complete::Shell;
use compact::CompactArgs;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::align::Start;
use onebasin::symmetry::PRIOR_THRESHOLD;
use plane::PlaneArgs;
use run::ReportArgs;
use run::RunArgs;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::StringDeserializer;
use std::path::PathBuf;
use std::time::Duration;

/// Brings neural-network posteriors into one basin.
#[derive(Debug, Parser)]
#[command(name = "onebasin", version, max_term_width = 100)]
#[command(after_help = "Example:\n  onebasin run experiments/digits.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Align posteriors: permute units so that those that do the same stand in the same place
    ///
    /// Reads posteriors that `onebasin train` wrote, of networks of one architecture. Writes the permuted posteriors, which
    /// predict what they predicted before, their permutations, and alignment.json with all that is known of them.
    ///
    /// Exit codes: 0 aligned, 1 a network's function has changed by more than rounding, 2 wrong input.
    #[command(after_help = "Example:\n  onebasin align runs/seed1 runs/seed2 -o runs/aligned")]
    Align(AlignArgs),
    /// Describe a network: its tensors, its hidden layers, its size and its cost
    #[command(subcommand, after_help = "Example:\n  onebasin arch mlp --hidden 512,512,512")]
    Arch(PresetArgs),
    /// Measure barriers: how much loss and error rise on the way from one posterior to another
    ///
    /// Goes along the Wasserstein geodesic, whose means and standard deviations go straight from A to B, for B as it is and
    /// with its units permuted to be where their like is in A; and along other ways, if they are named. The loss is that
    /// of the predictive distribution; what it rises by is measured from the line between its ends, and comes with a
    /// standard error. The mixture of A and B is the reference that nothing is lost on.
    ///
    /// Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing written).
    #[command(
        after_help = "Example:\n  onebasin barrier runs/seed1 runs/seed2 --path geodesic,natural-rescaled -o runs/barrier"
    )]
    Barrier(BarrierArgs),
    /// Put one Gaussian in the place of many samples, and measure what that costs
    ///
    /// Reads samples that `onebasin train` wrote and fits Gaussians to them, as they are and with their units brought in line,
    /// diagonal and of low rank; with `--distil`, diagonal ones also learn what the samples predict. Compares what each predicts
    /// on the test images with what the samples predict: agreement is the part of the images with the same most probable
    /// class, TV the total variation. Writes the Gaussians, as posteriors, and measures.json with all that is known of them.
    #[command(after_help = "Example:\n  onebasin compact runs/digits-hmc -o runs/digits-compact --distil 200")]
    Compact(CompactArgs),
    /// Print a script with which a shell completes what is typed
    #[command(
        after_help = "Example:\n  onebasin completions bash > ~/.local/share/bash-completion/completions/onebasin"
    )]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// List, download and verify data sets
    #[command(subcommand, after_help = "Example:\n  onebasin data get mnist")]
    Data(DataCommand),
    /// Measure a plane: loss, error and log posterior around two posteriors and the second one aligned
    ///
    /// The plane goes through the means of A, of B, and of B with its units permuted to be where their like is in A. On a grid, and
    /// at these three places themselves, looks at the network at that place and, with --samples, at the predictive distribution of
    /// the Gaussian there: its standard deviations are those of the three, mixed by their barycentric coordinates, of
    /// which those below zero, outside of the triangle, count as zero.
    ///
    /// Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing written).
    #[command(after_help = "Example:\n  onebasin plane runs/seed1 runs/seed2 -o runs/plane")]
    Plane(PlaneArgs),
    /// Make one page of what experiments measured: figures, tables and where they come from
    ///
    /// Writes index.html, which needs no other file, report.md, and the figures as SVG, PNG and CSV. `onebasin run` does this
    /// in the end; here several experiments can come onto one page.
    #[command(after_help = "Example:\n  onebasin report runs/mnist runs/fashion-mnist -o docs/results.md")]
    Report(ReportArgs),
    /// Run a whole experiment: train, align, measure, and report
    ///
    /// What is there already, of the same inputs, is not done again; a run that was stopped or killed is continued by the same
    /// command, with the same results. Posteriors and cells of a sweep are worked at side by side, one on each core. Data
    /// that are missing are downloaded.
    ///
    /// Exit codes: 0 finished, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (all that is finished stays).
    #[command(after_help = "Example:\n  onebasin run experiments/digits.toml --set barrier.samples=32 -o runs/quick")]
    Run(RunArgs),
    /// Infer a posterior: MAP, variational inference, ensembles or Hamiltonian Monte Carlo
    ///
    /// Writes posterior.safetensors, result.json, metrics.jsonl, TensorBoard events and the whole configuration into one
    /// folder. A run that was stopped or killed is continued by the same command, with the same result.
    ///
    /// Exit codes: 0 finished, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (state saved).
    #[command(
        after_help = "Example:\n  onebasin train experiments/train/digits-vi.toml --set infer.optimise.epochs=20 -o runs/digits"
    )]
    Train(TrainArgs),
}

#[derive(Debug, clap::Args)]
struct AlignArgs {
    /// Posteriors: files, or folders of runs
    #[arg(value_name = "POSTERIOR", required = true, num_args = 1..)]
    posteriors: Vec<PathBuf>,
    /// The folder that is written
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// What all are aligned with: the first, the mean of all others in turn, a common order sought for all at once, or, for
    /// samples one by one, the Gaussian that fits them
    #[arg(long, value_name = "NAME", default_value = "first")]
    #[arg(value_parser = named::<align::To>(&["first", "mean", "universe", "relabel"]))]
    to: align::To,
    /// What makes two units alike: mean weights, these and their standard deviations, divergences, or activations on the
    /// training images of the first posterior
    #[arg(long, value_name = "NAME", default_value = "w2")]
    #[arg(value_parser = named::<Channel>(&["mean", "w2", "kl", "jeffreys", "activation"]))]
    channel: Channel,
    /// At most so many images for `activation`, from the first on [default: 5000]
    #[arg(long, value_name = "N")]
    images: Option<usize>,
    /// At most so many points of each posterior for `activation` [default: 10]
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    #[command(flatten)]
    data: DataArgs,
    /// How permutations are sought; `best` tries all
    #[arg(long, value_name = "NAME", default_value = "best")]
    #[arg(value_parser = named::<Solver>(&["descent", "forward", "frank-wolfe", "best"]))]
    solver: Solver,
    /// Where `descent` begins
    #[arg(long, value_name = "NAME", default_value = "identity")]
    #[arg(value_parser = named::<Start>(&["identity", "random"]))]
    start: Start,
    /// Decides the order of `descent` and its random start
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    /// Balance the scales of relu units before, in the first posterior too
    #[arg(long)]
    balance: bool,
    #[arg(long, value_name = "NATS")]
    #[arg(help = format!("Units nearer to the prior than this have no vote; {PRIOR_THRESHOLD} is a good value"))]
    leave_out_prior: Option<f64>,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Remove what an earlier alignment left in the folder
    #[arg(long)]
    force: bool,
    /// Print alignment.json instead of tables
    #[arg(long)]
    json: bool,
}

impl AlignArgs {
    fn resolve(self) -> align::Settings {
        let asked = self.channel == Channel::Activation || self.images.is_some() || self.draws.is_some();
        let align::Activation { images, draws } = align::Activation::default();
        let activation =
            align::Activation { images: self.images.unwrap_or(images), draws: self.draws.unwrap_or(draws) };
        align::Settings {
            posteriors: self.posteriors,
            output: self.output,
            data: self.data.resolve(),
            method: align::Method {
                to: self.to,
                channel: self.channel,
                solver: self.solver,
                start: self.start,
                seed: self.seed,
                balance: self.balance,
                leave_out_prior: self.leave_out_prior,
                activation: asked.then_some(activation),
            },
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
enum DataCommand {
    /// Print which data sets there are, and which of them are on this machine
    #[command(after_help = "Example:\n  onebasin data list")]
    List {
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Download a data set; resumes what was interrupted
    #[command(after_help = "Example:\n  onebasin data get mnist")]
    Get {
        /// Which; `onebasin data list` prints all
        name: String,
        #[command(flatten)]
        data: DataArgs,
        /// Address that becomes that of a file by adding its name [default: public mirrors]
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
    },
    /// Compare the checksums of data sets and read all their images; exits with 1 if something is wrong
    #[command(after_help = "Example:\n  onebasin data verify mnist cifar10")]
    Verify {
        /// Which; if none is given, all that are on this machine
        names: Vec<String>,
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
}

/// Where data sets are.
#[derive(Debug, clap::Args)]
struct DataArgs {
    /// Folder of the data sets [default: `onebasin` in the platform's folder for data]
    #[arg(long, value_name = "DIR", env = "ONEBASIN_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct TrainArgs {
    /// The configuration; see experiments/train/ for examples
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Change one setting of the configuration; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// The folder of the run [default: runs/ and the name of the configuration]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    save_every: u64,
    /// Begin anew: remove what an earlier run left in the folder, whatever its settings
    #[arg(long)]
    force: bool,
    /// Print result.json instead of a table
    #[arg(long)]
    json: bool,
}

impl TrainArgs {
    fn resolve(self) -> train::Settings {
        let name = self.config.file_stem().unwrap_or_default().to_owned();
        train::Settings {
            output: self.output.unwrap_or_else(|| PathBuf::from("runs").join(name)),
            config: self.config,
            overrides: self.overrides,
            data: self.data.resolve(),
            threads: self.threads,
            save_every: Duration::from_secs(self.save_every),
            force: self.force,
            json: self.json,
        }
    }
}

impl Args {
    /// The command to run, with everything it needs to know.
    pub(crate) fn resolve(self) -> Settings {
        match self.command {
            Command::Align(align) => Settings::Align(align.resolve()),
            Command::Arch(preset) => Settings::Arch(preset.resolve()),
            Command::Barrier(barrier) => Settings::Barrier(barrier.resolve()),
            Command::Compact(compact) => Settings::Compact(compact.resolve()),
            Command::Plane(plane) => Settings::Plane(plane.resolve()),
            Command::Completions { shell } => Settings::Completions(completions::Settings { shell }),
            Command::Report(report) => Settings::Report(report.resolve()),
            Command::Run(run) => Settings::Run(run.resolve()),
            Command::Train(train) => Settings::Train(train.resolve()),
            Command::Data(command) => Settings::Data(command.resolve()),
        }
    }
}

impl DataCommand {
    fn resolve(self) -> data::Settings {
        let (data, action) = match self {
            Self::List { data, json } => (data, data::Action::List { json }),
            Self::Get { name, data, mirror } => (data, data::Action::Get { name, mirror }),
            Self::Verify { names, data, json } => (data, data::Action::Verify { names, json }),
        };
        data::Settings { dir: data.resolve(), action }
    }
}

impl DataArgs {
    /// Whoever has no home has the data in the current folder.
    fn resolve(self) -> PathBuf {
        self.data.unwrap_or_else(|| dirs::data_dir().unwrap_or_default().join("onebasin"))
    }
}

/// One of `names`, read as configuration files read it.
fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).map(|name| {
        let deserializer: StringDeserializer<serde::de::value::Error> = name.into_deserializer();
        T::deserialize(deserializer).expect("every name offered is one the library knows")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use onebasin::arch::Preset;

    fn preset(line: &str) -> Preset {
        let Settings::Arch(settings) = Args::parse_from(line.split(' ')).resolve() else {
            panic!("`{line}` is another command");
        };
        settings.preset
    }

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_configuration_files() {
        for (line, json) in [
            ("onebasin arch mlp", r#"{"preset": "mlp", "input": "28x28x1", "classes": 10, "hidden": [512, 512, 512]}"#),
            (
                "onebasin arch cnn",
                r#"{"preset": "cnn", "input": "28x28x1", "classes": 10, "stack": ["16", "max", "32", "max"]}"#,
            ),
            ("onebasin arch resnet", r#"{"preset": "resnet", "input": "32x32x3", "classes": 10}"#),
        ] {
            assert_eq!(preset(line), serde_json::from_str(json).unwrap(), "{line}");
        }
    }

    #[test]
    fn every_name_offered_to_align_is_read() {
        for (option, names) in [
            ("channel", &["mean", "w2", "kl", "jeffreys", "activation"][..]),
            ("solver", &["descent", "forward", "frank-wolfe", "best"]),
            ("start", &["identity", "random"]),
            ("to", &["first", "mean", "universe", "relabel"]),
        ] {
            for name in names {
                let line = format!("onebasin align a b -o c --{option} {name}");
                let Settings::Align(settings) = Args::parse_from(line.split(' ')).resolve() else {
                    panic!("`{line}` is another command");
                };
                assert_eq!(serde_json::to_value(settings.method).unwrap()[option], *name);
            }
        }
    }

    #[test]
    fn defaults_of_align_are_those_of_the_library() {
        let Settings::Align(align::Settings { method, .. }) =
            Args::parse_from("onebasin align a b -o c".split(' ')).resolve()
        else {
            panic!("it is another command");
        };
        let onebasin::align::Settings { channel, solver, start, seed } = onebasin::align::Settings::default();
        assert_eq!((method.channel, method.solver, method.start, method.seed), (channel, solver, start, seed));
    }

    #[test]
    fn every_name_offered_is_read() {
        for (option, names) in [
            ("mlp --activation", &["relu", "tanh"][..]),
            ("resnet --normalisation", &["none", "layer", "frn"]),
            ("resnet --shortcut", &["projection", "padded"]),
        ] {
            for name in names {
                let preset = preset(&format!("onebasin arch {option} {name}"));
                assert!(serde_json::to_string(&preset).unwrap().contains(&format!("\"{name}\"")));
            }
        }
    }
}
