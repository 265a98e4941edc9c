//! What a sweep shows: barriers against the settings that were swept.

use super::Results;
use super::draw;
use super::page::Parts;
use super::sections;
use crate::commands::barrier;
use crate::commands::run::Measured;
use anyhow::Context;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Block;
use onebasin_report::Headline;
use onebasin_report::Point;
use onebasin_report::Section;
use onebasin_report::Series;
use onebasin_report::Table;
use serde_json::Value;

/// A barrier, with all that it is of.
struct Entry {
    /// The place of the cell on the axis, and what it is called.
    x: f64,
    label: String,
    /// The settings that are swept besides the first, in words.
    others: String,
    curve: String,
    split: String,
    /// Loss and error, of each pair.
    values: Vec<[f64; 2]>,
    /// The standard errors of the last pair.
    errors: [Option<f64>; 2],
}

/// Appends a section with barriers against what is swept, and one for each cell that measured something else.
pub(super) fn of(results: &Results, prefix: &str, parts: &mut Parts) -> anyhow::Result<()> {
    let entries = entries(&results.measures.cells)?;
    if let Some(key) = results.measures.cells.iter().find_map(|cell| cell.settings.keys().next())
        && !entries.is_empty()
    {
        parts.headlines.extend(headlines(&entries, key));
        let blocks = vec![
            figure(&entries, key, prefix, 0, "loss", "Loss barrier", "nats", 1.0),
            figure(&entries, key, prefix, 1, "error", "Error barrier", "%", 100.0),
            table(&entries, key, prefix),
        ];
        parts.sections.push(Section {
            id: format!("{prefix}sweep"),
            title: format!("Barriers against {}", short(key)),
            blocks,
        });
    }
    for cell in &results.measures.cells {
        let others: Vec<(String, Value)> = cell
            .stages
            .iter()
            .filter(|(name, _)| !name.starts_with("barrier/"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !others.is_empty() {
            let cell = Measured { stages: others.into_iter().collect(), ..cell.clone() };
            let swept: Vec<String> =
                cell.settings.iter().map(|(key, value)| format!("{} {}", short(key), text(value))).collect();
            let mut own = Parts { headlines: Vec::new(), sections: Vec::new() };
            sections::of(&cell, &format!("{prefix}{}-", cell.id), &mut own)?;
            parts.sections.extend(
                own.sections
                    .into_iter()
                    .map(|section| Section { title: format!("{}, {}", section.title, swept.join(", ")), ..section }),
            );
        }
    }
    Ok(())
}

fn entries(cells: &[Measured]) -> anyhow::Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let mut settings = cell.settings.iter();
        let Some((_, value)) = settings.next() else { continue };
        let others: Vec<String> = settings.map(|(key, value)| format!("{} {}", short(key), text(value))).collect();
        let others = others.join(", ");
        let x = number(value).unwrap_or(index as f64);
        for (name, value_of_stage) in cell.stages.iter().filter(|(name, _)| name.starts_with("barrier/")) {
            let report: barrier::Report = sections::read(name, value_of_stage)?;
            report.check().with_context(|| name.clone())?;
            for (curve, split, barriers) in report.barriers()? {
                let values = barriers.map(|barrier| barrier.value);
                let errors = barriers.map(|barrier| barrier.standard_error);
                let label = text(value);
                let same = |entry: &&mut Entry| {
                    entry.label == label && entry.others == others && entry.curve == curve && entry.split == split
                };
                match all.iter_mut().find(same) {
                    Some(entry) => entry.values.push(values),
                    None => {
                        all.push(Entry {
                            x,
                            label,
                            others: others.clone(),
                            curve,
                            split,
                            values: vec![values],
                            errors,
                        });
                    }
                }
            }
        }
    }
    Ok(all)
}

impl Entry {
    /// The mean over pairs; and its standard error, over pairs if there are several, else that of the draws.
    fn mean(&self, which: usize) -> (f64, Option<f64>) {
        let count = self.values.len() as f64;
        let mean = self.values.iter().map(|values| values[which]).sum::<f64>() / count;
        if self.values.len() == 1 {
            return (mean, self.errors[which]);
        }
        let squares: f64 = self.values.iter().map(|values| (values[which] - mean).powi(2)).sum();
        (mean, Some((squares / (count - 1.0) / count).sqrt()))
    }

