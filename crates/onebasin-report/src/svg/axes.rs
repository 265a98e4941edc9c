//! The frame of a plot: hairlines at the ticks, their numbers, and the names of the axes.

use crate::figure::Axis;
use crate::scale::Range;
use crate::svg::Area;
use crate::svg::Frame;
use crate::svg::WIDTH;
use crate::svg::canvas;
use crate::svg::canvas::Canvas;
use crate::svg::canvas::px;
use crate::ticks::Tick;
use crate::ticks::ticks;

/// Most pieces that ticks cut an axis into.
pub(super) const MOST: usize = 6;
const TOP: f64 = 12.0;
/// Under the plot: numbers and a name.
const BELOW: f64 = 50.0;
/// From a line of a name to the next.
const LINE: f64 = 16.0;
/// Room for the numbers is measured with larger letters, which a page takes on a phone.
const SIZE_ON_PHONES: f64 = 14.0;

pub(super) fn ticks_of(range: &Range) -> Vec<Tick> {
    ticks(range.scale, range.low, range.high, MOST)
}

/// The width of the widest number at a vertical axis.
pub(super) fn widest(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|tick| canvas::width(&tick.label, SIZE_ON_PHONES)).fold(0.0, f64::max)
}

/// The lines that the name of an axis takes.
pub(super) fn name(axis: &Axis, room: f64) -> Vec<String> {
    canvas::wrap(&axis.label, SIZE_ON_PHONES, room)
}

/// The width that further lines of a name take.
pub(super) fn further(name: &[String]) -> f64 {
    LINE * name.len().saturating_sub(1) as f64
}

/// The frame of a plot so high, with `right` left free beside it.
pub(super) fn frame(x: Range, y: Range, y_axis: &Axis, height: f64, right: f64) -> Frame {
    let left = 28.0 + further(&name(y_axis, height)) + widest(&ticks_of(&y)) + 8.0;
    Frame { area: Area { left, top: TOP, width: WIDTH - left - right, height }, x, y }
}

/// The height of the frame with its axes.
pub(super) fn height(frame: &Frame, x: &Axis) -> f64 {
    frame.area.bottom() + BELOW + further(&name(x, frame.area.width))
}

/// Half the width of the number at the right end of the horizontal axis, which reaches beyond the plot.
pub(super) fn overhang(x: &Range) -> f64 {
    let last = ticks_of(x).into_iter().rfind(|tick| !tick.label.is_empty());
    last.map_or(0.0, |tick| 0.5 * canvas::width(&tick.label, SIZE_ON_PHONES)).max(8.0) + 6.0
}

/// Writes a name that is read from below, beside the middle of the plot.
pub(super) fn upright(canvas: &mut Canvas, frame: &Frame, left: f64, name: &[String]) {
    for (index, line) in name.iter().enumerate() {
        let [x, y] = [left + LINE * index as f64, frame.area.top + 0.5 * frame.area.height];
        let turn = format!("font-size=\"13\" transform=\"rotate(-90 {} {})\"", px(x), px(y));
        canvas.text([x, y], "middle", &turn, line);
    }
}

/// Draws hairlines, numbers and names.
pub(super) fn draw(canvas: &mut Canvas, frame: &Frame, x: &Axis, y: &Axis) {
    let area = &frame.area;
    let (bottom, right) = (area.bottom(), area.right());
    let mut grid = String::new();
    let mut small = String::new();
    canvas.raw("<g class=\"axes\">\n");
    for tick in ticks_of(&frame.x) {
        let at = area.left + frame.x.clamped(tick.value) * area.width;
        if tick.label.is_empty() {
            small += &format!("M{} {}v3", px(at), px(bottom));
        } else {
            grid += &format!("M{} {}V{}", px(at), px(area.top), px(bottom));
            small += &format!("M{} {}v5", px(at), px(bottom));
            canvas.text([at, bottom + 19.0], "middle", "", &tick.label);
        }
    }
    for tick in ticks_of(&frame.y) {
        let at = frame.height_of(frame.y.clamped(tick.value));
        if tick.label.is_empty() {
            small += &format!("M{} {}h-3", px(area.left), px(at));
        } else {
            grid += &format!("M{} {}H{}", px(area.left), px(at), px(right));
            small += &format!("M{} {}h-5", px(area.left), px(at));
            canvas.text([area.left - 8.0, at + 4.2], "end", "", &tick.label);
        }
    }
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".13\"", &grid);
    let lines = format!("M{} {}V{}H{}{small}", px(area.left), px(area.top), px(bottom), px(right));
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".7\"", &lines);
    for (index, line) in name(x, area.width).iter().enumerate() {
        let y = bottom + 41.0 + LINE * index as f64;
        canvas.text([area.left + 0.5 * area.width, y], "middle", "font-size=\"13\"", line);
    }
    upright(canvas, frame, 16.0, &name(y, area.height));
    canvas.raw("</g>\n");
}
