//! Posteriors that are permuted as a whole: each with the first, or all together.

use super::Method;
use super::Settings;
use super::To;
use super::comparison::Comparison;
use super::criterion::Criterion;
use super::folder;
use super::report::Aligned;
use super::report::BeforeAndAfter;
use super::report::Outcome;
use super::report::Pair;
use super::report::Reference;
use super::report::Together;
use crate::commands::folder::Folder;
use crate::commands::members;
use crate::commands::members::Source;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::align;
use onebasin::align::Alignment;
use onebasin::align::Many;
use onebasin::align::Progress;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Scales;
use onebasin::symmetry::Spec;
use std::borrow::Cow;
use std::time::Instant;

/// Aligns posteriors and writes those that have changed.
pub(super) fn run(
    settings: &Settings,
    sources: &[Source],
    folder: &Folder,
    threads: usize,
    printer: &Printer,
) -> anyhow::Result<Outcome> {
    let method = settings.method;
    let stored = members::read(sources)?;
    let arch = Arch::new(stored[0].provenance.arch.clone())?;
    let spec = Spec::of(&arch);
    let net = Net::new(&arch, threads)?;
    let ready = Ready::new(sources, &stored, &arch, &spec, settings)?;
    let found = match method.to {
        To::First => Found::Pairs(to_first(sources, &ready, method, net.team(), printer)?),
        _ => together(sources, &ready, method, net.team(), printer)?,
    };

    // All that can be wrong with the input has been found by now.
    folder.begin()?;
    let comparison = Comparison::new(net, method.seed);
    let mut desk = Desk { sources, stored: &stored, ready: &ready, method, folder, comparison };
    let reference = desk.reference()?;
    Ok(match found {
        Found::Pairs(pairs) => {
            let mut members = Vec::with_capacity(pairs.len());
            for (index, (alignment, seconds)) in (1..).zip(&pairs) {
                let aligned = desk.permute(index, &alignment.permutations)?;
                members.push(Pair::new(aligned, alignment, &spec, *seconds));
            }
            Outcome::Pairs { reference, members }
        }
        Found::Together(many, seconds) => {
            let others = many.permutations.iter().enumerate().skip(1);
            let members = others.map(|(index, permutations)| desk.permute(index, permutations));
            let members = members.collect::<anyhow::Result<_>>()?;
            Outcome::Together { reference, together: Together::new(&many, seconds), members }
        }
    })
}

/// The posteriors as they are compared.
struct Ready<'a> {
    arch: &'a Arch,
    spec: &'a Spec,
    /// Balanced, if that is asked for.
    posteriors: Vec<Cow<'a, Posterior>>,
    /// Theirs.
    gaussians: Vec<Gaussian>,
    criterion: Criterion,
}

impl<'a> Ready<'a> {
    fn new(
        sources: &[Source],
        stored: &'a [StoredPosterior],
        arch: &'a Arch,
        spec: &'a Spec,
        settings: &Settings,
    ) -> anyhow::Result<Self> {
        let criterion = Criterion::new(sources, stored, arch, spec, settings)?;
        let posteriors: Vec<Cow<'_, Posterior>> = if settings.method.balance {
            let scales = Scales::of(arch)?;
            let balanced = stored.iter().map(|stored| balance(&scales, &stored.posterior).map(Cow::Owned));
            balanced.collect::<Result<_, Error>>()?
        } else {
            stored.iter().map(|stored| Cow::Borrowed(&stored.posterior)).collect()
        };
        let gaussians = posteriors.iter().map(|posterior| posterior.gaussian().into_owned()).collect();
        Ok(Self { arch, spec, posteriors, gaussians, criterion })
    }

    /// Aligns a posterior with the first.
    fn pair(
        &self,
        index: usize,
        settings: align::Settings,
        team: &Team,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Alignment, Error> {
        let (fixed, moved) = (&self.gaussians[0], &self.gaussians[index]);
        match &self.criterion {
            Criterion::Weights => align::pair(self.spec, fixed, moved, settings, team, watch),
            Criterion::Without(silent) => {
                let silent = [&silent[0][..], &silent[index]];
                align::pair_without(self.spec, fixed, moved, silent, settings, team, watch)
            }
            Criterion::Activations(examples, draws) => {
                let sides: [&dyn Draws; 2] = [&*self.posteriors[0], &*self.posteriors[index]];
                align::by_activation(self.arch, sides, (examples, *draws), settings, team, watch)
            }
        }
    }
}

