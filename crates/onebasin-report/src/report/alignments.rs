//! The alignments of an experiment, by several criteria and solvers, compared with each other.

use super::experiment::{Experiment, Parts, duration};
use super::names;
use super::sweep::Swept;
use crate::error::Result;
use crate::figure::Figure;
use crate::page::{Block, Headline, Section};
use crate::stages::align::share_of_gain;
use crate::stages::{Shown, StageReport, align};
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use crate::{draw, stages};
use onebasin::experiment::stages::align::{Outcome, Pair};
use onebasin::experiment::{Align, Stage};

/// One alignment.
struct Entry {
    /// Values of the settings that are swept in words, and the first as a coordinate.
    cell: String,
    x: f64,
    /// Criterion and solver.
    name: String,
    pair: Pair,
    seconds: Option<f64>,
}

/// Adds a section if posteriors were aligned in pairs.
pub(super) fn add(experiment: &Experiment, prefix: &str, parts: &mut Parts) -> Result<()> {
    let swept = Swept::of(&experiment.measures.cells);
    let entries = entries(experiment, swept.as_ref())?;
    if entries.is_empty() {
        return Ok(());
    }
    let (mut blocks, mut headlines) = (Vec::new(), Vec::new());
    let mut finding = None;
    if let Some(swept) = swept.as_ref().filter(|swept| swept.axis.categories.is_empty()) {
        blocks.push(Block::Figure(times(&entries, swept, prefix)));
        let timed = entries.iter().filter_map(|entry| Some((entry, entry.seconds?)));
        let slowest = timed.max_by(|(_, a), (_, b)| a.total_cmp(b));
        headlines.extend(slowest.map(|(entry, seconds)| Headline {
            label: format!("The slowest alignment: {}, {} {}", entry.name, swept.key, entry.cell),
            value: duration(seconds),
            note: experiment.times.machine.clone(),
        }));
        finding = slowest.filter(|_| parts.finding.is_none()).map(|(Entry { name, cell, pair, .. }, seconds)| {
            let (time, gain) = (duration(seconds), 100.0 * share_of_gain(&pair.objective));
            format!(
                "The slowest alignment ({name}, {} {cell}) takes {time} and reaches {gain:.1} % of the gain that no \
                 permutations can exceed.",
                swept.key
            )
        });
    }
    blocks.push(Block::Table {
        id: format!("{prefix}alignments-table"),
        caption:
            "Gain of each alignment with the first posterior of its pair, as a share of what no permutations can exceed"
                .to_owned(),
        table: table(&entries, swept.as_ref().map(|swept| swept.key.as_str())),
    });
    if experiment.is_stage {
        blocks.extend(permutations(experiment, prefix)?);
    }
    let section = Section { id: format!("{prefix}alignments"), title: "Alignments".to_owned(), blocks };
    parts.push(Shown { finding, headlines, section });
    Ok(())
}

/// The permutations and totals of the alignments of a single stage.
fn permutations(experiment: &Experiment, prefix: &str) -> Result<Vec<Block>> {
    let mut tables = Vec::new();
    for (task, result) in experiment.measures.cells.iter().flat_map(|cell| &cell.stages) {
        tables.extend(align::pairs(&stages::read::<Align>(task, result)?).into_iter().flatten());
    }
    let block =
        |(index, (caption, table))| Block::Table { id: format!("{prefix}permutations{}", index + 1), caption, table };
    Ok(tables.into_iter().enumerate().map(block).collect())
}

fn entries(experiment: &Experiment, swept: Option<&Swept>) -> Result<Vec<Entry>> {
    let (mut entries, names) = (Vec::new(), experiment.names());
    for (index, cell) in experiment.measures.cells.iter().enumerate() {
        let words: Vec<String> = cell.settings.values().map(names::text).collect();
        for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Align::NAME) {
            let mut result = stages::read::<Align>(task, result)?;
            result.rename(&names);
            let Outcome::Pairs { members, .. } = result.outcome else { continue };
            let methods = result.settings.criteria.iter().zip(&result.settings.solvers);
            let name: String = methods.map(|(criterion, solver)| format!("{criterion}, {solver}")).collect();
            for (member, pair) in members.into_iter().enumerate() {
                let place = format!("cells/{}/{task}/members/{member}/seconds", cell.id);
                let own = Some(pair.seconds).filter(|seconds| *seconds > 0.0);
                entries.push(Entry {
                    cell: words.join(", "),
                    x: swept.map_or(0.0, |swept| swept.places[index].0),
                    name: name.clone(),
                    pair,
                    seconds: experiment.times.seconds.get(&place).copied().or(own),
                });
            }
        }
    }
    Ok(entries)
}

fn times(entries: &[Entry], Swept { key, .. }: &Swept, prefix: &str) -> Figure {
    let points =
        entries.iter().map(|entry| (entry.name.clone(), "", draw::point(entry.x, entry.seconds.unwrap_or(f64::NAN))));
    draw::lines(
        format!("{prefix}alignment-seconds"),
        &format!("Seconds of an alignment against {key}"),
        "The solver alone, without reading and writing.",
        [draw::log(key), draw::log("seconds")],
        draw::grouped(points),
    )
}

fn table(entries: &[Entry], key: Option<&str>) -> Table {
    let numbers = ["share of possible gain", "seconds", "W2 before", "W2 after", "NoT", "assignments"];
    let columns = key.map(|key| (key, Right)).into_iter().chain([("aligned", Left), ("criterion, solver", Left)]);
    let columns = columns.chain(numbers.map(|title| (title, Right)));
    Table::new(columns).with(entries.iter().map(|Entry { cell, name, pair, seconds, .. }| {
        let transpositions = pair.aligned.permutations.iter().map(|permutation| permutation.transpositions);
        let cells = [
            pair.aligned.name.clone(),
            name.clone(),
            format!("{:.4}", share_of_gain(&pair.objective)),
            draw::or_dash(*seconds, |seconds| format!("{seconds:.3}")),
            format!("{:.4}", pair.aligned.w2.before),
            format!("{:.4}", pair.aligned.w2.after),
            transpositions.sum::<usize>().to_string(),
            pair.assignments.to_string(),
        ];
        key.map(|_| cell.clone()).into_iter().chain(cells)
    }))
}
