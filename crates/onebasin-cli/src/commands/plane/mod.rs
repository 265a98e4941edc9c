//! `onebasin plane`: loss, error and log posterior around two posteriors and the second one aligned.

mod figures;
mod report;
mod text;

use crate::commands::folder::Kind;
use crate::commands::images;
use crate::commands::members::Source;
use crate::commands::name_of;
use crate::commands::pairs;
use crate::commands::pairs::Opened;
use crate::commands::pairs::Wanted;
use crate::commands::signals::Signals;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::align;
use onebasin::align::Channel;
use onebasin::align::Solver;
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
use serde::Deserialize;
use serde::Serialize;
use std::time::Instant;

pub(crate) use report::Report;

/// All points of all planes.
const POINTS: &str = "plane.csv";

/// What the command leaves in a folder.
const KIND: Kind = Kind { command: "plane", report: "measures.json", is_own: |name| name == POINTS, folders: &[] };

/// What the command needs to know.
pub(crate) type Settings = pairs::Settings<Method>;

/// What is measured, as an experiment asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Method {
    /// `None` for what the first posterior was trained on.
    pub(crate) dataset: Option<String>,
    /// Which images.
    pub(crate) splits: Vec<Split>,
    /// At most so many training images.
    pub(crate) images: usize,
    /// At most so many test images; `None` for all.
    pub(crate) test_images: Option<usize>,
    /// The criterion by which the units of the second posterior are ordered to be the third.
    pub(crate) channel: Channel,
    /// How that order is sought.
    pub(crate) solver: Solver,
    /// Points along each axis.
    pub(crate) points: usize,
    /// How far the grid goes beyond the three, as a part of the longer side of the rectangle around them.
    pub(crate) margin: f64,
    /// Draws for the predictive distribution at each point.
    pub(crate) samples: usize,
    /// Of draws and the search for permutations.
    pub(crate) seed: u64,
}

impl Default for Method {
    fn default() -> Self {
        let PlaneSettings { points, margin, samples, seed } = PlaneSettings::default();
        Self {
            dataset: None,
            splits: vec![Split::Train, Split::Test],
            images: 10_000,
            test_images: None,
            channel: Channel::default(),
            solver: Solver::default(),
            points,
            margin,
            samples,
            seed,
        }
    }
}

impl Method {
    /// How the plane is measured.
    fn measure(&self) -> PlaneSettings {
        let Self { points, margin, samples, seed, .. } = *self;
        PlaneSettings { points, margin, samples, seed }
    }

    /// Refuses what cannot be measured.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.wanted().check()?;
        self.measure().check()
    }

    /// On which images.
    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            dataset: self.dataset.as_deref(),
            splits: &self.splits,
            images: self.images,
            test_images: self.test_images,
        }
    }
}

/// Aligns, measures, writes and prints.
pub(crate) fn run(settings: &Settings, signals: &Signals, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let method = &settings.method;
    method.check()?;
    let Opened { sources, stored, arch, parts, folder, threads } = settings.open(&KIND, method.wanted())?;
    let first = &stored[0];
    let config = images::config(&first.provenance).with_context(|| sources[0].file.display().to_string())?;
    // The posterior knows nothing of other data.
    let density = if method.splits.contains(&Split::Train) && method.dataset.is_none() {
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
            signals.go_on()
        };
        let density = density.filter(|_| *split == Split::Train);
        let begun = Instant::now();
        let plane = Plane::through(&triangle, &mut predictor, examples, method.measure(), density, &mut progress)?;
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
    if let Some(file) = &settings.alignment {
        return pairs::permutations(file, sources, spec).with_context(|| file.display().to_string());
    }
    let Method { channel, solver, seed, .. } = settings.method;
    let spinner = printer.spinner();
    spinner.set_message("aligning");
    let search = align::Settings { channel, solver, seed, ..align::Settings::default() };
    let found = align::pair(spec, fixed, moved, search, team, &mut |_| ());
    spinner.finish_and_clear();
    let said = || format!("cannot align {} with {}", sources[1].file.display(), sources[0].file.display());
    Ok(found.with_context(said)?.permutations)
}
