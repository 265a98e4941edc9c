//! `onebasin align`: permutes posteriors so that units that do the same stand in the same place.

mod comparison;
mod criterion;
mod folder;
mod relabel;
mod report;
mod tables;
mod whole;

use crate::commands::folder::Folder;
use crate::commands::members;
use crate::commands::members::Source;
use crate::commands::name_of;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::bail;
use onebasin::align;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::align::Start;
use onebasin::store;
use onebasin::store::Provenance;
use report::Report;
use serde::Deserialize;
use serde::Serialize;
use std::path::PathBuf;

/// A change of the function that rounding cannot explain.
const TOO_MUCH: f64 = 1e-4;

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Files, or folders of runs; at least one.
    pub(crate) posteriors: Vec<PathBuf>,
    /// The folder that is written.
    pub(crate) output: PathBuf,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
    /// Only for the channel that looks at activations.
    pub(crate) activation: Option<Activation>,
}

/// What activations are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Activation {
    /// The first of the training images of the first posterior, at most so many.
    pub(crate) images: usize,
    /// Points of each posterior whose activations are averaged, at most.
    pub(crate) draws: usize,
}

impl Activation {
    /// What is usual, if a criterion looks at activations.
    pub(crate) fn of(channel: Channel) -> Option<Self> {
        (channel == Channel::Activation).then(Self::default)
    }
}

impl Default for Activation {
    fn default() -> Self {
        Self { images: 5000, draws: 10 }
    }
}

/// What posteriors are aligned with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    /// The first of them.
    #[default]
    First,
    /// The mean of all others, in turn.
    Mean,
    /// A common order of units, all at once.
    Universe,
    /// The Gaussian that fits all samples, sample by sample.
    Relabel,
}

impl Method {
    /// Refuses what does not go together.
    fn check(&self, posteriors: usize) -> anyhow::Result<()> {
        let to = name_of(&self.to)?;
        if posteriors < 2 && self.to != To::Relabel {
            bail!("one POSTERIOR cannot be aligned with itself: give two or more");
        }
        if self.leave_out_prior.is_some() && self.to != To::First {
            bail!("--leave-out-prior is for pairs of posteriors only: it needs --to first, not --to {to}");
        }
        let activation = self.channel == Channel::Activation;
        if self.activation.is_some() != activation {
            bail!("--images and --draws are for --channel activation only");
        }
        if activation && self.to != To::First {
            bail!("--channel activation is for pairs of posteriors only: it needs --to first, not --to {to}");
        }
        if activation && self.leave_out_prior.is_some() {
            bail!("--leave-out-prior is for channels that look at weights, not for --channel activation");
        }
        if self.balance && self.to == To::Relabel {
            bail!("--balance chooses scales for whole posteriors, but --to relabel looks at each sample on its own");
        }
        Ok(())
    }

    /// What the library needs to know of it.
    fn search(&self) -> align::Settings {
        align::Settings { channel: self.channel, solver: self.solver, start: self.start, seed: self.seed }
    }

    /// Where a posterior comes from that these sources were aligned for.
    fn provenance(&self, before: &Provenance, sources: &[Source]) -> anyhow::Result<Provenance> {
        let to = match self.to {
            To::First => sources[0].file.display().to_string(),
            To::Mean | To::Universe | To::Relabel => {
                let files: Vec<String> = sources.iter().map(|source| source.file.display().to_string()).collect();
                format!("{} of {}", name_of(&self.to)?, files.join(", "))
            }
        };
        let aligned = store::Aligned {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            to,
            channel: name_of(&self.channel)?,
            solver: name_of(&self.solver)?,
            balanced: self.balance,
        };
        Ok(Provenance { aligned: Some(aligned), ..before.clone() })
    }
}

/// Aligns, writes, and makes sure that what was written is the same function.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let method = settings.method;
    method.check(settings.posteriors.len())?;
    let threads = threads(settings.threads)?;
    let sources = members::find(&settings.posteriors, Some(&settings.output))?;
    let folder = Folder::look(&folder::KIND, &settings.output, settings.force)?;
    let outcome = match method.to {
        To::First | To::Mean | To::Universe => whole::run(settings, &sources, &folder, threads, printer)?,
        To::Relabel => relabel::run(settings, &sources, &folder, threads, printer)?,
    };
    let report = Report { version: env!("CARGO_PKG_VERSION"), settings: method, outcome };
    finish(&report, &folder, settings, printer)
}

/// Writes the report and prints it, and says what was written and whether it is right.
fn finish(report: &Report, folder: &Folder, settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let json = report.json()?;
    folder.write(folder.report(), &json)?;
    let mut status = ExitStatus::Success;
    for (file, change) in report.outcome.written() {
        let said = format!("{}: logits changed by {change:.1e} of the largest", folder.join(file).display());
        // Not the other way round, because of NaN.
        if change <= TOO_MUCH {
            printer.say(&format!("{said}, which is rounding"));
        } else {
            printer.say(&format!("{said}: it is NOT the same function"));
            status = ExitStatus::Problem;
        }
    }
    printer.say(&format!("all that is known: {}", folder.join(folder.report()).display()));
    printer.data(&if settings.json { json } else { report.outcome.text() })?;
    Ok(status)
}
