//! The commands, each with its arguments; and how a stage of the library is run and printed.

pub(crate) mod align;
pub(crate) mod arch;
pub(crate) mod cluster;
pub(crate) mod data;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod report;
pub(crate) mod run;
mod shares;
pub(crate) mod show;
pub(crate) mod symmetry;
pub(crate) mod train;

use crate::host::{Signals, Terminal};
use crate::options::{MachineArgs, ResultArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use anyhow::Context as _;
use onebasin::error::Error;
use onebasin::experiment::{Context, Stage, json, run_alone};
use std::path::Path;

/// Runs a stage whose settings were typed: in a folder, if one is named, else without leaving anything; prints the result.
fn run_stage<S: Stage>(
    stage: &S,
    output: Option<&Path>,
    machine: &MachineArgs,
    result: &ResultArgs,
    printer: &Printer,
    text: impl FnOnce(&S::Result) -> String,
) -> anyhow::Result<ExitStatus> {
    let (signals, data) = (Signals::listen()?, machine.data.folder());
    let found = {
        let host = Terminal::new(printer, &signals);
        let context = Context { pool: machine.pool(printer)?, data: &data, host: &host };
        match output {
            Some(folder) => run_alone(stage, folder, result.force, &context),
            None if result.force => anyhow::bail!("--force needs a folder to replace; name one with -o"),
            None => stage.run(&context, None).map(|found| (found, false)),
        }
    };
    let (found, cached) = match found {
        Err(Error::Stopped) => {
            let state = output.zip(S::UNFINISHED).is_some_and(|(folder, state)| folder.join(state).exists());
            let left = if state { "state saved; the same command continues" } else { "nothing was written" };
            let folder = output.map_or_else(String::new, |folder| format!("{}: ", folder.display()));
            printer.say(&format!("{folder}stopped; {left}"));
            return Ok(ExitStatus::Signal(signals.received()));
        }
        found => found.map_err(as_flag)?,
    };
    if let Some(folder) = output {
        let file = folder.join(S::RESULT);
        let state = if cached { "result, up to date" } else { "result" };
        printer.say(&format!("{state}: {}", file.display()));
    }
    printer.data(&if result.json { json(&found) } else { text(&found) })?;
    Ok(ExitStatus::Success)
}

/// Reads a text file.
fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
