//! The number of transpositions between networks; all numbers are means over the runs.

use super::StageReport;
use crate::draw;
use crate::figure::{Figure, Series};
use crate::page::Headline;
use crate::table::Table;
use onebasin::experiment::stages::transpositions::{Correlations, LinePoint, Pair, Snapshot, TranspositionsResult};
use onebasin::measure::Estimate;

/// A column of a pair: title, number of digits and value.
type Column = (&'static str, usize, fn(&Pair) -> f64);

/// Columns of a pair.
const PAIR: [Column; 7] = [
    ("transpositions", 1, |pair| pair.transpositions as f64),
    ("distance", 3, |pair| pair.distance_before),
    ("aligned", 3, |pair| pair.distance_after),
    ("test loss barrier", 4, |pair| pair.test.loss.before),
    ("aligned", 4, |pair| pair.test.loss.after),
    ("test error barrier, %", 2, |pair| 100.0 * pair.test.error.before),
    ("aligned", 2, |pair| 100.0 * pair.test.error.after),
];

impl StageReport for TranspositionsResult {
    const TITLE: &'static str = "The number of transpositions";

    fn finding(&self) -> Option<String> {
        let correlations = self.correlations?;
        Some(format!(
            "Alignment recovers at least {:.1} % of the units that were permuted before training; the number of their \
             transpositions correlates with the test loss barrier by {}, and by {} once aligned.",
            100.0 * recovered(self),
            correlation(correlations.loss_before),
            correlation(correlations.loss_after),
        ))
    }

    fn introduction(&self) -> String {
        let Self { units, unrelated, settings, .. } = self;
        format!(
            "{}; {unrelated:.1} transpositions between independent networks. Means over {}. Barriers are those at the \
             midpoint, L(1/2) − (L(0) + L(1)) / 2.",
            draw::count(*units, "unit"),
            draw::count(settings.runs, "run"),
        )
    }

    fn headlines(&self) -> Vec<Headline> {
        let Some(correlations) = self.correlations else { return Vec::new() };
        vec![
            Headline {
                label: "Planted units recovered after training".to_owned(),
                value: format!("{:.1} %", 100.0 * recovered(self)),
                note: "the smallest of all runs".to_owned(),
            },
            Headline {
                label: "Correlation of transpositions with the loss barrier".to_owned(),
                value: correlation(correlations.loss_before),
                note: format!("with the distance {}", correlation(correlations.distance_before)),
            },
        ]
    }

    fn figures(&self, id: &str) -> Vec<Figure> {
        let starts = by(&self.starts, |start| start.planted as f64, |start| &start.pair);
        let line = by(&self.line, |point| point.tau, |point| point);
        let dynamics = by(&self.dynamics, |snapshot| snapshot.epoch, |snapshot| &snapshot.pair);
        let mut figures = of_pairs(&format!("{id}-starts"), "transpositions planted at the start", &starts);
        if !line.is_empty() {
            figures.push(draw::lines(
                format!("{id}-line"),
                "Transpositions along the line between two networks",
                "Number of transpositions that align each point of the line with either end; the networks are independent.",
                [draw::linear("τ"), draw::linear("transpositions")],
                vec![
                    means("from the first", &line, |point| point.from_first as f64),
                    means("from the second", &line, |point| point.from_second as f64),
                ],
            ));
        }
        figures.extend(of_pairs(&format!("{id}-dynamics"), "epochs of training", &dynamics));
        figures
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let tables = [
            ("After training, from initialisations that were permuted copies", starts(self), self.starts.len()),
            ("On the line between two independent networks", line(&self.line), self.line.len()),
            ("Two independent networks during training", dynamics(&self.dynamics), self.dynamics.len()),
        ];
        let shown = tables.into_iter().filter(|(_, _, rows)| *rows > 0);
        shown.map(|(caption, table, _)| (caption.to_owned(), table)).collect()
    }
}

/// The smallest share of planted units that an alignment recovers.
fn recovered(result: &TranspositionsResult) -> f64 {
    result.starts.iter().map(|start| start.recovered).fold(1.0, f64::min)
}

/// One line for each number of planted transpositions, then the correlations with that number.
fn starts(result: &TranspositionsResult) -> Table {
    let groups = by(&result.starts, |start| start.planted as f64, |start| start);
    let rows = groups.iter().map(|(planted, rows)| {
        let recovered = format!("{:.3}", mean(rows, |start| start.recovered));
        let off = format!("{:.1}", mean(rows, |start| start.off as f64));
        let pairs: Vec<&Pair> = rows.iter().map(|start| &start.pair).collect();
        [planted.to_string(), recovered, off].into_iter().chain(cells(&pairs))
    });
    let correlations = result.correlations.map(|found| {
        let Correlations { transpositions, distance_before, distance_after, .. } = found;
        let Correlations { loss_before, loss_after, error_before, error_after, .. } = found;
        let all = [transpositions, distance_before, distance_after, loss_before, loss_after, error_before, error_after];
        ["correlation", "", ""].map(str::to_owned).into_iter().chain(all.map(correlation))
    });
    with_pair(&["planted", "units recovered", "off"]).with(rows).with(correlations)
}

fn line(points: &[LinePoint]) -> Table {
    let rows = by(points, |point| point.tau, |point| point).into_iter().map(|(tau, rows)| {
        let first = mean(&rows, |point| point.from_first as f64);
        let second = mean(&rows, |point| point.from_second as f64);
        [format!("{tau:.2}"), format!("{first:.1}"), format!("{second:.1}")]
    });
    draw::table(&[], ["tau", "from the first", "from the second"]).with(rows)
}

fn dynamics(snapshots: &[Snapshot]) -> Table {
    let groups = by(snapshots, |snapshot| snapshot.epoch, |snapshot| &snapshot.pair);
    with_pair(&["epoch"]).with(groups.iter().map(|(epoch, pairs)| draw::row(epoch.to_string(), cells(pairs))))
}

/// A table with some columns before those of a pair.
fn with_pair(titles: &[&str]) -> Table {
    draw::table(&[], titles.iter().copied().chain(PAIR.map(|(title, ..)| title)))
}

fn cells(pairs: &[&Pair]) -> [String; PAIR.len()] {
    PAIR.map(|(_, digits, of)| format!("{:.digits$}", mean(pairs, of)))
}

/// Transpositions, distance and barrier.
fn of_pairs(id: &str, against: &str, rows: &[(f64, Vec<&Pair>)]) -> Vec<Figure> {
    if rows.is_empty() {
        return Vec::new();
    }
    let runs = rows.iter().map(|(_, pairs)| pairs.len()).max().unwrap_or(0);
    let figure = |[kind, title, label]: [&str; 3], caption: &str, series: Vec<Series>| {
        let caption = &format!("{caption} Means over {}.", draw::count(runs, "run"));
        let axes = [draw::linear(against), draw::linear(label)];
        draw::lines(format!("{id}-{kind}"), &format!("{title} against {against}"), caption, axes, series)
    };
    let both = |before: fn(&Pair) -> f64, after: fn(&Pair) -> f64| {
        vec![means("no alignment", rows, before), means("aligned", rows, after)]
    };
    vec![
        figure(
            ["transpositions", "Transpositions after training", "transpositions"],
            "Number of transpositions that align the second network with the first.",
            vec![means("found", rows, |pair| pair.transpositions as f64)],
        ),
        figure(
            ["distance", "Distance", "distance"],
            "Euclidean distance between all parameters of the two networks.",
            both(|pair| pair.distance_before, |pair| pair.distance_after),
        ),
        figure(
            ["barrier", "Test loss barrier", "loss barrier, nats"],
            "At the midpoint between the two networks.",
            both(|pair| pair.test.loss.before, |pair| pair.test.loss.after),
        ),
    ]
}

/// A part of the rows of each key, keys in the order of first occurrence.
fn by<'a, T, P>(rows: &'a [T], key: fn(&T) -> f64, part: fn(&'a T) -> &'a P) -> Vec<(f64, Vec<&'a P>)> {
    let mut groups: Vec<(f64, Vec<&P>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(other, _)| *other == key(row)) {
            Some((_, group)) => group.push(part(row)),
            None => groups.push((key(row), vec![part(row)])),
        }
    }
    groups
}

/// A line through the means of each group.
fn means<T>(name: &str, groups: &[(f64, Vec<&T>)], of: fn(&T) -> f64) -> Series {
    draw::marked(name, "", groups.iter().map(|(x, rows)| draw::point(*x, mean(rows, of))))
}

fn mean<T>(rows: &[&T], of: fn(&T) -> f64) -> f64 {
    let values: Vec<f64> = rows.iter().map(|row| of(row)).collect();
    Estimate::mean_of(&values).value
}

fn correlation(value: Option<f64>) -> String {
    draw::or_dash(value, |value| format!("{value:.3}"))
}
