//! Aligns one posterior with another by any criterion, with the training examples that some criteria need.

use super::learned::Job;
use super::{AlignSettings, learned};
use crate::align;
use crate::align::{Alignment, Between, Candidate, Criterion};
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Result;
use crate::experiment::inputs::Source;
use crate::experiment::{Context, inputs};
use crate::net::Likelihood;
use crate::posterior::{Draws, Gaussian, Posterior};
use crate::progress::Monitor;
use crate::store::StoredPosterior;
use crate::symmetry::{Scales, Spec, distance_from_prior, prior_like_units};
use std::borrow::Cow;
use std::path::Path;

/// What posteriors are compared by.
#[derive(Debug)]
enum Compared {
    /// All weights.
    Weights,
    /// Weights but those of masked units, (posterior, group, unit).
    Masked(Vec<Vec<Vec<bool>>>),
    /// What the networks do with training examples of the first posterior.
    Data(Box<Examples>),
    /// The loss on training examples of the first posterior, with its likelihood.
    Loss(Box<Examples>, Likelihood),
}

/// Posteriors as one criterion compares them.
#[derive(Debug)]
pub(crate) struct Matching<'a> {
    settings: &'a AlignSettings,
    sources: &'a [Source],
    context: &'a Context<'a>,
    compared: Compared,
    pub(super) method: align::Settings,
    pub(super) arch: Arch,
    pub(super) spec: Spec,
    /// The posteriors, balanced if that is asked for.
    pub(super) posteriors: Vec<Cow<'a, Posterior>>,
    pub(super) gaussians: Vec<Gaussian>,
}

impl<'a> Matching<'a> {
    /// Reads the training examples if the only criterion of the settings needs them.
    pub(crate) fn new(
        settings: &'a AlignSettings,
        sources: &'a [Source],
        stored: &'a [StoredPosterior],
        context: &'a Context<'a>,
    ) -> Result<Self> {
        let method = settings.single()?;
        let arch = stored[0].provenance.network()?;
        let spec = Spec::of(&arch);
        let compared = if method.criterion.needs_data() {
            inputs::check_standardisation(sources, stored)?;
            let first = &stored[0].provenance;
            let learned = method.criterion == Criterion::Learned;
            let most = if learned { usize::MAX } else { settings.examples };
            let examples = inputs::config(first)
                .and_then(|config| config.data.training(context.data))
                .and_then(|training| inputs::first_examples(training, Some(most), first))
                .map_err(|error| error.at(sources[0].file.display()))?;
            let examples = Box::new(examples);
            if learned { Compared::Loss(examples, first.likelihood) } else { Compared::Data(examples) }
        } else if let Some(threshold) = settings.exclude_prior {
            // Before any balancing: the prior is that of the network as it was trained.
            let masks = sources.iter().zip(stored).map(|(source, stored)| {
                mask(stored, &arch, &spec, threshold).map_err(|error| error.at(source.file.display()))
            });
            Compared::Masked(masks.collect::<Result<_>>()?)
        } else {
            Compared::Weights
        };
        let posteriors: Vec<Cow<'_, Posterior>> = if settings.balance {
            let scales = Scales::of(&arch)?;
            let balanced = stored.iter().map(|stored| stored.posterior.balanced(&scales).map(Cow::Owned));
            balanced.collect::<Result<_>>()?
        } else {
            stored.iter().map(|stored| Cow::Borrowed(&stored.posterior)).collect()
        };
        let gaussians = posteriors.iter().map(|posterior| posterior.gaussian().into_owned()).collect();
        Ok(Self { settings, sources, context, compared, method, arch, spec, posteriors, gaussians })
    }

    /// Aligns a posterior with the first, under the name of a task; returns also the seconds it took. Learning goes on
    /// from a file, if one is given.
    pub(crate) fn pair(&self, index: usize, task: &str, file: Option<&Path>) -> Result<(Alignment, f64)> {
        let found = self.context.measured(task, |monitor| match &self.compared {
            Compared::Loss(examples, likelihood) => self.learn(index, (examples, *likelihood), file, monitor),
            _ => self.by(self.method, index, monitor),
        });
        let [moved, fixed] = [index, 0].map(|index| self.sources[index].file.display());
        found.map_err(|error| error.at(format_args!("cannot align {moved} with {fixed}")))
    }

    fn learn(
        &self,
        index: usize,
        (examples, likelihood): (&Examples, Likelihood),
        file: Option<&Path>,
        monitor: &mut Monitor<'_>,
    ) -> Result<Alignment> {
        let start = self.context.host.seconds();
        let candidate = |criterion: Criterion, monitor: &mut Monitor<'_>| {
            let method = align::Settings { criterion, ..self.method };
            let found = monitor.part(0, 0, |monitor| self.by(method, index, monitor))?;
            Ok(Candidate { name: criterion.name(), permutations: found.permutations })
        };
        let candidates = learned::CANDIDATES.into_iter().map(|criterion| candidate(criterion, monitor));
        let candidates = candidates.collect::<Result<Vec<_>>>()?;
        let (fixed, moved) = (&self.gaussians[0], &self.gaussians[index]);
        let between = Between { arch: &self.arch, likelihood, fixed, moved, examples };
        let files = [0, index].map(|index| self.sources[index].file.as_path());
        let job = Job { settings: self.settings, between, files, candidates: &candidates, start };
        learned::pair(&job, file, self.context, monitor)
    }

    /// Aligns a posterior with the first by a criterion that is not learned.
    fn by(&self, method: align::Settings, index: usize, monitor: &mut Monitor<'_>) -> Result<Alignment> {
        let (fixed, moved, pool) = (&self.gaussians[0], &self.gaussians[index], &self.context.pool);
        match &self.compared {
            Compared::Masked(masks) => {
                let masks = [&masks[0][..], &masks[index]];
                align::pair_masked(&self.spec, fixed, moved, masks, method, pool, monitor)
            }
            Compared::Data(examples) | Compared::Loss(examples, _) if method.criterion.needs_data() => {
                let sides: [&dyn Draws; 2] = [&*self.posteriors[0], &*self.posteriors[index]];
                let some = examples.first(self.settings.examples)?;
                align::by_activation(&self.arch, sides, (&some, self.settings.draws), method, pool, monitor)
            }
            _ => align::pair(&self.spec, fixed, moved, method, pool, monitor),
        }
    }

    /// Number of masked units of a posterior.
    pub(super) fn masked_units(&self, index: usize) -> usize {
        match &self.compared {
            Compared::Weights | Compared::Data(_) | Compared::Loss(..) => 0,
            Compared::Masked(masks) => masks[index].iter().flatten().filter(|masked| **masked).count(),
        }
    }
}

/// Which units of a posterior, (group, unit), are closer to the prior of its training than `threshold`.
fn mask(stored: &StoredPosterior, arch: &Arch, spec: &Spec, threshold: f64) -> Result<Vec<Vec<bool>>> {
    let prior = inputs::config(&stored.provenance)?.prior;
    let gaussian = stored.posterior.gaussian();
    let distances = distance_from_prior(spec, gaussian.mean(), gaussian.std(), &prior.variances(arch))?;
    Ok(prior_like_units(&distances, threshold))
}
