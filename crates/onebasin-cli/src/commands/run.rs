//! `onebasin run`: a whole experiment, from data to a report.

use super::{read, report};
use crate::download;
use crate::download::Needed;
use crate::host::{Signals, Terminal};
use crate::machine;
use crate::options::{MachineArgs, with_remedy};
use crate::printer::{ExitStatus, Printer};
use anyhow::bail;
use onebasin::error::Error;
use onebasin::experiment::{Context, EXPERIMENT, Experiment, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Experiment; see experiments/ for examples [default: that of the built-in digits]
    #[arg(value_name = "EXPERIMENT.toml")]
    experiment: Option<PathBuf>,
    /// Override one setting of the experiment; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// Folder of the experiment [default: runs/ and the name of the file]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArgs,
    /// Print measures.json instead of a figure and a table
    #[arg(long)]
    json: bool,
}

/// Trains, measures and reports whatever is not up to date.
pub(crate) fn run(args: &RunArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (file, text) = match &args.experiment {
        Some(path) => (path.display().to_string(), read(path)?),
        None => ("experiments/digits.toml".to_owned(), Experiment::DIGITS.to_owned()),
    };
    let experiment = Experiment::read(&file, &text, &args.overrides)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from("runs").join(&experiment.name));
    let written = folder.join(EXPERIMENT);
    if let Some(own) = &args.experiment
        && own.canonicalize().is_ok_and(|own| written.canonicalize().is_ok_and(|written| own == written))
    {
        bail!(
            "{} is where the folder keeps the experiment that runs in it; choose another folder with -o",
            own.display()
        );
    }
    execute(&experiment, &folder, &args.machine, args.json, printer)
}

/// Runs an experiment in a folder, and writes and prints its report.
pub(super) fn execute(
    experiment: &Experiment,
    folder: &Path,
    machine: &MachineArgs,
    as_json: bool,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let (pool, data_folder) = (machine.pool(printer)?, machine.data.folder());
    let data = data(experiment, &data_folder, printer)?;
    // Not before: a download that is interrupted can be resumed anyway.
    let (signals, started) = (Signals::listen()?, Instant::now());
    let computer = machine::describe(pool.threads());
    let found = {
        let host = Terminal::new(printer, &signals);
        experiment.run(folder, computer, data, &Context { pool, data: &data_folder, host: &host })
    };
    let measures = match found {
        Err(Error::Stopped) => {
            printer.say(&format!("{}: stopped; the same command continues", folder.display()));
            return Ok(ExitStatus::Signal(signals.received()));
        }
        found => found.map_err(with_remedy)?,
    };
    printer.say(&format!("{}: measured after {}", folder.display(), indicatif::HumanDuration(started.elapsed())));
    let status = report::write(&[folder.to_owned()], None, as_json, printer)?;
    let failures: Vec<&Failure> = measures.cells.iter().flat_map(|cell| &cell.failures).collect();
    for Failure { task, reason } in &failures {
        printer.say(&format!("failed: {task}: {reason}"));
    }
    Ok(if failures.is_empty() { status } else { ExitStatus::Diverged })
}

/// Makes sure that all data are there, downloads those that are not, and returns the checksums of their files.
fn data(experiment: &Experiment, folder: &Path, printer: &Printer) -> anyhow::Result<BTreeMap<String, String>> {
    let Needed { sums, missing } = Needed::by(experiment, folder)?;
    for (name, files) in missing {
        printer.say(&format!("{name} is not in {}: downloading it", folder.join(files.folder).display()));
        download::get(files, folder, None, printer)?;
    }
    Ok(sums)
}

/// What was typed, so that it can be typed again.
pub(super) fn typed(words: &[OsString]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,".contains(c);
    let word = |word: String| if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) };
    let words = words.iter().skip(1).map(|argument| word(argument.to_string_lossy().into_owned()));
    format!("onebasin {}", words.collect::<Vec<_>>().join(" "))
}
