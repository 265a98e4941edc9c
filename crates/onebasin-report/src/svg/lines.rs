//! Line charts: lines with gaps, markers, standard errors as bands or bars, and a legend to the right of the plot area.
//! Each series has a style: colour, dashes and marker.

use crate::figure::{Lines, Point, Series, distinct};
use crate::scale::{Range, Scale};
use crate::svg::{Canvas, Drawing, Frame, WIDTH, axes, px, width, wrap};

/// Colour of text and axes.
pub(super) const FOREGROUND: &str = "#1f2328";
/// Colour of references.
const GREY: &str = "#737373";
/// Colours of series, distinct also with colour-vision deficiency: those of Okabe and Ito, Color Universal Design (2008),
/// without black and yellow, and wine and olive of Tol, Colour Schemes (2021). `style.css` has lighter ones for dark pages.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#882255", "#80802b"];
/// CSS class of each colour.
const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
/// Dashes of groups; the first group has solid lines.
const DASHES: [&str; 4] = ["", "5 3", "1.5 2.5", "8 2.5 1.5 2.5"];
/// Dashes of references, one after the other; none is solid.
const REFERENCE_DASHES: [&str; 3] = ["8 3.5", "2 3", "9 3 2 3"];
/// Markers as paths relative to the point: circle, square, triangle, diamond.
const MARKERS: [&str; 4] = [
    "m-3.4 0c0-4.53 6.8-4.53 6.8 0c0 4.53-6.8 4.53-6.8 0z",
    "m-3 -3h6v6h-6z",
    "m0 -4l3.8 6.6h-7.6z",
    "m0 -4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
];
/// Height of the plot area.
const HEIGHT: f64 = 258.0;
/// Smallest distance between two points of a path: a nearer point is left out.
const SMALLEST: f64 = 0.2;
/// Font size of the legend.
const SIZE: f64 = 12.0;
/// Line height of the legend.
const LINE: f64 = 15.0;
/// Space between entries of the legend.
const BETWEEN: f64 = 5.0;
/// Width of margin and key of the legend, left of its text.
const INDENT: f64 = 42.0;
/// Width at which a label of the legend breaks into lines.
const LONGEST: f64 = 165.0;

pub(super) fn draw(lines: &Lines) -> Drawing {
    let frame = frame(lines);
    let styles = styles(lines);
    let mut canvas = Canvas::default();
    axes::draw(&mut canvas, &frame, &lines.x, &lines.y);
    // References lie below the other lines.
    for reference in [true, false] {
        for (index, (series, style)) in lines.series.iter().zip(&styles).enumerate() {
            if series.reference == reference {
                canvas.0 += &format!("<g data-series=\"{index}\" {}>\n", style.group());
                line(&mut canvas, &frame, series, style);
                canvas.0 += "</g>\n";
            }
        }
    }
    let legend = draw_legend(&mut canvas, lines, &styles, frame.area.top);
    Drawing { height: axes::height(&frame, &lines.x), frame, body: canvas.0, legend }
}

/// Returns axes that cover all points and their standard errors.
fn frame(lines: &Lines) -> Frame {
    let mut x = Range::covering(lines.x.scale, lines.visible().map(|point| point.x));
    if lines.series.iter().any(|series| series.markers) {
        x = x.padded(0.04);
    }
    let heights = lines.visible().flat_map(|point| {
        let error = point.error.unwrap_or(0.0);
        [point.y, point.y - error, point.y + error]
    });
    let y = Range::covering(lines.y.scale, heights);
    let y = if lines.y.scale == Scale::Log { y.padded(0.04) } else { y.rounded(axes::MOST) };
    axes::frame(x, y, &lines.y, HEIGHT, axes::overhang(&x))
}

/// A point that the axes can show.
struct Shown {
    /// Position of the point.
    at: [f64; 2],
    /// Vertical positions of the upper and the lower end of its standard error.
    error: Option<[f64; 2]>,
}

