//! `onebasin compact`: puts one Gaussian in the place of samples, and measures what that costs.

mod distil;
mod figures;
mod judge;
mod labels;
mod report;
mod tables;

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::members;
use crate::commands::members::Source;
use crate::commands::pool::Pool;
use crate::commands::signals::Signals;
use crate::commands::signals::Stopped;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::bail;
use distil::Lesson;
use judge::Judge;
use judge::Watch;
use labels::Labels;
use onebasin::align::Balanced;
use onebasin::align::Relabelled;
use onebasin::align::Solver;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::measure::Mixing;
use onebasin::measure::Widths;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::posterior::Fit;
use onebasin::posterior::Posterior;
use onebasin::store;
use onebasin::store::Provenance;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Scales;
use onebasin::symmetry::Spec;
use report::Compact;
use serde::Deserialize;
use serde::Serialize;
use std::path::Path;
use std::path::PathBuf;

pub(crate) use report::Report;

/// Fewer samples in a chain say nothing about how well it mixes.
const LEAST_SAMPLES: usize = onebasin::infer::diagnostics::MIN_SAMPLES_ESS;

/// What the command leaves.
const KIND: Kind = Kind { command: "compact", report: "measures.json", is_own, folders: &[] };

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Files of samples, or folders of runs; at least one.
    pub(crate) samples: Vec<PathBuf>,
    /// The folder that is written.
    pub(crate) output: PathBuf,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// What decides the result.
    pub(crate) method: Method,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether an earlier result may be removed.
    pub(crate) force: bool,
    /// Whether the report is printed instead of tables.
    pub(crate) json: bool,
}

/// Passes over the images while learning, at most.
const MOST_EPOCHS: f64 = 1e6;

/// What decides the result, together with the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Method {
    /// What samples are aligned with before a Gaussian is fitted.
    pub(crate) to: Vec<To>,
    /// The ranks of the Gaussians; 0 is a diagonal one.
    pub(crate) ranks: Vec<usize>,
    /// The posterior whose predictions are the measure; `None` for the samples themselves.
    pub(crate) reference: Option<PathBuf>,
    /// Whether the scales of the units of each sample are balanced before.
    pub(crate) balance: bool,
    /// How permutations are sought.
    pub(crate) solver: Solver,
    /// Samples that are used, at most; `None` for all.
    pub(crate) samples: Option<usize>,
    /// Test images, from the first on, at most; `None` for all.
    pub(crate) images: Option<usize>,
    /// Points that are drawn of each Gaussian.
    pub(crate) draws: usize,
    /// Of draws and of the order in which samples are aligned.
    pub(crate) seed: u64,
    /// Whether networks are pruned.
    pub(crate) prune: bool,
    /// How often diagonal Gaussians see all images while they learn what the samples predict; `None` for not at all.
    pub(crate) distil: Option<f64>,
}

/// What samples are aligned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    /// Nothing.
    None,
    /// The first of them.
    First,
    /// The mean of all others, in turn.
    Mean,
    /// The Gaussian that fits all of them.
    Relabel,
}

impl To {
    const ALL: [Self; 4] = [Self::None, Self::First, Self::Mean, Self::Relabel];

    /// What the Gaussian is called.
    fn name(self) -> &'static str {
        match self {
            Self::None => "direct",
            Self::First => "first",
            Self::Mean => "mean",
            Self::Relabel => "relabelled",
        }
    }
}

impl Default for Method {
    fn default() -> Self {
        Self {
            to: To::ALL.to_vec(),
            ranks: vec![0, 20],
            reference: None,
            balance: false,
            solver: Solver::default(),
            samples: None,
            images: None,
            draws: 100,
            seed: 0,
            prune: false,
            distil: None,
        }
    }
}

impl Method {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let numbers = [("--samples", self.samples), ("--images", self.images), ("--draws", Some(self.draws))];
        for (what, number) in numbers {
            if number == Some(0) {
                return Err(Error::Zero { what: what.to_owned() }.into());
            }
        }
        if let Some(epochs) = self.distil.filter(|epochs| !(*epochs > 0.0 && *epochs <= MOST_EPOCHS)) {
            let expected = "above 0 and at most a million";
            return Err(Error::OutOfRange { what: "--distil", value: epochs.to_string(), expected }.into());
        }
        let twice = |index: usize| self.to[..index].contains(&self.to[index]);
        if let Some(index) = (0..self.to.len()).find(|index| twice(*index)) {
            bail!("--to names `{}` twice", serde_json::to_value(self.to[index])?.as_str().unwrap_or_default());
        }
        let twice = |index: usize| self.ranks[..index].contains(&self.ranks[index]);
        if let Some(index) = (0..self.ranks.len()).find(|index| twice(*index)) {
            bail!("--rank names {} twice", self.ranks[index]);
        }
        Ok(())
    }

    /// Where a Gaussian comes from.
    fn provenance(&self, to: To, before: &Provenance, sources: &[Source]) -> Provenance {
        if to == To::None && !self.balance {
            return before.clone();
        }
        let files: Vec<String> = sources.iter().map(|source| source.file.display().to_string()).collect();
        let aligned = store::Aligned {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            to: format!("{} of {}", to.name(), files.join(", ")),
            channel: "w2".to_owned(),
            solver: serde_json::to_value(self.solver)
                .map_or_else(|_| String::new(), |name| name.as_str().unwrap_or_default().to_owned()),
            balanced: self.balance,
        };
        Provenance { aligned: Some(aligned), ..before.clone() }
    }
}

