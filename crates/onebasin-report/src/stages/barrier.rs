//! Loss and error barriers along paths between two posteriors.

use super::StageReport;
use crate::draw;
use crate::figure::{Figure, Point, Series};
use crate::page::Headline;
use crate::table::Table;
use onebasin::experiment::stages::barrier::{BarrierResult, Row, UNALIGNED};
use onebasin::measure;
use onebasin::measure::{Barrier, Estimate};

/// A curve with a barrier this many times as high as that of any other hides the others.
const HIDES: f64 = 4.0;

/// One line for each curve.
pub fn table(result: &BarrierResult) -> Table {
    let timed = result.curves.iter().any(|row| row.seconds.is_some());
    let numbers = ["L(0)", "L(1)", "L(1/2)", "loss barrier", "error barrier, %"];
    let row = |Row { curve, split, seconds, measured, .. }: &Row| {
        let points = &measured.points;
        let [from, to, middle] =
            [0, points.len() - 1, points.len() / 2].map(|index| format!("{:.5}", points[index].loss.value));
        let barriers = [(measured.loss, 1.0, 5), (measured.error, 100.0, 2)];
        let [loss, error] = barriers.map(|(of, unit, digits)| draw::with_error(estimate(of.barrier), unit, digits));
        let seconds = timed.then(|| draw::or_dash(*seconds, |seconds| format!("{seconds:.1}")));
        [curve.clone(), split.to_string(), from, to, middle, loss, error].into_iter().chain(seconds)
    };
    let numbers = numbers.into_iter().chain(timed.then_some("seconds"));
    draw::table(&["curve", "examples"], numbers).with(result.curves.iter().map(row))
}

/// The height of a barrier and its standard error.
pub(crate) fn estimate(Barrier { value, standard_error, .. }: Barrier) -> Estimate {
    Estimate { value, standard_error }
}

impl StageReport for BarrierResult {
    const TITLE: &'static str = "Barriers";

    fn fault(&self) -> Option<&'static str> {
        self.curves.iter().any(|row| row.measured.points.is_empty()).then_some("a curve has no points")
    }

    /// The barriers of the first curve, of the first aligned one and of the lowest one, on the last part of the data set.
    fn headlines(&self) -> Vec<Headline> {
        let Some(split) = self.curves.last().map(|row| row.split) else { return Vec::new() };
        let rows = || self.curves.iter().filter(|row| row.split == split && row.path.is_some());
        let lowest = rows()
            .filter(|row| row.temperatures.is_none())
            .min_by(|a, b| a.measured.loss.barrier.value.total_cmp(&b.measured.loss.barrier.value));
        let mut shown: Vec<&Row> = rows().take(1).collect();
        shown.extend(rows().find(|row| is_aligned(row)));
        shown.extend(lowest.filter(|row| shown.iter().all(|other| other.curve != row.curve)));
        let headline = |row: &Row| Headline {
            label: format!("Loss barrier, {}", row.curve),
            value: draw::with_error(estimate(row.measured.loss.barrier), 1.0, 4),
            note: format!("nats, {split} examples"),
        };
        shown.into_iter().map(headline).collect()
    }

    /// Loss and error along all paths; and the loss of aligned posteriors alone, if another curve hides them.
    fn figures(&self, id: &str) -> Vec<Figure> {
        let all: Vec<&Row> = self.curves.iter().collect();
        let aligned: Vec<&Row> = all.iter().copied().filter(|row| is_aligned(row)).collect();
        let figure = |[kind, title, label]: [&str; 3], caption: &str, series| {
            draw::lines(format!("{id}-{kind}"), title, caption, [draw::linear("τ"), draw::linear(label)], series)
        };
        let loss = |rows: &[&Row]| series(rows, |point| point.loss, 1.0);
        let bands =
            "Loss of the predictive distribution along each path, in nats, with bands of twice the Monte Carlo error.";
        let mut figures = vec![figure(
            ["loss", "Loss along the path from one posterior to the other", "loss, nats"],
            &format!("{bands} The mixture is the reference: its loss never rises above the line between its ends."),
            loss(&all),
        )];
        let highest = |rows: &[&Row]| rows.iter().map(|row| row.measured.loss.barrier.value).fold(0.0, f64::max);
        if !aligned.is_empty() && highest(&all) > HIDES * highest(&aligned) {
            figures.push(figure(
                ["loss-aligned", "Loss along the path between aligned posteriors", "loss, nats"],
                &format!("{bands} The curves without alignment are left out, so that the others can be told apart."),
                loss(&aligned),
            ));
        }
        figures.push(figure(
            ["error", "Error along the path from one posterior to the other", "error, %"],
            "Share of the examples that are classified wrongly, from A, τ = 0, to B, τ = 1.",
            series(&all, |point| point.error, 100.0),
        ));
        figures
    }

    fn tables(&self) -> Vec<(String, Table)> {
        vec![("Barriers, with Monte Carlo errors".to_owned(), table(self))]
    }
}

/// Whether the posteriors of a curve are aligned; the mixture needs no alignment.
fn is_aligned(row: &Row) -> bool {
    !row.curve.starts_with(UNALIGNED)
}

/// A line for each curve.
fn series(rows: &[&Row], of: impl Fn(&measure::Point) -> Estimate, unit: f64) -> Vec<Series> {
    let one = |row: &&Row| {
        let points = row.measured.points.iter().map(|at| {
            let Estimate { value, standard_error } = of(at);
            Point { x: at.tau, y: unit * value, error: standard_error.map(|error| 2.0 * unit * error) }
        });
        Series { reference: row.path.is_none(), ..draw::curve(&row.curve, row.split.name(), points) }
    };
    rows.iter().map(one).collect()
}
