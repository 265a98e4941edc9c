//! Barriers over several pairs of posteriors, and numbers of other work beside them.

use super::experiment::Parts;
use crate::error::Result;
use crate::page::{Block, Section};
use crate::stages::barrier::{decomposition_table, figures, headlines};
use crate::table::Alignment::Left;
use crate::table::Table;
use crate::{draw, stages};
use onebasin::experiment::stages::barrier::{BarrierResult, Row};
use onebasin::experiment::stages::over_pairs::{OverPairs, over_pairs, same_curves};
use onebasin::experiment::{Barrier, Literature, MeasuredCell, Stage};

/// The barriers of all pairs of a cell.
pub(super) fn results(cell: &MeasuredCell) -> Result<Vec<BarrierResult>> {
    let tasks = cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Barrier::NAME);
    tasks.map(|(task, result)| stages::read::<Barrier>(task, result)).collect()
}

/// Adds a section with the barriers of each pair of a cell, and before them one over pairs, if there are several.
pub(super) fn add(cell: &MeasuredCell, prefix: &str, parts: &mut Parts) -> Result<()> {
    let results = results(cell)?;
    let several = results.len() > 1;
    if several {
        let curves = same_curves(&results);
        parts.headlines.extend(headlines(&curves));
        parts.sections.push(section(&results, &curves, format!("{prefix}barriers")));
    }
    for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) == Barrier::NAME) {
        let (headlines, section) = stages::section(task, result, prefix)?;
        parts.headlines.extend(headlines.into_iter().filter(|_| !several));
        parts.sections.push(section);
    }
    Ok(())
}

/// The section over pairs.
fn section(results: &[BarrierResult], curves: &[Vec<&Row>], id: String) -> Section {
    let mut blocks: Vec<Block> = figures(&id, curves).into_iter().map(Block::Figure).collect();
    let caption = "Barriers over pairs: mean, standard deviation (SD), lowest and highest, beside the typical Monte Carlo (MC) \
                   error of one pair";
    blocks.push(Block::Table { id: format!("{id}-table"), caption: caption.to_owned(), table: table(results) });
    blocks.extend(decomposition_table(results).map(|(caption, table)| {
        let caption = format!("{caption}; means over pairs with their standard errors");
        Block::Table { id: format!("{id}-table2"), caption, table }
    }));
    Section { id, title: "Barriers over pairs".to_owned(), blocks }
}

fn table(results: &[BarrierResult]) -> Table {
    let spread = ["SD", "lowest", "highest", "MC error"];
    let numbers = ["pairs", "loss barrier"].into_iter().chain(spread).chain(["error barrier, %"]).chain(spread);
    draw::table(&["curve", "examples"], numbers).with(over_pairs(results).into_iter().map(
        |OverPairs { curve, split, loss, error }| {
            let numbers = [(loss, 1.0, 4), (error, 100.0, 2)].map(|(of, unit, digits)| {
                let number = |value: f64| format!("{:.digits$}", unit * value);
                let [deviation, monte_carlo] =
                    [of.standard_deviation, of.monte_carlo_error].map(|value| draw::or_dash(value, number));
                [number(of.mean), deviation, number(of.lowest), number(of.highest), monte_carlo]
            });
            [curve, split.to_string(), loss.pairs.to_string()].into_iter().chain(numbers.concat())
        },
    ))
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
