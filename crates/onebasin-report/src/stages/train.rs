//! The result of a training.

use super::StageReport;
use crate::draw;
use crate::table::Alignment::Left;
use crate::table::Table;
use onebasin::experiment::stages::train::TrainResult;
use onebasin::measure::{Calibration, Quality};

/// One line for each measure.
pub fn table(result: &TrainResult) -> Table {
    let mut table = draw::table(&["measure"], ["value"]);
    let mut row = |name: &str, value: String| table.push([name, &value]);
    row("steps", result.steps.to_string());
    // A chain has no epochs: each of its gradients is of all examples.
    let passes = if result.chains.is_some() { "gradients of a chain" } else { "epochs" };
    row(passes, number(result.epochs));
    for (name, value) in &result.training {
        row(name, draw::or_dash(*value, number));
    }
    row("test examples", result.test.examples.to_string());
    row("posterior samples averaged", result.test.samples.to_string());
    row("test accuracy", format!("{:.2} %", 100.0 * (1.0 - result.test.error)));
    row("test nll", format!("{:.5}", result.test.nll));
    if let Some(Calibration { brier, ece }) = result.calibration {
        row("test Brier score", format!("{brier:.5}"));
        row("test expected calibration error", format!("{ece:.5}"));
    }
    if let Some(chains) = &result.chains {
        row("samples per chain", chains.samples.to_string());
        row("largest R-hat of test probabilities", format!("{:.4}", chains.max_rhat));
        row("median R-hat", format!("{:.4}", chains.median_rhat));
        row("smallest effective sample size", format!("{:.1}", chains.min_ess));
        row("median effective sample size", format!("{:.1}", chains.median_ess));
        if chains.undefined > 0 {
            row("probabilities that never change, left out", chains.undefined.to_string());
        }
    }
    if !result.warnings.is_empty() {
        row("warnings", result.warnings.len().to_string());
    }
    table
}

/// A number with the digits that it needs: counts have none behind the point, and small ones do not become zero.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        format!("{value:.0}")
    } else if (1e-3..1e6).contains(&size) {
        format!("{value:.6}")
    } else {
        format!("{value:.5e}")
    }
}

impl StageReport for TrainResult {
    const TITLE: &'static str = "Training";

    fn finding(&self) -> Option<String> {
        let Quality { examples, samples, error, nll, .. } = self.test;
        Some(format!(
            "The posterior predicts {:.2} % of {} correctly, with a loss of {nll:.4} nats ({} averaged).",
            100.0 * (1.0 - error),
            draw::count(examples, "test example"),
            draw::count(samples, "sample"),
        ))
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let warnings = Table::new([("warning", Left)]).with(self.warnings.iter().map(|warning| [warning]));
        let warnings = (!self.warnings.is_empty()).then(|| ("Warnings".to_owned(), warnings));
        [("Result of the training".to_owned(), table(self))].into_iter().chain(warnings).collect()
    }
}
