//! `onebasin report`: one page, with figures and tables, from what experiments or single stages measured.

use crate::printer::{ExitStatus, Printer};
use onebasin::experiment::{Measures, json};
use onebasin_report::Report;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Folders of finished experiments, or of single stages, such as those that `barrier`, `align` and `train` write
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    experiments: Vec<PathBuf>,
    /// Folder to write, or a Markdown file, whose figures go into a folder beside it; replaces only what an earlier report
    /// wrote [default: `report` in DIR; beside the folder of a stage, with `-report` behind its name]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Print all measures instead of a figure and a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ReportArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    write(&args.experiments, args.output.as_deref(), args.json, printer)
}

/// Reads all measures, writes the report, and prints a summary.
pub(crate) fn write(
    experiments: &[PathBuf],
    output: Option<&Path>,
    as_json: bool,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let report = Report::read(experiments)?;
    let Some(output) = output.map(Path::to_owned).or_else(|| report.output()) else {
        anyhow::bail!("a report of several experiments needs a folder: name one with -o");
    };
    let written = report.write(&output)?;
    let text = if as_json {
        let all: Vec<&Measures> = report.measures().collect();
        if let [one] = all[..] { json(one) } else { json(&all) }
    } else {
        report.summary()
    };
    printer.data(&text)?;
    printer.say(&format!("report: {}", written.display()));
    Ok(ExitStatus::Success)
}