/// The posterior at the scales where m² + s², summed over all parameters, is smallest.
fn balance(scales: &Scales, posterior: &Posterior) -> Result<Posterior, Error> {
    let gaussian = posterior.gaussian();
    let mut energy = Params::zeros(gaussian.mean().layout());
    let moments = gaussian.mean().values().iter().zip(gaussian.std().values());
    for (energy, (mean, std)) in energy.values_mut().iter_mut().zip(moments) {
        *energy = mean * mean + std * std;
    }
    let factors = scales.balance(&energy)?;
    posterior.map(|params| {
        let mut params = params.clone();
        scales.apply(&factors, &mut params)?;
        Ok(params)
    })
}

/// How posteriors are aligned, and how many seconds that took.
enum Found {
    Pairs(Vec<(Alignment, f64)>),
    Together(Many, f64),
}

/// Aligns each posterior but the first with the first.
fn to_first(
    sources: &[Source],
    ready: &Ready<'_>,
    method: Method,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Vec<(Alignment, f64)>> {
    let spinner = printer.spinner();
    let mut all = Vec::with_capacity(sources.len() - 1);
    for (index, source) in sources.iter().enumerate().skip(1) {
        let mut watch = |progress: Progress| {
            let Progress { solver, assignments, .. } = progress;
            spinner.set_message(format!("{}: {solver}, {assignments} assignment problems", source.name));
        };
        let begun = Instant::now();
        let alignment = ready.pair(index, method.search(), team, &mut watch);
        let alignment = alignment
            .with_context(|| format!("cannot align {} with {}", source.file.display(), sources[0].file.display()))?;
        all.push((alignment, begun.elapsed().as_secs_f64()));
    }
    spinner.finish_and_clear();
    Ok(all)
}

/// Aligns all posteriors with each other.
fn together(
    sources: &[Source],
    ready: &Ready<'_>,
    method: Method,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Found> {
    let spinner = printer.spinner();
    let mut watch = |Progress { solver, member, round, .. }: Progress| {
        spinner.set_message(format!("round {round}, {}: {solver}", sources[member].name));
    };
    let members = &ready.gaussians[..];
    let begun = Instant::now();
    let many = match method.to {
        To::Mean => align::to_mean(ready.spec, members, method.search(), team, &mut watch)?,
        To::Universe => align::to_universe(ready.spec, members, method.search(), team, &mut watch)?,
        To::First | To::Relabel => unreachable!("they do not align posteriors with each other"),
    };
    spinner.finish_and_clear();
    Ok(Found::Together(many, begun.elapsed().as_secs_f64()))
}

/// Where posteriors are permuted, written and compared with what they were.
struct Desk<'a> {
    sources: &'a [Source],
    stored: &'a [StoredPosterior],
    ready: &'a Ready<'a>,
    method: Method,
    folder: &'a Folder,
    comparison: Comparison,
}

impl Desk<'_> {
    /// The first posterior, which is written only if its scales were balanced.
    fn reference(&mut self) -> anyhow::Result<Reference> {
        let Source { name, file } = self.sources[0].clone();
        Ok(Reference {
            file: self.method.balance.then(|| folder::aligned(&name)),
            change_of_function: match &self.ready.posteriors[0] {
                Cow::Owned(balanced) => Some(self.write(0, balanced.clone())?),
                Cow::Borrowed(_) => None,
            },
            silent_units: self.ready.criterion.silent_units(0),
            name,
            source: file,
        })
    }

    /// Another posterior.
    fn permute(&mut self, index: usize, permutations: &Permutations) -> anyhow::Result<Aligned> {
        let Source { name, file } = self.sources[index].clone();
        let permuted = self.ready.posteriors[index].map(|params| self.ready.spec.apply(permutations, params))?;
        let (reference, moved) = (&self.ready.gaussians[0], &self.ready.gaussians[index]);
        let distance =
            BeforeAndAfter { before: reference.distance(moved)?, after: reference.distance(&permuted.gaussian())? };
        let permutations_file = folder::permutations(&name);
        self.folder.write_lines(&permutations_file, std::iter::once(permutations.to_json()))?;
        Ok(Aligned {
            file: folder::aligned(&name),
            permutations_file,
            distance,
            change_of_function: self.write(index, permuted)?,
            silent_units: self.ready.criterion.silent_units(index),
            permutations: Aligned::permutations(self.ready.spec, permutations),
            name,
            source: file,
        })
    }

    /// Writes what became of a posterior, and returns by how much what is on disk now differs from the function it was.
    fn write(&mut self, index: usize, posterior: Posterior) -> anyhow::Result<f64> {
        let before = &self.stored[index];
        let provenance = self.method.provenance(&before.provenance, self.sources)?;
        let path = self.folder.join(&folder::aligned(&self.sources[index].name));
        StoredPosterior { posterior, provenance }.write(&path)?;
        let written = StoredPosterior::read(&path)?;
        Ok(self.comparison.change(before.posterior.gaussian().mean(), written.posterior.gaussian().mean())?)
    }
}
