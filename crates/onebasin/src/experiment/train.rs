//! A training run: steps, records, checkpoints, and in the end a posterior and what it is worth.

use super::Files;
use super::TrainConfig;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::infer::Inference;
use crate::infer::Info;
use crate::infer::Problem;
use crate::infer::diagnostics;
use crate::measure::Quality;
use crate::measure::null_is_nan;
use crate::posterior::Draws;
use crate::posterior::Predictor;
use crate::store::Checkpoint;
use crate::store::Provenance;
use crate::store::RunState;
use crate::store::SampleFiles;
use crate::store::StoredPosterior;
use crate::store::write_whole;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// Test images whose predictions tell whether chains agree.
const DIAGNOSTIC_IMAGES: usize = 100;

/// Whoever looks after a run: it is told what happens and decides when to save and when to stop.
pub trait Watcher {
    /// A record was written to the log.
    fn record(&mut self, record: &Record);
    /// Something was done.
    fn progress(&mut self, progress: Progress);
    /// Asked after every step.
    fn next(&mut self) -> Next;
    /// A number of its own to be saved with the state, and given back by [`Train::mark`] when the run is continued.
    fn mark(&mut self) -> u64;
}

/// What to do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    Continue,
    /// Save the state, then go on.
    Save,
    /// Save the state and return.
    Stop,
}

/// How far a phase has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which phase.
    pub phase: Phase,
    /// Parts done.
    pub done: u64,
    /// Parts in all.
    pub total: u64,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Steps of the inference.
    Training,
    /// Predictions on the test images.
    Evaluating,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Steps done.
    pub step: u64,
    /// Passes over the training data done.
    pub epoch: f64,
    /// Named numbers.
    pub values: Vec<(&'static str, f64)>,
}

impl Record {
    /// As a line of JSON; NaN becomes null.
    fn line(&self) -> String {
        use std::fmt::Write as _;
        let number = |value: f64| serde_json::Value::from(value).to_string();
        let mut line = format!("{{\"step\":{},\"epoch\":{}", self.step, number(self.epoch));
        for (name, value) in &self.values {
            write!(line, ",\"{name}\":{}", number(*value)).expect("a string takes everything");
        }
        line + "}\n"
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is finished.
    Finished(Summary),
    /// It was stopped and can be continued.
    Stopped,
}

/// What came out of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps done.
    pub steps: u64,
    /// Passes over the training data done.
    pub epochs: f64,
    /// The last numbers of the inference; null stands for NaN and infinities.
    pub training: BTreeMap<String, Option<f64>>,
    /// The quality of the predictions on the test images.
    pub test: Quality,
    /// For Markov chains: whether they agree on the predictions of some test images.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chains: Option<Convergence>,
}

/// How well chains agree on the probabilities of the classes of some test images; null stands for NaN and infinities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Test images looked at.
    pub images: usize,
    /// Samples of each chain.
    pub samples: usize,
    /// Probabilities, of all images and classes, that never change, so that nothing can be said of them; they are left
    /// out of what follows.
    pub undefined: usize,
    /// The largest rank-normalised split-R-hat.
    #[serde(deserialize_with = "null_is_nan")]
    pub max_rhat: f64,
    /// The median.
    #[serde(deserialize_with = "null_is_nan")]
    pub median_rhat: f64,
    /// The smallest effective sample size.
    #[serde(deserialize_with = "null_is_nan")]
    pub min_ess: f64,
    /// The median.
    #[serde(deserialize_with = "null_is_nan")]
    pub median_ess: f64,
}

/// A run of which everything is checked and loaded, and nothing written.
#[derive(Debug)]
pub struct Prepared {
    config: TrainConfig,
    problem: Problem,
    test: Examples,
    inference: Box<dyn Inference>,
    predictor: Predictor,
}

impl Prepared {
    /// Loads the data from the folder `data` and sets the inference up.
    pub fn new(config: TrainConfig, data: &Path, threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::Zero { what: "the number of threads".to_owned() });
        }
        let training = config.training(data)?;
        let test = config.test(data, training.standardisation())?;
        let problem = config.problem(training)?;
        let start = config.start.as_deref().map(StoredPosterior::read).transpose()?;
        let from = start.as_ref().map(|start| &start.posterior);
        Ok(Self {
            inference: config.infer.begin(&problem, config.seed, threads, from)?,
            predictor: Predictor::new(&problem.arch, problem.likelihood, threads)?,
            test,
            problem,
            config,
        })
    }
}

