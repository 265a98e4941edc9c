//! What was measured, as a table of the three posteriors and a map of the loss.

use super::report::CORNERS;
use super::report::Measured;
use super::report::Report;
use crate::commands::name_of;
use onebasin::measure::Plane;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;
use std::fmt::Write as _;

/// From the smallest loss to the largest.
const SHADES: &[u8] = b" .:-=+*#%@";
/// What stands where a corner is.
const MARKS: [char; 3] = ['A', 'B', 'P'];

impl Report {
    /// The three posteriors.
    pub(crate) fn table(&self) -> anyhow::Result<Table> {
        let numbers = ["x", "y", "loss", "error, %", "predictive loss", "error, %", "log posterior"];
        let columns = [("images", Left), ("posterior", Left)].into_iter();
        let mut table = Table::new(columns.chain(numbers.map(|title| (title, Right))));
        let none = || "-".to_owned();
        for Measured { split, plane, .. } in &self.planes {
            for (name, point) in CORNERS.into_iter().zip(&plane.corners) {
                table.push([
                    name_of(split)?,
                    name.to_owned(),
                    format!("{:.3}", point.x),
                    format!("{:.3}", point.y),
                    format!("{:.5}", point.loss),
                    format!("{:.2}", 100.0 * point.error),
                    point.marginal.map_or_else(none, |it| format!("{:.5}", it.loss)),
                    point.marginal.map_or_else(none, |it| format!("{:.2}", 100.0 * it.error)),
                    point.log_posterior.map_or_else(none, |value| format!("{value:.0}")),
                ]);
            }
        }
        Ok(table)
    }

    /// The three posteriors, and a map of the loss.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        let mut text = self.table()?.text();
        // Of the test images, if they are there.
        if let Some(Measured { split, plane, .. }) = self.planes.last() {
            let (map, [low, high]) = map(plane);
            write!(
                text,
                "\nLoss on {} images, from {low:.4} (blank) to {high:.4} (@), by its logarithm; P is B aligned\n{map}",
                name_of(split)?
            )?;
        }
        Ok(text)
    }
}

/// Two characters for each point, the largest y on top; and the smallest and the largest loss.
fn map(plane: &Plane) -> (String, [f64; 2]) {
    let side = plane.points.len().isqrt();
    let losses = || plane.points.iter().map(|point| point.loss);
    let (low, high) = (losses().fold(f64::INFINITY, f64::min), losses().fold(0.0, f64::max));
    let shade = |loss: f64| {
        let part = (loss.ln() - low.ln()) / (high.ln() - low.ln());
        // What is not a number is the darkest.
        let level = if part.is_nan() { 1.0 } else { part.clamp(0.0, 1.0) };
        SHADES[(level * (SHADES.len() - 1) as f64).round() as usize] as char
    };
    let mut cells: Vec<[char; 2]> = losses().map(|loss| [shade(loss); 2]).collect();
    for (mark, corner) in MARKS.into_iter().zip(&plane.corners) {
        let away = |at: &usize| {
            let point = &plane.points[*at];
            (point.x - corner.x).hypot(point.y - corner.y)
        };
        let nearest = (0..cells.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        cells[nearest.expect("a grid has points")][0] = mark;
    }
    let mut text = String::new();
    for row in cells.chunks_exact(side).rev() {
        text += row.iter().flatten().collect::<String>().trim_end();
        text += "\n";
    }
    (text, [low, high])
}
