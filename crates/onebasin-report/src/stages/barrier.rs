//! Loss and error barriers along paths between two posteriors.

use super::StageReport;
use crate::draw;
use crate::figure::{Figure, Point, Series};
use crate::page::Headline;
use crate::table::Table;
use onebasin::experiment::stages::barrier::{BarrierResult, Row};
use onebasin::experiment::stages::decomposition::{Decomposition, Part, decomposition};
use onebasin::experiment::stages::over_pairs::{barriers, same_curves};
use onebasin::measure;
use onebasin::measure::{Estimate, Spread};
use std::slice;

/// A curve with a barrier this many times as high as that of any other hides the others.
const HIDES: f64 = 4.0;
/// Caption of the table of a decomposition.
pub(crate) const DECOMPOSITION: &str = "Decomposition of the loss barrier: what each step removes, and what is left";

/// One line for each curve.
pub fn table(result: &BarrierResult) -> Table {
    let timed = result.curves.iter().any(|row| row.seconds.is_some());
    let numbers = ["L(0)", "L(1)", "L(1/2)", "loss barrier", "error barrier, %"];
    let row = |Row { curve, split, seconds, measured, .. }: &Row| {
        let points = &measured.points;
        let [from, to, middle] =
            [0, points.len() - 1, points.len() / 2].map(|index| format!("{:.5}", points[index].loss.value));
        let barriers = [(measured.loss, 1.0, 5), (measured.error, 100.0, 2)];
        let [loss, error] = barriers.map(|(of, unit, digits)| draw::with_error(of.barrier.estimate(), unit, digits));
        let seconds = timed.then(|| draw::or_dash(*seconds, |seconds| format!("{seconds:.1}")));
        [curve.clone(), split.to_string(), from, to, middle, loss, error].into_iter().chain(seconds)
    };
    let numbers = numbers.into_iter().chain(timed.then_some("seconds"));
    draw::table(&["curve", "examples"], numbers).with(result.curves.iter().map(row))
}

/// One line for each part of each decomposition; nothing if there is none that has several parts.
pub(crate) fn decomposition_table(results: &[BarrierResult]) -> Option<(String, Table)> {
    let mut table = draw::table(&["part of the loss barrier", "examples", "curve"], ["nats", "%"]);
    let mut all = decomposition(results);
    all.retain(|of| of.parts.len() > 1);
    for Decomposition { split, parts } in &all {
        let whole: f64 = parts.iter().map(|part| part.height.mean).sum();
        for Part { cause, height, curve } in parts {
            let share = (whole > 0.0).then(|| 100.0 * height.mean / whole);
            let numbers =
                [draw::with_error(height.estimate(), 1.0, 4), draw::or_dash(share, |share| format!("{share:.1}"))];
            table.push([cause.to_string(), split.to_string(), curve.clone()].into_iter().chain(numbers));
        }
    }
    (!all.is_empty()).then(|| (DECOMPOSITION.to_owned(), table))
}

/// The loss barriers of the first curve, of the first aligned one and of the lowest one, on the last part of the data set.
///
/// `curves`: the rows of each curve, one for each pair of posteriors.
pub(crate) fn headlines(curves: &[Vec<&Row>]) -> Vec<Headline> {
    let Some(split) = curves.last().map(|rows| rows[0].split) else { return Vec::new() };
    let loss = |rows: &[&Row]| Spread::of(&barriers(rows, |curve| curve.loss));
    let paths = || curves.iter().filter(|rows| rows[0].split == split && rows[0].path.is_some());
    let lowest =
        paths().filter(|rows| rows[0].temperatures.is_none()).min_by(|a, b| loss(a).mean.total_cmp(&loss(b).mean));
    let mut shown: Vec<&Vec<&Row>> = paths().take(1).collect();
    shown.extend(paths().find(|rows| rows[0].is_aligned()));
    shown.extend(lowest.filter(|rows| shown.iter().all(|other| other[0].curve != rows[0].curve)));
    let headline = |rows: &Vec<&Row>| {
        let spread = loss(rows);
        let over = match spread.pairs {
            1 => String::new(),
            pairs => format!("; mean of {pairs} pairs, {:.4} to {:.4}", spread.lowest, spread.highest),
        };
        Headline {
            label: format!("Loss barrier, {}", rows[0].curve),
            value: draw::with_error(spread.estimate(), 1.0, 4),
            note: format!("nats, {split} examples{over}"),
        }
    };
    shown.into_iter().map(headline).collect()
}

