//! `onebasin align`: permutes the units of posteriors so that similar units have the same index.

use super::run_stage;
use crate::options::{MachineArgs, NetworkArgs, ResultArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use onebasin::experiment::stages::align_network::PermutedCheckpoint;
use onebasin::experiment::{Align, AlignNetwork, AlignSettings, Section};
use onebasin::foreign::Checked;
use onebasin::symmetry::is_rounding;
use onebasin_report::stages::{align, align_network};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct AlignArgs {
    /// Posteriors: files, or folders of trainings; with --network, checkpoints of that network
    #[arg(value_name = "POSTERIOR", required = true, num_args = 1..)]
    posteriors: Vec<PathBuf>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    pub(crate) settings: AlignSettings,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    result: ResultArgs,
    /// Network of another library: an ONNX file, an exported program of PyTorch (.pt2), or a symmetry (.toml)
    #[arg(long, value_name = "FILE", help_heading = "Networks of other libraries")]
    network: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Networks of other libraries")]
    foreign: NetworkArgs,
}

impl AlignArgs {
    /// The alignment of checkpoints of a network.
    fn with_network(&self, network: &Path, settings: AlignSettings) -> AlignNetwork {
        AlignNetwork {
            settings,
            reading: self.foreign.reading(),
            network: network.to_owned(),
            checkpoints: self.posteriors.clone(),
        }
    }
}

/// Says how it is known that the function is the same.
fn say_checked(member: &PermutedCheckpoint, folder: &Path, printer: &Printer) {
    let file = folder.join(&member.file);
    printer.say(&match &member.checked {
        Checked::Run { inputs, change } => format!(
            "{}: outputs changed by {change:.1e} of the largest on {inputs} random inputs, which is rounding",
            file.display()
        ),
        Checked::ByGraph { reason } => format!(
            "{}: the graph says that the function is the same; the network was not run, because {reason}",
            file.display()
        ),
    });
}

/// Aligns by each criterion and solver: in the folder itself, if there is one combination, else in a folder for each.
pub(crate) fn run(args: &AlignArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let AlignArgs { posteriors, output, settings, machine, result, .. } = args;
    // As a whole: no combination alone shows that a list names something twice.
    settings.check().map_err(as_flag)?;
    let combinations = settings.combinations();
    let mut status = ExitStatus::Success;
    for settings in combinations.clone() {
        let name = format!("{}-{}", settings.criteria[0], settings.solvers[0]);
        let folder = if combinations.len() == 1 { output.clone() } else { output.join(name) };
        if let Some(network) = &args.network {
            let stage = args.with_network(network, settings);
            let ended = run_stage(&stage, Some(&folder), machine, result, printer, |found| {
                found.members.iter().for_each(|member| say_checked(member, &folder, printer));
                align_network::text(found)
            })?;
            match ended {
                ExitStatus::Success => continue,
                stopped => return Ok(stopped),
            }
        }
        let stage = Align { settings, posteriors: posteriors.clone() };
        let mut changed = false;
        let ended = run_stage(&stage, Some(&folder), machine, result, printer, |found| {
            for (file, change) in found.written() {
                let file = folder.join(file);
                let change_of_logits = format!("{}: logits changed by {change:.1e} of the largest", file.display());
                if is_rounding(change) {
                    printer.say(&format!("{change_of_logits}, which is rounding"));
                } else {
                    printer.insist(&format!("{change_of_logits}: it is NOT the same function"));
                }
            }
            changed = found.changed().is_some();
            align::text(found)
        })?;
        match ended {
            ExitStatus::Success if changed => status = ExitStatus::Problem,
            ExitStatus::Success => {}
            stopped => return Ok(stopped),
        }
    }
    Ok(status)
}
