//! `onebasin planted`: solves alignment problems whose solution is known, and prints what each solver found.

use crate::commands::name_of;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::experiment::PlantedConfig;
use onebasin::experiment::Recovery;
use onebasin::kernels::Team;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;
use std::path::PathBuf;

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The configuration.
    pub(crate) config: PathBuf,
    /// `a.b=c`, in order.
    pub(crate) overrides: Vec<String>,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether JSON is printed instead of a table.
    pub(crate) json: bool,
}

/// Solves, and prints a line for each correlation and solver.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let name = settings.config.display().to_string();
    let text =
        std::fs::read_to_string(&settings.config).with_context(|| format!("cannot read the configuration {name}"))?;
    let config = PlantedConfig::from_toml(&name, &text, &settings.overrides)?;
    let threads = threads(settings.threads)?;
    let team = Team::new(threads).context("cannot start threads")?;
    let spinner = printer.spinner();
    let rows = config.run(&team, &mut |done, total| spinner.set_message(format!("{done} of {total} problems")))?;
    spinner.finish_and_clear();
    printer.data(&if settings.json { serde_json::to_string_pretty(&rows)? + "\n" } else { table(&rows)?.text() })?;
    Ok(ExitStatus::Success)
}

fn table(rows: &[Recovery]) -> anyhow::Result<Table> {
    let columns = ["units recovered", "objective / planted", "assignments"].map(|title| (title, Right));
    let mut table = Table::new([("correlation", Right), ("solver", Left)].into_iter().chain(columns));
    for row in rows {
        let solver = name_of(&row.solver)?;
        table.push([
            format!("{:.2}", row.correlation),
            solver,
            format!("{:.3}", row.recovered),
            format!("{:.3}", row.objective),
            format!("{:.0}", row.assignments),
        ]);
    }
    Ok(table)
}
