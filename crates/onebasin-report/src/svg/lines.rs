//! Line charts: lines with gaps, markers, standard errors as bands or bars, and a legend to the right of the plot area.

use super::style::{Style, styles};
use crate::figure::{Lines, Series};
use crate::scale::{Range, Scale};
use crate::svg::{Canvas, Drawing, Frame, WIDTH, axes, legend, px};

/// Height of the plot area.
const HEIGHT: f64 = 258.0;
/// Smallest distance between two points of a path: a nearer point is left out.
const SMALLEST: f64 = 0.2;
/// Series whose points are nowhere further apart coincide.
const COINCIDE: f64 = 0.6;

pub(super) fn draw(lines: &Lines) -> Drawing {
    let frame = frame(lines);
    let mut styles = styles(lines);
    // References lie below the other lines.
    let (references, others): (Vec<usize>, Vec<usize>) =
        (0..lines.series.len()).partition(|index| lines.series[*index].reference);
    let order = [references, others].concat();
    let places: Vec<Vec<[f64; 2]>> = (0..lines.series.len()).map(|index| places(&frame, lines, index)).collect();
    for (below, &index) in order.iter().enumerate() {
        // The groups of one name have one colour, and would only become a wide line.
        let hides = |above: &&usize| {
            lines.series[index].name != lines.series[**above].name && coincide(&places[index], &places[**above])
        };
        styles[index].covered = order[below + 1..].iter().filter(hides).count();
    }
    let mut canvas = Canvas::default();
    axes::draw(&mut canvas, &frame, &lines.x, &lines.y);
    for &index in &order {
        canvas.0 += &format!("<g data-series=\"{index}\" {}>\n", styles[index].group());
        line(&mut canvas, &frame, lines, index, &styles[index]);
        canvas.0 += "</g>\n";
    }
    let legend = legend::draw(&mut canvas, lines, frame.area.top);
    Drawing { width: WIDTH, height: axes::height(&frame, &lines.x), frame, body: canvas.0, legend }
}

/// Returns axes that cover all points and their standard errors.
fn frame(lines: &Lines) -> Frame {
    let mut x = Range::covering(lines.x.scale, lines.visible().map(|point| point.x));
    if let kinds @ 1.. = lines.x.categories.len() {
        x = Range { low: -0.5, high: kinds as f64 - 0.5, ..x };
    } else if lines.series.iter().any(|series| series.markers) {
        x = x.padded(0.04);
    }
    let heights = lines.visible().flat_map(|point| {
        let error = point.error.unwrap_or(0.0);
        [point.y, point.y - error, point.y + error]
    });
    let mut y = Range::covering(lines.y.scale, heights);
    if lines.equal {
        [x, y] = [x, y].map(|range| range.padded(0.04));
    } else {
        y = if lines.y.scale == Scale::Log { y.padded(0.04) } else { y.rounded(axes::MOST) };
    }
    let left = axes::left(&lines.y, &y, HEIGHT);
    axes::frame([x, y], left, [WIDTH - left - axes::overhang(&lines.x, &x), HEIGHT], lines.equal)
}

/// Returns the positions of the points of a series that the axes can show.
fn places(frame: &Frame, lines: &Lines, index: usize) -> Vec<[f64; 2]> {
    let shift = lines.shift(index);
    lines.series[index].points.iter().filter_map(|point| frame.position(point.x + shift, point.y)).collect()
}

fn coincide(one: &[[f64; 2]], other: &[[f64; 2]]) -> bool {
    let near = |(a, b): (&[f64; 2], &[f64; 2])| (a[0] - b[0]).abs().max((a[1] - b[1]).abs()) <= COINCIDE;
    one.len() == other.len() && !one.is_empty() && one.iter().zip(other).all(near)
}

/// A point that the axes can show.
struct Shown {
    /// Position of the point.
    at: [f64; 2],
    /// Vertical positions of the upper and the lower end of its standard error.
    error: Option<[f64; 2]>,
}

fn line(canvas: &mut Canvas, frame: &Frame, lines: &Lines, index: usize, style: &Style) {
    let (series, joined) = (&lines.series[index], lines.x.categories.is_empty());
    for run in runs(frame, series, lines.shift(index)) {
        if series.markers || run.len() == 1 {
            let whisker = |point: &Shown| {
                let [high, low] = point.error?;
                let [x, left] = [px(point.at[0]), px(point.at[0] - 3.5)];
                Some(format!("M{x} {}V{}M{left} {}h7M{left} {}h7", px(high), px(low), px(high), px(low)))
            };
            let bars: String = run.iter().filter_map(whisker).collect();
            canvas.path("class=\"error\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.1\"", &bars);
        } else {
            for part in run.chunk_by(|left, right| left.error.is_some() == right.error.is_some()) {
                canvas.path("class=\"error\" fill-opacity=\".18\"", &band(part));
            }
        }
        let points: Vec<[f64; 2]> = run.iter().map(|point| point.at).collect();
        match points[..] {
            [only] if !series.markers => canvas.circle(only, 2.2, "stroke=\"none\""),
            _ if joined => canvas.path(&style.line(), &polyline(points.iter().copied())),
            _ => {}
        }
        style.mark(canvas, &points);
    }
}

/// Returns the runs of points between gaps, none of them empty.
fn runs(frame: &Frame, series: &Series, shift: f64) -> Vec<Vec<Shown>> {
    let mut runs = vec![Vec::new()];
    for point in &series.points {
        let Some(at) = frame.position(point.x + shift, point.y) else {
            runs.push(Vec::new());
            continue;
        };
        let end = |value: f64| frame.height_of(frame.y.clamped(value));
        let error = point.error.filter(|error| *error > 0.0 && error.is_finite());
        let error = error.map(|error| [end(point.y + error), end(point.y - error)]);
        runs.last_mut().expect("the first run is there from the start").push(Shown { at, error });
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Returns the outline of the band of standard errors; empty if fewer than two are known.
fn band(points: &[Shown]) -> String {
    let ends: Vec<_> = points.iter().filter_map(|point| Some((point.at[0], point.error?))).collect();
    if ends.len() < 2 {
        return String::new();
    }
    let upper = ends.iter().map(|&(x, [high, _])| [x, high]);
    let lower = ends.iter().rev().map(|&(x, [_, low])| [x, low]);
    polyline(upper.chain(lower)) + "z"
}

/// Returns a path through the points, without those nearer than `SMALLEST` to the one before.
fn polyline(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut out = String::new();
    let mut last = [f64::INFINITY; 2];
    for [x, y] in points {
        if (x - last[0]).abs().max((y - last[1]).abs()) >= SMALLEST {
            out += &format!("{}{} {}", if out.is_empty() { 'M' } else { 'L' }, px(x), px(y));
            last = [x, y];
        }
    }
    out
}