/// A run in its folder, where an earlier attempt is continued.
#[derive(Debug)]
pub struct Train {
    config: TrainConfig,
    files: Files,
    problem: Problem,
    test: Examples,
    inference: Box<dyn Inference>,
    predictor: Predictor,
    log: File,
    log_bytes: u64,
    samples: Option<SampleFiles>,
    last: BTreeMap<String, Option<f64>>,
    resumed_at: u64,
    mark: u64,
}

impl Train {
    /// Begins or continues in a folder that this process holds.
    pub fn new(prepared: Prepared, files: Files) -> Result<Self> {
        let Prepared { config, problem, test, mut inference, predictor } = prepared;
        files.claim(&config)?;
        let mut run = RunState::default();
        if let Some(checkpoint) = files.unfinished()? {
            let damaged = |error: Error| Error::File { path: files.checkpoint(), reason: error.to_string() };
            inference.restore(&checkpoint.state).map_err(damaged)?;
            run = checkpoint.run;
        }
        let layout = problem.arch.layout();
        let samples = match inference.chains() {
            0 => None,
            chains => Some(SampleFiles::open(files.folder(), layout, chains, run.samples)?),
        };
        Ok(Self {
            log: files.open_log(run.log_bytes)?,
            log_bytes: run.log_bytes,
            resumed_at: inference.done(),
            last: run.last,
            mark: run.mark,
            predictor,
            samples,
            inference,
            test,
            problem,
            files,
            config,
        })
    }

    /// Where an earlier attempt is continued; 0 at a beginning.
    pub fn resumed_at(&self) -> u64 {
        self.resumed_at
    }

    /// The watcher's number that was saved then.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Steps in all.
    pub fn total(&self) -> u64 {
        self.inference.total()
    }

    /// Runs to the end, or until the watcher stops it.
    pub fn run(mut self, watcher: &mut dyn Watcher) -> Result<Outcome> {
        let total = self.inference.total();
        let log_every = self.config.log.every.unwrap_or_else(|| self.inference.log_every());
        let mut evaluated = self.evaluations();
        let progress = |done| Progress { phase: Phase::Training, done, total };
        watcher.progress(progress(self.inference.done()));
        while self.inference.done() < total {
            let before = self.inference.done();
            self.inference.step();
            let done = self.inference.done();
            for (chain, sample) in self.inference.fresh() {
                self.samples.as_mut().expect("chains have files").push(chain, &sample)?;
            }
            if done / log_every > before / log_every || done == total {
                let Info(values) = self.inference.info();
                let finite = |value: f64| value.is_finite().then_some(value);
                self.last = values.iter().map(|(name, value)| ((*name).to_owned(), finite(*value))).collect();
                self.record(values, watcher)?;
            }
            if self.evaluations() > evaluated && done < total {
                evaluated = self.evaluations();
                self.evaluate_on_the_way(watcher)?;
            }
            watcher.progress(progress(done));
            match watcher.next() {
                Next::Continue => {}
                Next::Save => self.save(watcher)?,
                Next::Stop => {
                    self.save(watcher)?;
                    return Ok(Outcome::Stopped);
                }
            }
        }
        self.finish(watcher)
    }

    /// How many evaluations on the way are due by now.
    fn evaluations(&self) -> u64 {
        self.config.evaluate.every.map_or(0, |every| (self.inference.epoch() / every + 1e-9) as u64)
    }

    fn evaluate_on_the_way(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        let Some(posterior) = self.inference.posterior() else { return Ok(()) };
        let samples = self.config.evaluate.samples_on_the_way;
        let mut go_on = |_, _| ControlFlow::Continue(());
        if let Some(quality) = self.quality(&posterior, samples, &mut go_on)? {
            self.record(vec![("test_error", quality.error), ("test_nll", quality.nll)], watcher)?;
        }
        Ok(())
    }

