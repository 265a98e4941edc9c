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
        ("loss", "Loss of the network at each point", draw::log("loss, nats (log scale)"), |point| Some(point.loss)),
        ("error", "Error of the network at each point", draw::linear("error, %"), |point| Some(100.0 * point.error)),
        ("marginal", "Loss of the predictive distribution", draw::log("loss, nats (log scale)"), |point| {
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
        let (figure, side) = (self::map("", measured, loss, None), side(&measured.plane));
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

    fn finding(&self) -> Option<String> {
        let Measured { split, plane, .. } = self.planes.last()?;
        let [_, before, after] = plane.corners;
        Some(format!(
            "Alignment by {} brings the mean of B from a distance of {:.2} to {:.2} from that of A; the {split} loss of the \
             network at that mean is {:.3} nats before and {:.3} after.",
            self.alignment,
            before.x.hypot(before.y),
            after.x.hypot(after.y),
            before.loss,
            after.loss,
        ))
    }

    fn introduction(&self) -> String {
        let examples = self
            .planes
            .iter()
            .map(|Measured { split, plane, .. }| draw::count(plane.examples, &format!("{split} example")));
        let examples = examples.collect::<Vec<_>>().join(", ");
        let side = self.planes.first().map_or(0, |measured| side(&measured.plane));
        let samples = self.planes.first().map_or(0, |measured| measured.plane.samples);
        let drawn = match samples {
            0 => String::new(),
            samples => format!(", and predictive distributions of {} at each point", draw::count(samples, "sample")),
        };
        format!(
            "The plane through the means of A, of B, and of B aligned with A by {} ({}). Equal lengths are equal Euclidean \
             distances between parameters, on both axes. {side} by {side} points; networks at these points{drawn}; {examples}. \
             Maps of one quantity have one colour scale.",
            self.alignment,
            draw::count(self.transpositions, "transposition"),
        )
    }

    /// The maps of each part of the data set.
    fn figures(&self, id: &str) -> Vec<Figure> {
        let all = |of: fn(&PlanePoint) -> Option<f64>| {
            let points = self.planes.iter().flat_map(|measured| &measured.plane.points);
            points.filter_map(of).filter(|value| value.is_finite())
        };
        let maps = |measured| {
            quantities().into_iter().filter_map(move |quantity| {
                let of = quantity.3;
                let is_measured =
                    |Measured { plane, .. }: &Measured| plane.points.iter().any(|point| of(point).is_some());
                let limits = Some([all(of).reduce(f64::min)?, all(of).reduce(f64::max)?]);
                is_measured(measured).then(|| map(id, measured, quantity, limits))
            })
        };
        self.planes.iter().flat_map(maps).collect()
    }

    fn tables(&self) -> Vec<(String, Table)> {
        vec![("The three posteriors".to_owned(), table(self))]
    }
}

/// `limits`: ends of the colour bar; without them it covers the values of this map.
fn map(
    id: &str,
    Measured { split, plane, .. }: &Measured,
    (kind, title, value, of): Quantity,
    limits: Option<[f64; 2]>,
) -> Figure {
    let corner = |(name, at): (&str, &PlanePoint)| Annotation { name: name.to_owned(), x: at.x, y: at.y };
    Figure {
        id: format!("{id}-{kind}-{split}"),
        title: format!("{title}, {split}"),
        caption: format!("{}.", draw::count(plane.examples, &format!("{split} example"))),
        chart: Chart::HeatMap(HeatMap {
            x: draw::linear("distance towards B"),
            y: draw::linear("across"),
            equal: true,
            xs: plane.points[..side(plane)].iter().map(|point| point.x).collect(),
            ys: plane.points.iter().step_by(side(plane)).map(|point| point.y).collect(),
            value,
            limits,
            values: plane.points.iter().map(|point| of(point).unwrap_or(f64::NAN)).collect(),
            annotations: CORNERS.into_iter().zip(&plane.corners).map(corner).collect(),
        }),
    }
}

/// Number of points of each row and column.
fn side(plane: &Plane) -> usize {
    plane.points.len().isqrt()
}
