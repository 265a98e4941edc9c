//! `onebasin train`: runs a configuration to its end, watched by a progress bar, a log and TensorBoard.

use crate::commands::configuration::Text;
use crate::commands::signals::Signals;
use crate::commands::threads;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use crate::tensorboard::Events;
use anyhow::Context;
use indicatif::ProgressBar;
use onebasin::experiment::Files;
use onebasin::experiment::Next;
use onebasin::experiment::Outcome;
use onebasin::experiment::Phase;
use onebasin::experiment::Prepared;
use onebasin::experiment::Progress;
use onebasin::experiment::Record;
use onebasin::experiment::Summary;
use onebasin::experiment::Train;
use onebasin::experiment::TrainConfig;
use onebasin::experiment::Watcher;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The configuration.
    pub(crate) config: PathBuf,
    /// `a.b=c`, in order.
    pub(crate) overrides: Vec<String>,
    /// The folder of the run.
    pub(crate) output: PathBuf,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Time between two checkpoints.
    pub(crate) save_every: Duration,
    /// Whether an earlier run may be removed.
    pub(crate) force: bool,
    /// Whether result.json is printed instead of a table.
    pub(crate) json: bool,
}

/// Reads the configuration, and infers.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let Text { name, text } = Text::read(&settings.config)?;
    let config = TrainConfig::from_toml(&name, &text, &settings.overrides)?;
    infer(&config, settings, &Signals::listen()?, printer)
}

/// Runs, or continues, or says that there is nothing left to do.
pub(crate) fn infer(
    config: &TrainConfig,
    settings: &Settings,
    signals: &Signals,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let threads = threads(settings.threads)?;
    let folder = settings.output.display();
    let earlier = Files::find(&settings.output)?;
    if let Some(files) = earlier.as_ref().filter(|_| !settings.force) {
        // Before anything that takes long.
        if let Some(summary) = finished(files, config)? {
            printer.say(&format!("{folder} is finished already"));
            return report(&summary, settings.json, printer);
        }
    }
    // Whatever is wrong with the settings or the data is found before the first file is written or removed.
    let prepared = Prepared::new(config.clone(), &settings.data, threads)?;
    let files = match earlier {
        Some(files) => files,
        None => Files::open(&settings.output)?,
    };
    if settings.force {
        files.clear()?;
    } else if let Some(summary) = finished(&files, config)? {
        // Another process was faster while the data were read.
        printer.say(&format!("{folder} is finished already"));
        return report(&summary, settings.json, printer);
    }
    let train = Train::new(prepared, files)?;
    if train.resumed_at() > 0 {
        printer.say(&format!("continuing {folder} at step {} of {}", train.resumed_at(), train.total()));
    }
    let begun = Instant::now();
    let mut watch = Watch::new(&train, settings, printer, signals)?;
    let outcome = train.run(&mut watch)?;
    watch.finish()?;
    match outcome {
        Outcome::Finished(summary) => {
            printer.say(&format!("{folder}: finished after {}", indicatif::HumanDuration(begun.elapsed())));
            report(&summary, settings.json, printer)
        }
        Outcome::Stopped => {
            printer.say(&format!("{folder}: stopped, state saved; the same command continues"));
            Ok(ExitStatus::Signal(signals.received()))
        }
    }
}

/// What came out of an earlier run of this configuration, if there was one and it came to its end.
fn finished(files: &Files, config: &TrainConfig) -> anyhow::Result<Option<Summary>> {
    files.check(config)?;
    let summary = files.finished()?;
    if summary.is_some() {
        // It may have been killed before it did this itself.
        files.tidy_up()?;
    }
    Ok(summary)
}

