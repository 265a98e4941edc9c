//! Samples replaced by one Gaussian: the quality of its predictions, mixing, standard deviations and pruning.

use super::StageReport;
use crate::draw;
use crate::figure::Figure;
use crate::page::Headline;
use crate::table::Table;
use onebasin::experiment::stages::compact::{CompactResult, PruningCurve, Relabelled, Relabelling, Row};
use onebasin::measure::prune::KeptBy;
use onebasin::measure::{Agreement, StdHistogram};

/// Share of the largest standard deviation below which none is drawn: weights of inputs that are always zero would leave
/// no room for the others.
const SHOWN: f64 = 1e-6;

/// All tables, with a blank line between them.
pub fn text(result: &CompactResult) -> String {
    result.tables().iter().map(|(_, table)| table.text()).collect::<Vec<_>>().join("\n")
}

impl StageReport for CompactResult {
    const TITLE: &'static str = "One Gaussian in place of samples";

    fn fault(&self) -> Option<&'static str> {
        let is_whole = |curves: &Vec<PruningCurve>| {
            curves.first().is_some_and(|first| curves.iter().all(|curve| curve.points.len() == first.points.len()))
        };
        let mut pruned = self.relabellings.iter().filter_map(|relabelled| relabelled.pruning.as_ref());
        (!pruned.all(is_whole)).then_some("pruned networks are missing")
    }

    fn finding(&self) -> Option<String> {
        let [unaligned, nearest] = key(self);
        let nearest = nearest?;
        let described = |row: &Row| {
            let Agreement { agreement, total_variation, .. } = row.agreement;
            format!("{:.1} % of the test examples (total variation {total_variation:.3})", 100.0 * agreement)
        };
        let other = unaligned.filter(|row| row.name != nearest.name || row.rank != nearest.rank);
        let other = other.map(|row| format!("; one without relabelling, {}, on {}", gaussian(row), described(row)));
        Some(format!(
            "The best of all Gaussians ({}, {}) agrees with {} on {}{}.",
            nearest.name,
            gaussian(nearest),
            draw::count(self.samples, "sample"),
            described(nearest),
            other.unwrap_or_default(),
        ))
    }

    fn introduction(&self) -> String {
        let chains = self.chains.map_or_else(String::new, |chains| format!(" of {}", draw::count(chains, "chain")));
        let examples = self.rows.first().map_or(0, |row| row.quality.examples);
        let meaning = |relabelled: &Relabelled| match relabelled.relabelling {
            Relabelling::None => "none leaves samples as they are",
            Relabelling::First => "first aligns the units of each with the first sample",
            Relabelling::Mean => "mean aligns each with the mean of all others, in turn",
            Relabelling::Relabel => "relabel aligns each with the Gaussian that fits all",
        };
        let relabellings = self.relabellings.iter().map(meaning).collect::<Vec<_>>().join("; ");
        format!(
            "{}{chains}, {}. Predictions on {}, those of a Gaussian from {}. Relabellings: {relabellings}.",
            draw::count(self.samples, "sample"),
            draw::count(self.parameters, "parameter"),
            draw::count(examples, "test example"),
            draw::count(self.settings.draws, "draw"),
        )
    }

    /// The Gaussian without an alignment, and the one that is nearest to the samples.
    fn headlines(&self) -> Vec<Headline> {
        let headline = |row: &Row| Headline {
            label: format!("Agreement, {}, rank {}", row.name, row.rank.unwrap_or(0)),
            value: format!("{:.3}", row.agreement.agreement),
            note: format!("total variation {:.3}, {} samples", row.agreement.total_variation, self.samples),
        };
        key(self).into_iter().flatten().map(headline).collect()
    }

    /// Total variation against rank, histograms of standard deviations, and pruned networks.
    fn figures(&self, id: &str) -> Vec<Figure> {
        let mut figures = Vec::new();
        if self.rows.iter().any(|row| row.rank.is_some_and(|rank| rank > 0)) {
            let of = |Relabelled { relabelling, .. }: &Relabelled| {
                let rows = self.rows.iter().filter(|row| row.name == relabelling.name());
                let points = rows.filter_map(|row| Some(draw::point(row.rank? as f64, row.agreement.total_variation)));
                draw::marked(relabelling.name(), "", points)
            };
            figures.push(draw::lines(
                format!("{id}-rank"),
                "Total variation against the rank of the covariance",
                "Total variation distance between the predictions of a Gaussian and those of the samples, after each \
                 relabelling; rank 0 is a diagonal covariance. Where lines coincide, the lower one is drawn wider.",
                [draw::linear("rank"), draw::linear("total variation")],
                self.relabellings.iter().map(of).collect(),
            ));
        }
        figures.extend(self.relabellings.iter().map(|relabelled| standard_deviations(id, relabelled)));
        figures.extend(self.relabellings.iter().filter_map(|relabelled| pruned(id, relabelled)));
        figures
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let mut tables = vec![("Predictions of one Gaussian in place of the samples".to_owned(), rows(&self.rows))];
        if self.relabellings.iter().any(|relabelled| relabelled.mixing.is_some()) {
            tables.push(("Mixing of the parameters of chains".to_owned(), mixing(&self.relabellings)));
        }
        tables.extend(self.relabellings.iter().filter_map(|Relabelled { relabelling, pruning, .. }| {
            let curves = pruning.as_ref()?;
            Some((format!("Accuracy of pruned networks, {relabelling}"), pruning_table(relabelling.name(), curves)))
        }));
        tables
    }
}

