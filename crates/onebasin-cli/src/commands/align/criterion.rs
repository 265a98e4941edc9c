//! How two posteriors are compared: by weights, or by what their units do on data.

use super::Activation;
use super::Settings;
use crate::commands::images;
use crate::commands::members::Source;
use crate::commands::members::at_prior;
use anyhow::Context;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::error::Error;
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
            images::check_pixels(sources, stored)?;
            let first = sources[0].file.display();
            let examples = first_images(&stored[0], &settings.data, activation).with_context(|| first.to_string())?;
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

/// The first of the images that a posterior was trained on.
fn first_images(stored: &StoredPosterior, data: &Path, activation: Activation) -> anyhow::Result<Examples> {
    for (what, number) in [("--images", activation.images), ("--draws", activation.draws)] {
        if number == 0 {
            return Err(Error::Zero { what: what.to_owned() }.into());
        }
    }
    Ok(images::first(&images::config(&stored.provenance)?.training(data)?, activation.images, &stored.provenance)?)
}
