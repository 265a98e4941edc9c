//! `onebasin run`: a whole experiment, from data to a report.

use super::{read, report};
use crate::download;
use crate::download::State;
use crate::host::{Signals, Terminal};
use crate::options::{MachineArgs, with_remedy};
use crate::printer::{ExitStatus, Printer};
use anyhow::bail;
use onebasin::data::catalogue;
use onebasin::data::catalogue::Source;
use onebasin::error::Error;
use onebasin::experiment::{Context, EXPERIMENT, Experiment};
use std::collections::BTreeMap;
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
    let pool = args.machine.pool()?;
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
    let data_folder = args.machine.data.folder();
    let data = data(&experiment, &data_folder, printer)?;
    // Not before: a download that is interrupted can be resumed anyway.
    let (signals, started) = (Signals::listen()?, Instant::now());
    let machine = machine(pool.threads());
    let found = {
        let host = Terminal::new(printer, &signals);
        experiment.run(&folder, machine, data, &Context { pool, data: &data_folder, host: &host })
    };
    match found {
        Err(Error::Stopped) => {
            printer.say(&format!("{}: stopped; the same command continues", folder.display()));
            return Ok(ExitStatus::Signal(signals.received()));
        }
        found => _ = found.map_err(with_remedy)?,
    }
    printer.say(&format!("{}: measured after {}", folder.display(), indicatif::HumanDuration(started.elapsed())));
    report::write(std::slice::from_ref(&folder), &folder.join("report"), args.json, printer)
}

/// Makes sure that all data are there, downloads those that are not, and returns the checksums of their files.
fn data(experiment: &Experiment, folder: &Path, printer: &Printer) -> anyhow::Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for name in experiment.datasets() {
        let Source::Files(files) = &catalogue::find(&name)?.source else { continue };
        let inside = folder.join(files.folder);
        let states = files.files.iter().map(|file| download::check(&inside, file));
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

/// What the times depend on.
fn machine(threads: usize) -> String {
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    format!("{threads}, {model}, {}", std::env::consts::OS)
}
