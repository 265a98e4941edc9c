//! The alignments of an experiment, by several criteria and solvers, compared with each other.

use super::experiment::{Experiment, Parts, duration};
use super::sweep;
use crate::error::Result;
use crate::figure::Figure;
use crate::page::{Block, Headline, Section};
use crate::stages::align::share_of_gain;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use crate::{draw, stages};
use onebasin::experiment::stages::align::{Outcome, Pair};
use onebasin::experiment::{Align, Stage};

/// One alignment.
struct Entry {
    /// Values of the settings that are swept in words, and the first as a coordinate.
    cell: String,
    x: Option<f64>,
    /// Criterion and solver.
    name: String,
    pair: Pair,
    seconds: Option<f64>,
}

/// Adds a section if posteriors were aligned in pairs.
pub(super) fn add(experiment: &Experiment, prefix: &str, parts: &mut Parts) -> Result<()> {
    let entries = entries(experiment)?;
    if entries.is_empty() {
        return Ok(());
    }
    let key = sweep::swept(&experiment.measures.cells);
    let mut blocks = Vec::new();
    if let Some(key) = key.as_ref().filter(|_| entries.iter().all(|entry| entry.x.is_some())) {
        blocks.push(Block::Figure(times(&entries, key, prefix)));
        let timed = entries.iter().filter_map(|entry| Some((entry, entry.seconds?)));
        let slowest = timed.max_by(|(_, a), (_, b)| a.total_cmp(b));
        parts.headlines.extend(slowest.map(|(entry, seconds)| Headline {
            label: format!("The slowest alignment: {}, {key} {}", entry.name, entry.cell),
            value: duration(seconds),
            note: experiment.times.machine.clone(),
        }));
    }
    blocks.push(Block::Table {
        id: format!("{prefix}alignments-table"),
        caption: "Gain of each alignment, as a share of what no permutations can exceed".to_owned(),
        table: table(&entries, key.as_deref()),
    });
    parts.sections.push(Section { id: format!("{prefix}alignments"), title: "Alignments".to_owned(), blocks });
    Ok(())
}

fn entries(experiment: &Experiment) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for cell in &experiment.measures.cells {
        let words: Vec<String> = cell.settings.values().map(sweep::text).collect();
        for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Align::NAME) {
            let result = stages::read::<Align>(task, result)?;
            let Outcome::Pairs { members, .. } = result.outcome else { continue };
            let names = result.settings.criteria.iter().zip(&result.settings.solvers);
            let name: String = names.map(|(criterion, solver)| format!("{criterion}, {solver}")).collect();
            for (index, pair) in members.into_iter().enumerate() {
                let place = format!("cells/{}/{task}/members/{index}/seconds", cell.id);
                entries.push(Entry {
                    cell: words.join(", "),
                    x: cell.settings.values().next().and_then(sweep::number),
                    name: name.clone(),
                    pair,
                    seconds: experiment.times.seconds.get(&place).copied(),
                });
            }
        }
    }
    Ok(entries)
}

fn times(entries: &[Entry], key: &str, prefix: &str) -> Figure {
    let points = entries.iter().map(|entry| {
        (entry.name.clone(), "", draw::point(entry.x.unwrap_or(f64::NAN), entry.seconds.unwrap_or(f64::NAN)))
    });
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
    let columns = key.map(|key| (key, Right)).into_iter().chain([("criterion, solver", Left)]);
    let columns = columns.chain(numbers.map(|title| (title, Right)));
    Table::new(columns).with(entries.iter().map(|Entry { cell, name, pair, seconds, .. }| {
        let transpositions = pair.aligned.permutations.iter().map(|permutation| permutation.transpositions);
        let cells = [
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
