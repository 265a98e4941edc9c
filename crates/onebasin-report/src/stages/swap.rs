//! Two posteriors over two weights, of which the second can be swapped.

use super::StageReport;
use crate::draw;
use crate::figure::{Chart, Figure, Lines, Series};
use crate::table::Table;
use onebasin::experiment::stages::swap::{Distances, SwapResult, SwapSettings};
use std::f64::consts::TAU;

/// Number of points of an ellipse.
const POINTS: u32 = 96;

impl StageReport for SwapResult {
    const TITLE: &'static str = "Two weights that can be swapped";

    fn finding(&self) -> Option<String> {
        let Self { before, after, .. } = self;
        let [kl, w2] = [(before.kl, after.kl), (before.w2, after.w2)].map(|(a, b)| format!("from {a:.3} to {b:.3}"));
        Some(format!("Swapping the weights of the second posterior takes W2 {w2} and the KL divergence {kl} nats."))
    }

    /// Both posteriors, and the second one swapped.
    fn figures(&self, id: &str) -> Vec<Figure> {
        let SwapSettings { means: [first, second], stds: [first_std, second_std] } = self.settings;
        let swap = |[a, b]: [f32; 2]| [b, a];
        let series = vec![
            ellipse("the first", first, first_std),
            ellipse("the second", second, second_std),
            Series { reference: true, ..ellipse("the second, swapped", swap(second), swap(second_std)) },
        ];
        let [x, y] = [draw::linear("first weight"), draw::linear("second weight")];
        vec![Figure {
            id: format!("{id}-ellipses"),
            title: "Two posteriors over two weights".to_owned(),
            caption:
                "Contours of one standard deviation. Swapping the weights of the second reflects it at the diagonal. \
                      Where contours coincide, the lower one is drawn wider."
                    .to_owned(),
            chart: Chart::Lines(Lines { x, y, equal: true, series }),
        }]
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let rows = [("as it is", self.before), ("swapped", self.after)].map(
            |(name, Distances { kl, variance_ratios, w2 })| {
                draw::row(name, [kl, variance_ratios, w2].map(|number| format!("{number:.4}")))
            },
        );
        let table = draw::table(&["second posterior"], ["KL, nats", "its Σ v₁/v₀", "W2"]).with(rows);
        vec![("Both orders by two matching criteria".to_owned(), table)]
    }
}

fn ellipse(name: &str, mean: [f32; 2], std: [f32; 2]) -> Series {
    let at = |angle: f64| {
        let along = |axis: usize, share: f64| f64::from(mean[axis]) + f64::from(std[axis]) * share;
        draw::point(along(0, angle.cos()), along(1, angle.sin()))
    };
    draw::curve(name, "", (0..=POINTS).map(|step| at(TAU * f64::from(step) / f64::from(POINTS))))
}
