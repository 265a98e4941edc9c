//! `onebasin align`: permutes the units of posteriors so that similar units have the same index.

use super::run_stage;
use crate::options::{MachineArgs, ResultArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use onebasin::experiment::stages::align::AlignResult;
use onebasin::experiment::{Align, AlignSettings, Section};
use onebasin_report::stages::align;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct AlignArgs {
    /// Posteriors: files, or folders of trainings
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
}

/// Aligns by each criterion and solver: in the folder itself, if there is one combination, else in a folder for each.
pub(crate) fn run(args: &AlignArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let AlignArgs { posteriors, output, settings, machine, result } = args;
    // As a whole: no combination alone shows that a list names something twice.
    settings.check().map_err(as_flag)?;
    let combinations = settings.combinations();
    let mut status = ExitStatus::Success;
    for settings in combinations.clone() {
        let name = format!("{}-{}", settings.criteria[0], settings.solvers[0]);
        let folder = if combinations.len() == 1 { output.clone() } else { output.join(name) };
        let stage = Align { settings, posteriors: posteriors.clone() };
        let mut changed = false;
        let ended = run_stage(&stage, Some(&folder), machine, result, printer, |found| {
            for (file, change) in found.written() {
                let file = folder.join(file);
                let change_of_logits = format!("{}: logits changed by {change:.1e} of the largest", file.display());
                if AlignResult::is_rounding(change) {
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