fn line(canvas: &mut Canvas, frame: &Frame, series: &Series, style: &Style) {
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

/// Returns the runs of points between gaps, none of them empty.
fn runs(frame: &Frame, points: &[Point]) -> Vec<Vec<Shown>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        let Some(at) = frame.position(point.x, point.y) else {
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

/// Draws the legend from `top` downwards and returns its width and its lower end.
fn draw_legend(canvas: &mut Canvas, lines: &Lines, styles: &[Style], top: f64) -> [f64; 2] {
    if !lines.needs_legend() {
        return [0.0, 0.0];
    }
    let mut y = top;
    let mut widest: f64 = 0.0;
    canvas.0 += "<g class=\"legend\">\n";
    for (series, style) in lines.series.iter().zip(styles) {
        canvas.0 += &format!("<g {}>\n", style.group());
        style.sample(canvas, [WIDTH + 4.0, y + 0.5 * LINE]);
        canvas.0 += "</g>\n";
        let rows = wrap(&series.label(), SIZE, LONGEST);
        for (index, row) in rows.iter().enumerate() {
            canvas.text([WIDTH + INDENT, y + LINE * (index as f64 + 0.78)], "start", "", row);
            widest = widest.max(width(row, SIZE));
        }
        y += LINE * rows.len().max(1) as f64 + BETWEEN;
    }
    canvas.0 += "</g>\n";
    [INDENT + widest + 12.0, y]
}

/// Style of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// CSS class by which a page sets the colour.
    pub(crate) class: &'static str,
    colour: &'static str,
    dash: &'static str,
    marker: Option<&'static str>,
    hollow: bool,
}

/// Returns the style of each series: a colour for each name, dashes for each group.
pub(crate) fn styles(lines: &Lines) -> Vec<Style> {
    let compared = || lines.series.iter().filter(|series| !series.reference);
    let names = distinct(compared().map(|series| series.name.as_str()));
    let groups = distinct(compared().map(|series| series.group.as_str()));
    let index = |names: &[&str], name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let mut references = 0;
    let style = |series: &Series| {
        let (name, group) = (index(&names, &series.name), index(&groups, &series.group));
        let marker = series.markers.then_some(MARKERS[name % MARKERS.len()]);
        if series.reference {
            let dash = REFERENCE_DASHES[references % REFERENCE_DASHES.len()];
            references += 1;
            Style { class: "reference", colour: GREY, dash, marker, hollow: false }
        } else {
            // The ninth name has the colour of the first, so it must have other dashes.
            let dash = DASHES[(group + name / COLOURS.len()) % DASHES.len()];
            let colour = name % COLOURS.len();
            Style { class: CLASSES[colour], colour: COLOURS[colour], dash, marker, hollow: group % 2 == 1 }
        }
    };
    lines.series.iter().map(style).collect()
}

impl Style {
    /// Returns the attributes of the element that groups everything of this colour.
    fn group(&self) -> String {
        format!("class=\"{}\" color=\"{}\"", self.class, self.colour)
    }

    /// Returns the attributes of a line.
    fn line(&self) -> String {
        let dash = if self.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", self.dash) };
        format!("fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dash}")
    }

    /// Draws markers at points, if the series has markers.
    fn mark(&self, canvas: &mut Canvas, points: &[[f64; 2]]) {
        let Some(marker) = self.marker else { return };
        let d: String = points.iter().map(|&[x, y]| format!("M{} {}{marker}", px(x), px(y))).collect();
        let fill = if self.hollow { "none" } else { "currentColor" };
        canvas.path(&format!("fill=\"{fill}\" stroke=\"currentColor\" stroke-width=\"1.2\""), &d);
    }

    /// Draws the legend key, a line of length 28.
    fn sample(&self, canvas: &mut Canvas, [x, y]: [f64; 2]) {
        canvas.path(&self.line(), &format!("M{} {}h28", px(x), px(y)));
        self.mark(canvas, &[[x + 14.0, y]]);
    }
}

/// Returns the legend key as an SVG element of its own.
pub(crate) fn key(style: &Style) -> String {
    let mut canvas = Canvas::default();
    style.sample(&mut canvas, [1.0, 6.0]);
    format!(
        "<svg class=\"key\" viewBox=\"0 0 30 12\" width=\"30\" height=\"12\" aria-hidden=\"true\">{}</svg>",
        canvas.0.trim_end()
    )
}
