//! What was measured, as maps.

use super::report::CORNERS;
use super::report::Measured;
use super::report::Report;
use crate::commands::name_of;
use crate::commands::report::draw;
use anyhow::ensure;
use onebasin::measure::Plane;
use onebasin::measure::PlanePoint;
use onebasin_report::Axis;
use onebasin_report::Chart;
use onebasin_report::Figure;
use onebasin_report::Heat;
use onebasin_report::Place;

impl Report {
    /// Refuses what somebody has changed beyond drawing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let is_square = |plane: &Plane| plane.points.len() == plane.points.len().isqrt().pow(2);
        let drawable = |plane: &Plane| !plane.points.is_empty() && is_square(plane);
        ensure!(self.planes.iter().all(|measured| drawable(&measured.plane)), "the points of a plane are no square");
        Ok(())
    }

    /// Loss and error of the networks, of the predictive distributions if there are any, and the log posterior.
    pub(crate) fn figures(&self, id: &str) -> anyhow::Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for Measured { split, plane, .. } in &self.planes {
            let split = name_of(split)?;
            let mut push = |kind: &str, title: &str, value: Axis, of: &dyn Fn(&PlanePoint) -> Option<f64>| {
                if plane.points.iter().any(|point| of(point).is_some()) {
                    figures.push(Figure {
                        id: format!("{id}-{kind}-{split}"),
                        title: format!("{title}, {split} images"),
                        caption:
                            "The plane through the means of A, of B, and of B with its units aligned; distances are \
                                  those in the space of weights."
                                .to_owned(),
                        chart: Chart::Heat(heat(plane, value, of)),
                    });
                }
            };
            push("loss", "Loss of the network at each place", draw::log("loss, nats"), &|point| Some(point.loss));
            push("error", "Error of the network at each place", draw::linear("error, %"), &|point| {
                Some(100.0 * point.error)
            });
            push("marginal", "Loss of the predictive distribution", draw::log("loss, nats"), &|point| {
                point.marginal.map(|marginal| marginal.loss)
            });
            push("posterior", "Log posterior", draw::linear("log posterior, nats"), &|point| point.log_posterior);
        }
        Ok(figures)
    }
}

fn heat(plane: &Plane, value: Axis, of: &dyn Fn(&PlanePoint) -> Option<f64>) -> Heat {
    let side = plane.points.len().isqrt();
    let place = |(name, corner): (&str, &PlanePoint)| Place { name: name.to_owned(), x: corner.x, y: corner.y };
    Heat {
        x: draw::linear("towards B"),
        y: draw::linear("towards B aligned"),
        xs: plane.points[..side].iter().map(|point| point.x).collect(),
        ys: plane.points.iter().step_by(side).map(|point| point.y).collect(),
        value,
        values: plane.points.iter().map(|point| of(point).unwrap_or(f64::NAN)).collect(),
        places: CORNERS.into_iter().zip(&plane.corners).map(place).collect(),
    }
}
