//! Loss and error barriers along paths between two posteriors.

use super::StageReport;
use crate::draw;
use crate::figure::{Figure, Point, Series};
use crate::page::Headline;
use crate::table::Table;
use onebasin::data::Split;
use onebasin::experiment::stages::barrier::{BarrierResult, Row};
use onebasin::experiment::stages::decomposition::{Decomposition, Part, decomposition};
use onebasin::experiment::stages::over_pairs::{barriers, same_curves};
use onebasin::measure;
use onebasin::measure::{Barriers, Estimate, Spread};
use std::slice;

/// A curve with a barrier this many times as high as that of any other hides the others.
const HIDES: f64 = 4.0;
/// Caption of the table of barriers.
const BARRIERS: &str = "Barriers, with Monte Carlo errors. A barrier is the largest rise above the chord, the line between both ends, \
                        over all points between them; it is negative if the whole curve lies below the chord";
/// Caption of the table of definitions.
const DEFINITIONS: &str = "Loss barriers by each definition, in nats. Above the chord: the largest L(τ) − (1 − τ) L(0) − τ L(1) over \
                           0 < τ < 1. Clipped: the same over 0 ≤ τ ≤ 1, where the ends add a zero, so negative ones become \
                           zero, without an error. Midpoint: L(1/2) − (L(0) + L(1)) / 2. Instability: the largest L(τ), less \
                           (L(0) + L(1)) / 2";
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

/// One line for each curve: its loss barrier by each definition.
fn definitions(result: &BarrierResult) -> Table {
    let row = |Row { curve, split, measured, .. }: &Row| {
        let Barriers { barrier, midpoint, instability } = measured.loss;
        let [above, midpoint, instability] =
            [barrier, midpoint, instability].map(|of| draw::with_error(of.estimate(), 1.0, 5));
        let clipped = format!("{:.5}", barrier.value.max(0.0));
        [curve.clone(), split.to_string(), above, clipped, midpoint, instability]
    };
    let numbers = ["above the chord", "clipped", "midpoint", "instability"];
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

/// Some curves on the last part of the data set, each with one row for each pair of posteriors.
struct Key<'a> {
    split: Split,
    /// The first path, which has no alignment.
    first: &'a [&'a Row],
    /// The first path of aligned posteriors.
    aligned: Option<&'a [&'a Row]>,
    /// The path with the lowest loss barrier, if it is another one.
    lowest: Option<&'a [&'a Row]>,
    /// Number of the paths of aligned posteriors, of which the lowest was chosen after all were measured.
    count: usize,
}

impl<'a> Key<'a> {
    fn of(curves: &'a [Vec<&'a Row>]) -> Option<Self> {
        let split = curves.last()?[0].split;
        let paths = || {
            let here = curves.iter().map(Vec::as_slice);
            here.filter(|rows| rows[0].split == split && rows[0].path.is_some() && rows[0].temperatures.is_none())
        };
        let (first, aligned) = (paths().next()?, paths().find(|rows| rows[0].is_aligned()));
        let lowest = paths().min_by(|a, b| loss(a).mean.total_cmp(&loss(b).mean));
        let lowest =
            lowest.filter(|rows| [Some(first), aligned].iter().flatten().all(|it| it[0].curve != rows[0].curve));
        let count = paths().filter(|rows| rows[0].is_aligned()).count();
        Some(Self { split, first, aligned, lowest, count })
    }
}

/// The loss barriers of a curve.
fn loss(rows: &[&Row]) -> Spread {
    Spread::of(&barriers(rows, |curve| curve.loss))
}

/// What alignment and the best path do to the loss barrier; `curves` as in [`figures`].
pub(crate) fn finding(curves: &[Vec<&Row>]) -> Option<String> {
    let Key { split, first, aligned, lowest, count } = Key::of(curves)?;
    let (before, number) = (loss(first), |rows: &[&Row]| draw::with_error(loss(rows).estimate(), 1.0, 3));
    let pairs = if before.pairs > 1 { format!(" (means of {} pairs)", before.pairs) } else { String::new() };
    let Some(aligned) = aligned.filter(|aligned| aligned[0].curve != first[0].curve) else {
        return Some(format!("The {split} loss barrier is {} nats ({}){pairs}.", number(first), first[0].curve));
    };
    let name = &aligned[0].curve;
    let verb = if loss(aligned).mean < before.mean { "lowers" } else { "does not lower" };
    let best = lowest.map(|rows| format!("; the lowest of {count} curves ({}) has {}", rows[0].curve, number(rows)));
    let (from, to, best) = (number(first), number(aligned), best.unwrap_or_default());
    Some(format!("Alignment by {name} {verb} the {split} loss barrier: from {from} to {to} nats{best}{pairs}."))
}

