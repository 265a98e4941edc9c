//! Which stages an experiment has, where their results go, and what each of them does.

use super::experiment::Cell;
use super::experiment::Posterior;
use super::stage::Stage;
use crate::commands::align;
use crate::commands::barrier;
use crate::commands::compact;
use crate::commands::members;
use crate::commands::members::POSTERIOR;
use crate::commands::name_of;
use crate::commands::plane;
use crate::commands::planted;
use crate::commands::signals::Signals;
use crate::commands::swap;
use crate::commands::train;
use crate::commands::transpositions;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::bail;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Seconds between two checkpoints of a training.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// The folder of all posteriors.
pub(super) const POSTERIORS: &str = "posteriors";

/// The folder of an experiment and what its stages share.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    folder: &'a Path,
    data: &'a Path,
    signals: &'a Signals,
    printer: &'a Printer,
}

impl<'a> Plan<'a> {
    pub(super) fn new(folder: &'a Path, data: &'a Path, signals: &'a Signals, printer: &'a Printer) -> Self {
        Self { folder, data, signals, printer }
    }

    fn run_folder(&self, posterior: &Posterior) -> PathBuf {
        self.folder.join(POSTERIORS).join(&posterior.id)
    }

    fn file(&self, posterior: &Posterior) -> PathBuf {
        self.run_folder(posterior).join(POSTERIOR)
    }

    /// The stage that infers a posterior.
    pub(super) fn training(&self, posterior: &Posterior) -> anyhow::Result<Stage> {
        let start = posterior.config.start.as_slice();
        let stage = Stage::new(self.run_folder(posterior), "result.json", &posterior.config, start)?;
        Ok(Stage { result: Some(POSTERIOR), ..stage })
    }

    /// Infers a posterior, or continues; returns whether it was stopped.
    pub(super) fn train(&self, posterior: &Posterior, threads: usize) -> anyhow::Result<bool> {
        let stage = self.training(posterior)?;
        let folder = &stage.folder;
        let settings = train::Settings {
            config: PathBuf::new(),
            overrides: Vec::new(),
            output: folder.clone(),
            data: self.data.to_owned(),
            threads: Some(threads),
            save_every: SAVE_EVERY,
            // What is finished has lost its posterior, or is of other inputs.
            force: folder.join(stage.report).exists() && (!self.file(posterior).exists() || stage.is_stale()),
            json: false,
        };
        let printer = self.printer.part(&format!("seed {} ({})", posterior.config.seed, posterior.id));
        stage.run(|_| train::infer(&posterior.config, &settings, self.signals, &printer))
    }

    /// The stages of a cell by their names, in order; its posteriors are there.
    pub(super) fn stages(&self, cell: &Cell) -> anyhow::Result<Vec<(String, Stage)>> {
        self.tasks(cell)?.into_iter().map(|task| Ok((task.name.clone(), self.stage(cell, &task)?))).collect()
    }

    fn stage(&self, cell: &Cell, task: &Task) -> anyhow::Result<Stage> {
        let folder = self.folder.join("cells").join(&cell.id).join(&task.name);
        let files: Vec<PathBuf> = task.files.iter().cloned().chain(task.reference()?).collect();
        Stage::new(folder, task.report(), &task.settings(), &files)
    }

    /// What is measured in a cell.
    pub(super) fn tasks(&self, cell: &Cell) -> anyhow::Result<Vec<Task>> {
        let mut tasks = Vec::new();
        for pair in cell.pairs() {
            let files = pair.map(|posterior| self.file(posterior));
            let [from, to] = pair.map(|posterior| posterior.config.seed);
            let mut push = |name: String, what: What| tasks.push(Task { name, what, files: files.to_vec() });
            if let Some(asked) = &cell.align {
                for channel in &asked.channels {
                    for solver in &asked.solvers {
                        let method = align::Method {
                            channel: *channel,
                            solver: *solver,
                            seed: asked.seed,
                            activation: align::Activation::of(*channel),
                            ..align::Method::default()
                        };
                        let name = format!("align/{}-{}/{from}-{to}", name_of(channel)?, name_of(solver)?);
                        push(name, What::Align(method));
                    }
                }
            }
            if let Some(method) = &cell.barrier {
                push(format!("barrier/{from}-{to}"), What::Barrier(method.clone()));
            }
            if let Some(method) = &cell.plane {
                push(format!("plane/{from}-{to}"), What::Plane(method.clone()));
            }
        }
        let all: Vec<PathBuf> = cell.posteriors.iter().map(|posterior| self.file(posterior)).collect();
        if let Some(method) = &cell.compact {
            tasks.push(Task { name: "compact".to_owned(), what: What::Compact(method.clone()), files: all });
        }
        let alone = |name: &str, what| Task { name: name.to_owned(), what, files: Vec::new() };
        if let Some(config) = &cell.transpositions {
            tasks.push(alone("transpositions", What::Transpositions(Box::new(config.clone()))));
        }
        if let Some(config) = &cell.planted {
            tasks.push(alone("planted", What::Planted(config.clone())));
        }
        if let Some(config) = &cell.swap {
            tasks.push(alone("swap", What::Swap(config.clone())));
        }
        Ok(tasks)
    }

