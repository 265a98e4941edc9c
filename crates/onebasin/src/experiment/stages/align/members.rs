//! Alignment of whole posteriors: each with the first, or all together.

use super::result::{Aligned, BeforeAndAfter, Outcome, Pair, Permutation, Reference, Together};
use super::{AlignSettings, FunctionCheck, Matching, Target, UNFINISHED, aligned_file, permutations_file};
use crate::align;
use crate::align::{Alignment, Many};
use crate::error::Result;
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, inputs};
use crate::posterior::Posterior;
use crate::store::StoredPosterior;
use crate::symmetry::Permutations;
use std::borrow::Cow;

/// Aligns posteriors, and writes those that have changed.
pub(super) fn align(
    settings: &AlignSettings,
    sources: &[Source],
    folder: &Folder,
    context: &Context<'_>,
) -> Result<Outcome> {
    let stored = inputs::read(sources, context)?;
    let mut members = Members::new(settings, sources, &stored, folder, context)?;
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
    folder.forget(UNFINISHED)?;
    if let Some((many, seconds)) = together {
        return Ok(Outcome::Together { reference, together: Together::new(many, seconds), members: aligned });
    }
    let pairs = aligned.into_iter().zip(&pairs);
    let pairs = pairs.map(|(aligned, (found, seconds))| Pair::new(aligned, found, &members.matching.spec, *seconds));
    Ok(Outcome::Pairs { reference, members: pairs.collect() })
}

/// The posteriors that are aligned, and where they are written.
struct Members<'a> {
    settings: &'a AlignSettings,
    sources: &'a [Source],
    stored: &'a [StoredPosterior],
    folder: &'a Folder,
    context: &'a Context<'a>,
    matching: Matching<'a>,
    function: FunctionCheck,
}

impl<'a> Members<'a> {
    fn new(
        settings: &'a AlignSettings,
        sources: &'a [Source],
        stored: &'a [StoredPosterior],
        folder: &'a Folder,
        context: &'a Context<'a>,
    ) -> Result<Self> {
        let matching = Matching::new(settings, sources, stored, context)?;
        let function = FunctionCheck::new(&matching.arch, matching.method.seed, &context.pool)?;
        Ok(Self { settings, sources, stored, folder, context, matching, function })
    }

    /// Aligns each posterior but the first with the first.
    fn to_first(&self) -> Result<Vec<(Alignment, f64)>> {
        let others = self.sources.iter().enumerate().skip(1);
        let align = |(index, source): (usize, &Source)| {
            let file = self.folder.join(UNFINISHED).join(format!("{}.safetensors", source.name));
            self.matching.pair(index, &format!("aligning {}", source.name), Some(&file))
        };
        others.map(align).collect()
    }

    /// Aligns all posteriors with each other.
    fn together(&self) -> Result<(Many, f64)> {
        let align = if self.settings.to == Target::Mean { align::to_mean } else { align::to_universe };
        let task = format!("aligning {} posteriors", self.sources.len());
        let Matching { spec, gaussians, method, .. } = &self.matching;
        let pool = &self.context.pool;
        self.context.measured(&task, |monitor| align(spec, &gaussians[..], *method, pool, monitor))
    }

    /// The first posterior, which is written only if its scales were balanced.
    fn reference(&mut self) -> Result<Reference> {
        let Source { name, file } = self.sources[0].clone();
        let change_of_function = match &self.matching.posteriors[0] {
            Cow::Owned(balanced) => Some(self.write(0, balanced.clone())?),
            Cow::Borrowed(_) => None,
        };
        Ok(Reference {
            file: change_of_function.map(|_| aligned_file(&name)),
            change_of_function,
            masked_units: self.matching.masked_units(0),
            name,
            source: file,
        })
    }

    /// Another posterior, with its units permuted.
    fn permute(&mut self, index: usize, permutations: &Permutations) -> Result<Aligned> {
        let Source { name, file } = self.sources[index].clone();
        let Matching { spec, posteriors, gaussians, .. } = &self.matching;
        let permuted = posteriors[index].map(|params| spec.apply(permutations, params))?;
        let (reference, moved) = (&gaussians[0], &gaussians[index]);
        let w2 =
            BeforeAndAfter { before: reference.distance(moved)?, after: reference.distance(&permuted.gaussian())? };
        let permutations_file = permutations_file(&name);
        self.folder.write(&permutations_file, &(permutations.to_json() + "\n"))?;
        Ok(Aligned {
            file: aligned_file(&name),
            permutations_file,
            w2,
            change_of_function: self.write(index, permuted)?,
            masked_units: self.matching.masked_units(index),
            permutations: Permutation::of(&self.matching.spec, permutations),
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
