//! Curves: their bands or bars of standard errors, lines with gaps, and markers.

use crate::figure::Lines;
use crate::figure::Point;
use crate::figure::Series;
use crate::scale::Range;
use crate::scale::Scale;
use crate::svg::Drawing;
use crate::svg::Frame;
use crate::svg::axes;
use crate::svg::canvas::Canvas;
use crate::svg::canvas::px;
use crate::svg::legend;
use crate::svg::style::Style;
use crate::svg::style::styles;

const HEIGHT: f64 = 258.0;
/// Points that are nearer to each other are one.
const SMALLEST: f64 = 0.2;

pub(super) fn draw(lines: &Lines) -> Drawing {
    let frame = frame(lines);
    let styles = styles(lines);
    let mut canvas = Canvas::default();
    axes::draw(&mut canvas, &frame, &lines.x, &lines.y);
    // References lie under what is compared with them.
    for reference in [true, false] {
        for (index, (series, style)) in lines.series.iter().zip(&styles).enumerate() {
            if series.reference == reference {
                canvas.raw(&format!("<g data-series=\"{index}\" {}>\n", style.group()));
                curve(&mut canvas, &frame, series, style);
                canvas.raw("</g>\n");
            }
        }
    }
    let legend = legend::draw(&mut canvas, lines, &styles, frame.area.top);
    Drawing { height: axes::height(&frame, &lines.x), frame, body: canvas.finish(), legend }
}

/// Axes that cover all points and their errors.
fn frame(lines: &Lines) -> Frame {
    let shown = |point: &&Point| lines.x.scale.shows(point.x) && lines.y.scale.shows(point.y);
    let points = || lines.series.iter().flat_map(|series| &series.points).filter(shown);
    let mut x = Range::covering(lines.x.scale, points().map(|point| point.x));
    if lines.series.iter().any(|series| series.markers) {
        x = x.padded(0.04);
    }
    let heights = points().flat_map(|point| {
        let error = point.error.unwrap_or(0.0);
        [point.y, point.y - error, point.y + error]
    });
    let y = Range::covering(lines.y.scale, heights);
    let y = if lines.y.scale == Scale::Log { y.padded(0.04) } else { y.rounded(axes::MOST) };
    axes::frame(x, y, &lines.y, HEIGHT, axes::overhang(&x))
}

/// A point that can be shown, and the ends of its error.
struct Shown {
    at: [f64; 2],
    /// Vertical coordinates of the upper and the lower end.
    error: Option<[f64; 2]>,
}

fn curve(canvas: &mut Canvas, frame: &Frame, series: &Series, style: &Style) {
    for run in runs(frame, &series.points) {
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
            _ => canvas.path(&style.line(), &polyline(points.iter().copied())),
        }
        style.mark(canvas, &points);
    }
}

/// The pieces between gaps, none of them empty.
fn runs(frame: &Frame, points: &[Point]) -> Vec<Vec<Shown>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        let Some(at) = frame.place(point.x, point.y) else {
            runs.push(Vec::new());
            continue;
        };
        let end = |value: f64| frame.height_of(frame.y.clamped(value));
        let error = point.error.filter(|error| *error > 0.0 && error.is_finite());
        let error = error.map(|error| [end(point.y + error), end(point.y - error)]);
        runs.last_mut().expect("it began with one").push(Shown { at, error });
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The outline of the errors of neighbours; nothing if they are not known, or there is but one.
fn band(points: &[Shown]) -> String {
    let ends: Vec<_> = points.iter().filter_map(|point| Some((point.at[0], point.error?))).collect();
    if ends.len() < 2 {
        return String::new();
    }
    let upper = ends.iter().map(|&(x, [high, _])| [x, high]);
    let lower = ends.iter().rev().map(|&(x, [_, low])| [x, low]);
    polyline(upper.chain(lower)) + "z"
}

/// A line through points, of which those that nobody could tell from the one before are left out.
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