    fn series(&self) -> String {
        if self.others.is_empty() { self.curve.clone() } else { format!("{}, {}", self.curve, self.others) }
    }
}

#[expect(clippy::too_many_arguments, reason = "a figure has many words")]
fn figure(
    entries: &[Entry],
    key: &str,
    prefix: &str,
    which: usize,
    id: &str,
    title: &str,
    unit: &str,
    factor: f64,
) -> Block {
    let mut series: Vec<Series> = Vec::new();
    for entry in entries {
        let (y, error) = entry.mean(which);
        let point = Point { x: entry.x, y: factor * y, error: error.map(|error| factor * error) };
        let name = entry.series();
        match series.iter_mut().find(|series| series.name == name && series.group == entry.split) {
            Some(series) => series.points.push(point),
            None => series.push(draw::marked(&name, &entry.split, [point])),
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let x = draw::fitting(&short(key), entries.iter().map(|entry| entry.x));
    let caption =
        "Means over pairs of posteriors with their standard errors, or of one pair with the Monte Carlo error.";
    let title = format!("{title} against {}", short(key));
    let y = draw::fitting(&format!("barrier, {unit}"), entries.iter().map(|entry| factor * entry.mean(which).0));
    Block::Figure(draw::lines(format!("{prefix}sweep-{id}"), &title, caption, [x, y], series))
}

fn table(entries: &[Entry], key: &str, prefix: &str) -> Block {
    let (key, numbers) = (short(key), ["pairs", "loss barrier", "error barrier, %"]);
    let columns = [(key.as_str(), Right), ("curve", Left), ("images", Left)];
    let mut table = Table::new(columns.into_iter().chain(numbers.map(|title| (title, Right))));
    for entry in entries {
        let cell = |which: usize, factor: f64, digits: usize| {
            let (mean, error) = entry.mean(which);
            let error = error.map_or_else(String::new, |error| format!(" ± {:.digits$}", factor * error));
            format!("{:.digits$}{error}", factor * mean)
        };
        table.push([
            entry.label.clone(),
            entry.series(),
            entry.split.clone(),
            entry.values.len().to_string(),
            cell(0, 1.0, 4),
            cell(1, 100.0, 2),
        ]);
    }
    Block::Table { id: format!("{prefix}cells"), caption: format!("Barriers for each {key}"), table }
}

/// The barrier of each curve at both ends of the sweep.
fn headlines(entries: &[Entry], key: &str) -> Vec<Headline> {
    let Some(split) = entries.last().map(|entry| entry.split.clone()) else { return Vec::new() };
    let mut shown: Vec<String> = Vec::new();
    let mut headlines = Vec::new();
    for entry in entries.iter().filter(|entry| entry.split == split) {
        let name = entry.series();
        if shown.len() == 3 || shown.contains(&name) {
            continue;
        }
        let mut same: Vec<&Entry> =
            entries.iter().filter(|other| other.split == split && other.series() == name).collect();
        same.sort_by(|a, b| a.x.total_cmp(&b.x));
        let (first, last) = (same[0], same[same.len() - 1]);
        headlines.push(Headline {
            label: format!("Loss barrier, {name}"),
            value: format!("{:.3} → {:.3}", first.mean(0).0, last.mean(0).0),
            note: format!("nats, {split} images; {} {} → {}", short(key), first.label, last.label),
        });
        shown.push(name);
    }
    headlines
}

/// The last part of the name of a setting: with the one before it if it says little alone.
pub(super) fn short(key: &str) -> String {
    let mut parts = key.rsplit('.');
    let last = parts.next().unwrap_or_default();
    match (parts.next(), last) {
        (Some("prior"), "variance") => "prior variance".to_owned(),
        (Some("arch"), "hidden") => "width of hidden layers".to_owned(),
        _ => last.replace('_', " "),
    }
}

/// A number that a setting can be drawn at: itself, or the first of a list.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_array()?.first()?.as_f64())
}

/// A setting in words.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    }
}
