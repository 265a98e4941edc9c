//! One Gaussian in the place of several checkpoints of any network, measured on the user's own examples.

use super::align_network::leave_out;
use super::compact::{Compact, CompactResult, CompactSettings, Evaluator, Samples, Work, write};
use super::network_inputs::{NetworkInputs, Opened};
use crate::error::{Error, Result};
use crate::experiment::{Context, Folder, Section, Stage, inputs};
use crate::params::Params;
use crate::posterior::{Posterior, Samples as Points};
use crate::store::Provenance;
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
        let mut compared = points.clone();
        for point in &mut compared {
            leave_out(point, &opened.network.statistics());
        }
        let [draws, compared] = [points, compared].map(|points| Points::new(points, 1).map(Posterior::Samples));
        let (draws, compared) = (draws?, compared?);
        let Opened { spec, predictor, examples, .. } = opened;
        let provenance = Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            spec: Some(spec.clone()),
            data: self.inputs.inputs.display().to_string(),
            ..Provenance::default()
        };
        let mut evaluator = Evaluator::of_network(settings, predictor, examples, context);
        let samples = Samples { draws: &draws, chains: None, sources: &sources, provenance: &provenance };
        let work = Work { settings, samples, spec: &spec, scales: None, compared: Some(&compared), context };
        let (result, gaussians) = work.fit(&mut evaluator, None)?;
        write(&gaussians, folder)?;
        Ok(result)
    }
}
