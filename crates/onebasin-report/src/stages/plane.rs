//! Loss, error and log posterior on the plane through two posteriors and the second one aligned.

use super::StageReport;
use crate::draw;
use crate::figure::{Annotation, Axis, Chart, Figure, HeatMap};
use crate::table::Table;
use onebasin::data::Split;
use onebasin::experiment::stages::plane::{CORNERS, Measured, PlaneResult};
use onebasin::measure::{Plane, PlanePoint};

/// What is drawn of each point: identifier, title, axis and value.
type Quantity = (&'static str, &'static str, Axis, fn(&PlanePoint) -> Option<f64>);

/// Loss and error of the networks, the loss of the predictive distributions, and the log posterior.
fn quantities() -> [Quantity; 4] {
    [
        ("loss", "Loss of the network at each point", draw::log("loss, nats"), |point| Some(point.loss)),
        ("error", "Error of the network at each point", draw::linear("error, %"), |point| Some(100.0 * point.error)),
        ("marginal", "Loss of the predictive distribution", draw::log("loss, nats"), |point| {
            point.marginal.map(|marginal| marginal.loss)
        }),
        ("posterior", "Log posterior", draw::linear("log posterior, nats"), |point| point.log_posterior),
    ]
}

/// The three posteriors as a table, and the loss on the last part of the data set as a map.
pub fn text(result: &PlaneResult) -> String {
    let mut text = table(result).text();
    if let Some(measured) = result.planes.last() {
        let [loss, ..] = quantities();
        let (figure, side) = (map("", measured, loss), side(&measured.plane));
        text += &format!("\n{}\n{}", figure.title, figure.text(2 * side, side));
    }
    text
}

/// The three posteriors.
fn table(result: &PlaneResult) -> Table {
    let numbers = ["x", "y", "loss", "error, %", "predictive loss", "error, %", "log posterior"];
    let row = |split: Split, name: &str, point: &PlanePoint| {
        [
            split.to_string(),
            name.to_owned(),
            format!("{:.3}", point.x),
            format!("{:.3}", point.y),
            format!("{:.5}", point.loss),
            format!("{:.2}", 100.0 * point.error),
            draw::or_dash(point.marginal, |it| format!("{:.5}", it.loss)),
            draw::or_dash(point.marginal, |it| format!("{:.2}", 100.0 * it.error)),
            draw::or_dash(point.log_posterior, |value| format!("{value:.0}")),
        ]
    };
    let rows = result.planes.iter().flat_map(|Measured { split, plane, .. }| {
        CORNERS.into_iter().zip(&plane.corners).map(move |(name, point)| row(*split, name, point))
    });
    draw::table(&["examples", "posterior"], numbers).with(rows)
}

impl StageReport for PlaneResult {
    const TITLE: &'static str = "The plane through three posteriors";

    fn fault(&self) -> Option<&'static str> {
        let is_grid = |plane: &Plane| !plane.points.is_empty() && side(plane).pow(2) == plane.points.len();
        (!self.planes.iter().all(|it| is_grid(&it.plane))).then_some("the points of a plane are no square")
    }

    fn figures(&self, id: &str) -> Vec<Figure> {
        let of = |measured: &Measured| {
            let mut quantities = quantities().to_vec();
            quantities.retain(|(.., of)| measured.plane.points.iter().any(|point| of(point).is_some()));
            quantities.into_iter().map(|quantity| map(id, measured, quantity)).collect::<Vec<_>>()
        };
        self.planes.iter().flat_map(of).collect()
    }

    fn tables(&self) -> Vec<(String, Table)> {
        vec![("The three posteriors".to_owned(), table(self))]
    }
}

fn map(id: &str, Measured { split, plane, .. }: &Measured, (kind, title, value, of): Quantity) -> Figure {
    let corner = |(name, at): (&str, &PlanePoint)| Annotation { name: name.to_owned(), x: at.x, y: at.y };
    Figure {
        id: format!("{id}-{kind}-{split}"),
        title: format!("{title}, {split} examples"),
        caption: "The plane through the means of A, of B, and of B aligned with A; distances are those between \
                  parameters."
            .to_owned(),
        chart: Chart::HeatMap(HeatMap {
            x: draw::linear("towards B"),
            y: draw::linear("towards B aligned"),
            xs: plane.points[..side(plane)].iter().map(|point| point.x).collect(),
            ys: plane.points.iter().step_by(side(plane)).map(|point| point.y).collect(),
            value,
            values: plane.points.iter().map(|point| of(point).unwrap_or(f64::NAN)).collect(),
            annotations: CORNERS.into_iter().zip(&plane.corners).map(corner).collect(),
        }),
    }
}

/// Number of points of each row and column.
fn side(plane: &Plane) -> usize {
    plane.points.len().isqrt()
}