    /// Measures; returns whether it was stopped.
    pub(super) fn measure(&self, cell: &Cell, task: &Task, threads: usize) -> anyhow::Result<bool> {
        let name = if cell.settings.is_empty() { task.name.clone() } else { format!("{} of {}", task.name, cell.id) };
        let printer = self.printer.part(&name);
        let stage = self.stage(cell, task)?;
        stage.run(|folder| self.work(task, folder.to_owned(), threads, &printer))
    }

    fn work(&self, task: &Task, folder: PathBuf, threads: usize, printer: &Printer) -> anyhow::Result<ExitStatus> {
        // What was there is of other inputs, or of an attempt that was not finished.
        let (force, json, data) = (true, false, self.data.to_owned());
        let (output, alignment, asked) = (Some(folder.clone()), None, Some(threads));
        let signals = self.signals;
        if signals.received() != 0 {
            return Ok(ExitStatus::Signal(signals.received()));
        }
        let files = || task.files.clone();
        let pair = || [task.files[0].clone(), task.files[1].clone()];
        match &task.what {
            What::Align(method) => {
                let settings = align::Settings {
                    posteriors: files(),
                    output: folder,
                    data,
                    method: *method,
                    threads: asked,
                    force,
                    json,
                };
                match align::run(&settings, printer)? {
                    ExitStatus::Problem => bail!("an alignment has changed the function of a network"),
                    status => Ok(status),
                }
            }
            What::Barrier(method) => {
                let (posteriors, method) = (pair(), method.clone());
                let settings =
                    barrier::Settings { posteriors, output, data, alignment, method, threads: asked, force, json };
                barrier::run(&settings, signals, printer)
            }
            What::Plane(method) => {
                let (posteriors, method) = (pair(), method.clone());
                let settings =
                    plane::Settings { posteriors, output, data, alignment, method, threads: asked, force, json };
                plane::run(&settings, signals, printer)
            }
            What::Compact(method) => {
                let (samples, method) = (files(), method.clone());
                let settings = compact::Settings { samples, output: folder, data, method, threads: asked, force, json };
                compact::run(&settings, signals, printer)
            }
            What::Transpositions(config) => {
                transpositions::measure(config, &folder, self.data, threads, signals, printer)
            }
            What::Planted(config) => planted::measure(config, &folder, threads, signals, printer),
            What::Swap(config) => swap::measure(config, &folder),
        }
    }
}

/// Something to measure in a cell.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Its folder inside that of the cell.
    name: String,
    what: What,
    /// The posteriors that it looks at.
    files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum What {
    Align(align::Method),
    Barrier(barrier::Method),
    Plane(plane::Method),
    Compact(compact::Method),
    Transpositions(Box<onebasin::experiment::TranspositionsConfig>),
    Planted(onebasin::experiment::PlantedConfig),
    Swap(onebasin::experiment::SwapConfig),
}

impl Task {
    fn report(&self) -> &'static str {
        match self.what {
            What::Align(_) => "alignment.json",
            _ => "measures.json",
        }
    }

    /// Another posterior that it looks at.
    fn reference(&self) -> anyhow::Result<Option<PathBuf>> {
        match &self.what {
            What::Compact(compact::Method { reference: Some(path), .. }) => members::file_of(path).map(Some),
            _ => Ok(None),
        }
    }

    /// What decides the results, besides the posteriors.
    fn settings(&self) -> serde_json::Value {
        let value = match &self.what {
            What::Align(method) => serde_json::to_value(method),
            What::Barrier(method) => serde_json::to_value(method),
            What::Plane(method) => serde_json::to_value(method),
            What::Compact(method) => serde_json::to_value(method),
            What::Transpositions(config) => serde_json::to_value(config),
            What::Planted(config) => serde_json::to_value(config),
            What::Swap(config) => serde_json::to_value(config),
        };
        value.expect("settings are plain data")
    }
}
