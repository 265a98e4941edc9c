//! `onebasin barrier`, `onebasin plane` and `onebasin compact`: what is measured of posteriors that are trained.

use super::run::{execute, typed};
use super::run_stage;
use crate::options::{MachineArgs, NetworkArgs, ResultArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use onebasin::experiment::{
    Barrier, BarrierNetwork, BarrierSettings, BatchNorm, Compact, CompactNetwork, CompactSettings, Experiment, Known,
    NetworkInputs, PairInputs, Plane, PlaneNetwork, PlaneSettings,
};
use onebasin_report::stages::{barrier, compact, plane};
use std::ffi::OsString;
use std::path::PathBuf;

/// Two posteriors between which something is measured.
#[derive(Debug, clap::Args)]
struct PairArgs {
    /// Posterior that stays: a file, or the folder of a training; with --network, a checkpoint of that network
    #[arg(value_name = "A")]
    from: PathBuf,
    /// Posterior whose units are permuted
    #[arg(value_name = "B")]
    to: PathBuf,
    /// Folder to write: measures.json and all points as comma-separated values [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Permutations of B that `onebasin align` wrote, or its alignment.json [default: none]
    #[arg(long, value_name = "FILE")]
    alignment: Option<PathBuf>,
}

impl PairArgs {
    fn inputs(&self) -> PairInputs {
        let known = |file: &PathBuf| (file.display().to_string(), Known::File(file.clone()));
        let alignments = self.alignment.iter().map(known).collect();
        PairInputs { posteriors: [self.from.clone(), self.to.clone()], alignments }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct BarrierArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// More posteriors: the barriers of all pairs are measured, and -o names the folder of an experiment
    #[arg(value_name = "C", requires = "output", conflicts_with_all = ["alignment", "no_criteria", "force", "network"])]
    more: Vec<PathBuf>,
    /// Measure the posteriors only as they are, or with --alignment, and solve no alignment
    #[arg(long, conflicts_with = "criteria")]
    no_criteria: bool,
    #[command(flatten)]
    pub(crate) settings: BarrierSettings,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    foreign: ForeignArgs,
    /// What becomes of the statistics of batch normalisations along a path
    #[arg(
        long,
        value_name = "NAME",
        default_value = "recompute",
        requires = "network",
        help_heading = "Networks of other libraries"
    )]
    batchnorm: BatchNorm,
}

/// A network of another library, and the examples to measure its checkpoints on.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Networks of other libraries")]
struct ForeignArgs {
    /// Network of another library, an ONNX file, whose checkpoints are measured
    #[arg(long, value_name = "FILE", requires_all = ["inputs", "answers"])]
    network: Option<PathBuf>,
    /// Examples (example, ...) as the network reads them: a NumPy array (.npy), or the array `x` of an archive (.npz)
    #[arg(long, value_name = "FILE", requires = "network")]
    inputs: Option<PathBuf>,
    /// Class of each example: a NumPy array (.npy), or the array `y` of an archive (.npz)
    #[arg(long, value_name = "FILE", requires = "network", group = "answers")]
    labels: Option<PathBuf>,
    /// Numbers to be predicted (example, output) in place of classes, a regression: a NumPy array (.npy), or `y` of an archive
    #[arg(long, value_name = "FILE", requires = "network", group = "answers")]
    targets: Option<PathBuf>,
    #[command(flatten)]
    reading: NetworkArgs,
}

impl ForeignArgs {
    /// The network and what is read with it, if there is one.
    fn inputs(&self, checkpoints: Vec<PathBuf>) -> Option<NetworkInputs> {
        Some(NetworkInputs {
            reading: self.reading.reading(),
            network: self.network.clone()?,
            checkpoints,
            inputs: self.inputs.clone()?,
            labels: self.labels.clone().or_else(|| self.targets.clone())?,
            regression: self.targets.is_some(),
        })
    }
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("alignment", |alignment| alignment.conflicts_with("criterion")))]
pub(crate) struct PlaneArgs {
    #[command(flatten)]
    pair: PairArgs,
    #[command(flatten)]
    pub(crate) settings: PlaneSettings,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    foreign: ForeignArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// Samples of Markov chains or ensembles: files, or folders of trainings; with --network, checkpoints of that network
    #[arg(value_name = "SAMPLES", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    pub(crate) settings: CompactSettings,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    foreign: ForeignArgs,
}

pub(crate) fn barrier(args: BarrierArgs, words: &[OsString], printer: &Printer) -> anyhow::Result<ExitStatus> {
    let BarrierArgs { pair, more, no_criteria, mut settings, foreign, batchnorm, machine, result } = args;
    if no_criteria {
        settings.criteria.clear();
    }
    if let Some(folder) = pair.output.as_ref().filter(|_| !more.is_empty()) {
        let posteriors = [vec![pair.from, pair.to], more].concat();
        let experiment = Experiment::of_posteriors(&posteriors, &settings, typed(words)).map_err(as_flag)?;
        return execute(&experiment, folder, &machine, false, result.json, printer);
    }
    if let Some(inputs) = foreign.inputs(vec![pair.from.clone(), pair.to.clone()]) {
        let (stage, output) = (BarrierNetwork { settings, batchnorm, inputs }, pair.output.as_deref());
        return run_stage(&stage, output, &machine, &result, printer, |found| barrier::table(found).text());
    }
    let stage = Barrier { settings, inputs: pair.inputs() };
    run_stage(&stage, pair.output.as_deref(), &machine, &result, printer, |found| barrier::table(found).text())
}

pub(crate) fn plane(args: PlaneArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let PlaneArgs { pair, settings, foreign, machine, result } = args;
    if let Some(inputs) = foreign.inputs(vec![pair.from.clone(), pair.to.clone()]) {
        let stage = PlaneNetwork { settings, inputs };
        return run_stage(&stage, pair.output.as_deref(), &machine, &result, printer, plane::text);
    }
    let stage = Plane { settings, inputs: pair.inputs() };
    run_stage(&stage, pair.output.as_deref(), &machine, &result, printer, plane::text)
}

pub(crate) fn compact(args: CompactArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let CompactArgs { files, output, settings, foreign, machine, result } = args;
    if let Some(inputs) = foreign.inputs(files.clone()) {
        let stage = CompactNetwork { settings, inputs };
        return run_stage(&stage, Some(&output), &machine, &result, printer, compact::text);
    }
    run_stage(&Compact { settings, samples: files }, Some(&output), &machine, &result, printer, compact::text)
}
