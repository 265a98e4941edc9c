//! `onebasin transpositions`: what it takes to align networks that had a start in common, or nothing.

mod csv;
mod tables;

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::signals::Signals;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::experiment::Phase;
use onebasin::experiment::Progress;
use onebasin::experiment::TranspositionsConfig;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// The files beside the report, one for each experiment.
const TABLES: [&str; 3] = ["starts.csv", "line.csv", "dynamics.csv"];

/// What the command leaves in a folder.
const KIND: Kind =
    Kind { command: "transpositions", report: "measures.json", is_own: |name| TABLES.contains(&name), folders: &[] };

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The configuration.
    pub(crate) config: PathBuf,
    /// `a.b=c`, in order.
    pub(crate) overrides: Vec<String>,
    /// The folder that is written, if one is.
    pub(crate) output: Option<PathBuf>,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether earlier measures may be replaced.
    pub(crate) force: bool,
    /// Whether the report is printed instead of tables.
    pub(crate) json: bool,
}

/// Trains, measures, writes and prints.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let signals = Signals::listen()?;
    let name = settings.config.display().to_string();
    let text =
        std::fs::read_to_string(&settings.config).with_context(|| format!("cannot read the configuration {name}"))?;
    let config = TranspositionsConfig::from_toml(&name, &text, &settings.overrides)?;
    let look = |output: &PathBuf| Folder::look(&KIND, output, settings.force);
    let folder = settings.output.as_ref().map(look).transpose()?;

    let bar = printer.steps();
    let begun = Instant::now();
    let mut watch = |Progress { phase, done, total }: Progress| {
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(match phase {
            Phase::Training => "training",
            Phase::Evaluating => "measuring",
        });
        if signals.received() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let found = config.run(&settings.data, threads(settings.threads)?, &mut watch)?;
    bar.finish_and_clear();
    let Some(found) = found else {
        printer.say("stopped; nothing was written");
        return Ok(ExitStatus::Signal(signals.received()));
    };
    printer.say(&format!("measured after {}", indicatif::HumanDuration(begun.elapsed())));

    let json = serde_json::to_string_pretty(&found)? + "\n";
    if let Some(folder) = folder {
        let texts = [csv::starts(&found), csv::line(&found), csv::dynamics(&found)];
        let tables: Vec<(&str, String)> = TABLES.into_iter().zip(texts).collect();
        folder.write_all(&tables, &json)?;
        printer.say(&format!("all that was measured: {}", folder.join(folder.report()).display()));
    }
    printer.data(&if settings.json { json } else { tables::text(&found) })?;
    Ok(ExitStatus::Success)
}
