//! `onebasin align`: permutes posteriors so that units that do the same stand in the same place.

mod folder;
mod members;
mod report;

use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use folder::Folder;
use members::Member;
use onebasin::align;
use onebasin::align::Alignment;
use onebasin::align::Channel;
use onebasin::align::Progress;
use onebasin::align::Solver;
use onebasin::align::Start;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;
use onebasin::rng::Stream;
use onebasin::store;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Scales;
use onebasin::symmetry::Spec;
use onebasin::symmetry::relative_change;
use report::Aligned;
use report::BeforeAndAfter;
use report::Objective;
use report::Reference;
use report::Report;
use serde::Deserialize;
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

/// Random images on which the function must stay what it was.
const IMAGES: usize = 64;
/// A change of the function that rounding cannot explain.
const TOO_MUCH: f64 = 1e-4;

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Files, or folders of runs; at least two.
    pub(crate) posteriors: Vec<PathBuf>,
    /// The folder that is written.
    pub(crate) output: PathBuf,
    /// What decides the result.
    pub(crate) method: Method,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether an earlier alignment may be removed.
    pub(crate) force: bool,
    /// Whether the report is printed instead of tables.
    pub(crate) json: bool,
}

/// What decides the result, together with the posteriors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Method {
    /// What all are aligned with.
    pub(crate) to: To,
    /// What makes two units alike.
    pub(crate) channel: Channel,
    /// How permutations are sought.
    pub(crate) solver: Solver,
    /// Where descent begins.
    pub(crate) start: Start,
    /// Of the order of groups, random starts and random images.
    pub(crate) seed: u64,
    /// Whether the scales of units are balanced before.
    pub(crate) balance: bool,
    /// Nats for each parameter; units nearer to the prior have no vote.
    pub(crate) leave_out_prior: Option<f64>,
}

/// What posteriors are aligned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    /// The first of them.
    First,
}

/// Aligns, writes, and makes sure that what was written is the same function.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let method = settings.method;
    let threads = match settings.threads {
        Some(threads) => threads,
        None => std::thread::available_parallelism()?.get(),
    };
    let members = members::read(&settings.posteriors, &settings.output)?;
    let folder = Folder::look(&settings.output, settings.force)?;
    let arch = Arch::new(members[0].stored.provenance.arch.clone())?;
    let spec = Spec::of(&arch);
    let mut net = Net::new(&arch, threads)?;
    let ready = Ready::new(&members, &arch, &spec, method)?;

    let found = match method.to {
        To::First => to_first(&members, &ready, &spec, method, net.team(), printer)?,
    };

    // All that can be wrong with the input has been found by now.
    folder.begin()?;
    let mut write =
        |member: &Member, posterior: Posterior| write(member, posterior, &members[0], method, &folder, &mut net);
    let reference = Reference {
        name: members[0].name.clone(),
        source: members[0].file.clone(),
        file: method.balance.then(|| Folder::aligned(&members[0].name)),
        change_of_function: match &ready.posteriors[0] {
            Cow::Owned(balanced) => Some(write(&members[0], balanced.clone())?),
            Cow::Borrowed(_) => None,
        },
        silent_units: ready.silent_units(0),
    };
    let mut aligned = Vec::with_capacity(found.len());
    for (index, Found { alignment, seconds }) in (1..).zip(&found) {
        let member = &members[index];
        let permuted = ready.posteriors[index].map(|params| spec.apply(&alignment.permutations, params))?;
        let (reference, moved) = (&ready.gaussians[0], &ready.gaussians[index]);
        let distance =
            BeforeAndAfter { before: reference.distance(moved)?, after: reference.distance(&permuted.gaussian())? };
        let permutations_file = Folder::permutations(&member.name);
        folder.write(&permutations_file, &(alignment.permutations.to_json() + "\n"))?;
        aligned.push(Aligned {
            name: member.name.clone(),
            source: member.file.clone(),
            file: Folder::aligned(&member.name),
            permutations_file,
            objective: Objective::new(alignment),
            distance,
            change_of_function: write(member, permuted)?,
            silent_units: ready.silent_units(index),
            assignments: alignment.assignments(),
            seconds: *seconds,
            permutations: report::permutations(&spec, alignment),
            tensors: report::tensors(arch.layout(), alignment),
            attempts: report::attempts(alignment),
        });
    }
    let report = Report { version: env!("CARGO_PKG_VERSION"), settings: method, reference, members: aligned };
    finish(&report, &folder, settings, printer)
}

/// Writes the report and prints it, and says what was written and whether it is right.
fn finish(report: &Report, folder: &Folder, settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let json = report.json()?;
    folder.write(Folder::report(), &json)?;
    let first = report.reference.file.as_ref().zip(report.reference.change_of_function);
    let others = report.members.iter().map(|member| (&member.file, member.change_of_function));
    let mut status = ExitStatus::Success;
    for (file, change) in first.into_iter().chain(others) {
        let said = format!("{}: logits changed by {change:.1e} of the largest", folder.join(file).display());
        // Not the other way round, because of NaN.
        if change <= TOO_MUCH {
            printer.say(&format!("{said}, which is rounding"));
        } else {
            printer.say(&format!("{said}: it is NOT the same function"));
            status = ExitStatus::Problem;
        }
    }
    printer.say(&format!("all that is known: {}", folder.join(Folder::report()).display()));
    printer.data(&if settings.json { json } else { report.text() })?;
    Ok(status)
}

