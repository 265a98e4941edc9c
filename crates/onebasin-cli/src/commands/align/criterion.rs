//! How two posteriors are compared: by weights, or by what their units do on data.

use super::Activation;
use super::Settings;
use super::members::Source;
use super::members::at_prior;
use anyhow::Context;
use anyhow::bail;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::data::Subset;
use onebasin::error::Error;
use onebasin::experiment::TrainConfig;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Spec;
use std::path::Path;

/// What is looked at.
#[derive(Debug)]
pub(super) enum Criterion {
    /// All weights.
    Weights,
    /// Weights but those of units without a vote: (posterior, group, unit).
    Without(Vec<Vec<Vec<bool>>>),
    /// Activations on images, averaged over up to so many draws.
    Activations(Box<Examples>, usize),
}

impl Criterion {
    pub(super) fn new(
        sources: &[Source],
        stored: &[StoredPosterior],
        arch: &Arch,
        spec: &Spec,
        settings: &Settings,
    ) -> anyhow::Result<Self> {
        let method = settings.method;
        if let Some(activation) = method.activation {
            check_pixels(sources, stored)?;
            let first = sources[0].file.display();
            let examples = images(&stored[0], &settings.data, activation).with_context(|| first.to_string())?;
            return Ok(Self::Activations(Box::new(examples), activation.draws));
        }
        match method.leave_out_prior {
            None => Ok(Self::Weights),
            Some(nats) if nats > 0.0 && nats.is_finite() => {
                // Before any balancing: the prior is that of the network as it was trained.
                let members = sources.iter().zip(stored);
                let silent = members.map(|(source, stored)| at_prior(source, stored, arch, spec, nats));
                Ok(Self::Without(silent.collect::<anyhow::Result<_>>()?))
            }
            Some(nats) => Err(Error::NotPositive { what: "--leave-out-prior", value: nats.to_string() }.into()),
        }
    }

    /// How many units of a posterior have no vote.
    pub(super) fn silent_units(&self, index: usize) -> usize {
        match self {
            Self::Weights | Self::Activations(..) => 0,
            Self::Without(silent) => silent[index].iter().flatten().filter(|silent| **silent).count(),
        }
    }
}

/// Networks that see one image differently cannot be compared on it.
fn check_pixels(sources: &[Source], stored: &[StoredPosterior]) -> anyhow::Result<()> {
    let first = &stored[0].provenance.standardisation;
    for (source, stored) in sources.iter().zip(stored) {
        if stored.provenance.standardisation != *first {
            bail!(
                "{} scales pixels differently than {}, so their activations on one image cannot be compared",
                source.file.display(),
                sources[0].file.display()
            );
        }
    }
    Ok(())
}

/// The first of the images that a posterior was trained on.
fn images(stored: &StoredPosterior, data: &Path, activation: Activation) -> anyhow::Result<Examples> {
    for (what, number) in [("--images", activation.images), ("--draws", activation.draws)] {
        if number == 0 {
            return Err(Error::Zero { what: what.to_owned() }.into());
        }
    }
    let config = serde_json::from_value::<TrainConfig>(stored.provenance.config.clone());
    let training = config.context("its provenance does not say what it was trained on")?.training(data)?;
    let some = Subset::First(activation.images.min(training.len())).apply(training.dataset())?;
    Ok(Examples::new(some, stored.provenance.standardisation.clone())?)
}
