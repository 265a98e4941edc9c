//! What is known of the Gaussians, as tables.

use super::report::Compact;
use super::report::Curve;
use super::report::Report;
use super::report::Row;
use onebasin::measure::prune::KeptBy;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;

impl Report {
    /// All tables, with a blank line between them.
    pub(super) fn text(&self) -> String {
        self.tables().iter().map(|(_, table)| table.text()).collect::<Vec<_>>().join("\n")
    }

    /// What all predict, then how well chains mix, then what is left of pruned networks; with captions.
    pub(crate) fn tables(&self) -> Vec<(String, Table)> {
        let mut tables = vec![("What one Gaussian predicts in the place of the samples".to_owned(), rows(&self.rows))];
        if self.labels.iter().any(|labels| labels.mixing.is_some()) {
            tables.push(("How well chains agree on weights".to_owned(), mixing(&self.labels)));
        }
        tables.extend(self.labels.iter().filter_map(|labels| {
            let pruned = pruning(&labels.name, labels.pruning.as_ref()?);
            Some((format!("Accuracy of pruned networks, {}", labels.name), pruned))
        }));
        tables
    }
}

/// One line for each posterior.
fn rows(rows: &[Row]) -> Table {
    let numbers = ["rank", "agreement", "TV", "accuracy", "of the mean", "NLL", "ECE", "Brier"];
    let mut table = Table::new(std::iter::once(("posterior", Left)).chain(numbers.map(|title| (title, Right))));
    for Row { name, rank, nearness, quality, calibration, mean } in rows {
        table.push([
            name.clone(),
            rank.map_or_else(none, |rank| rank.to_string()),
            format!("{:.4}", nearness.agreement),
            format!("{:.4}", nearness.total_variation),
            percent(quality.error),
            mean.map_or_else(none, |mean| percent(mean.error)),
            format!("{:.4}", quality.nll),
            format!("{:.4}", calibration.ece),
            format!("{:.4}", calibration.brier),
        ]);
    }
    table
}

/// How well chains agree on parameters, with each of the labels.
fn mixing(labels: &[Compact]) -> Table {
    let numbers = ["largest R-hat", "median R-hat", "smallest ESS", "median ESS"];
    let mut table = Table::new(std::iter::once(("weights", Left)).chain(numbers.map(|title| (title, Right))));
    for Compact { name, mixing, .. } in labels {
        if let Some(mixing) = mixing {
            let rhats = [mixing.max_rhat, mixing.median_rhat].map(|rhat| format!("{rhat:.4}"));
            let sizes = [mixing.min_ess, mixing.median_ess].map(|size| format!("{size:.1}"));
            table.push(std::iter::once(name.clone()).chain(rhats).chain(sizes));
        }
    }
    table
}

/// The accuracy of pruned networks.
fn pruning(name: &str, curves: &[Curve]) -> Table {
    let titles: Vec<String> = curves
        .iter()
        .map(|Curve { network, by, .. }| match by {
            KeptBy::SmallestStd => format!("{network}, smallest σ"),
            KeptBy::LargestSignal => format!("{network}, largest |m|/σ"),
        })
        .collect();
    let first = format!("{name}: % kept");
    let mut table =
        Table::new(std::iter::once((first.as_str(), Right)).chain(titles.iter().map(|title| (title.as_str(), Right))));
    for (index, point) in curves[0].points.iter().enumerate() {
        let accuracies = curves.iter().map(|curve| percent(curve.points[index].quality.error));
        table.push(std::iter::once(point.percent.to_string()).chain(accuracies));
    }
    table
}

fn percent(error: f64) -> String {
    format!("{:.2} %", 100.0 * (1.0 - error))
}

fn none() -> String {
    "-".to_owned()
}