/// The posteriors as they are compared.
struct Ready<'a> {
    /// Balanced, if that is asked for.
    posteriors: Vec<Cow<'a, Posterior>>,
    /// Theirs.
    gaussians: Vec<Cow<'a, Gaussian>>,
    /// For each posterior, the units without a vote, (group, unit); none, if all have one.
    silent: Option<Vec<Vec<Vec<bool>>>>,
}

impl<'a> Ready<'a> {
    fn new(members: &'a [Member], arch: &Arch, spec: &Spec, method: Method) -> anyhow::Result<Self> {
        let silent = match method.leave_out_prior {
            None => None,
            Some(nats) if nats > 0.0 && nats.is_finite() => {
                // Before any balancing: the prior is that of the network as it was trained.
                let silent = members.iter().map(|member| member.at_prior(arch, spec, nats));
                Some(silent.collect::<anyhow::Result<Vec<_>>>()?)
            }
            Some(nats) => {
                return Err(Error::NotPositive { what: "--leave-out-prior", value: nats.to_string() }.into());
            }
        };
        let mut ready = Self { posteriors: Vec::new(), gaussians: Vec::new(), silent };
        let scales = if method.balance { Some(Scales::of(arch)?) } else { None };
        for member in members {
            if let Some(scales) = &scales {
                let balanced = balance(scales, member)?;
                ready.gaussians.push(Cow::Owned(balanced.gaussian().into_owned()));
                ready.posteriors.push(Cow::Owned(balanced));
            } else {
                ready.gaussians.push(Cow::Borrowed(&member.gaussian));
                ready.posteriors.push(Cow::Borrowed(&member.stored.posterior));
            }
        }
        Ok(ready)
    }

    fn silent_units(&self, index: usize) -> usize {
        let silent = self.silent.as_ref().map_or(&[][..], |silent| &silent[index]);
        silent.iter().flatten().filter(|silent| **silent).count()
    }
}

/// The posterior at the scales where m² + s², summed over all parameters, is smallest.
fn balance(scales: &Scales, member: &Member) -> Result<Posterior, Error> {
    let mut energy = Params::zeros(member.gaussian.mean().layout());
    let moments = member.gaussian.mean().values().iter().zip(member.gaussian.std().values());
    for (energy, (mean, std)) in energy.values_mut().iter_mut().zip(moments) {
        *energy = mean * mean + std * std;
    }
    let factors = scales.balance(&energy)?;
    member.stored.posterior.map(|params| {
        let mut params = params.clone();
        scales.apply(&factors, &mut params)?;
        Ok(params)
    })
}

/// How one posterior is aligned, and how long that took.
struct Found {
    alignment: Alignment,
    seconds: f64,
}

/// Aligns each posterior but the first with the first.
fn to_first(
    members: &[Member],
    ready: &Ready<'_>,
    spec: &Spec,
    method: Method,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Vec<Found>> {
    let settings =
        align::Settings { channel: method.channel, solver: method.solver, start: method.start, seed: method.seed };
    let fixed = &ready.gaussians[0];
    let spinner = printer.spinner();
    let mut all = Vec::with_capacity(members.len() - 1);
    for (index, member) in members.iter().enumerate().skip(1) {
        let moved = &ready.gaussians[index];
        let mut watch = |progress: Progress| {
            let Progress { solver, assignments, .. } = progress;
            spinner.set_message(format!("{}: {solver}, {assignments} assignment problems", member.name));
        };
        let begun = Instant::now();
        let alignment = match &ready.silent {
            None => align::pair(spec, fixed, moved, settings, team, &mut watch),
            Some(silent) => {
                let silent = [&silent[0][..], &silent[index]];
                align::pair_without(spec, fixed, moved, silent, settings, team, &mut watch)
            }
        };
        let alignment = alignment
            .with_context(|| format!("cannot align {} with {}", member.file.display(), members[0].file.display()))?;
        all.push(Found { alignment, seconds: begun.elapsed().as_secs_f64() });
    }
    spinner.finish_and_clear();
    Ok(all)
}

/// Writes what became of a posterior, and returns by how much what is on disk now differs from the function it was.
fn write(
    member: &Member,
    posterior: Posterior,
    first: &Member,
    method: Method,
    folder: &Folder,
    net: &mut Net,
) -> anyhow::Result<f64> {
    let mut provenance = member.stored.provenance.clone();
    provenance.aligned = Some(store::Aligned {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        to: first.file.display().to_string(),
        channel: name_of(&method.channel)?,
        solver: name_of(&method.solver)?,
        balanced: method.balance,
    });
    let path = folder.join(&Folder::aligned(&member.name));
    StoredPosterior { posterior, provenance }.write(&path)?;
    change_of_function(member, &path, method.seed, net)
}

/// How a configuration would call it.
fn name_of(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::from_value(serde_json::to_value(value)?)?)
}

/// By how much the logits of the mean differ on random images from those of the file.
fn change_of_function(member: &Member, path: &Path, seed: u64, net: &mut Net) -> anyhow::Result<f64> {
    let mut images = vec![0.0; IMAGES * net.arch().input().len()];
    Stream::new(seed, "align/images", 0).fill_normal(&mut images);
    let written = StoredPosterior::read(path)?;
    let mut logits = |params: &Params| {
        let mut logits = vec![0.0; IMAGES * net.arch().classes()];
        net.logits(params, &images, &mut logits).map(|()| logits)
    };
    let before = logits(member.gaussian.mean())?;
    Ok(relative_change(&before, &logits(written.posterior.gaussian().mean())?))
}
