//! The plane through two checkpoints of any network and the second one aligned, on the user's own examples.

use super::network_inputs::{NetworkInputs, Opened};
use super::plane::{Measured, Plane, PlaneResult, PlaneSettings};
use crate::data::Split;
use crate::error::{Error, Result};
use crate::experiment::{Context, Folder, Section, Stage};
use crate::measure::{Plane as Grid, Triangle};
use serde::Serialize;
use std::path::PathBuf;

/// Measures the plane between checkpoints.
#[derive(Clone, Debug, Serialize)]
pub struct PlaneNetwork {
    /// What is measured.
    #[serde(flatten)]
    pub settings: PlaneSettings,
    /// The network, its checkpoints and the examples.
    #[serde(flatten)]
    pub inputs: NetworkInputs,
}

impl Stage for PlaneNetwork {
    const NAME: &'static str = "plane-network";
    const REVISION: u32 = 2;
    const FILES: &'static [&'static str] = Plane::FILES;
    type Result = PlaneResult;

    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    fn run(&self, context: &Context<'_>, _: Option<&Folder>) -> Result<PlaneResult> {
        let settings = &self.settings;
        settings.check()?;
        settings.precision.check_f32("checkpoints of a network")?;
        self.inputs.check_classes()?;
        let given = settings.dataset.is_none();
        Error::unless(given, "dataset", "given", "left out: `inputs` and `labels` are measured on")?;
        let mut opened = self.inputs.open(settings.test_examples, context)?;
        let (first, second) = (opened.gaussian(0)?, opened.gaussian(1)?);
        let permutations = opened.align(settings.criterion, settings.solver, settings.seed, context)?;
        let third = opened.permute(&second, &permutations)?;
        let triangle = Triangle::new([&first, &second, &third])?;
        let Opened { predictor, examples, .. } = &mut opened;
        let (plane, seconds) = context.measured("the plane", |monitor| {
            Grid::through(&triangle, predictor, examples, settings.sampling(), None, monitor)
        })?;
        Ok(PlaneResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.clone(),
            data: self.inputs.inputs.display().to_string(),
            posteriors: self.inputs.checkpoints.clone(),
            alignment: settings.criterion.to_string(),
            transpositions: permutations.transpositions(),
            planes: vec![Measured { split: Split::Test, seconds, plane }],
        })
    }

    fn tables(result: &PlaneResult) -> Vec<(&'static str, String)> {
        Plane::tables(result)
    }
}