/// Prints what came out.
fn report(summary: &Summary, json: bool, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if json {
        printer.data(&(serde_json::to_string_pretty(summary)? + "\n"))?;
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new([("measure", Left), ("value", Right)]);
    let mut row = |name: &str, value: String| table.push([name, &value]);
    row("steps", summary.steps.to_string());
    row("epochs", format!("{:.2}", summary.epochs));
    for (name, value) in &summary.training {
        row(name, value.map_or_else(|| "-".to_owned(), |value| format!("{value:.6}")));
    }
    row("test images", summary.test.images.to_string());
    row("posterior samples averaged", summary.test.samples.to_string());
    row("test accuracy", format!("{:.2} %", 100.0 * (1.0 - summary.test.error)));
    row("test nll", format!("{:.5}", summary.test.nll));
    if let Some(chains) = &summary.chains {
        row("samples per chain", chains.samples.to_string());
        row("largest R-hat of test probabilities", format!("{:.4}", chains.max_rhat));
        row("median R-hat", format!("{:.4}", chains.median_rhat));
        row("smallest effective sample size", format!("{:.1}", chains.min_ess));
        row("median effective sample size", format!("{:.1}", chains.median_ess));
        if chains.undefined > 0 {
            row("probabilities that never change, left out", chains.undefined.to_string());
        }
    }
    printer.data(&table.text())?;
    Ok(ExitStatus::Success)
}

/// Looks after a run: shows how far it is, saves it now and then, stops it when asked.
struct Watch<'a> {
    signals: &'a Signals,
    printer: &'a Printer,
    bar: ProgressBar,
    phase: Phase,
    events: Events,
    /// The first error of the events' file, which does not end the run.
    events_failed: Option<io::Error>,
    save_every: Duration,
    saved: Instant,
    told: Instant,
    status: String,
}

impl<'a> Watch<'a> {
    fn new(train: &Train, settings: &Settings, printer: &'a Printer, signals: &'a Signals) -> anyhow::Result<Self> {
        let bar = printer.steps();
        bar.set_length(train.total());
        bar.set_position(train.resumed_at());
        bar.reset_eta();
        let events = Events::resume(&settings.output, train.mark(), wall_time())
            .with_context(|| format!("cannot write TensorBoard events in {}", settings.output.display()))?;
        Ok(Self {
            signals,
            printer,
            bar,
            phase: Phase::Training,
            events,
            events_failed: None,
            save_every: settings.save_every,
            saved: Instant::now(),
            told: Instant::now(),
            status: String::new(),
        })
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        self.mark();
        match self.events_failed {
            Some(error) => Err(error).context("the run is whole, but not its TensorBoard events"),
            None => Ok(()),
        }
    }

    fn keep(&mut self, result: io::Result<()>) {
        if let (Err(error), None) = (result, &self.events_failed) {
            self.events_failed = Some(error);
        }
    }
}

impl Watcher for Watch<'_> {
    fn record(&mut self, record: &Record) {
        let result = self.events.scalars(wall_time(), record.step, &record.values);
        self.keep(result);
        let shown = record.values.iter().take(2).map(|(name, value)| format!("{name} {value:.4}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        if record.values.iter().any(|(name, _)| name.starts_with("test")) {
            let line = format!("epoch {:.1}: {shown}", record.epoch);
            self.printer.say(&line);
        } else {
            self.status = format!("epoch {:.1}, {shown}", record.epoch);
            self.bar.set_message(self.status.clone());
        }
    }

    fn progress(&mut self, progress: Progress) {
        if progress.phase != self.phase {
            self.phase = progress.phase;
            self.bar.reset();
            self.bar.set_message("predicting the test images");
        }
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.done);
        if self.bar.is_hidden() && self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            let left = indicatif::HumanDuration(self.bar.eta());
            self.printer.say(&format!("{} of {}, {}, {left} left", progress.done, progress.total, self.status));
        }
    }

    fn next(&mut self) -> Next {
        if self.signals.received() != 0 {
            return Next::Stop;
        }
        if self.saved.elapsed() < self.save_every {
            return Next::Continue;
        }
        self.saved = Instant::now();
        Next::Save
    }

    fn mark(&mut self) -> u64 {
        match self.events.flush() {
            Ok(len) => len,
            Err(error) => {
                self.keep(Err(error));
                0
            }
        }
    }
}

/// Time between two lines where there is no terminal to show a bar on.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// Seconds since 1970.
fn wall_time() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
