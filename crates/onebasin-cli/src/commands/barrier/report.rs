//! What was measured, as JSON and as comma-separated values.

use super::Order;
use super::Settings;
use super::Way;
use crate::commands::members::Source;
use crate::commands::name_of;
use onebasin::align::Solver;
use onebasin::data::Split;
use onebasin::measure::BarrierSettings;
use onebasin::measure::Calibrated;
use onebasin::measure::Curve;
use onebasin::measure::Curves;
use onebasin::measure::Estimate;
use onebasin::measure::Point;
use onebasin::store::StoredPosterior;
use serde::Deserialize;
use serde::Serialize;
use std::path::PathBuf;

/// What one path was measured as.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: String,
    /// Whether the posteriors are as they were.
    pub(super) unaligned: bool,
    pub(super) way: Way,
    pub(super) split: Split,
    pub(super) curves: Curves,
    pub(super) seconds: f64,
}

/// All of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    version: String,
    settings: BarrierSettings,
    solver: Solver,
    /// The data set, with the subsets that the training images are of.
    data: String,
    posteriors: Vec<PathBuf>,
    pub(super) alignments: Vec<Aligned>,
    pub(super) curves: Vec<Row>,
}

/// How the units of the second posterior were ordered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Aligned {
    pub(super) curve: String,
    /// W2 between the posteriors.
    pub(super) distance: f64,
    /// How many swaps of units make the permutations.
    pub(super) transpositions: usize,
}

/// A curve.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) curve: String,
    /// None of the mixture.
    #[serde(rename = "path")]
    pub(super) way: Option<Way>,
    pub(super) split: Split,
    images: usize,
    /// Draws at each point.
    samples: usize,
    /// None of what comes with another curve: the mixture, and what is calibrated.
    #[serde(default)]
    pub(super) seconds: Option<f64>,
    /// What logits are divided by at each point, if it is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperatures: Option<Vec<f64>>,
    #[serde(flatten)]
    pub(super) measured: Curve,
}

impl Report {
    pub(super) fn new(
        settings: &Settings,
        sources: &[Source],
        stored: &[StoredPosterior],
        orders: &[Order],
        measured: Vec<Measured>,
    ) -> Self {
        let mut curves = Vec::new();
        let mut mixtures = Vec::new();
        for Measured {
            name,
            unaligned,
            way,
            split,
            curves: Curves { images, samples, path, mixture, calibrated },
            seconds,
        } in measured
        {
            let row = |curve: String, way, seconds, temperatures, measured| Row {
                curve,
                way,
                split,
                images,
                samples,
                seconds,
                temperatures,
                measured,
            };
            if unaligned {
                mixtures.push(row("mixture".to_owned(), None, None, None, mixture));
            }
            curves.push(row(name.clone(), Some(way), Some(seconds), None, path));
            if let Some(Calibrated { temperatures, path }) = calibrated {
                curves.push(row(format!("{name}, calibrated"), Some(way), None, Some(temperatures), path));
            }
        }
        curves.append(&mut mixtures);
        let aligned = |Order { name, distance, transpositions, .. }: &Order| Aligned {
            curve: name.clone(),
            distance: *distance,
            transpositions: *transpositions,
        };
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.method.measure(),
            solver: settings.method.solver,
            data: settings.method.dataset.clone().unwrap_or_else(|| stored[0].provenance.data.clone()),
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
