//! A sweep: barriers against the settings that are swept.

use super::experiment::Parts;
use super::{names, pairs};
use crate::error::Result;
use crate::figure::{Axis, Figure, Point, distinct};
use crate::page::{Block, Headline, Section};
use crate::stages::Shown;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use crate::{draw, stages};
use onebasin::data::Split;
use onebasin::experiment::stages::over_pairs::{OverPairs, over_pairs};
use onebasin::experiment::{Barrier, MeasuredCell, Stage};
use onebasin::measure::{Estimate, Spread};
use serde_json::Value;
use std::collections::BTreeMap;

/// Number of curves that have a headline.
const HEADLINES: usize = 3;

/// The first setting that is swept.
pub(super) struct Swept {
    /// The setting in words.
    pub(super) key: String,
    /// Value of each cell, as a coordinate and in words.
    pub(super) places: Vec<(f64, String)>,
    /// The axis of its values: of numbers, or of kinds.
    pub(super) axis: Axis,
}

impl Swept {
    /// Returns none if nothing is swept. Values are numbers, or lists of numbers that differ in the first; else they are kinds.
    pub(super) fn of(cells: &[MeasuredCell]) -> Option<Self> {
        let values: Vec<(&String, &Value)> =
            cells.iter().map(|cell| cell.settings.iter().next()).collect::<Option<_>>()?;
        let key = names::short(values.first()?.0);
        let labels: Vec<String> = values.iter().map(|(_, value)| names::text(value)).collect();
        let kinds = distinct(labels.iter().map(String::as_str));
        let kind = |label: &String| kinds.iter().position(|kind| kind == label).unwrap_or(0) as f64;
        let numbers: Option<Vec<f64>> = values.iter().map(|(_, value)| number(value)).collect();
        let is_one_each = |numbers: &Vec<f64>| {
            let one =
                |label: &String, number: f64| labels.iter().zip(numbers).all(|(l, n)| (l == label) == (*n == number));
            labels.iter().zip(numbers).all(|(label, number)| one(label, *number))
        };
        let (xs, axis) = if let Some(numbers) = numbers.filter(is_one_each) {
            (numbers.clone(), draw::fitting(&key, numbers.into_iter()))
        } else {
            let categories = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            (labels.iter().map(kind).collect(), Axis { categories, ..draw::linear(&key) })
        };
        Some(Self { key, places: xs.into_iter().zip(labels).collect(), axis })
    }
}

/// The coordinate of the value of a setting: itself, or the first of a list.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_array()?.first()?.as_f64())
}

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
pub(super) fn add(
    cells: &[MeasuredCell],
    prefix: &str,
    names: &BTreeMap<String, String>,
    parts: &mut Parts,
) -> Result<()> {
    if let Some(swept) = Swept::of(cells) {
        let entries = entries(cells, &swept)?;
        if !entries.is_empty() {
            parts.push(barriers(&entries, &swept, prefix));
        }
    }
    for cell in cells {
        let swept = names::settings(cell.settings.iter());
        let prefix = format!("{prefix}{}-", swept.replace(", ", "-").replace(' ', "-"));
        for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) != Barrier::NAME) {
            let mut shown = stages::show(task, result, &prefix, names)?;
            shown.section.title += &format!(", {swept}");
            parts.push(Shown { headlines: Vec::new(), ..shown });
        }
    }
    Ok(())
}

/// The barriers of all cells.
fn barriers(entries: &[Entry], swept: &Swept, prefix: &str) -> Shown {
    let key = &swept.key;
    let figure = |which, kind, title: &str, unit, factor| {
        let (id, title) = (format!("{prefix}sweep-{kind}"), format!("{title} against {key}"));
        Block::Figure(figure(entries, which, id, &title, &swept.axis, &format!("barrier, {unit}"), factor))
    };
    let caption = format!(
        "Barriers for each {key}: the largest rise above the chord over all points between the ends, not clipped at zero"
    );
    let section = Section {
        id: format!("{prefix}sweep"),
        title: format!("Barriers against {key}"),
        blocks: vec![
            figure(0, "loss", "Loss barrier", "nats", 1.0),
            figure(1, "error", "Error barrier", "%", 100.0),
            Block::Table { id: format!("{prefix}cells"), caption, table: table(entries, swept) },
        ],
    };
    let ends = ends(entries, &swept.axis);
    Shown { finding: finding(&ends, swept), headlines: headlines(&ends, key), section }
}

