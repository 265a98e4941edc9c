//! The sections of one cell of an experiment: what each of its stages measured.

use super::page::Parts;
use crate::commands::barrier;
use crate::commands::compact;
use crate::commands::plane;
use crate::commands::planted;
use crate::commands::run::Measured;
use crate::commands::swap;
use crate::commands::transpositions::figures as transpositions;
use anyhow::Context;
use onebasin::experiment::Recovery;
use onebasin::experiment::Swap;
use onebasin::experiment::Transpositions;
use onebasin_report::Block;
use onebasin_report::Figure;
use onebasin_report::Section;
use onebasin_report::Table;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Appends what there is.
pub(super) fn of(cell: &Measured, prefix: &str, parts: &mut Parts) -> anyhow::Result<()> {
    for (name, value) in &cell.stages {
        let (kind, rest) = name.split_once('/').unwrap_or((name, ""));
        let id = format!("{prefix}{}", name.replace('/', "-"));
        let of_pair = |title: &str| format!("{title}, seeds {}", rest.replace('-', " and "));
        match kind {
            "barrier" => {
                let report: barrier::Report = read(name, value)?;
                report.check().with_context(|| name.clone())?;
                parts.headlines.extend(report.headlines()?);
                let tables = vec![("Barriers, with Monte Carlo errors".to_owned(), report.table()?)];
                parts.sections.push(section(&id, of_pair("Barriers"), tables, report.figures(&id)?));
            }
            "plane" => {
                let report: plane::Report = read(name, value)?;
                report.check().with_context(|| name.clone())?;
                let tables = vec![("The three posteriors".to_owned(), report.table()?)];
                parts.sections.push(section(
                    &id,
                    of_pair("The plane through three posteriors"),
                    tables,
                    report.figures(&id)?,
                ));
            }
            "compact" => {
                let report: compact::Report = read(name, value)?;
                report.check().with_context(|| name.clone())?;
                parts.headlines.extend(report.headlines());
                let title = "One Gaussian in the place of samples".to_owned();
                parts.sections.push(section(&id, title, report.tables(), report.figures(&id)));
            }
            "transpositions" => {
                let found: Transpositions = read(name, value)?;
                parts.headlines.extend(transpositions::headlines(&found));
                let tables = transpositions::tables(&found).into_iter();
                let tables = tables.map(|(caption, table)| (caption.to_owned(), table)).collect();
                let figures = transpositions::figures(&found, &id);
                let mut section = section(&id, "The number of transpositions".to_owned(), tables, figures);
                section.blocks.insert(0, Block::Text(transpositions::summary(&found)));
                parts.sections.push(section);
            }
            "planted" => {
                let rows: Vec<Recovery> = read(name, value)?;
                parts.headlines.extend(planted::headlines(&rows)?);
                let tables = vec![("Means over the instances".to_owned(), planted::table(&rows)?)];
                let figures = planted::figures(&rows, &id)?;
                parts.sections.push(section(&id, "Planted permutations".to_owned(), tables, figures));
            }
            "swap" => {
                let found: Swap = read(name, value)?;
                let tables = vec![("What two criteria say to the swap".to_owned(), swap::table(&found))];
                let figures = swap::figures(&found, &id);
                parts.sections.push(section(&id, "Two weights that can be swapped".to_owned(), tables, figures));
            }
            // They are compared with each other, for all cells together.
            "align" => {}
            other => anyhow::bail!("nothing is known of the stage `{other}`"),
        }
    }
    Ok(())
}

/// Figures first, then the numbers behind them.
fn section(id: &str, title: String, tables: Vec<(String, Table)>, figures: Vec<Figure>) -> Section {
    let named = |(index, (caption, table)): (usize, (String, Table))| {
        let id = if index == 0 { format!("{id}-table") } else { format!("{id}-table{}", index + 1) };
        Block::Table { id, caption, table }
    };
    let tables = tables.into_iter().enumerate().map(named);
    let blocks = figures.into_iter().map(Block::Figure).chain(tables).collect();
    Section { id: id.to_owned(), title, blocks }
}

/// Understands the report of a stage.
pub(super) fn read<T: DeserializeOwned>(name: &str, value: &Value) -> anyhow::Result<T> {
    serde_json::from_value(value.clone()).with_context(|| format!("the results of {name} cannot be read"))
}
