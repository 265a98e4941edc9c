//! One Gaussian in the place of several checkpoints of any network, measured on the user's own examples.

use super::align_network::leave_out;
use super::compact::{Compact, CompactResult, CompactSettings, Evaluator, Samples, Work, write};
use super::network_inputs::{NetworkInputs, Opened};
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, Section, Stage, inputs};
use crate::params::Params;
use crate::posterior::{Posterior, Predictor, Samples as Points};
use crate::store::{Provenance, StoredPosterior};
use crate::symmetry::Spec;
use serde::Serialize;
use std::path::PathBuf;

/// Replaces checkpoints by Gaussians.
#[derive(Clone, Debug, Serialize)]
pub struct CompactNetwork {
    /// Which Gaussians are fitted, and what is measured of them.
    #[serde(flatten)]
    pub settings: CompactSettings,
    /// The network, its checkpoints and the examples.
    #[serde(flatten)]
    pub inputs: NetworkInputs,
}

impl Stage for CompactNetwork {
    const NAME: &'static str = "compact-network";
    const REVISION: u32 = 2;
    type Result = CompactResult;

    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    fn owns(file: &str) -> bool {
        Compact::owns(file)
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<CompactResult> {
        let settings = &self.settings;
        settings.check()?;
        settings.precision.check_f32("checkpoints of a network")?;
        self.inputs.check_classes()?;
        Error::unless(!settings.balance, "balance", true, "false for checkpoints of a network")?;
        let given = settings.reference.is_none();
        Error::unless(given, "reference", "given", "left out for checkpoints of a network: they are the reference")?;
        if let Some(epochs) = settings.distil {
            return Err(Error::setting("distil", epochs, "left out for a network, whose gradient is not known"));
        }
        let sources = inputs::find(&self.inputs.checkpoints, folder.map(|folder| folder.join("")).as_deref())?;
        let opened = self.inputs.open(settings.test_examples, context)?;
        let count = opened.members.len().min(settings.samples.unwrap_or(usize::MAX));
        if count < 2 {
            return Err(Error::Count { need: "a Gaussian needs at least 2 checkpoints", got: count });
        }
        let points = opened.members[..count].iter().map(|member| member.mean(opened.spec.layout()));
        let points: Vec<Params> = points.collect::<Result<_>>()?;
        let statistics = opened.network.statistics();
        let Opened { spec, predictor, examples, .. } = opened;
        let data = self.inputs.inputs.display().to_string();
        let replaced = Replaced { settings, points, sources: &sources, spec: &spec, statistics: &statistics, data };
        let (result, gaussians) = replaced.fit(predictor, examples, context)?;
        write(&gaussians, folder)?;
        Ok(result)
    }
}

/// Points of a network that Gaussians replace.
#[derive(Debug)]
pub struct Replaced<'a> {
    /// Which Gaussians are fitted, and what is measured of them.
    pub settings: &'a CompactSettings,
    /// The points.
    pub points: Vec<Params>,
    /// Where they come from, if they are in files.
    pub sources: &'a [Source],
    /// The symmetry of the network.
    pub spec: &'a Spec,
    /// Tensors of running statistics, which do not decide which units match.
    pub statistics: &'a [usize],
    /// What the examples are called.
    pub data: String,
}

impl Replaced<'_> {
    /// Fits the Gaussians, and compares their predictions with those of the points; with the name of the file of each Gaussian.
    pub fn fit(
        self,
        predictor: Predictor,
        examples: Examples,
        context: &Context<'_>,
    ) -> Result<(CompactResult, Vec<(String, StoredPosterior)>)> {
        let Self { settings, points, sources, spec, statistics, data } = self;
        let mut compared = points.clone();
        for point in &mut compared {
            leave_out(point, statistics);
        }
        let [draws, compared] = [points, compared].map(|points| Points::new(points, 1).map(Posterior::Samples));
        let (draws, compared) = (draws?, compared?);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let provenance = Provenance { version, spec: Some(spec.clone()), data, ..Provenance::default() };
        let mut evaluator = Evaluator::of_network(settings, predictor, examples, context);
        let samples = Samples { draws: &draws, chains: None, sources, provenance: &provenance };
        Work { settings, samples, spec, scales: None, compared: Some(&compared), context }.fit(&mut evaluator, None)
    }
}