    fn quality(
        &mut self,
        posterior: &dyn Draws,
        samples: usize,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Quality>> {
        let mean = self.predictor.mean(posterior, &self.test, samples, self.config.seed, progress)?;
        let used = posterior.draws(samples);
        mean.map(|mean| Quality::of(&mean, self.test.dataset().labels(), used)).transpose()
    }

    fn record(&mut self, values: Vec<(&'static str, f64)>, watcher: &mut dyn Watcher) -> Result<()> {
        let record = Record { step: self.inference.done(), epoch: self.inference.epoch(), values };
        let line = record.line();
        self.log.write_all(line.as_bytes()).map_err(|error| Error::file(&self.files.log(), &error))?;
        self.log_bytes += line.len() as u64;
        watcher.record(&record);
        Ok(())
    }

    /// Writes a checkpoint, and what it counts on before it.
    fn save(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        self.log.sync_all().map_err(|error| Error::file(&self.files.log(), &error))?;
        let samples = match &self.samples {
            Some(samples) => {
                samples.sync()?;
                samples.len()?
            }
            None => 0,
        };
        let run = RunState { log_bytes: self.log_bytes, samples, last: self.last.clone(), mark: watcher.mark() };
        Checkpoint { state: self.inference.state(), run }.write(&self.files.checkpoint())
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arch: self.config.arch.clone(),
            likelihood: self.config.likelihood,
            data: self.config.data_name(),
            standardisation: self.problem.training.standardisation().clone(),
            seed: self.config.seed,
            config: serde_json::to_value(&self.config).expect("a configuration is plain data"),
            aligned: None,
        }
    }

    /// Writes the posterior and the result, and removes what was only needed to continue.
    fn finish(mut self, watcher: &mut dyn Watcher) -> Result<Outcome> {
        // So that a stop or a crash from here on costs the evaluation only.
        self.save(watcher)?;
        let samples = self.samples.take();
        let posterior = self.inference.posterior();
        let provenance = self.provenance();
        let quality = {
            let mut progress = |done: usize, total: usize| {
                watcher.progress(Progress { phase: Phase::Evaluating, done: done as u64, total: total as u64 });
                if watcher.next() == Next::Stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let wanted = self.config.evaluate.samples;
            match (&posterior, &samples) {
                (Some(posterior), _) => self.quality(posterior, wanted, &mut progress)?,
                (None, Some(samples)) => self.quality(samples, wanted, &mut progress)?,
                (None, None) => unreachable!("a method yields a posterior or samples"),
            }
        };
        let Some(test) = quality else { return Ok(Outcome::Stopped) };
        let chains = samples.as_ref().map(|samples| self.convergence(samples)).transpose()?;
        match (posterior, &samples) {
            (Some(posterior), _) => StoredPosterior { posterior, provenance }.write(&self.files.posterior())?,
            (None, Some(samples)) => samples.gather(&self.files.posterior(), provenance)?,
            (None, None) => {}
        }
        let summary = Summary {
            steps: self.inference.done(),
            epochs: self.inference.epoch(),
            training: std::mem::take(&mut self.last),
            test,
            chains,
        };
        let path = self.files.result();
        write_whole(&path, |file| {
            let text = serde_json::to_string_pretty(&summary).expect("a summary is plain data") + "\n";
            file.write_all(text.as_bytes()).map_err(|error| Error::file(&path, &error))
        })?;
        // Windows removes no file that is open.
        drop(samples);
        self.files.tidy_up()?;
        Ok(Outcome::Finished(summary))
    }

    /// Whether the chains agree on the predictions of the first test images.
    fn convergence(&mut self, samples: &SampleFiles) -> Result<Convergence> {
        let images = DIAGNOSTIC_IMAGES.min(self.test.len());
        let indices: Vec<u32> = (0..images as u32).collect();
        let some = Examples::new(self.test.dataset().select(&indices), self.test.standardisation().clone())?;
        let (count, chains) = (samples.len()? as usize, self.inference.chains());
        let quantities = images * self.test.classes();
        // (quantity, chain, sample)
        let mut series = vec![0.0; quantities * chains * count];
        let mut go_on = |_, _| ControlFlow::Continue(());
        let _ = self.predictor.visit(samples, &some, chains * count, 0, &mut go_on, |part| {
            for (quantity, probability) in part.probabilities.iter().enumerate() {
                series[quantity * chains * count + part.sample] = f64::from(*probability);
            }
        })?;
        let summary = diagnostics::summarise(series.chunks_exact(chains * count), chains);
        Ok(Convergence {
            images,
            samples: count,
            undefined: summary.undefined,
            max_rhat: summary.max_rhat,
            median_rhat: summary.median_rhat,
            min_ess: summary.min_ess,
            median_ess: summary.median_ess,
        })
    }
}
