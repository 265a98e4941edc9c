//! A sweep: barriers against the settings that are swept.

use super::experiment::Parts;
use super::pairs;
use crate::error::Result;
use crate::figure::{Figure, Point};
use crate::page::{Block, Headline, Section};
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use crate::{draw, stages};
use onebasin::data::Split;
use onebasin::experiment::stages::over_pairs::{OverPairs, over_pairs};
use onebasin::experiment::{Barrier, MeasuredCell, Stage};
use onebasin::measure::{Estimate, Spread};
use serde_json::Value;

/// Number of curves that have a headline.
const HEADLINES: usize = 3;

/// The barriers of one curve in one cell, on one part of the data set.
struct Entry {
    /// Value of the first setting that is swept, as a coordinate and in words.
    x: f64,
    label: String,
    /// Name of the curve, with the values of the other settings that are swept.
    series: String,
    split: Split,
    /// Loss and error barriers over pairs of posteriors.
    barriers: [Spread; 2],
}

/// Adds a section with barriers against the first setting that is swept, and sections for the other stages of each cell.
pub(super) fn add(cells: &[MeasuredCell], prefix: &str, parts: &mut Parts) -> Result<()> {
    let entries = entries(cells)?;
    if let Some(key) = swept(cells).filter(|_| !entries.is_empty()) {
        parts.headlines.extend(headlines(&entries, &key));
        let figure = |which, kind, title: &str, unit, factor| {
            let (id, title) = (format!("{prefix}sweep-{kind}"), format!("{title} against {key}"));
            Block::Figure(figure(&entries, which, id, &title, [&key, &format!("barrier, {unit}")], factor))
        };
        let caption = format!("Barriers for each {key}");
        parts.sections.push(Section {
            id: format!("{prefix}sweep"),
            title: format!("Barriers against {key}"),
            blocks: vec![
                figure(0, "loss", "Loss barrier", "nats", 1.0),
                figure(1, "error", "Error barrier", "%", 100.0),
                Block::Table { id: format!("{prefix}cells"), caption, table: table(&entries, &key) },
            ],
        });
    }
    for cell in cells {
        for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) != Barrier::NAME) {
            let (_, section) = stages::section(task, result, &format!("{prefix}{}-", cell.id))?;
            let title = format!("{}, {}", section.title, settings(cell.settings.iter()));
            parts.sections.push(Section { title, ..section });
        }
    }
    Ok(())
}

fn entries(cells: &[MeasuredCell]) -> Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let mut swept = cell.settings.iter();
        let Some((_, value)) = swept.next() else { continue };
        let (x, label, others) = (number(value).unwrap_or(index as f64), text(value), settings(swept));
        for OverPairs { curve, split, loss, error } in over_pairs(&pairs::results(cell)?) {
            let series = if others.is_empty() { curve } else { format!("{curve}, {others}") };
            all.push(Entry { x, label: label.clone(), series, split, barriers: [loss, error] });
        }
    }
    Ok(all)
}

fn figure(entries: &[Entry], which: usize, id: String, title: &str, labels: [&str; 2], factor: f64) -> Figure {
    let points = entries.iter().map(|entry| {
        let Estimate { value, standard_error } = entry.barriers[which].estimate();
        let error = standard_error.map(|error| factor * error);
        (entry.series.clone(), entry.split.name(), Point { x: entry.x, y: factor * value, error })
    });
    let x = draw::fitting(labels[0], entries.iter().map(|entry| entry.x));
    let y = draw::fitting(labels[1], entries.iter().map(|entry| factor * entry.barriers[which].mean));
    let caption = "Means over pairs of posteriors with their standard errors; a single pair has its Monte Carlo error.";
    draw::lines(id, title, caption, [x, y], draw::grouped(points))
}

fn table(entries: &[Entry], key: &str) -> Table {
    let numbers = ["pairs", "loss barrier", "error barrier, %"].map(|title| (title, Right));
    let columns = [(key, Right), ("curve", Left), ("examples", Left)].into_iter().chain(numbers);
    Table::new(columns).with(entries.iter().map(|entry| {
        [
            entry.label.clone(),
            entry.series.clone(),
            entry.split.to_string(),
            entry.barriers[0].pairs.to_string(),
            draw::with_error(entry.barriers[0].estimate(), 1.0, 4),
            draw::with_error(entry.barriers[1].estimate(), 100.0, 2),
        ]
    }))
}

/// The loss barriers of the first curves at both ends of the sweep, on the last part of the data set.
fn headlines(entries: &[Entry], key: &str) -> Vec<Headline> {
    let Some(split) = entries.last().map(|entry| entry.split) else { return Vec::new() };
    let entries = || entries.iter().filter(|entry| entry.split == split);
    let names = crate::figure::distinct(entries().map(|entry| entry.series.as_str()));
    let headline = |name: &str| {
        let mut same: Vec<&Entry> = entries().filter(|entry| entry.series == name).collect();
        same.sort_by(|a, b| a.x.total_cmp(&b.x));
        let (first, last) = (same[0], same[same.len() - 1]);
        Headline {
            label: format!("Loss barrier, {name}"),
            value: format!("{:.3} → {:.3}", first.barriers[0].mean, last.barriers[0].mean),
            note: format!("nats, {split} examples; {key} {} → {}", first.label, last.label),
        }
    };
    names.into_iter().take(HEADLINES).map(headline).collect()
}

/// The first setting that is swept, in words.
pub(super) fn swept(cells: &[MeasuredCell]) -> Option<String> {
    cells.iter().find_map(|cell| cell.settings.keys().next()).map(|key| short(key))
}

/// Settings with their values, in words.
fn settings<'a>(settings: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    settings.map(|(key, value)| format!("{} {}", short(key), text(value))).collect::<Vec<_>>().join(", ")
}

/// The last part of the name of a setting in words, with the part before it if it says little alone.
fn short(key: &str) -> String {
    let mut parts = key.rsplit('.');
    let last = parts.next().unwrap_or_default();
    match (parts.next(), last) {
        (Some("prior"), "variance") => "prior variance".to_owned(),
        (Some("arch"), "hidden") => "width of hidden layers".to_owned(),
        _ => last.replace('_', " "),
    }
}

/// The coordinate of the value of a setting: itself, or the first of a list.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_array()?.first()?.as_f64())
}

/// The value of a setting in words.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    }
}
