//! Axes of a plot: grid lines, ticks with their numbers, and labels.

use crate::figure::Axis;
use crate::scale::{Range, Tick, ticks};
use crate::svg::{Area, Canvas, Frame, px, width, wrap};

/// Largest number of intervals between the ticks of an axis.
pub(super) const MOST: usize = 6;
/// The same for an axis that is shorter than `SHORT`.
const FEW: usize = 4;
const SHORT: f64 = 250.0;
/// Space above the plot area.
const TOP: f64 = 12.0;
/// Space below the plot area, for numbers and one line of the label.
const BELOW: f64 = 50.0;
/// Line height of labels.
const LINE: f64 = 16.0;
/// Font size for which space is reserved: pages use it on phones.
const SIZE_ON_PHONES: f64 = 14.0;

/// Returns the ticks of an axis of this length: numbers, or one for each kind.
pub(super) fn ticks_of(axis: &Axis, range: &Range, length: f64) -> Vec<Tick> {
    if axis.categories.is_empty() {
        return ticks(range.scale, range.low, range.high, if length < SHORT { FEW } else { MOST });
    }
    let kinds = axis.categories.iter().enumerate();
    kinds.map(|(index, name)| Tick { value: index as f64, label: name.clone() }).collect()
}

/// Returns the width of the widest number at a vertical axis.
pub(super) fn widest(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|tick| width(&tick.label, SIZE_ON_PHONES)).fold(0.0, f64::max)
}

/// Returns the lines of the label of an axis.
pub(super) fn label(axis: &Axis, room: f64) -> Vec<String> {
    wrap(&axis.label, SIZE_ON_PHONES, room)
}

/// Returns the space that all lines of a label but the first take.
pub(super) fn further(label: &[String]) -> f64 {
    LINE * label.len().saturating_sub(1) as f64
}

/// Returns the space to the left of a plot area of this height, for the numbers and the label of the vertical axis.
pub(super) fn left(axis: &Axis, range: &Range, height: f64) -> f64 {
    28.0 + further(&label(axis, height)) + widest(&ticks_of(axis, range, height)) + 8.0
}

/// Returns the frame of a plot area whose top left corner is as far right as `left`. It has this width and height, or less
/// of one of them if equal distances shall have equal lengths on both axes.
pub(super) fn frame([x, y]: [Range; 2], left: f64, [width, height]: [f64; 2], equal: bool) -> Frame {
    let [across, up] = [x, y].map(|range| range.high - range.low);
    let unit = (width / across).min(height / up);
    let [width, height] = if equal { [unit * across, unit * up] } else { [width, height] };
    Frame { area: Area { left, top: TOP, width, height }, x, y }
}

/// Returns the height of the frame with its axes.
pub(super) fn height(frame: &Frame, x: &Axis) -> f64 {
    frame.area.bottom() + BELOW + below(frame, x) + further(&label(x, frame.area.width))
}

/// Returns the lines of each name of the horizontal axis, if it has kinds.
fn kinds(frame: &Frame, x: &Axis) -> Vec<Vec<String>> {
    let room = 0.94 * frame.area.width / x.categories.len().max(1) as f64;
    x.categories.iter().map(|name| wrap(name, SIZE_ON_PHONES, room)).collect()
}

/// Returns the space that the names of the horizontal axis take beyond one line.
fn below(frame: &Frame, x: &Axis) -> f64 {
    kinds(frame, x).iter().map(|lines| further(lines)).fold(0.0, f64::max)
}

/// Returns the space that the last number of the horizontal axis takes beyond the plot area.
pub(super) fn overhang(axis: &Axis, x: &Range) -> f64 {
    if !axis.categories.is_empty() {
        return 8.0;
    }
    let last = ticks_of(axis, x, f64::INFINITY).into_iter().rfind(|tick| !tick.label.is_empty());
    last.map_or(0.0, |tick| 0.5 * width(&tick.label, SIZE_ON_PHONES)).max(8.0) + 6.0
}

/// Draws a label rotated by 90°, beside the middle of the plot area.
pub(super) fn upright(canvas: &mut Canvas, frame: &Frame, left: f64, label: &[String]) {
    for (index, line) in label.iter().enumerate() {
        let [x, y] = [left + LINE * index as f64, frame.area.top + 0.5 * frame.area.height];
        let turn = format!("font-size=\"13\" transform=\"rotate(-90 {} {})\"", px(x), px(y));
        canvas.text([x, y], "middle", &turn, line);
    }
}

/// Draws grid lines, ticks, numbers and labels.
pub(super) fn draw(canvas: &mut Canvas, frame: &Frame, x: &Axis, y: &Axis) {
    let area = &frame.area;
    let (bottom, right) = (area.bottom(), area.right());
    let (mut grid, mut small) = (String::new(), String::new());
    canvas.0 += "<g class=\"axes\">\n";
    let (left, top) = (px(area.left), px(area.top));
    let kinds = kinds(frame, x);
    for (index, Tick { value, label }) in ticks_of(x, &frame.x, area.width).into_iter().enumerate() {
        let at = area.left + frame.x.clamped(value) * area.width;
        small += &format!("M{} {}v{}", px(at), px(bottom), if label.is_empty() { 3 } else { 5 });
        if !label.is_empty() {
            grid += &format!("M{} {top}V{}", px(at), px(bottom));
            for (row, line) in kinds.get(index).unwrap_or(&vec![label]).iter().enumerate() {
                canvas.text([at, bottom + 19.0 + LINE * row as f64], "middle", "", line);
            }
        }
    }
    for Tick { value, label } in ticks_of(y, &frame.y, area.height) {
        let at = frame.height_of(frame.y.clamped(value));
        small += &format!("M{left} {}h-{}", px(at), if label.is_empty() { 3 } else { 5 });
        if !label.is_empty() {
            grid += &format!("M{left} {}H{}", px(at), px(right));
            canvas.text([area.left - 8.0, at + 4.2], "end", "", &label);
        }
    }
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".13\"", &grid);
    let lines = format!("M{left} {top}V{}H{}{small}", px(bottom), px(right));
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".7\"", &lines);
    for (index, line) in label(x, area.width).iter().enumerate() {
        let y = bottom + 41.0 + below(frame, x) + LINE * index as f64;
        canvas.text([area.left + 0.5 * area.width, y], "middle", "font-size=\"13\"", line);
    }
    upright(canvas, frame, 16.0, &label(y, area.height));
    canvas.0 += "</g>\n";
}