/// The first Gaussian without relabelling, and the one that is nearest to the samples.
fn key(result: &CompactResult) -> [Option<&Row>; 2] {
    let gaussians = || result.rows.iter().filter(|row| row.rank.is_some());
    let nearest = gaussians().min_by(|a, b| a.agreement.total_variation.total_cmp(&b.agreement.total_variation));
    [gaussians().find(|row| row.name == Relabelling::None.name()), nearest]
}

/// The covariance of a Gaussian in words.
fn gaussian(row: &Row) -> String {
    match row.rank.unwrap_or(0) {
        0 => "diagonal".to_owned(),
        rank => format!("rank {rank}"),
    }
}

/// One line for each posterior.
fn rows(rows: &[Row]) -> Table {
    let numbers = ["rank", "agreement", "TV", "accuracy", "of the mean", "NLL", "ECE", "Brier"];
    let four = |value: f64| format!("{value:.4}");
    draw::table(&["posterior"], numbers).with(rows.iter().map(
        |Row { name, rank, agreement, quality, calibration, mean }| {
            [
                name.clone(),
                draw::or_dash(*rank, |rank| rank.to_string()),
                four(agreement.agreement),
                four(agreement.total_variation),
                accuracy(quality.error),
                draw::or_dash(*mean, |mean| accuracy(mean.error)),
                four(quality.nll),
                four(calibration.ece),
                four(calibration.brier),
            ]
        },
    ))
}

/// One line for each relabelling.
fn mixing(relabellings: &[Relabelled]) -> Table {
    let numbers = ["largest R-hat", "median R-hat", "smallest ESS", "median ESS"];
    draw::table(&["parameters"], numbers).with(relabellings.iter().filter_map(
        |Relabelled { relabelling, mixing, .. }| {
            let mixing = mixing.as_ref()?;
            let rhats = [mixing.max_rhat, mixing.median_rhat].map(|rhat| format!("{rhat:.4}"));
            let sizes = [mixing.min_ess, mixing.median_ess].map(|size| format!("{size:.1}"));
            Some(draw::row(relabelling.name(), rhats.into_iter().chain(sizes)))
        },
    ))
}

/// One column for each pruned network.
fn pruning_table(name: &str, curves: &[PruningCurve]) -> Table {
    let networks = curves.iter().map(|PruningCurve { network, by, .. }| format!("{network}, {}", kept(*by)));
    let titles: Vec<String> = draw::row(format!("{name}: % kept"), networks).collect();
    let rows = curves[0].points.iter().enumerate().map(|(index, point)| {
        let accuracies = curves.iter().map(move |curve| accuracy(curve.points[index].quality.error));
        draw::row(point.percent.to_string(), accuracies)
    });
    draw::table(&[], titles.iter().map(String::as_str)).with(rows)
}

/// One line for each tensor.
fn standard_deviations(id: &str, Relabelled { relabelling, std_histograms, .. }: &Relabelled) -> Figure {
    let largest = std_histograms.iter().flat_map(|histogram| &histogram.borders).copied().fold(0.0, f64::max);
    let of = |StdHistogram { tensor, borders, counts, .. }: &StdHistogram| {
        let total: usize = counts.iter().sum();
        let centres = borders.windows(2).map(|border| (border[0] * border[1]).sqrt());
        let shares = counts.iter().map(|count| *count as f64 / total.max(1) as f64);
        let points = centres.zip(shares).map(|(x, y)| draw::point(x, y));
        draw::marked(tensor, "", points.filter(|point| point.x >= SHOWN * largest))
    };
    draw::lines(
        format!("{id}-stds-{relabelling}"),
        &format!("Standard deviations, {relabelling}"),
        "Share of the parameters of each tensor with a standard deviation in each bin, ten bins for each power of ten; \
         those below a millionth of the largest are left out.",
        [draw::log("standard deviation"), draw::linear("share of the tensor")],
        std_histograms.iter().map(of).collect(),
    )
}

fn pruned(id: &str, Relabelled { relabelling, pruning, .. }: &Relabelled) -> Option<Figure> {
    let of = |PruningCurve { network, by, points }: &PruningCurve| {
        let points = points.iter().map(|pruned| draw::point(pruned.percent, 100.0 * (1.0 - pruned.quality.error)));
        draw::marked(&format!("{network}, {} kept", kept(*by)), "", points)
    };
    Some(draw::lines(
        format!("{id}-pruning-{relabelling}"),
        &format!("Accuracy of pruned networks, {relabelling}"),
        "The network at the mean, and one sample, with zeros in place of the parameters that are not kept.",
        [draw::linear("parameters kept, %"), draw::linear("accuracy, %")],
        pruning.as_ref()?.iter().map(of).collect(),
    ))
}

fn kept(by: KeptBy) -> &'static str {
    match by {
        KeptBy::SmallestStd => "smallest σ",
        KeptBy::LargestSignal => "largest |m|/σ",
    }
}

fn accuracy(error: f64) -> String {
    format!("{:.2} %", 100.0 * (1.0 - error))
}
