//! What can be typed on the command line; the settings of stages are the library's own.

use crate::commands::{align, arch, cluster, data, help, init, man, measure, report, run, show, symmetry, train};
use crate::printer::{ExitStatus, Messages, Printer};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use std::ffi::OsString;

/// Flags that have another name now.
const RENAMED: &[(&str, &str)] = &[
    ("--channel", "--criteria (`onebasin plane`: --criterion)"),
    ("--images", "--train-examples, --test-examples or --examples"),
    ("--leave-out-prior", "--exclude-prior"),
    ("--no-alignment", "--no-criteria"),
    ("--path", "--paths"),
    ("--rank", "--ranks"),
    ("--solver", "--solvers"),
    ("--split", "--splits"),
    ("--test-images", "--test-examples"),
    ("--to", "--relabellings"),
];

/// Brings neural-network posteriors into one basin.
#[derive(Debug, Parser)]
#[command(name = "onebasin", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Example:\n  onebasin run experiments/digits.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results and errors only, no messages and no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Messages")]
    quiet: bool,
    /// Print more messages: the machine, and the time of each task; with --version, what the program was built from
    #[arg(short, long, global = true, help_heading = "Messages")]
    verbose: bool,
}

impl Args {
    /// Which messages are printed.
    pub(crate) fn messages(&self) -> Messages {
        match self {
            Self { quiet: true, .. } => Messages::Quiet,
            Self { verbose: true, .. } => Messages::Verbose,
            _ => Messages::Usual,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Align posteriors: permute hidden units so that similar units have the same index
    ///
    /// Reads posteriors of one architecture that `onebasin train` wrote. Writes the permuted posteriors, which compute the
    /// same functions as before, their permutations, and alignment.json with objective, bound and distances. Several
    /// criteria or solvers give a folder each.
    ///
    /// With --network, reads checkpoints of any network: safetensors, PyTorch or NumPy files, of points or of mean-field
    /// posteriors. Writes the same files with the units permuted and every other byte as it was. An ONNX network is also run on
    /// random inputs, with the file on disk, to show that its function is the same.
    ///
    /// Exit codes: 0 aligned, 1 a network's function changed by more than rounding, 2 wrong input, 130 stopped by SIGINT,
    /// 143 stopped by SIGTERM.
    #[command(
        after_help = "Example:\n  onebasin align runs/seed1 runs/seed2 -o runs/aligned\n  onebasin align a.pt b.pt --network net.onnx -o aligned"
    )]
    Align(align::AlignArgs),
    /// Describe a network: its tensors, its hidden layers, its size and its cost
    #[command(after_help = "Example:\n  onebasin arch mlp --hidden 512,512,512")]
    Arch(arch::ArchArgs),
    /// Measure the loss and error barriers between two posteriors, or between all pairs of several
    ///
    /// Follows the Wasserstein geodesic from A to B, and from A to B aligned, and other paths if they are named. The loss
    /// is that of the predictive distribution. A barrier is the largest rise of the loss above the line between its ends,
    /// and comes with a Monte Carlo standard error. The mixture of A and B is the reference: its loss has no barrier.
    ///
    /// With more than two posteriors, all pairs are measured as an experiment, which the same command continues after an
    /// interruption: its folder has matrices of barriers and distances in report/ and pairs.csv. With --reference the
    /// posteriors are aligned with one reference instead of pair by pair.
    ///
    /// With --network, A and B are checkpoints of any network in an ONNX file, which is run on your own examples.
    ///
    /// Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (curves that were finished are kept).
    #[command(
        after_help = "Example:\n  onebasin barrier runs/seed1 runs/seed2 --paths geodesic,natural-rescaled -o runs/barrier\n  onebasin barrier runs/seed1 runs/seed2 runs/seed3 --reference universe -o runs/all-pairs\n  onebasin barrier a.pt b.pt --network net.onnx --inputs x.npy --labels y.npy"
    )]
    Barrier(measure::BarrierArgs),
    /// Do an experiment on a cluster: scripts for Slurm and HyperQueue
    #[command(
        subcommand,
        after_help = "Example:\n  onebasin cluster slurm sweep.toml --time 4:00:00 --cpus 4 --mem 8G --submit"
    )]
    Cluster(cluster::ClusterCommand),
    /// Replace many samples by one Gaussian, and measure what that costs
    ///
    /// Reads samples that `onebasin train` wrote and fits Gaussians to them, as they are and relabelled, diagonal and of low
    /// rank. With `--distil`, diagonal Gaussians are also distilled from the predictions of the samples. Compares the
    /// predictions of each with those of the samples on test examples: agreement is the share of equal predicted classes, TV
    /// the total variation. Writes the Gaussians, as posteriors, and measures.json.
    ///
    /// Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing written).
    #[command(after_help = "Example:\n  onebasin compact runs/digits-hmc -o runs/digits-compact --distil 200")]
    Compact(measure::CompactArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  onebasin completions bash > ~/.local/share/bash-completion/completions/onebasin"
    )]
    Completions {
        /// Shell that will read the script
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// List, download and verify data sets
    #[command(subcommand, after_help = "Example:\n  onebasin data get mnist")]
    Data(data::DataCommand),
    /// Print the help of a command, or of all keys of configurations
    #[command(
        after_help = "Example:\n  onebasin help data get\n  onebasin help keys\n  onebasin help keys infer.optimise"
    )]
    Help(help::HelpArgs),
    /// Write a configuration with comments that explain every key
    ///
    /// Keys that are not set stand in comments, with their defaults. Every kind uses the built-in digits and runs in seconds.
    #[command(after_help = "Example:\n  onebasin init sweep -o mine.toml\n  onebasin run mine.toml")]
    Init(init::InitArgs),
    /// Write manual pages
    #[command(after_help = "Example:\n  onebasin man -o ~/.local/share/man/man1")]
    Man(man::ManArgs),
    /// Measure loss, error and log posterior on the plane through two posteriors and the second one aligned
    ///
    /// The plane goes through the means of A, of B, and of B aligned with A. At each point of a grid, and at the three
    /// posteriors themselves, measures the network at that point and, with --samples, the predictive distribution of a
    /// Gaussian there. Its standard deviations are those of the three, mixed by barycentric coordinates; negative
    /// coordinates, outside of the triangle, count as zero.
    ///
    /// Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing written).
    #[command(after_help = "Example:\n  onebasin plane runs/seed1 runs/seed2 -o runs/plane")]
    Plane(measure::PlaneArgs),
    /// Write the report of experiments: figures, tables and provenance on one page
    ///
    /// Writes index.html, which needs no other file, report.md, and the figures as SVG, PNG and CSV. `onebasin run` does the
    /// same at its end; here several experiments can share one page.
    #[command(after_help = "Example:\n  onebasin report runs/mnist runs/fashion-mnist -o docs/results.md")]
    Report(report::ReportArgs),
    /// Run a whole experiment: train, align, measure and report
    ///
    /// Skips stages that are up to date. The same command continues a run that was stopped or killed, with the same
    /// results. Runs as many stages at a time as there are cores. Downloads data sets that are missing.
    ///
    /// A training that diverges, or whose chains stand still, is left out with whatever needs it; all else is measured, and
    /// the report names what failed.
    ///
    /// Many processes can share an experiment, on one machine or on all that see its folder: each does one share (--cell) or
    /// several (--cells), any of them may be killed, and --merge writes the report. The result is the same.
    ///
    /// Exit codes: 0 finished, 2 wrong input, 3 a training diverged or, with --merge, is not done, 130 stopped by SIGINT,
    /// 138 by SIGUSR1, 143 by SIGTERM (finished stages are kept).
    #[command(
        after_help = "Example:\n  onebasin run experiments/digits.toml --set barrier.samples=32 -o runs/quick\n  onebasin run sweep.toml --cells 1/3\n  onebasin run sweep.toml --status"
    )]
    Run(run::RunArgs),
    /// Say what a file or folder of onebasin is, and what is in it
    ///
    /// Knows posteriors, checkpoints, permutations, results, configurations, and the folders of trainings, alignments,
    /// measurements and experiments, finished or not.
    #[command(after_help = "Example:\n  onebasin show runs/seed1")]
    Show(show::ShowArgs),
    /// Find which units of a network can be permuted without a change of its function
    ///
    /// Reads the graph of a network, follows its axes through all operations, and prints the groups of units that can be
    /// permuted, what they are in every tensor, and why all others stay fixed: a file that a person can read and edit, and that
    /// other commands take as --network. With --check, all groups of a checkpoint are permuted at random, and the outputs of
    /// the network before and after are compared.
    ///
    /// Exit codes: 0 found, 1 a network's function changed by more than rounding, 2 wrong input.
    #[command(
        after_help = "Example:\n  onebasin symmetry net.onnx > net.symmetry.toml\n  onebasin symmetry --check net.onnx a.pt"
    )]
    Symmetry(symmetry::SymmetryArgs),
    /// Train a posterior: MAP, variational inference, IVON, ensembles or Hamiltonian Monte Carlo
    ///
    /// Writes posterior.safetensors, result.json, metrics.jsonl, TensorBoard events and the whole configuration into one
    /// folder. The same command continues a training that was stopped or killed, with the same result. With --extend, one of
    /// fewer epochs, members, chains or samples is continued, to the posterior of a training that was as long from the start,
    /// unless the learning rate changes along a schedule.
    ///
    /// Exit codes: 0 finished, 2 wrong input, 3 diverged, or chains that stand still, 130 stopped by SIGINT, 143 stopped
    /// by SIGTERM (state saved).
    #[command(
        after_help = "Example:\n  onebasin train experiments/train/digits-vi.toml --set infer.optimise.epochs=20 -o runs/digits"
    )]
    Train(train::TrainArgs),
}