/// Loss and error along all paths; and the loss of aligned posteriors alone, if another curve hides them.
///
/// `curves`: the rows of each curve, one for each pair of posteriors. The ends of several pairs differ, so their figures show
/// means of what lies above the line between the ends.
pub(crate) fn figures(id: &str, curves: &[Vec<&Row>]) -> Vec<Figure> {
    let several = curves.iter().any(|rows| rows.len() > 1);
    let [along, unit, bands] = if several {
        [
            " above the line between its ends",
            " above the line",
            "means over pairs, with bands of the standard deviation",
        ]
    } else {
        ["", "", "with bands of twice the Monte Carlo error"]
    };
    let all: Vec<&[&Row]> = curves.iter().map(Vec::as_slice).collect();
    let aligned: Vec<&[&Row]> = all.iter().copied().filter(|rows| rows[0].is_aligned()).collect();
    let figure = |[kind, title, label]: [&str; 3], caption: &str, series| {
        draw::lines(format!("{id}-{kind}"), title, caption, [draw::linear("τ"), draw::linear(label)], series)
    };
    let loss = |curves: &[&[&Row]]| series(curves, |point| point.loss, 1.0);
    let label = format!("loss{unit}, nats");
    let bands = format!("Loss of the predictive distribution along each path{along}, in nats, {bands}.");
    let mut figures = vec![figure(
        ["loss", &format!("Loss{along} along the path from one posterior to the other"), &label],
        &format!("{bands} The mixture is the reference: its loss never rises above the line between its ends."),
        loss(&all),
    )];
    let highest = |curves: &[&[&Row]]| {
        curves.iter().map(|rows| Spread::of(&barriers(rows, |curve| curve.loss)).mean).fold(0.0, f64::max)
    };
    if !aligned.is_empty() && highest(&all) > HIDES * highest(&aligned) {
        figures.push(figure(
            ["loss-aligned", &format!("Loss{along} along the path between aligned posteriors"), &label],
            &format!("{bands} The curves without alignment are left out, so that the others can be told apart."),
            loss(&aligned),
        ));
    }
    figures.push(figure(
        ["error", &format!("Error{along} along the path from one posterior to the other"), &format!("error{unit}, %")],
        &format!("Share of the examples that are classified wrongly{along}, from A, τ = 0, to B, τ = 1."),
        series(&all, |point| point.error, 100.0),
    ));
    figures
}

impl StageReport for BarrierResult {
    const TITLE: &'static str = "Barriers";

    fn fault(&self) -> Option<&'static str> {
        self.curves.iter().any(|row| row.measured.points.is_empty()).then_some("a curve has no points")
    }

    fn headlines(&self) -> Vec<Headline> {
        headlines(&same_curves(slice::from_ref(self)))
    }

    fn figures(&self, id: &str) -> Vec<Figure> {
        figures(id, &same_curves(slice::from_ref(self)))
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let barriers = ("Barriers, with Monte Carlo errors".to_owned(), table(self));
        [barriers].into_iter().chain(decomposition_table(slice::from_ref(self))).collect()
    }
}

/// A line for each curve: that of a single pair with twice its Monte Carlo error; else the mean over pairs of what lies above
/// the line between the ends, with its standard deviation.
fn series(curves: &[&[&Row]], of: fn(&measure::Point) -> Estimate, unit: f64) -> Vec<Series> {
    let one = |rows: &&[&Row]| {
        let points = rows[0].measured.points.iter().enumerate().map(|(index, at)| {
            let above = rows.iter().filter_map(|row| {
                let (points, at) = (&row.measured.points, row.measured.points.get(index)?);
                let ends = [points.first()?, points.last()?].map(|end| of(end).value);
                let line = if rows.len() > 1 { (1.0 - at.tau) * ends[0] + at.tau * ends[1] } else { 0.0 };
                Some(Estimate { value: of(at).value - line, ..of(at) })
            });
            let spread = Spread::of(&above.collect::<Vec<_>>());
            let error = spread.standard_deviation.or(spread.monte_carlo_error.map(|error| 2.0 * error));
            Point { x: at.tau, y: unit * spread.mean, error: error.map(|error| unit * error) }
        });
        Series { reference: rows[0].path.is_none(), ..draw::curve(&rows[0].curve, rows[0].split.name(), points) }
    };
    curves.iter().map(one).collect()
}
