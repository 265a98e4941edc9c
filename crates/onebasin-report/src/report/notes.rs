//! What a reader must know before trusting the numbers: tasks that failed, and warnings of trainings.

use super::names;
use crate::page::{Block, Section};
use crate::table::Alignment::Left;
use crate::table::Table;
use onebasin::experiment::{Failure, MeasuredCell};

/// Caption of the table of failures.
pub(super) const FAILURES: &str = "Trainings that failed, and what was left out because of them";

/// A section of failures and warnings, if there are any.
pub(super) fn section(cells: &[MeasuredCell], prefix: &str) -> Option<Section> {
    let id = format!("{prefix}notes");
    let mut blocks = Vec::new();
    let failures: Vec<&Failure> = cells.iter().flat_map(|cell| &cell.failures).collect();
    if !failures.is_empty() {
        let rows = failures.iter().map(|failure| [&failure.task, &failure.reason]);
        let table = Table::new([("what failed", Left), ("why", Left)]).with(rows);
        let caption = FAILURES.to_owned();
        blocks.push(Block::Table { id: format!("{id}-failures"), caption, table });
    }
    let mut warnings: Vec<[String; 2]> = Vec::new();
    for (cell, posterior) in cells.iter().flat_map(|cell| cell.posteriors.iter().map(move |it| (cell, it))) {
        for warning in &posterior.result.warnings {
            let row = [names::posterior(cell, posterior), warning.clone()];
            // Cells share posteriors.
            if !warnings.contains(&row) {
                warnings.push(row);
            }
        }
    }
    if !warnings.is_empty() {
        let table = Table::new([("posterior", Left), ("warning", Left)]).with(warnings);
        let caption = "Warnings of trainings".to_owned();
        blocks.push(Block::Table { id: format!("{id}-warnings"), caption, table });
    }
    let title = if failures.is_empty() { "Warnings" } else { "Failures and warnings" };
    (!blocks.is_empty()).then(|| Section { id, title: title.to_owned(), blocks })
}
