//! One file or folder per command, a function of resolved settings and the printer; and what several of them need.

pub(crate) mod align;
pub(crate) mod arch;
pub(crate) mod barrier;
pub(crate) mod compact;
pub(crate) mod completions;
mod configuration;
pub(crate) mod data;
mod folder;
mod images;
mod members;
pub(crate) mod pairs;
pub(crate) mod plane;
pub(crate) mod planted;
mod pool;
pub(crate) mod report;
pub(crate) mod run;
mod signals;
mod swap;
pub(crate) mod train;
pub(crate) mod transpositions;

use crate::printer::ExitStatus;
use crate::printer::Printer;
use signals::Signals;

/// A command with everything it needs to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Settings {
    /// Align posteriors.
    Align(align::Settings),
    /// Describe an architecture.
    Arch(arch::Settings),
    /// Measure barriers between posteriors.
    Barrier(barrier::Settings),
    /// Put one Gaussian in the place of samples.
    Compact(compact::Settings),
    /// Help a shell to complete what is typed.
    Completions(completions::Settings),
    /// Measure the plane through two posteriors and one of them aligned.
    Plane(plane::Settings),
    /// Make a report of experiments.
    Report(report::Settings),
    /// Run a whole experiment.
    Run(run::Settings),
    /// Infer a posterior.
    Train(train::Settings),
    /// List, download or verify data sets.
    Data(data::Settings),
}

/// Runs the command that the settings name.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match settings {
        Settings::Align(settings) => align::run(settings, printer),
        Settings::Arch(settings) => arch::run(settings, printer),
        Settings::Barrier(settings) => barrier::run(settings, &Signals::listen()?, printer),
        Settings::Compact(settings) => compact::run(settings, &Signals::listen()?, printer),
        Settings::Completions(settings) => completions::run(settings, printer),
        Settings::Plane(settings) => plane::run(settings, &Signals::listen()?, printer),
        Settings::Report(settings) => report::run(settings, printer),
        Settings::Run(settings) => run::run(settings, printer),
        Settings::Train(settings) => train::run(settings, printer),
        Settings::Data(settings) => data::run(settings, printer),
    }
}

/// How a configuration would call it.
fn name_of(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::from_value(serde_json::to_value(value)?)?)
}

/// The number of threads asked for, or one for each core.
fn threads(asked: Option<usize>) -> std::io::Result<usize> {
    match asked {
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism()?.get()),
    }
}