impl Command {
    /// Runs the command, which was typed in these words.
    pub(crate) fn run(self, words: &[OsString], printer: &Printer) -> anyhow::Result<ExitStatus> {
        match self {
            Self::Align(args) => align::run(&args, printer),
            Self::Arch(args) => arch::run(&args, printer),
            Self::Barrier(args) => measure::barrier(args, words, printer),
            Self::Cluster(command) => cluster::run(&command, printer),
            Self::Compact(args) => measure::compact(args, printer),
            Self::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Args::command(), "onebasin", &mut script);
                printer.data(&String::from_utf8(script)?)?;
                Ok(ExitStatus::Success)
            }
            Self::Data(command) => data::run(&command, printer),
            Self::Help(args) => help::run(&args, Args::command(), printer),
            Self::Init(args) => init::run(&args, printer),
            Self::Man(args) => man::run(&args, Args::command(), printer),
            Self::Plane(args) => measure::plane(args, printer),
            Self::Report(args) => report::run(&args, printer),
            Self::Run(args) => run::run(&args, printer),
            Self::Show(args) => show::run(&args, printer),
            Self::Symmetry(args) => symmetry::run(&args, printer),
            Self::Train(args) => train::run(&args, printer),
        }
    }
}

/// Whether the arguments ask for the version with all details, which clap would not print.
pub(crate) fn ask_for_details(error: &clap::Error, words: &[OsString]) -> bool {
    let verbose = || words.iter().any(|argument| argument == "--verbose" || argument == "-v");
    error.kind() == ErrorKind::DisplayVersion && verbose()
}

