//! What was measured, as JSON and as comma-separated values.

use super::Settings;
use crate::commands::members::Source;
use crate::commands::name_of;
use onebasin::data::Split;
use onebasin::measure::Marginal;
use onebasin::measure::Plane;
use onebasin::measure::PlanePoint;
use onebasin::measure::PlaneSettings;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Permutations;
use serde::Deserialize;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What the corners are called.
pub(super) const CORNERS: [&str; 3] = ["A", "B", "B aligned"];

/// All of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    version: String,
    settings: PlaneSettings,
    /// The data set, with the subsets that the training images are of.
    data: String,
    /// A and B.
    posteriors: Vec<PathBuf>,
    /// The channel, or the file, that the units of B were ordered by.
    alignment: String,
    /// How many swaps of units make the permutations.
    transpositions: usize,
    pub(super) planes: Vec<Measured>,
}

/// On the images of one kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) split: Split,
    #[serde(default)]
    pub(super) seconds: f64,
    #[serde(flatten)]
    pub(super) plane: Plane,
}

impl Report {
    pub(super) fn new(
        settings: &Settings,
        sources: &[Source],
        stored: &[StoredPosterior],
        permutations: &Permutations,
        planes: Vec<Measured>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.method.measure(),
            data: settings.method.dataset.clone().unwrap_or_else(|| stored[0].provenance.data.clone()),
            posteriors: sources.iter().map(|source| source.file.clone()).collect(),
            alignment: match &settings.alignment {
                Some(file) => file.display().to_string(),
                None => name_of(&settings.method.channel)?,
            },
            transpositions: permutations.transpositions(),
            planes,
        })
    }

    pub(super) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// One line for each corner, with its name, and for each point of the grid; empty where there is no number.
    pub(super) fn csv(&self) -> anyhow::Result<String> {
        let mut text = "split,corner,x,y,loss,error,marginal_loss,marginal_error,log_posterior\n".to_owned();
        for Measured { split, plane, .. } in &self.planes {
            let split = name_of(split)?;
            let corners = CORNERS.into_iter().zip(&plane.corners);
            for (corner, point) in corners.chain(plane.points.iter().map(|point| ("", point))) {
                let PlanePoint { x, y, loss, error, marginal, log_posterior } = point;
                let marginal =
                    marginal.map_or_else(|| ",".to_owned(), |Marginal { loss, error }| format!("{loss},{error}"));
                let log_posterior = log_posterior.map_or_else(String::new, |value| value.to_string());
                writeln!(text, "{split},{corner},{x},{y},{loss},{error},{marginal},{log_posterior}")?;
            }
        }
        Ok(text)
    }
}
