//! `onebasin run`: a whole experiment, from data to a report.

use super::shares::{Cell, Cells};
use super::{read, report, shares};
use crate::download;
use crate::download::Needed;
use crate::host::{Signals, Terminal};
use crate::machine;
use crate::options::{DataArgs, MachineArgs, with_remedy};
use crate::printer::{ExitStatus, Printer};
use anyhow::bail;
use onebasin::error::Error;
use onebasin::experiment::{Context, EXPERIMENT, Experiment, Failure, json};
use onebasin::threads::ThreadPool;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many tasks without a result are named.
const MOST_NAMED: usize = 20;

/// An experiment and its folder, as they are typed.
#[derive(Debug, clap::Args)]
pub(crate) struct ExperimentArgs {
    /// Experiment; see experiments/ for examples [default: that of the built-in digits]
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(super) experiment: Option<PathBuf>,
    /// Override one setting of the experiment; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    pub(super) overrides: Vec<String>,
    /// Folder of the experiment [default: runs/ and the name of the file]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl ExperimentArgs {
    /// The experiment, whose settings are checked, and its folder.
    pub(super) fn read(&self) -> anyhow::Result<(Experiment, PathBuf)> {
        let (file, text) = match &self.experiment {
            Some(path) => (path.display().to_string(), read(path)?),
            None => ("experiments/digits.toml".to_owned(), Experiment::DIGITS.to_owned()),
        };
        let experiment = Experiment::read(&file, &text, &self.overrides)?;
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from("runs").join(&experiment.name));
        let written = folder.join(EXPERIMENT);
        if let Some(own) = &self.experiment
            && own.canonicalize().is_ok_and(|own| written.canonicalize().is_ok_and(|written| own == written))
        {
            bail!(
                "{} is where the folder keeps the experiment that runs in it; choose another folder with -o",
                own.display()
            );
        }
        Ok((experiment, folder))
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    machine: MachineArgs,
    /// Print measures.json instead of a figure and a table; with --status, all shares
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    part: PartArgs,
}

/// Less than the whole experiment.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Parts")]
#[group(multiple = false)]
struct PartArgs {
    /// Do one share of the experiment: a training, or the measurements of a pair, by its number in --status. `auto` is
    /// SLURM_ARRAY_TASK_ID or HQ_TASK_ID, `auto+1000` that many more
    #[arg(long, value_name = "N")]
    cell: Option<Cell>,
    /// Do part I of N of all shares, such as 1/3 on the first of three machines
    #[arg(long, value_name = "I/N")]
    cells: Option<Cells>,
    /// Print which shares are done, at work, failed and still to do, and how long the rest takes; do nothing
    #[arg(long)]
    status: bool,
    /// Do nothing but the report, of all shares that are done
    #[arg(long)]
    merge: bool,
}

/// Trains, measures and reports whatever is not up to date.
pub(crate) fn run(args: &RunArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (experiment, folder) = args.experiment.read()?;
    let PartArgs { cell, cells, status, merge } = &args.part;
    let wanted: Box<dyn FnOnce(usize) -> Result<Vec<usize>, Error>> = match (cell, cells) {
        (Some(cell), _) => {
            let number = cell.number()?;
            Box::new(move |count| shares::one(number, count))
        }
        (_, Some(cells)) => {
            let cells = *cells;
            Box::new(move |count| Ok(cells.of(count)))
        }
        _ if *status => {
            return match in_context(&folder, args.machine.pool(printer)?, &args.machine.data, printer, |context| {
                experiment.status(&folder, context)
            })? {
                Ok(status) => {
                    printer.data(&if args.json { json(&status) } else { shares::text(&status) })?;
                    Ok(ExitStatus::Success)
                }
                Err(stopped) => Ok(stopped),
            };
        }
        _ => return execute(&experiment, &folder, &args.machine, *merge, args.json, printer),
    };
    let pool = args.machine.pool(printer)?;
    data(&experiment, &args.machine.data.folder(), printer)?;
    let failures = in_context(&folder, pool, &args.machine.data, printer, |context| {
        experiment.run_shares(&folder, wanted, context)
    })?;
    let failures = match failures {
        Ok(failures) => failures,
        Err(stopped) => return Ok(stopped),
    };
    Ok(tell(&failures, printer).unwrap_or(ExitStatus::Success))
}

/// Runs an experiment in a folder, or nothing if it is merged only, and writes and prints its report.
pub(super) fn execute(
    experiment: &Experiment,
    folder: &Path,
    machine: &MachineArgs,
    merge: bool,
    as_json: bool,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let pool = machine.pool(printer)?;
    let data = data(experiment, &machine.data.folder(), printer)?;
    let started = Instant::now();
    let measures = in_context(folder, pool, &machine.data, printer, |context| {
        let machine = machine::describe(context.pool.threads());
        if merge {
            experiment.merge(folder, machine, data, context)
        } else {
            experiment.run(folder, machine, data, context)
        }
    })?;
    let measures = match measures {
        Ok(measures) => measures,
        Err(stopped) => return Ok(stopped),
    };
    printer.say(&format!("{}: measured after {}", folder.display(), indicatif::HumanDuration(started.elapsed())));
    let status = report::write(&[folder.to_owned()], None, as_json, printer)?;
    let failures: Vec<Failure> = measures.cells.into_iter().flat_map(|cell| cell.failures).collect();
    Ok(tell(&failures, printer).unwrap_or(status))
}

/// Names what failed, but no more than a person reads; nothing, if nothing did.
fn tell(failures: &[Failure], printer: &Printer) -> Option<ExitStatus> {
    for Failure { task, reason } in failures.iter().take(MOST_NAMED) {
        printer.say(&format!("failed: {task}: {reason}"));
    }
    if failures.len() > MOST_NAMED {
        printer.say(&format!("failed: {} more, which --status and the report name", failures.len() - MOST_NAMED));
    }
    (!failures.is_empty()).then_some(ExitStatus::Diverged)
}

/// Works in the folder of an experiment until it is done or a signal comes, whose status is then returned in its place.
pub(super) fn in_context<T>(
    folder: &Path,
    pool: ThreadPool,
    data: &DataArgs,
    printer: &Printer,
    work: impl FnOnce(&Context<'_>) -> onebasin::error::Result<T>,
) -> anyhow::Result<Result<T, ExitStatus>> {
    let data = data.folder();
    // Not before: a download that is interrupted can be resumed anyway.
    let signals = Signals::listen()?;
    let done = {
        let host = Terminal::new(printer, &signals);
        work(&Context { pool, data: &data, host: &host })
    };
    match done {
        Err(Error::Stopped) => {
            printer.say(&format!("{}: stopped; the same command continues", folder.display()));
            Ok(Err(ExitStatus::Signal(signals.received())))
        }
        done => done.map(Ok).map_err(with_remedy),
    }
}

/// Makes sure that all data are there, downloads those that are not, and returns the checksums of their files.
pub(super) fn data(
    experiment: &Experiment,
    folder: &Path,
    printer: &Printer,
) -> anyhow::Result<BTreeMap<String, String>> {
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
