//! What is known of the Gaussians, as JSON, field by field.

use super::Method;
use super::labels::Summary;
use crate::commands::pool::Pool;
use onebasin::measure::Agreement;
use onebasin::measure::Calibration;
use onebasin::measure::Mixing;
use onebasin::measure::Quality;
use onebasin::measure::Widths;
use onebasin::measure::prune::KeptBy;
use onebasin::measure::prune::Pruned;
use onebasin::posterior::Draws;
use serde::Deserialize;
use serde::Serialize;

/// All of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    version: String,
    settings: Method,
    pub(super) samples: usize,
    /// If all are of one length.
    chains: Option<usize>,
    parameters: usize,
    /// The samples, then the Gaussians.
    pub(super) rows: Vec<Row>,
    pub(super) labels: Vec<Compact>,
}

/// What one posterior predicts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) name: String,
    /// Of a Gaussian; 0 is a diagonal one.
    pub(super) rank: Option<usize>,
    /// To the reference.
    #[serde(flatten)]
    pub(super) nearness: Agreement,
    #[serde(flatten)]
    pub(super) quality: Quality,
    #[serde(flatten)]
    pub(super) calibration: Calibration,
    /// What the network at the mean of a Gaussian predicts.
    pub(super) mean: Option<Quality>,
}

/// Samples with some labels, and the diagonal Gaussian fitted to them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Compact {
    pub(super) name: String,
    pub(super) labels: Summary,
    /// If there are chains of enough samples.
    pub(super) mixing: Option<Mixing>,
    pub(super) pruning: Option<Vec<Curve>>,
    pub(super) widths: Vec<Widths>,
}

/// A network pruned more and more.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Curve {
    /// The mean, or the last sample.
    pub(super) network: String,
    pub(super) by: KeptBy,
    pub(super) points: Vec<Pruned>,
}

impl Report {
    pub(super) fn new(settings: Method, pool: &Pool, samples: Row) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            samples: pool.len(),
            chains: pool.chains(),
            parameters: pool.layout().len(),
            rows: vec![samples],
            labels: Vec::new(),
        }
    }

    pub(super) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
