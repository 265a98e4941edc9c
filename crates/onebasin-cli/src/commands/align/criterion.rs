//! How two posteriors are compared: by all weights, or by those of units that have learned something.

use super::Method;
use super::members::Source;
use super::members::at_prior;
use onebasin::align;
use onebasin::align::Alignment;
use onebasin::align::Progress;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::posterior::Gaussian;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Spec;

/// What is looked at.
#[derive(Debug)]
pub(super) enum Criterion {
    /// All weights.
    Weights,
    /// Weights but those of units without a vote: (posterior, group, unit).
    Without(Vec<Vec<Vec<bool>>>),
}

impl Criterion {
    pub(super) fn new(
        sources: &[Source],
        stored: &[StoredPosterior],
        arch: &Arch,
        spec: &Spec,
        method: Method,
    ) -> anyhow::Result<Self> {
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
            Self::Weights => 0,
            Self::Without(silent) => silent[index].iter().flatten().filter(|silent| **silent).count(),
        }
    }

    /// Aligns a posterior with the first.
    pub(super) fn align(
        &self,
        spec: &Spec,
        gaussians: &[Gaussian],
        index: usize,
        settings: align::Settings,
        team: &Team,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Alignment, Error> {
        let (fixed, moved) = (&gaussians[0], &gaussians[index]);
        match self {
            Self::Weights => align::pair(spec, fixed, moved, settings, team, watch),
            Self::Without(silent) => {
                let silent = [&silent[0][..], &silent[index]];
                align::pair_without(spec, fixed, moved, silent, settings, team, watch)
            }
        }
    }
}