/// The file of a Gaussian.
fn file_name(to: To, rank: usize) -> String {
    let rank = if rank == 0 { String::new() } else { format!("-rank{rank}") };
    format!("{}{rank}.safetensors", to.name())
}

/// The file of a Gaussian that has learnt.
fn distilled_name(to: To) -> String {
    format!("{}-distilled.safetensors", to.name())
}

/// Whether a file is of the command.
fn is_own(name: &str) -> bool {
    To::ALL.iter().any(|to| {
        let rest = name.strip_prefix(to.name()).and_then(|rest| rest.strip_suffix(".safetensors"));
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest == "-distilled"
                || rest.strip_prefix("-rank").is_some_and(|rank| rank.parse::<usize>().is_ok())
        })
    })
}

/// Fits, measures, and writes.
pub(crate) fn run(settings: &Settings, signals: &Signals, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match compact(settings, signals, printer) {
        Err(error) if error.is::<Stopped>() => {
            printer.say(&error.to_string());
            Ok(ExitStatus::Signal(signals.received()))
        }
        status => status,
    }
}

fn compact(settings: &Settings, signals: &Signals, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let method = &settings.method;
    method.check()?;
    let team = Team::new(threads(settings.threads)?)?;
    let sources = members::find(&settings.samples, Some(&settings.output))?;
    let folder = Folder::look(&KIND, &settings.output, settings.force)?;
    let pool = Pool::open(&sources, method.samples)?;
    let first = pool.files()[0].provenance();
    if method.distil.is_some() {
        distil::check(first)?;
    }
    let arch = Arch::new(first.arch.clone())?;
    let spec = Spec::of(&arch);
    let scales = if method.balance { Some(Scales::of(&arch)?) } else { None };
    let bar = printer.steps();
    let mut judge = Judge::new(&sources[0], &pool, &arch, settings, team.threads(), Watch { bar: &bar, signals })?;
    let mut report = Report::new(method.clone(), &pool, judge.samples(&pool)?);
    printer.say(&format!("{} samples of {} files", pool.len(), sources.len()));

    let balanced = scales.as_ref().map(|scales| Balanced::new(&pool, scales)).transpose()?;
    let source: &dyn Draws = match &balanced {
        Some(balanced) => balanced,
        None => &pool,
    };
    let lesson = method.distil.map(|epochs| Lesson::new(epochs, &pool, &arch, settings, &mut judge, team.threads()));
    let lesson = lesson.transpose()?;
    let mut gaussians = Vec::new();
    for to in &method.to {
        if signals.go_on().is_break() {
            return Err(Stopped.into());
        }
        let labels = Labels::find(*to, &spec, source, method, &team, &bar)?;
        let labelled = Relabelled::new(source, &spec, &labels.permutations)?;
        bar.set_message(format!("{}: fitting", to.name()));
        let fit = Fit::new(&labelled, method.ranks.iter().copied().max().unwrap_or(0), &team)?;
        let diagonal = fit.posterior(0)?.gaussian().into_owned();
        let provenance = method.provenance(*to, first, &sources);
        for rank in &method.ranks {
            let posterior = fit.posterior(*rank)?;
            report.rows.push(judge.gaussian(to.name(), *rank, &posterior)?);
            gaussians.push((file_name(*to, *rank), StoredPosterior { posterior, provenance: provenance.clone() }));
        }
        if let Some(lesson) = &lesson {
            let name = format!("{}, distilled", to.name());
            let posterior = lesson.learn(&name, &diagonal)?;
            report.rows.push(judge.gaussian(&name, 0, &posterior)?);
            gaussians.push((distilled_name(*to), StoredPosterior { posterior, provenance: provenance.clone() }));
        }
        let pruning = if method.prune { Some(judge.pruning(&diagonal, &last(&labelled)?)?) } else { None };
        let chains = pool.chains().filter(|chains| pool.len() / chains >= LEAST_SAMPLES);
        report.labels.push(Compact {
            name: to.name().to_owned(),
            labels: labels.summary,
            mixing: chains.map(|chains| Mixing::of(&labelled, chains)).transpose()?,
            pruning,
            widths: Widths::of(diagonal.std()),
        });
    }
    bar.finish_and_clear();

    // All that can be wrong with the input has been found by now.
    folder.begin()?;
    for (name, stored) in &gaussians {
        stored.write(&folder.join(Path::new(name)))?;
    }
    let json = report.json()?;
    folder.write(folder.report(), &json)?;
    printer.say(&format!("{} Gaussians and {}", gaussians.len(), folder.join(folder.report()).display()));
    printer.data(&if settings.json { json } else { report.text() })?;
    Ok(ExitStatus::Success)
}

/// The last of the samples.
fn last(samples: &dyn Draws) -> Result<Params, Error> {
    let count = samples.draws(usize::MAX);
    let mut sample = Params::zeros(samples.layout());
    samples.draw(0, count - 1, count, &mut sample)?;
    Ok(sample)
}

/// The posterior of a file, without its samples in memory if it has any.
fn open(file: &Path) -> Result<(Box<dyn Draws>, Provenance), Error> {
    if let Ok(samples) = store::StoredSamples::open(file) {
        let provenance = samples.provenance().clone();
        return Ok((Box::new(samples), provenance));
    }
    // Whatever is wrong with the file is found again, and said.
    let StoredPosterior { posterior, provenance } = StoredPosterior::read(file)?;
    Ok((Box::<Posterior>::new(posterior), provenance))
}
