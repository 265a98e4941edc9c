//! `onebasin barrier`: how much loss and error rise on the way from one posterior to another.

mod figures;
mod orders;
mod report;
mod table;
mod ways;

use crate::commands::folder::Kind;
use crate::commands::name_of;
use crate::commands::pairs;
use crate::commands::pairs::Opened;
use crate::commands::pairs::Wanted;
use crate::commands::signals::Signals;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::data::Split;
use onebasin::error::Error;
use onebasin::measure::BarrierSettings;
use onebasin::measure::Curves;
use onebasin::posterior::Predictor;
use onebasin::symmetry::Spec;
use orders::Order;
use report::Measured;
use serde::Deserialize;
use serde::Serialize;
use std::time::Instant;
use ways::Ways;

pub(crate) use report::Report;
pub(crate) use ways::Way;

/// What the command leaves in a folder.
const KIND: Kind = Kind { command: "barrier", report: "measures.json", is_own: |name| name == CURVES, folders: &[] };
/// All points of all curves.
const CURVES: &str = "curves.csv";

/// What the command needs to know.
pub(crate) type Settings = pairs::Settings<Method>;

/// What is measured, as an experiment asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Criteria by which permutations are sought.
    pub(crate) channels: Vec<Channel>,
    /// How they are sought.
    pub(crate) solver: Solver,
    /// The ways to go, once units are aligned.
    pub(crate) paths: Vec<Way>,
    /// Whether each curve is also measured with calibrated softmax temperatures.
    pub(crate) calibrate: bool,
    /// Points of each path.
    pub(crate) points: usize,
    /// Draws at each point.
    pub(crate) samples: usize,
    /// Behind the standard errors.
    pub(crate) replicates: usize,
    /// Of draws, replicates and the search for permutations.
    pub(crate) seed: u64,
}

impl Default for Method {
    fn default() -> Self {
        let BarrierSettings { points, samples, replicates, seed } = BarrierSettings::default();
        Self {
            dataset: None,
            splits: vec![Split::Train, Split::Test],
            images: 10_000,
            test_images: None,
            channels: vec![Channel::default()],
            solver: Solver::default(),
            paths: vec![Way::Geodesic],
            calibrate: false,
            points,
            samples,
            replicates,
            seed,
        }
    }
}

impl Method {
    /// How each path is measured.
    fn measure(&self) -> BarrierSettings {
        let Self { points, samples, replicates, seed, .. } = *self;
        BarrierSettings { points, samples, replicates, seed }
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
    let mut predictor = Predictor::new(&arch, first.provenance.likelihood, threads)?;
    let ends = [0, 1].map(|index: usize| stored[index].posterior.gaussian());
    let orders = orders::all(settings, &sources, [&ends[0], &ends[1]], &Spec::of(&arch), predictor.team(), printer)?;

    let ways = Ways::new(settings, first, &arch, threads)?;
    let calibration = ways.images().filter(|_| method.calibrate);
    // Units that were not aligned have nothing to restore.
    let walks: Vec<(&Order, Way)> = orders
        .iter()
        .enumerate()
        .flat_map(|(index, order)| {
            let geodesic = &[Way::Geodesic][..];
            let here = if index == 0 { geodesic } else { &method.paths };
            here.iter().map(move |way| (order, *way))
        })
        .collect();

    let mut measured = Vec::new();
    let bar = printer.steps();
    let count = walks.len() * parts.len();
    for (index, (order, way)) in walks.iter().enumerate() {
        for (number, (split, examples)) in parts.iter().enumerate() {
            let number = index * parts.len() + number + 1;
            let name = order.curve(*way)?;
            let what = format!("{name} on {} images, curve {number} of {count}", name_of(split)?);
            bar.reset();
            bar.set_message(what.clone());
            let mut progress = |done: usize, total: usize| {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
                signals.go_on()
            };
            let begun = Instant::now();
            let curves = ways.with(*way, &ends[0], &order.gaussian, |path| {
                Curves::along(path, &mut predictor, examples, calibration, method.measure(), &mut progress)
            })?;
            let Some(curves) = curves else {
                bar.finish_and_clear();
                printer.say("stopped; nothing was written");
                return Ok(ExitStatus::Signal(signals.received()));
            };
            let seconds = begun.elapsed().as_secs_f64();
            if bar.is_hidden() {
                printer.say(&format!("{what}: {seconds:.1} seconds"));
            }
            measured.push(Measured { name, unaligned: index == 0, way: *way, split: *split, curves, seconds });
        }
    }
    bar.finish_and_clear();

    let report = Report::new(settings, &sources, &stored, &orders, measured);
    let json = report.json()?;
    if let Some(folder) = folder {
        folder.write_all(&[(CURVES, report.csv()?)], &json)?;
        printer.say(&format!("all that was measured: {}", folder.join(folder.report()).display()));
    }
    printer.data(&if settings.json { json } else { report.table()?.text() })?;
    Ok(ExitStatus::Success)
}
