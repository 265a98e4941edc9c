//! What was measured, as JSON and as comma-separated values.

use super::Order;
use super::Settings;
use crate::commands::members::Source;
use crate::commands::name_of;
use onebasin::align::Solver;
use onebasin::data::Split;
use onebasin::measure::BarrierSettings;
use onebasin::measure::Curve;
use onebasin::measure::Curves;
use onebasin::measure::Estimate;
use onebasin::measure::Point;
use onebasin::store::StoredPosterior;
use serde::Serialize;
use std::path::PathBuf;

/// What one path was measured as.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) order: &'a Order,
    pub(super) split: Split,
    pub(super) curves: Curves,
    pub(super) seconds: f64,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    version: &'static str,
    settings: BarrierSettings,
    solver: Solver,
    /// The data set, with the subsets that the training images are of.
    data: String,
    posteriors: Vec<PathBuf>,
    alignments: Vec<Aligned>,
    pub(super) curves: Vec<Row>,
}

/// How the units of the second posterior were ordered.
#[derive(Debug, Serialize)]
struct Aligned {
    curve: String,
    /// W2 between the posteriors.
    distance: f64,
    /// How many swaps of units make the permutations.
    transpositions: usize,
}

/// A curve.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) curve: String,
    pub(super) split: Split,
    images: usize,
    /// Draws at each point.
    samples: usize,
    /// None of the mixture, which comes with the ends of a path.
    pub(super) seconds: Option<f64>,
    #[serde(flatten)]
    pub(super) measured: Curve,
}

impl Report {
    pub(super) fn new(
        settings: &Settings,
        sources: &[Source],
        stored: &[StoredPosterior],
        orders: &[Order],
        measured: Vec<Measured<'_>>,
    ) -> Self {
        let mut curves = Vec::new();
        let mut mixtures = Vec::new();
        for Measured { order, split, curves: Curves { images, samples, path, mixture }, seconds } in measured {
            if order.name == orders[0].name {
                let curve = "mixture".to_owned();
                mixtures.push(Row { curve, split, images, samples, seconds: None, measured: mixture });
            }
            let curve = order.name.clone();
            curves.push(Row { curve, split, images, samples, seconds: Some(seconds), measured: path });
        }
        curves.append(&mut mixtures);
        let aligned = |Order { name, distance, transpositions, .. }: &Order| Aligned {
            curve: name.clone(),
            distance: *distance,
            transpositions: *transpositions,
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            settings: settings.measure,
            solver: settings.solver,
            data: settings.dataset.clone().unwrap_or_else(|| stored[0].provenance.data.clone()),
            posteriors: sources.iter().map(|source| source.file.clone()).collect(),
            alignments: orders.iter().map(aligned).collect(),
            curves,
        }
    }

    pub(super) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// One line for each point of each curve; empty where there is no standard error.
    pub(super) fn csv(&self) -> anyhow::Result<String> {
        let mut text = "curve,split,tau,loss,loss_standard_error,error,error_standard_error\n".to_owned();
        for row in &self.curves {
            let [curve, split] = [format!("\"{}\"", row.curve.replace('"', "\"\"")), name_of(&row.split)?];
            for Point { tau, loss, error } in &row.measured.points {
                let [loss, error] = [loss, error].map(|Estimate { value, standard_error }| {
                    let standard_error = standard_error.map_or_else(String::new, |error| error.to_string());
                    format!("{value},{standard_error}")
                });
                text += &[curve.as_str(), &split, &tau.to_string(), &loss, &error].join(",");
                text += "\n";
            }
        }
        Ok(text)
    }
}
