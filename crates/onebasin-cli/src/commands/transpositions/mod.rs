//! The number of transpositions, as a stage of an experiment: what it takes to align networks that had a start in common, or nothing.

mod csv;
pub(crate) mod figures;
mod tables;

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::signals::Signals;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use onebasin::experiment::Phase;
use onebasin::experiment::Progress;
use onebasin::experiment::TranspositionsConfig;
use std::path::Path;

/// The files beside the report, one for each experiment.
const TABLES: [&str; 3] = ["starts.csv", "line.csv", "dynamics.csv"];

/// What the command leaves in a folder.
const KIND: Kind =
    Kind { command: "transpositions", report: "measures.json", is_own: |name| TABLES.contains(&name), folders: &[] };

/// Trains, measures, and writes what was found.
pub(crate) fn measure(
    config: &TranspositionsConfig,
    output: &Path,
    data: &Path,
    threads: usize,
    signals: &Signals,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let folder = Folder::look(&KIND, output, true)?;
    let bar = printer.steps();
    let mut watch = |Progress { phase, done, total }: Progress| {
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(match phase {
            Phase::Training => "training",
            Phase::Evaluating => "measuring",
        });
        signals.go_on()
    };
    let found = config.run(data, threads, &mut watch)?;
    bar.finish_and_clear();
    let Some(found) = found else { return Ok(ExitStatus::Signal(signals.received())) };
    let json = serde_json::to_string_pretty(&found)? + "\n";
    let texts = [csv::starts(&found), csv::line(&found), csv::dynamics(&found)];
    let tables: Vec<(&str, String)> = TABLES.into_iter().zip(texts).collect();
    folder.write_all(&tables, &json)?;
    Ok(ExitStatus::Success)
}
