//! Barriers over several pairs of posteriors, and numbers of other work beside them.

use super::experiment::Parts;
use super::matrix;
use crate::error::Result;
use crate::page::{Block, Section};
use crate::stages::Shown;
use crate::stages::barrier::{decomposition_table, figures, finding, headlines};
use crate::table::Alignment::Left;
use crate::table::Table;
use crate::{draw, stages};
use onebasin::experiment::stages::barrier::{BarrierResult, Row};
use onebasin::experiment::stages::over_pairs::{OverPairs, over_pairs, same_curves};
use onebasin::experiment::{Barrier, Literature, MeasuredCell, Stage};
use onebasin::measure::Spread;
use std::collections::BTreeMap;

/// The barriers of all pairs of a cell.
pub(super) fn results(cell: &MeasuredCell) -> Result<Vec<BarrierResult>> {
    let tasks = cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Barrier::NAME);
    tasks.map(|(task, result)| stages::read::<Barrier>(task, result)).collect()
}

/// Adds a section with the barriers of each pair of a cell, and before them one over pairs, if there are several.
pub(super) fn add(
    cell: &MeasuredCell,
    prefix: &str,
    names: &BTreeMap<String, String>,
    parts: &mut Parts,
) -> Result<()> {
    let results = results(cell)?;
    let several = results.len() > 1;
    if several {
        let curves = same_curves(&results);
        let section = section(&results, &curves, format!("{prefix}barriers"));
        parts.push(Shown { finding: finding(&curves), headlines: headlines(&curves), section });
        parts.sections.extend(matrix::section(&cell.pairs()?, prefix));
    }
    for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Barrier::NAME) {
        let mut shown = stages::show(task, result, prefix, names)?;
        if several {
            shown.headlines.clear();
        }
        parts.push(shown);
    }
    Ok(())
}

/// The section over pairs.
fn section(results: &[BarrierResult], curves: &[Vec<&Row>], id: String) -> Section {
    let over = over_pairs(results);
    let [loss, error] = [("Loss", "nats"), ("Error", "%")].map(|(quantity, unit)| {
        format!(
            "{quantity} barriers over pairs in {unit}: mean, standard deviation (SD), lowest and highest, beside the typical \
             Monte Carlo (MC) error of one pair"
        )
    });
    let decomposition = decomposition_table(results)
        .map(|(caption, table)| (format!("{caption}; means over pairs with their standard errors"), table));
    let tables = [
        (loss, table("loss barrier", &over, |over| over.loss, 1.0, 4)),
        (error, table("error barrier, %", &over, |over| over.error, 100.0, 2)),
    ];
    let figures = figures(&id, curves).into_iter().map(Block::Figure);
    let tables = tables.into_iter().chain(decomposition).zip(["table", "table2", "table3"]);
    let tables = tables.map(|((caption, table), name)| Block::Table { id: format!("{id}-{name}"), caption, table });
    let blocks = figures.chain(tables).collect();
    Section { id, title: "Barriers over pairs".to_owned(), blocks }
}

/// One line for each curve.
fn table(title: &str, over: &[OverPairs], of: fn(&OverPairs) -> Spread, unit: f64, digits: usize) -> Table {
    let row = |over: &OverPairs| {
        let Spread { pairs, mean, standard_deviation, lowest, highest, monte_carlo_error } = of(over);
        let number = |value: f64| format!("{:.digits$}", unit * value);
        let [deviation, monte_carlo] =
            [standard_deviation, monte_carlo_error].map(|value| draw::or_dash(value, number));
        let numbers = [number(mean), deviation, number(lowest), number(highest), monte_carlo];
        [over.curve.clone(), over.split.to_string(), pairs.to_string()].into_iter().chain(numbers)
    };
    let numbers = ["pairs", title, "SD", "lowest", "highest", "MC error"];
    draw::table(&["curve", "examples"], numbers).with(over.iter().map(row))
}

/// A section with numbers of other work, if the experiment names some.
pub(super) fn literature(literature: &[Literature], prefix: &str) -> Option<Section> {
    let rows = literature.iter().map(|Literature { what, value, source }| [what, value, source]);
    let table = Table::new([("what", Left), ("value", Left), ("source", Left)]).with(rows);
    let (id, caption) =
        (format!("{prefix}literature-table"), "Numbers of other work, which were not measured here".to_owned());
    let section = Section {
        id: format!("{prefix}literature"),
        title: "From the literature".to_owned(),
        blocks: vec![Block::Table { id, caption, table }],
    };
    (!literature.is_empty()).then_some(section)
}
