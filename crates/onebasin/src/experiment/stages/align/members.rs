//! Alignment of whole posteriors: each with the first, or all together.

use super::result::{Aligned, BeforeAndAfter, Outcome, Pair, Reference, Together};
use super::{AlignSettings, FunctionCheck, Target, aligned_file, permutations_file};
use crate::align;
use crate::align::{Alignment, Criterion, Many};
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Result;
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, inputs};
use crate::posterior::{Draws, Gaussian, Posterior};
use crate::progress::Monitor;
use crate::store::StoredPosterior;
use crate::symmetry::{Permutations, Scales, Spec, distance_from_prior, prior_like_units};
use std::borrow::Cow;

/// Aligns posteriors, and writes those that have changed.
pub(super) fn align(
    settings: &AlignSettings,
    method: align::Settings,
    sources: &[Source],
    folder: &Folder,
    context: &Context<'_>,
) -> Result<Outcome> {
    let stored = inputs::read(sources)?;
    let mut members = Members::new(settings, method, sources, &stored, folder, context)?;
    let pairs = if settings.to == Target::First { members.to_first()? } else { Vec::new() };
    let together = if settings.to == Target::First { None } else { Some(members.together()?) };
    let permutations: Vec<&Permutations> = match &together {
        Some((many, _)) => many.permutations[1..].iter().collect(),
        None => pairs.iter().map(|(found, _)| &found.permutations).collect(),
    };

    // All that can be wrong with the input has been found by now.
    folder.clear()?;
    let reference = members.reference()?;
    let aligned =
        (1..).zip(permutations).map(|(index, own)| members.permute(index, own)).collect::<Result<Vec<_>>>()?;
    if let Some((many, seconds)) = together {
        return Ok(Outcome::Together { reference, together: Together::new(many, seconds), members: aligned });
    }
    let pairs = aligned.into_iter().zip(&pairs);
    let pairs = pairs.map(|(aligned, (found, seconds))| Pair::new(aligned, found, &members.spec, *seconds));
    Ok(Outcome::Pairs { reference, members: pairs.collect() })
}

/// What posteriors are compared by.
enum Matching {
    /// All weights.
    Weights,
    /// Weights but those of masked units, (posterior, group, unit).
    Masked(Vec<Vec<Vec<bool>>>),
    /// Activations on examples.
    Activations(Box<Examples>),
}

/// The posteriors as they are compared, and where they are written.
struct Members<'a> {
    settings: &'a AlignSettings,
    method: align::Settings,
    sources: &'a [Source],
    stored: &'a [StoredPosterior],
    folder: &'a Folder,
    context: &'a Context<'a>,
    arch: Arch,
    spec: Spec,
    function: FunctionCheck,
    /// The posteriors, balanced if that is asked for.
    posteriors: Vec<Cow<'a, Posterior>>,
    gaussians: Vec<Gaussian>,
    matching: Matching,
}