/// The loss barriers of the key curves.
pub(crate) fn headlines(curves: &[Vec<&Row>]) -> Vec<Headline> {
    let Some(Key { split, first, aligned, lowest, count }) = Key::of(curves) else { return Vec::new() };
    let headline = |(rows, chosen): (&[&Row], &str)| {
        let spread = loss(rows);
        let over = match spread.pairs {
            1 => String::new(),
            pairs => format!("; mean of {pairs} pairs, {:.4} to {:.4}", spread.lowest, spread.highest),
        };
        Headline {
            label: format!("Loss barrier, {}", rows[0].curve),
            value: draw::with_error(spread.estimate(), 1.0, 4),
            note: format!("nats, {split} examples{over}{chosen}"),
        }
    };
    let chosen = format!("; the lowest of {count} curves");
    let rows = [Some((first, "")), aligned.map(|rows| (rows, "")), lowest.map(|rows| (rows, chosen.as_str()))];
    rows.into_iter().flatten().map(headline).collect()
}

/// The numbers of points, samples, examples and pairs behind some curves.
fn numbers(curves: &[Vec<&Row>]) -> String {
    let Some(Row { samples, measured, .. }) = curves.first().map(|rows| rows[0]) else { return String::new() };
    let drawn = if *samples > 1 {
        format!("{} at each", draw::count(*samples, "sample"))
    } else {
        "one network at each".to_owned()
    };
    let mut parts = vec![draw::count(measured.points.len(), "point"), drawn];
    let splits = crate::figure::distinct(curves.iter().map(|rows| rows[0].split.name()));
    parts.extend(splits.into_iter().filter_map(|split| {
        let row = curves.iter().map(|rows| rows[0]).find(|row| row.split.name() == split)?;
        Some(draw::count(row.examples, &format!("{split} example")))
    }));
    let pairs = curves.iter().map(Vec::len).max().unwrap_or(0);
    parts.push(draw::count(pairs, "pair") + " of posteriors");
    parts.join(", ")
}

/// Loss and error along all paths; and the loss of aligned posteriors alone, if another curve hides them.
///
/// `curves`: the rows of each curve, one for each pair of posteriors. The ends of several pairs differ, so their figures show
/// means of what lies above the line between the ends.
pub(crate) fn figures(id: &str, curves: &[Vec<&Row>]) -> Vec<Figure> {
    let several = curves.iter().any(|rows| rows.len() > 1);
    let drawn = curves.iter().any(|rows| rows[0].samples > 1);
    let [along, unit, bands] = if several {
        let bands = " Lines are means over pairs, bands the standard deviation over pairs.";
        [" above the chord", " above the chord", bands]
    } else if drawn {
        let bands = " Bands are ± 2 Monte Carlo standard errors at each point. They are wider than the error of a barrier: \
                     all points have the same noise, and what they share cancels in the rise above the chord.";
        ["", "", bands]
    } else {
        [""; 3]
    };
    let all: Vec<&[&Row]> = curves.iter().map(Vec::as_slice).collect();
    let aligned: Vec<&[&Row]> = all.iter().copied().filter(|rows| rows[0].is_aligned()).collect();
    let figure = |[kind, title, label]: [&str; 3], caption: &str, series| {
        let caption = format!("{caption} {}.{bands}", numbers(curves));
        draw::lines(format!("{id}-{kind}"), title, &caption, [draw::linear("τ"), draw::linear(label)], series)
    };
    let loss_of = |curves: &[&[&Row]]| series(curves, |point| point.loss, 1.0);
    let label = format!("loss{unit}, nats");
    let from = "from A (τ = 0) to B (τ = 1)";
    let caption = format!("Loss of the predictive distribution{along} along each path {from}.");
    let mut figures = vec![figure(
        ["loss", &format!("Loss{along} along the path from one posterior to the other"), &label],
        &format!(
            "{caption} The mixture is the reference: its loss never rises above the chord, the line between both ends."
        ),
        loss_of(&all),
    )];
    let highest = |curves: &[&[&Row]]| curves.iter().map(|rows| loss(rows).mean).fold(0.0, f64::max);
    if !aligned.is_empty() && highest(&all) > HIDES * highest(&aligned) {
        figures.push(figure(
            ["loss-aligned", &format!("Loss{along} along the path between aligned posteriors"), &label],
            &format!(
                "{caption} As above, without the curves that have no alignment, so that the others can be told apart."
            ),
            loss_of(&aligned),
        ));
    }
    figures.push(figure(
        ["error", &format!("Error{along} along the path from one posterior to the other"), &format!("error{unit}, %")],
        &format!("Share of the examples that the predictive distribution classifies wrongly{along}, {from}."),
        series(&all, |point| point.error, 100.0),
    ));
    figures
}

impl StageReport for BarrierResult {
    const TITLE: &'static str = "Barriers";

    fn fault(&self) -> Option<&'static str> {
        self.curves.iter().any(|row| row.measured.points.is_empty()).then_some("a curve has no points")
    }

    fn finding(&self) -> Option<String> {
        finding(&same_curves(slice::from_ref(self)))
    }

    fn headlines(&self) -> Vec<Headline> {
        headlines(&same_curves(slice::from_ref(self)))
    }

    fn figures(&self, id: &str) -> Vec<Figure> {
        figures(id, &same_curves(slice::from_ref(self)))
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let (barriers, definitions) = ((BARRIERS.to_owned(), table(self)), (DEFINITIONS.to_owned(), definitions(self)));
        [barriers].into_iter().chain(decomposition_table(slice::from_ref(self))).chain([definitions]).collect()
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
