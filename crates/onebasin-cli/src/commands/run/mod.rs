//! `onebasin run`: a whole experiment, from data to a report; what is there already is not done again.

mod collect;
mod experiment;
mod plan;
mod stage;
mod workers;

use crate::commands::configuration::Text;
use crate::commands::report;
use crate::commands::signals::Signals;
use crate::commands::threads;
use crate::download;
use crate::download::checksum;
use crate::download::checksum::State;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use anyhow::bail;
use experiment::Cell;
use experiment::Experiment;
use onebasin::data::catalogue;
use onebasin::data::catalogue::Source;
use onebasin::error::Error;
use plan::Plan;
use plan::Task;
use stage::write_json;
use stage::write_text;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::fs::TryLockError;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) use collect::MEASURES;
pub(crate) use collect::Measured;
pub(crate) use collect::Measures;
pub(crate) use collect::TIMES;
pub(crate) use collect::Times;

/// The experiment that needs no file.
const DIGITS: &str = include_str!("../../../../../experiments/digits.toml");
/// The experiment of a folder, as it is run.
const EXPERIMENT: &str = "experiment.toml";

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The experiment; `None` for that of the digits.
    pub(crate) experiment: Option<PathBuf>,
    /// `a.b=c`, in order.
    pub(crate) overrides: Vec<String>,
    /// The folder that is written.
    pub(crate) output: PathBuf,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether all measures are printed instead of tables.
    pub(crate) json: bool,
}

/// Trains, measures and reports whatever is not there yet.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let text = match &settings.experiment {
        Some(path) => Text::read(path)?,
        None => Text { name: "experiments/digits.toml".to_owned(), text: DIGITS.to_owned() },
    };
    let experiment = Experiment::read(&text, &settings.overrides)?;
    let cores = threads(settings.threads)?;
    if cores == 0 {
        return Err(Error::Zero { what: "the number of threads".to_owned() }.into());
    }
    let folder = &settings.output;
    let written = folder.join(EXPERIMENT);
    if let Some(own) = &settings.experiment
        && own.canonicalize().is_ok_and(|own| written.canonicalize().is_ok_and(|written| own == written))
    {
        bail!("{} is where the folder keeps the experiment that is run in it; choose another with -o", own.display());
    }
    let data = data(&experiment, &settings.data, printer)?;
    let _lock = claim(folder, &experiment)?;
    // Not before: a download that is interrupted can be resumed anyway.
    let signals = &Signals::listen()?;

    let plan = Plan::new(folder, &settings.data, signals, printer);
    let begun = Instant::now();
    let stopped = || {
        printer.say(&format!("{}: stopped; the same command continues", folder.display()));
        Ok(ExitStatus::Signal(signals.received()))
    };
    if workers::all(&experiment.posteriors(), cores, |posterior, threads| plan.train(posterior, threads))? {
        return stopped();
    }
    let mut tasks: Vec<(&Cell, Task)> = Vec::new();
    for cell in &experiment.cells {
        tasks.extend(plan.tasks(cell)?.into_iter().map(|task| (cell, task)));
    }
    if workers::all(&tasks, cores, |(cell, task), threads| plan.measure(cell, task, threads))? {
        return stopped();
    }

    let (measures, times) = collect::collect(&experiment, &plan, data, machine(cores))?;
    write_json(&folder.join(TIMES), &times)?;
    write_json(&folder.join(MEASURES), &measures)?;
    printer.say(&format!("{}: measured after {}", folder.display(), indicatif::HumanDuration(begun.elapsed())));
    report::write(std::slice::from_ref(folder), &folder.join("report"), settings.json, printer)
}

/// Makes sure that all data are there, downloads those that are not, and returns the checksums of their files.
fn data(experiment: &Experiment, folder: &Path, printer: &Printer) -> anyhow::Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for name in experiment.datasets() {
        let Source::Files(files) = &catalogue::find(&name)?.source else { continue };
        let inside = folder.join(files.folder);
        let states = files.files.iter().map(|file| checksum::check(&inside, file));
        let states = states.collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(State::Wrong(problem)) = states.iter().find(|state| matches!(state, State::Wrong(_))) {
            bail!("{problem}; `onebasin data get {name}` replaces it");
        }
        if states.contains(&State::Missing) {
            printer.say(&format!("{name} is not in {}: downloading it", inside.display()));
            download::get(files, folder, None, printer)?;
        }
        sums.extend(files.files.iter().map(|file| (format!("{name}/{}", file.name), file.digest.sha256.to_owned())));
    }
    Ok(sums)
}

/// Makes the folder this process's, and writes down what is done in it.
fn claim(folder: &Path, experiment: &Experiment) -> anyhow::Result<File> {
    let at_folder = || folder.display().to_string();
    let file = folder.join(EXPERIMENT);
    // What a kill leaves at the very beginning is ours.
    let ours = |name: &OsStr| name == "lock" || name == "experiment.toml.tmp";
    let foreign = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| !ours(&entry.file_name()));
    if !file.exists() && fs::read_dir(folder).is_ok_and(|mut files| files.any(foreign)) {
        bail!("{} is not empty, and not the folder of an experiment; choose another with -o", folder.display());
    }
    fs::create_dir_all(folder).with_context(at_folder)?;
    let lock = File::create(folder.join("lock")).with_context(at_folder)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            bail!("another process runs an experiment in {}; wait for it, or choose another with -o", folder.display())
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(at_folder),
    }
    write_text(&file, &toml::to_string(&experiment.table)?)?;
    Ok(lock)
}

/// What the times depend on.
fn machine(cores: usize) -> String {
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let threads = if cores == 1 { "1 thread".to_owned() } else { format!("{cores} threads") };
    format!("{threads}, {model}, {}", std::env::consts::OS)
}