impl<'a> Members<'a> {
    fn new(
        settings: &'a AlignSettings,
        method: align::Settings,
        sources: &'a [Source],
        stored: &'a [StoredPosterior],
        folder: &'a Folder,
        context: &'a Context<'a>,
    ) -> Result<Self> {
        let arch = stored[0].provenance.network()?;
        let spec = Spec::of(&arch);
        let matching = if method.criterion == Criterion::Activation {
            inputs::check_standardisation(sources, stored)?;
            let first = &stored[0].provenance;
            let examples = inputs::config(first)
                .and_then(|config| config.data.training(context.data))
                .and_then(|training| inputs::first_examples(training, Some(settings.examples), first))
                .map_err(|error| error.at(sources[0].file.display()))?;
            Matching::Activations(Box::new(examples))
        } else if let Some(threshold) = settings.exclude_prior {
            // Before any balancing: the prior is that of the network as it was trained.
            let masks = sources.iter().zip(stored).map(|(source, stored)| {
                mask(stored, &arch, &spec, threshold).map_err(|error| error.at(source.file.display()))
            });
            Matching::Masked(masks.collect::<Result<_>>()?)
        } else {
            Matching::Weights
        };
        let posteriors: Vec<Cow<'_, Posterior>> = if settings.balance {
            let scales = Scales::of(&arch)?;
            let balanced = stored.iter().map(|stored| stored.posterior.balanced(&scales).map(Cow::Owned));
            balanced.collect::<Result<_>>()?
        } else {
            stored.iter().map(|stored| Cow::Borrowed(&stored.posterior)).collect()
        };
        let gaussians = posteriors.iter().map(|posterior| posterior.gaussian().into_owned()).collect();
        let function = FunctionCheck::new(&arch, method.seed, &context.pool)?;
        Ok(Self {
            settings,
            method,
            sources,
            stored,
            folder,
            context,
            arch,
            spec,
            function,
            posteriors,
            gaussians,
            matching,
        })
    }

    /// Aligns each posterior but the first with the first.
    fn to_first(&self) -> Result<Vec<(Alignment, f64)>> {
        let others = self.sources.iter().enumerate().skip(1);
        let aligned = others.map(|(index, source)| {
            let task = format!("aligning {}", source.name);
            let found = self.context.measured(&task, |monitor| self.pair(index, monitor));
            let [moved, fixed] = [source, &self.sources[0]].map(|source| source.file.display());
            found.map_err(|error| error.at(format_args!("cannot align {moved} with {fixed}")))
        });
        aligned.collect()
    }

    /// Aligns a posterior with the first.
    fn pair(&self, index: usize, monitor: &mut Monitor<'_>) -> Result<Alignment> {
        let (fixed, moved, pool) = (&self.gaussians[0], &self.gaussians[index], &self.context.pool);
        match &self.matching {
            Matching::Weights => align::pair(&self.spec, fixed, moved, self.method, pool, monitor),
            Matching::Masked(masks) => {
                let masks = [&masks[0][..], &masks[index]];
                align::pair_masked(&self.spec, fixed, moved, masks, self.method, pool, monitor)
            }
            Matching::Activations(examples) => {
                let sides: [&dyn Draws; 2] = [&*self.posteriors[0], &*self.posteriors[index]];
                align::by_activation(&self.arch, sides, (examples, self.settings.draws), self.method, pool, monitor)
            }
        }
    }

    /// Aligns all posteriors with each other.
    fn together(&self) -> Result<(Many, f64)> {
        let align = if self.settings.to == Target::Mean { align::to_mean } else { align::to_universe };
        let task = format!("aligning {} posteriors", self.sources.len());
        let pool = &self.context.pool;
        self.context.measured(&task, |monitor| align(&self.spec, &self.gaussians[..], self.method, pool, monitor))
    }

    /// Number of masked units of a posterior.
    fn masked_units(&self, index: usize) -> usize {
        match &self.matching {
            Matching::Weights | Matching::Activations(_) => 0,
            Matching::Masked(masks) => masks[index].iter().flatten().filter(|masked| **masked).count(),
        }
    }

    /// The first posterior, which is written only if its scales were balanced.
    fn reference(&mut self) -> Result<Reference> {
        let Source { name, file } = self.sources[0].clone();
        let change_of_function = match &self.posteriors[0] {
            Cow::Owned(balanced) => Some(self.write(0, balanced.clone())?),
            Cow::Borrowed(_) => None,
        };
        Ok(Reference {
            file: change_of_function.map(|_| aligned_file(&name)),
            change_of_function,
            masked_units: self.masked_units(0),
            name,
            source: file,
        })
    }

    /// Another posterior, with its units permuted.
    fn permute(&mut self, index: usize, permutations: &Permutations) -> Result<Aligned> {
        let Source { name, file } = self.sources[index].clone();
        let permuted = self.posteriors[index].map(|params| self.spec.apply(permutations, params))?;
        let (reference, moved) = (&self.gaussians[0], &self.gaussians[index]);
        let w2 =
            BeforeAndAfter { before: reference.distance(moved)?, after: reference.distance(&permuted.gaussian())? };
        let permutations_file = permutations_file(&name);
        self.folder.write(&permutations_file, &(permutations.to_json() + "\n"))?;
        Ok(Aligned {
            file: aligned_file(&name),
            permutations_file,
            w2,
            change_of_function: self.write(index, permuted)?,
            masked_units: self.masked_units(index),
            permutations: Aligned::permutations(&self.spec, permutations),
            name,
            source: file,
        })
    }

    /// Writes what became of a posterior, and returns by how much the function on disk differs from what it was.
    fn write(&mut self, index: usize, posterior: Posterior) -> Result<f64> {
        let Self { settings, sources, stored, .. } = *self;
        let before = &stored[index];
        let provenance = settings.provenance(&before.provenance, sources)?;
        let path = self.folder.join(aligned_file(&sources[index].name));
        StoredPosterior { posterior, provenance }.write(&path)?;
        let written = StoredPosterior::read(&path)?;
        self.function.change(before.posterior.gaussian().mean(), written.posterior.gaussian().mean())
    }
}

/// Which units of a posterior, (group, unit), are closer to the prior of its training than `threshold`.
fn mask(stored: &StoredPosterior, arch: &Arch, spec: &Spec, threshold: f64) -> Result<Vec<Vec<bool>>> {
    let prior = inputs::config(&stored.provenance)?.prior;
    let gaussian = stored.posterior.gaussian();
    let distances = distance_from_prior(spec, gaussian.mean(), gaussian.std(), &prior.variances(arch))?;
    Ok(prior_like_units(&distances, threshold))
}