fn entries(cells: &[MeasuredCell], swept: &Swept) -> Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    for (cell, (x, label)) in cells.iter().zip(&swept.places) {
        let others = names::settings(cell.settings.iter().skip(1));
        for OverPairs { curve, split, loss, error } in over_pairs(&pairs::results(cell)?) {
            let series = if others.is_empty() { curve } else { format!("{curve}, {others}") };
            all.push(Entry { x: *x, label: label.clone(), series, split, barriers: [loss, error] });
        }
    }
    Ok(all)
}

fn figure(entries: &[Entry], which: usize, id: String, title: &str, x: &Axis, label: &str, factor: f64) -> Figure {
    let points = entries.iter().map(|entry| {
        let Estimate { value, standard_error } = entry.barriers[which].estimate();
        let error = standard_error.map(|error| factor * error);
        (entry.series.clone(), entry.split.name(), Point { x: entry.x, y: factor * value, error })
    });
    let y = draw::fitting(label, entries.iter().map(|entry| factor * entry.barriers[which].mean));
    let pairs = entries.iter().map(|entry| entry.barriers[which].pairs).max().unwrap_or(0);
    let caption = match pairs {
        1 => "One pair of posteriors for each value; bars are its Monte Carlo errors.".to_owned(),
        _ => format!("Means over {} of posteriors; bars are their standard errors.", draw::count(pairs, "pair")),
    };
    draw::lines(id, title, &caption, [x.clone(), y], draw::grouped(points))
}

fn table(entries: &[Entry], Swept { key, axis, .. }: &Swept) -> Table {
    let side = if axis.categories.is_empty() { Right } else { Left };
    let numbers = ["pairs", "loss barrier", "error barrier, %"].map(|title| (title, Right));
    let columns = [(key.as_str(), side), ("curve", Left), ("examples", Left)].into_iter().chain(numbers);
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

/// Two entries of each of the first curves, on the last part of the data set: those at both ends of the sweep, or those with
/// the lowest and the highest loss barrier if the sweep is over kinds.
fn ends<'a>(entries: &'a [Entry], axis: &Axis) -> Vec<[&'a Entry; 2]> {
    let Some(split) = entries.last().map(|entry| entry.split) else { return Vec::new() };
    let entries = || entries.iter().filter(|entry| entry.split == split);
    let names = distinct(entries().map(|entry| entry.series.as_str()));
    let order = |entry: &Entry| if axis.categories.is_empty() { entry.x } else { entry.barriers[0].mean };
    let of = |name: &str| {
        let mut same: Vec<&Entry> = entries().filter(|entry| entry.series == name).collect();
        same.sort_by(|a, b| order(a).total_cmp(&order(b)));
        [same[0], same[same.len() - 1]]
    };
    names.into_iter().take(HEADLINES).map(of).collect()
}

/// How the loss barriers of the first curves change.
fn finding(ends: &[[&Entry; 2]], Swept { key, axis, .. }: &Swept) -> Option<String> {
    let [low, high] = ends.first()?;
    let is_number = axis.categories.is_empty();
    let change = |[low, high]: &[&Entry; 2]| {
        let [from, to] = [low, high].map(|entry| {
            let number = draw::with_error(entry.barriers[0].estimate(), 1.0, 3);
            if is_number { number } else { format!("{number} ({})", entry.label) }
        });
        if low.label == high.label {
            format!("{} {from}", low.series)
        } else {
            format!("{} from {from} to {to}", low.series)
        }
    };
    let over = if low.label == high.label {
        format!("{key} {}", low.label)
    } else if is_number {
        format!("{key} {} to {}", low.label, high.label)
    } else {
        draw::count(axis.categories.len(), "value") + &format!(" of {key}")
    };
    let changes = ends.iter().map(change).collect::<Vec<_>>().join("; ");
    Some(format!("{} loss barriers in nats over {over}: {changes}.", capitalised(low.split.name())))
}

fn capitalised(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn headlines(ends: &[[&Entry; 2]], key: &str) -> Vec<Headline> {
    // One value, if it is the only one that was measured.
    let change = |from: String, to: String, same: bool| if same { from } else { format!("{from} → {to}") };
    let headline = |[low, high]: &[&Entry; 2]| {
        let same = low.label == high.label;
        let [from, to] = [low, high].map(|entry| format!("{:.3}", entry.barriers[0].mean));
        let values = change(low.label.clone(), high.label.clone(), same);
        Headline {
            label: format!("Loss barrier, {}", low.series),
            value: change(from, to, same),
            note: format!("nats, {} examples; {key} {values}", low.split),
        }
    };
    ends.iter().map(headline).collect()
}
