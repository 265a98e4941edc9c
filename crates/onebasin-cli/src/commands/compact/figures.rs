//! What is known of the Gaussians, as figures and headlines.

use super::report::Compact;
use super::report::Curve;
use super::report::Report;
use super::report::Row;
use crate::commands::report::draw;
use anyhow::ensure;
use onebasin::measure::Widths;
use onebasin::measure::prune::KeptBy;
use onebasin_report::Figure;
use onebasin_report::Headline;

impl Report {
    /// Refuses what somebody has changed beyond drawing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let alike = |curves: &Vec<Curve>| {
            curves.first().is_some_and(|first| curves.iter().all(|curve| curve.points.len() == first.points.len()))
        };
        ensure!(
            self.labels.iter().filter_map(|labels| labels.pruning.as_ref()).all(alike),
            "pruned networks are missing"
        );
        Ok(())
    }

    /// What one Gaussian costs: the nearest of all, and the diagonal one without alignment.
    pub(crate) fn headlines(&self) -> Vec<Headline> {
        let gaussians = || self.rows.iter().filter(|row| row.rank.is_some());
        let nearest = gaussians().min_by(|a, b| a.nearness.total_variation.total_cmp(&b.nearness.total_variation));
        let headline = |row: &Row| Headline {
            label: format!("Agreement, {}, rank {}", row.name, row.rank.unwrap_or(0)),
            value: format!("{:.3}", row.nearness.agreement),
            note: format!("total variation {:.3}, {} samples", row.nearness.total_variation, self.samples),
        };
        gaussians().find(|row| row.name == "direct").into_iter().chain(nearest).map(headline).collect()
    }

    /// Nearness against rank, histograms of σ, and pruned networks.
    pub(crate) fn figures(&self, id: &str) -> Vec<Figure> {
        let mut figures = Vec::new();
        let ranks = |row: &Row| row.rank.is_some_and(|rank| rank > 0);
        if self.rows.iter().any(ranks) {
            let of = |name: &str| {
                let rows = self.rows.iter().filter(|row| row.name == name);
                let points = rows.filter_map(|row| Some(draw::point(row.rank? as f64, row.nearness.total_variation)));
                draw::marked(name, "", points)
            };
            figures.push(draw::lines(
                format!("{id}-rank"),
                "Total variation against the rank of the covariance",
                "How far what a Gaussian predicts is from what the samples predict; rank 0 is a diagonal covariance.",
                [draw::linear("rank"), draw::linear("total variation")],
                self.labels.iter().map(|labels| of(&labels.name)).collect(),
            ));
        }
        for labels in &self.labels {
            figures.push(widths(id, labels));
        }
        for Compact { name, pruning, .. } in &self.labels {
            if let Some(curves) = pruning {
                figures.push(pruned(id, name, curves));
            }
        }
        figures
    }
}

/// Standard deviations below this part of the largest, of weights that no image reaches, would push all others into a corner.
const SHOWN: f64 = 1e-6;

/// One curve for each tensor.
fn widths(id: &str, labels: &Compact) -> Figure {
    let largest = labels.widths.iter().flat_map(|widths| &widths.borders).copied().fold(0.0, f64::max);
    let of = |Widths { tensor, borders, counts, .. }: &Widths| {
        let total: usize = counts.iter().sum();
        let middles = borders.windows(2).map(|border| (border[0] * border[1]).sqrt());
        let parts = counts.iter().map(|count| *count as f64 / total.max(1) as f64);
        let points = middles.zip(parts).map(|(x, y)| draw::point(x, y));
        draw::curve(tensor, "", points.filter(|point| point.x >= SHOWN * largest))
    };
    draw::lines(
        format!("{id}-widths-{}", labels.name),
        &format!("Standard deviations, {}", labels.name),
        "How many of the weights of each tensor have a standard deviation in each of ten bins for each power of ten; those \
         below a millionth of the largest are left out.",
        [draw::log("standard deviation"), draw::linear("part of the tensor")],
        labels.widths.iter().map(of).collect(),
    )
}

fn pruned(id: &str, name: &str, curves: &[Curve]) -> Figure {
    let of = |Curve { network, by, points }: &Curve| {
        let by = match by {
            KeptBy::SmallestStd => "smallest σ kept",
            KeptBy::LargestSignal => "largest |m|/σ kept",
        };
        let points = points.iter().map(|pruned| draw::point(pruned.percent, 100.0 * (1.0 - pruned.quality.error)));
        draw::marked(&format!("{network}, {by}"), "", points)
    };
    draw::lines(
        format!("{id}-pruning-{name}"),
        &format!("Accuracy of pruned networks, {name}"),
        "The network at the mean, and one sample, with zeros in the place of the weights that are not kept.",
        [draw::linear("weights kept, %"), draw::linear("accuracy, %")],
        curves.iter().map(of).collect(),
    )
}
