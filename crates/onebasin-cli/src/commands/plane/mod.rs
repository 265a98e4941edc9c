//! `onebasin plane`: loss, error and log posterior around two posteriors and the second one aligned.

mod report;
mod text;

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::images;
use crate::commands::members;
use crate::commands::members::Source;
use crate::commands::name_of;
use crate::commands::pairs;
use crate::commands::pairs::Wanted;
use crate::commands::signals::Signals;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::align;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::arch::Arch;
use onebasin::data::Split;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::measure::Density;
use onebasin::measure::Plane;
use onebasin::measure::PlaneSettings;
use onebasin::measure::Triangle;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Predictor;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use report::Measured;
use report::Report;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// All points of all planes.
const POINTS: &str = "plane.csv";

/// What the command leaves in a folder.
const KIND: Kind = Kind { command: "plane", report: "measures.json", is_own: |name| name == POINTS, folders: &[] };

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Files, or folders of runs: the one that stays, then the one that is permuted.
    pub(crate) posteriors: [PathBuf; 2],
    /// The folder that is written, if one is.
    pub(crate) output: Option<PathBuf>,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// Which images.
    pub(crate) splits: Vec<Split>,
    /// At most so many training images.
    pub(crate) images: usize,
    /// How the units of the second posterior are ordered to be the third.
    pub(crate) order: Order,
    /// How the plane is measured.
    pub(crate) measure: PlaneSettings,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether earlier measures may be replaced.
    pub(crate) force: bool,
    /// Whether the report is printed instead of a table and a map.
    pub(crate) json: bool,
}

/// How units are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As a file of `onebasin align` says.
    Known(PathBuf),
    /// As is found now.
    Sought { channel: Channel, solver: Solver },
}

/// Aligns, measures, writes and prints.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let signals = Signals::listen()?;
    settings.measure.check()?;
    let threads = threads(settings.threads)?;
    for (what, count) in [("--images", settings.images), ("the number of threads", threads)] {
        if count == 0 {
            return Err(Error::Zero { what: what.to_owned() }.into());
        }
    }
    let sources = members::find(&settings.posteriors, settings.output.as_deref())?;
    let look = |output: &PathBuf| Folder::look(&KIND, output, settings.force);
    let folder = settings.output.as_ref().map(look).transpose()?;
    let stored = members::read(&sources)?;
    pairs::check(&sources, &stored)?;
    let first = &stored[0];
    let arch = Arch::new(first.provenance.arch.clone())?;
    let wanted = Wanted { data: &settings.data, dataset: None, splits: &settings.splits, images: settings.images };
    let of_first = || sources[0].file.display().to_string();
    let parts = wanted.parts(first, &arch).with_context(of_first)?;
    let config = images::config(&first.provenance).with_context(of_first)?;
    let density = if settings.splits.contains(&Split::Train) {
        let images = config.training(&settings.data)?.len();
        Some(Density { arch: &arch, prior: config.prior, temperature: config.temperature, images })
    } else {
        None
    };
    let mut predictor = Predictor::new(&arch, first.provenance.likelihood, threads)?;
    let ends = [0, 1].map(|index: usize| stored[index].posterior.gaussian());
    let ends = [&*ends[0], &*ends[1]];
    let spec = Spec::of(&arch);
    let permutations = permutations(settings, &sources, ends, &spec, predictor.team(), printer)?;
    let apply = |params: &Params| spec.apply(&permutations, params);
    let aligned = Gaussian::new(apply(ends[1].mean())?, apply(ends[1].std())?)?;
    let triangle = Triangle::new([ends[0], ends[1], &aligned])?;

    let bar = printer.steps();
    let mut measured = Vec::new();
    for (split, examples) in &parts {
        let what = format!("the plane on {} images", name_of(split)?);
        bar.reset();
        bar.set_message(what.clone());
        let mut progress = |done: usize, total: usize| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            if signals.received() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let density = density.filter(|_| *split == Split::Train);
        let begun = Instant::now();
        let plane = Plane::through(&triangle, &mut predictor, examples, settings.measure, density, &mut progress)?;
        let Some(plane) = plane else {
            bar.finish_and_clear();
            printer.say("stopped; nothing was written");
            return Ok(ExitStatus::Signal(signals.received()));
        };
        let seconds = begun.elapsed().as_secs_f64();
        if bar.is_hidden() {
            printer.say(&format!("{what}: {seconds:.1} seconds"));
        }
        measured.push(Measured { split: *split, seconds, plane });
    }
    bar.finish_and_clear();

    let report = Report::new(settings, &sources, &stored, &permutations, measured)?;
    let json = report.json()?;
    if let Some(folder) = folder {
        folder.write_all(&[(POINTS, report.csv()?)], &json)?;
        printer.say(&format!("all that was measured: {}", folder.join(folder.report()).display()));
    }
    printer.data(&if settings.json { json } else { report.text()? })?;
    Ok(ExitStatus::Success)
}

/// What the second posterior becomes the third by.
fn permutations(
    settings: &Settings,
    sources: &[Source],
    [fixed, moved]: [&Gaussian; 2],
    spec: &Spec,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Permutations> {
    match &settings.order {
        Order::Known(file) => pairs::permutations(file, sources, spec).with_context(|| file.display().to_string()),
        Order::Sought { channel, solver } => {
            let seed = settings.measure.seed;
            let search = align::Settings { channel: *channel, solver: *solver, seed, ..align::Settings::default() };
            let spinner = printer.spinner();
            spinner.set_message("aligning");
            let found = align::pair(spec, fixed, moved, search, team, &mut |_| ());
            spinner.finish_and_clear();
            let said = || format!("cannot align {} with {}", sources[1].file.display(), sources[0].file.display());
            Ok(found.with_context(said)?.permutations)
        }
    }
}
