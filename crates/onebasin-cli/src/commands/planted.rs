//! Planted permutations, as a stage of an experiment: alignment problems whose solution is known, and what each solver found.

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::name_of;
use crate::commands::report::draw;
use crate::commands::signals::Signals;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::align::Solver;
use onebasin::experiment::PlantedConfig;
use onebasin::experiment::Recovery;
use onebasin::kernels::Team;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Figure;
use onebasin_report::Headline;
use onebasin_report::Series;
use onebasin_report::Table;
use std::path::Path;

/// What the command leaves in a folder.
const KIND: Kind = Kind { command: "planted", report: "measures.json", is_own: |_| false, folders: &[] };

/// Solves, and writes what was found.
pub(crate) fn measure(
    config: &PlantedConfig,
    output: &Path,
    threads: usize,
    signals: &Signals,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let folder = Folder::look(&KIND, output, true)?;
    let team = Team::new(threads).context("cannot start threads")?;
    let bar = printer.steps();
    bar.set_message("problems");
    let rows = config.run(&team, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        signals.go_on()
    })?;
    bar.finish_and_clear();
    let Some(rows) = rows else { return Ok(ExitStatus::Signal(signals.received())) };
    folder.write_all(&[], &(serde_json::to_string_pretty(&rows)? + "\n"))?;
    Ok(ExitStatus::Success)
}

/// What the pool of solvers finds, where greedy descent finds least in comparison.
pub(crate) fn headlines(rows: &[Recovery]) -> anyhow::Result<Vec<Headline>> {
    let of = |solver: Solver| rows.iter().filter(move |row| row.solver == solver);
    let pairs = of(Solver::Descent).zip(of(Solver::Best));
    let widest = pairs.max_by(|(a, b), (c, d)| (b.recovered - a.recovered).total_cmp(&(d.recovered - c.recovered)));
    let Some((descent, best)) = widest else { return Ok(Vec::new()) };
    let headline = |row: &Recovery| {
        anyhow::Ok(Headline {
            label: format!("Units recovered by {}", name_of(&row.solver)?),
            value: format!("{:.1} %", 100.0 * row.recovered),
            note: format!("at a correlation of {:.2}", row.correlation),
        })
    };
    Ok(vec![headline(descent)?, headline(best)?])
}

/// Recovery against correlation.
pub(crate) fn figures(rows: &[Recovery], id: &str) -> anyhow::Result<Vec<Figure>> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let (name, point) = (name_of(&row.solver)?, draw::point(f64::from(row.correlation), 100.0 * row.recovered));
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(draw::marked(&name, "", [point])),
        }
    }
    Ok(vec![draw::lines(
        format!("{id}-recovered"),
        "Units that each solver puts where they belong",
        "A network is aligned with a permuted copy of itself of which only a part is kept, the rest is noise.",
        [draw::linear("correlation of the copy"), draw::linear("units recovered, %")],
        series,
    )])
}

/// A line for each correlation and solver.
pub(crate) fn table(rows: &[Recovery]) -> anyhow::Result<Table> {
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
