//! The names of curves, right of the plot, where nothing can lie under them.

use crate::figure::Lines;
use crate::svg::WIDTH;
use crate::svg::canvas;
use crate::svg::canvas::Canvas;
use crate::svg::style::Style;

const SIZE: f64 = 12.0;
const LINE: f64 = 15.0;
const BETWEEN: f64 = 5.0;
/// Left of the text: a margin, a piece of the curve, a blank.
const INDENT: f64 = 42.0;
/// Names that are longer take more than one line.
const LONGEST: f64 = 165.0;

/// Draws the legend from `top` on, and returns its width and how far down it reaches.
pub(super) fn draw(canvas: &mut Canvas, lines: &Lines, styles: &[Style], top: f64) -> [f64; 2] {
    if !lines.needs_legend() {
        return [0.0, 0.0];
    }
    let mut y = top;
    let mut widest: f64 = 0.0;
    canvas.raw("<g class=\"legend\">\n");
    for (series, style) in lines.series.iter().zip(styles) {
        canvas.raw(&format!("<g {}>\n", style.group()));
        style.sample(canvas, [WIDTH + 4.0, y + 0.5 * LINE]);
        canvas.raw("</g>\n");
        let rows = canvas::wrap(&series.label(), SIZE, LONGEST);
        for (index, row) in rows.iter().enumerate() {
            canvas.text([WIDTH + INDENT, y + LINE * (index as f64 + 0.78)], "start", "", row);
            widest = widest.max(canvas::width(row, SIZE));
        }
        y += LINE * rows.len().max(1) as f64 + BETWEEN;
    }
    canvas.raw("</g>\n");
    [INDENT + widest + 12.0, y]
}
