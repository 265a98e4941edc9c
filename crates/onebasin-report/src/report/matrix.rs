//! Barriers and distances between all pairs of several posteriors: a map and a table each.

use crate::draw;
use crate::figure::{Axis, Chart, Figure, HeatMap};
use crate::page::{Block, Section};
use crate::table::Table;
use onebasin::experiment::stages::barrier::{Aligned, BarrierResult, Row};
use onebasin::experiment::stages::over_pairs::names;

/// More maps than this are not looked at.
const MAX_MAPS: usize = 12;

/// A number for each pair of posteriors.
struct Matrix {
    /// Part of its identifier.
    kind: String,
    /// What it shows.
    title: String,
    /// Quantity and unit.
    label: &'static str,
    /// Of the posteriors `[row, column]`, in both orders; NaN where nothing was measured.
    values: Vec<f64>,
    digits: usize,
}

/// A section with matrices, if some posterior is in several pairs; `pairs` have their names, such as `0-1`.
pub(super) fn section(pairs: &[(String, BarrierResult)], prefix: &str) -> Option<Section> {
    let mut labels: Vec<&str> = Vec::new();
    for label in pairs.iter().flat_map(|(pair, _)| names(pair)) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    if pairs.len() < 2 || 2 * pairs.len() == labels.len() {
        return None;
    }
    let id = format!("{prefix}matrix");
    let matrices = matrices(pairs, &labels);
    let figures = matrices.iter().map(|matrix| Block::Figure(map(&id, matrix, &labels)));
    let tables = matrices.iter().map(|matrix| Block::Table {
        id: format!("{id}-{}-table", matrix.kind),
        caption: format!("{}, {}", matrix.title, matrix.label),
        table: table(matrix, &labels),
    });
    let blocks = figures.chain(tables).collect();
    Some(Section { id, title: "All pairs".to_owned(), blocks })
}

/// The loss barriers of all curves on the last part of the data set, then the distances of all alignments.
fn matrices(pairs: &[(String, BarrierResult)], labels: &[&str]) -> Vec<Matrix> {
    let first = &pairs[0].1;
    let Some(split) = first.curves.last().map(|row| row.split) else { return Vec::new() };
    let fill = |of: &dyn Fn(&BarrierResult) -> Option<f64>| {
        let mut values = vec![f64::NAN; labels.len().pow(2)];
        for (pair, result) in pairs {
            let [from, to] = names(pair).map(|name| labels.iter().position(|label| *label == name).unwrap_or_default());
            if let Some(value) = of(result) {
                values[from * labels.len() + to] = value;
                values[to * labels.len() + from] = value;
            }
        }
        values
    };
    let is_shown = |row: &&Row| row.split == split && row.path.is_some() && row.temperatures.is_none();
    let barriers = first.curves.iter().filter(is_shown).enumerate().map(|(index, shown)| Matrix {
        kind: format!("loss-{index}"),
        title: format!("Loss barriers, {} ({split})", shown.curve),
        label: "loss barrier, nats",
        values: fill(&|result| {
            let own = result.curves.iter().find(|row| row.curve == shown.curve && row.split == split)?;
            Some(own.measured.loss.barrier.estimate().value)
        }),
        digits: 4,
    });
    let distances = first.alignments.iter().enumerate().map(|(index, Aligned { name, .. })| Matrix {
        kind: format!("w2-{index}"),
        title: format!("Wasserstein distances, {name}"),
        label: "W2",
        values: fill(&|result| Some(result.alignments.iter().find(|aligned| aligned.name == *name)?.w2)),
        digits: 2,
    });
    barriers.chain(distances).take(MAX_MAPS).collect()
}

/// The first posterior is in the top row.
fn map(id: &str, matrix: &Matrix, labels: &[&str]) -> Figure {
    let axis = |labels: Vec<String>| Axis { categories: labels, ..draw::linear("posterior") };
    let places: Vec<f64> = (0..labels.len()).map(|place| place as f64).collect();
    let names: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    let rows = matrix.values.chunks_exact(labels.len()).rev();
    Figure {
        id: format!("{id}-{}", matrix.kind),
        title: matrix.title.clone(),
        caption: "Each cell is a pair; those on the diagonal and pairs that were not measured are blank.".to_owned(),
        chart: Chart::HeatMap(HeatMap {
            x: axis(names.clone()),
            y: axis(names.into_iter().rev().collect()),
            xs: places.clone(),
            ys: places,
            equal: true,
            value: draw::linear(matrix.label),
            limits: None,
            values: rows.flatten().copied().collect(),
            annotations: Vec::new(),
        }),
    }
}

/// One line for each posterior.
fn table(matrix: &Matrix, labels: &[&str]) -> Table {
    let digits = matrix.digits;
    let number = |value: &f64| draw::or_dash(value.is_finite().then_some(*value), |value| format!("{value:.digits$}"));
    let rows = labels.iter().zip(matrix.values.chunks_exact(labels.len()));
    let row = |(label, values): (&&str, &[f64])| {
        draw::row((*label).to_owned(), values.iter().map(number).collect::<Vec<_>>())
    };
    draw::table(&["posterior"], labels.iter().copied()).with(rows.map(row))
}