/// Prints what is wrong with the arguments, with the new name of a flag that was renamed, or the help that they ask for; returns the
/// status to exit with.
pub(crate) fn refuse(mut error: clap::Error) -> u8 {
    let typed = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if let Some((old, new)) = typed.and_then(|typed| RENAMED.iter().find(|(old, _)| *old == typed)) {
        let tip = format!("`{old}` is called {new} now");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    // If there is nobody to print to, the status is left.
    let _ = error.print();
    error.exit_code() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use onebasin::arch::Preset;
    use onebasin::experiment::{AlignSettings, BarrierSettings, CompactSettings, PlaneSettings};

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_configuration_files() {
        let parse = |line: &str| Args::parse_from(line.split(' ')).command;
        let Command::Align(align) = parse("onebasin align a b -o c") else { panic!("it is another command") };
        assert_eq!(align.settings, AlignSettings::default());
        let Command::Barrier(barrier) = parse("onebasin barrier a b") else { panic!("it is another command") };
        assert_eq!(barrier.settings, BarrierSettings::default());
        let Command::Plane(plane) = parse("onebasin plane a b") else { panic!("it is another command") };
        assert_eq!(plane.settings, PlaneSettings::default());
        let Command::Compact(compact) = parse("onebasin compact a -o c") else { panic!("it is another command") };
        assert_eq!(compact.settings, CompactSettings::default());
        for (line, json) in [
            ("mlp", r#"{"preset": "mlp", "input": "28x28x1", "classes": 10, "hidden": [512, 512, 512]}"#),
            ("cnn", r#"{"preset": "cnn", "input": "28x28x1", "classes": 10, "stack": ["16", "max", "32", "max"]}"#),
            ("resnet", r#"{"preset": "resnet", "input": "32x32x3", "classes": 10}"#),
        ] {
            let Command::Arch(arch) = parse(&format!("onebasin arch {line}")) else { panic!("it is another command") };
            assert_eq!(arch.preset, serde_json::from_str::<Preset>(json).unwrap(), "{line}");
        }
    }
}
