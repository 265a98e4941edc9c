//! A training under way: steps, log, checkpoints, and in the end a posterior and its quality.

use super::TrainResult;
use super::files::{CHECKPOINT, Files, LOG, RESULT};
use crate::arch::Arch;
use crate::data::{Examples, Split};
use crate::error::{Error, Result};
use crate::experiment::folder::write_json;
use crate::experiment::{Context, POSTERIOR, TrainConfig, posterior_file};
use crate::infer::diagnostics::Convergence;
use crate::infer::{Divergence, Inference, Info, Problem, Vectors, diagnostics};
use crate::measure::{Calibration, Quality};
use crate::params::Params;
use crate::posterior::{Draws, Predictor, SampleProbabilities};
use crate::progress::{Monitor, Progress};
use crate::store::{Checkpoint, Events, Provenance, RunState, SampleFiles, StoredPosterior, Writing};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Fewer accepted proposals than this say that chains hardly move.
const MIN_ACCEPTANCE: f64 = 0.4;
/// Number of test examples whose predictions tell whether chains agree.
const DIAGNOSTIC_EXAMPLES: usize = 100;

/// Everything that a training needs, checked and loaded; nothing is written yet.
#[derive(Debug)]
pub(super) struct Prepared {
    config: TrainConfig,
    problem: Problem,
    test: Examples,
    inference: Box<dyn Inference>,
    predictor: Predictor,
}

impl Prepared {
    /// Whether the training has Markov chains.
    pub(super) fn has_chains(&self) -> bool {
        self.inference.chains() > 0
    }

    /// Checks and loads everything; `fresh` is the folder of a training that begins there.
    pub(super) fn new(config: &TrainConfig, fresh: Option<&Path>, context: &Context<'_>) -> Result<Self> {
        let bytes = 4 * Arch::new(config.arch.clone())?.layout().len() as u128;
        let Vectors { in_memory, written } = config.infer.vectors();
        let what = format!("a training by {}", config.infer.name());
        context.check_memory(&what, bytes * in_memory, "choose a smaller network, or fewer members or chains")?;
        if let Some(folder) = fresh {
            context.check_disk(&what, folder, bytes * written, "choose a smaller network, or fewer samples")?;
        }
        config.data.assumptions()?.iter().for_each(|sentence| context.host.message(sentence));
        let training = config.data.training(context.data)?;
        let test = config.data.whole(Split::Test, context.data, training.standardisation())?;
        let problem = config.problem(training)?;
        let start = config.start.as_deref().map(|path| read_start(path, &problem)).transpose()?;
        let from = start.as_ref().map(|start| &start.posterior);
        Ok(Self {
            inference: config.infer.start(&problem, config.seed, &context.pool, from)?,
            predictor: Predictor::new(&problem.arch, problem.likelihood, problem.precision, &context.pool)?,
            test,
            problem,
            config: config.clone(),
        })
    }
}

/// Reads the posterior to start from, which must be finite and of the problem's network.
fn read_start(path: &Path, problem: &Problem) -> Result<StoredPosterior> {
    let unread = |error: Error| error.at("`start`");
    let file = posterior_file(path).map_err(unread)?;
    let start = StoredPosterior::read(&file).map_err(unread)?;
    let (layout, gaussian) = (problem.arch.layout(), start.posterior.gaussian());
    let fits = layout.check_same(gaussian.mean().layout());
    let finite = |values: &Params| layout.check_finite(values.values());
    let usable = fits.and_then(|()| finite(gaussian.mean())).and_then(|()| finite(gaussian.std()));
    usable.map_err(|error| error.at(format_args!("`start`, {}", file.display())))?;
    drop(gaussian);
    Ok(start)
}

/// A training in its folder, where an earlier attempt is continued.
pub(super) struct Training<'a> {
    prepared: Prepared,
    files: Files,
    log: File,
    log_bytes: u64,
    events: Events,
    samples: Option<SampleFiles>,
    /// The last numbers of the inference.
    last: BTreeMap<String, Option<f64>>,
    context: &'a Context<'a>,
    /// What the bar says.
    status: String,
}

impl<'a> Training<'a> {
    /// Starts or continues in a folder that this process holds.
    pub(super) fn new(mut prepared: Prepared, files: Files, context: &'a Context<'a>) -> Result<Self> {
        files.claim(&prepared.config)?;
        let inference = &mut prepared.inference;
        let mut run = RunState::default();
        if let Some(checkpoint) = files.unfinished()? {
            let damaged = |error: Error| Error::damaged(&files.join(CHECKPOINT), &error);
            inference.restore(&checkpoint.state).map_err(damaged)?;
            run = checkpoint.run;
            if inference.done() > inference.total() {
                return Err(Error::damaged(&files.join(CHECKPOINT), &"it is of a longer training"));
            }
            let (folder, done, total) = (files.folder.display(), inference.done(), inference.total());
            context.host.message(&format!("continuing {folder} at step {done} of {total}"));
        }
        let samples = match &inference.handed_out()[..] {
            [] => None,
            kept => Some(SampleFiles::open(&files.folder, prepared.problem.arch.layout(), kept)?),
        };
        for warning in inference.warnings() {
            context.host.message(&format!("warning: {warning}"));
        }
        let events = Events::resume(&files.folder, run.event_bytes, context.host.unix_time());
        Ok(Self {
            log: files.open_log(run.log_bytes)?,
            log_bytes: run.log_bytes,
            events: events.map_err(|error| Error::file(&files.folder, error))?,
            last: run.last,
            samples,
            prepared,
            files,
            context,
            status: "training".to_owned(),
        })
    }

    /// Runs to the end, or until the host asks to stop: then the state is saved and the error is [`Error::Stopped`]. An
    /// optimisation that leaves the finite numbers ends with [`Error::Diverged`], and the state saved last is kept.
    pub(super) fn run(mut self, save_every: f64) -> Result<TrainResult> {
        let host = self.context.host;
        let total = self.prepared.inference.total();
        let log_every = self.prepared.config.log.every.unwrap_or_else(|| self.prepared.inference.log_every());
        let mut evaluated = self.evaluations();
        let mut saved = host.seconds();
        while self.prepared.inference.done() < total {
            let before = self.prepared.inference.done();
            self.prepared.inference.step();
            if let Some(Divergence { step, last }) = self.prepared.inference.divergence() {
                return Err(self.diverged(step, "the nll of a batch", last));
            }
            let done = self.prepared.inference.done();
            if let Some(proposals) = self.prepared.inference.stuck() {
                return Err(Error::Stuck { step: done, total, proposals }.at(self.files.folder.display()));
            }
            for (chain, sample) in self.prepared.inference.fresh() {
                self.samples.as_mut().expect("chains have files").push(chain, &sample)?;
            }
            if done / log_every > before / log_every || done == total {
                let Info(values) = self.prepared.inference.info();
                let finite = |value: f64| value.is_finite().then_some(value);
                self.last = values.iter().map(|(name, value)| ((*name).to_owned(), finite(*value))).collect();
                let place = match self.prepared.inference.chains() {
                    0 => format!("epoch {:.1}", self.prepared.inference.epoch()),
                    _ => format!("trajectory {done}"),
                };
                self.status = format!("{place}, {}", shown(&values));
                self.record(&values)?;
            }
            if self.evaluations() > evaluated && done < total {
                evaluated = self.evaluations();
                self.evaluate_on_the_way()?;
            }
            let progress = Progress { task: &self.status, done: done as usize, total: total as usize };
            if host.progress(progress).is_break() {
                let _writing = Writing::begin();
                self.save()?;
                return Err(Error::Stopped);
            }
            if host.seconds() - saved >= save_every {
                saved = host.seconds();
                self.save()?;
            }
        }
        self.finish()
    }

    /// How many evaluations on the way are due by now.
    fn evaluations(&self) -> u64 {
        self.prepared.config.evaluate.every.map_or(0, |every| (self.prepared.inference.epoch() / every + 1e-9) as u64)
    }

    fn evaluate_on_the_way(&mut self) -> Result<()> {
        let Some(posterior) = self.prepared.inference.posterior() else { return Ok(()) };
        let samples = self.prepared.config.evaluate.eval_samples;
        let (quality, _) = self.quality(&posterior, samples, &mut Monitor::silent())?;
        let values = [("test_error", quality.error), ("test_nll", quality.nll)];
        self.record(&values)?;
        self.context.host.message(&format!("epoch {:.1}: {}", self.prepared.inference.epoch(), shown(&values)));
        Ok(())
    }

    fn quality(
        &mut self,
        posterior: &dyn Draws,
        samples: usize,
        monitor: &mut Monitor<'_>,
    ) -> Result<(Quality, Calibration)> {
        let mean = self.prepared.predictor.mean(
            posterior,
            &self.prepared.test,
            samples,
            self.prepared.config.seed,
            monitor,
        )?;
        let labels = self.prepared.test.dataset().labels();
        Ok((Quality::of(&mean, labels, posterior.draws(samples))?, Calibration::of(&mean, labels)?))
    }

    /// Writes a line of the log and an event.
    fn record(&mut self, values: &[(&'static str, f64)]) -> Result<()> {
        let (step, epoch) = (self.prepared.inference.done(), self.prepared.inference.epoch());
        // NaN becomes null.
        let number = |value: f64| serde_json::Value::from(value).to_string();
        let mut line = format!("{{\"step\":{step},\"epoch\":{}", number(epoch));
        for (name, value) in values {
            write!(line, ",\"{name}\":{}", number(*value)).expect("a string can be written to");
        }
        line += "}\n";
        self.log.write_all(line.as_bytes()).map_err(|error| Error::file(&self.files.join(LOG), error))?;
        self.log_bytes += line.len() as u64;
        let written = self.events.scalars(self.context.host.unix_time(), step, values);
        written.map_err(|error| Error::file(&self.files.folder, error))
    }

    /// The error of an optimisation that left the finite numbers; `last` is the nll before.
    fn diverged(&self, step: u64, what: &str, last: Option<f64>) -> Error {
        let (fault, total) = (format!("{what} is not finite"), self.prepared.inference.total());
        let last = last.map_or_else(String::new, |last| {
            let number = if last.abs() < 1e6 { format!("{last:.4}") } else { format!("{last:.2e}") };
            format!(" (the last finite nll was {number})")
        });
        Error::Diverged { step, total, fault, last }.at(self.files.folder.display())
    }

    /// Writes a checkpoint, after what it counts on; refuses a state that is not finite.
    fn save(&mut self) -> Result<()> {
        let state = self.prepared.inference.state();
        if let Some((name, _)) = state.vectors.iter().find(|(_, values)| !values.iter().all(|value| value.is_finite()))
        {
            let last = self.last.get("nll").copied().flatten();
            return Err(self.diverged(
                self.prepared.inference.done(),
                &format!("the vector `{name}` of the state"),
                last,
            ));
        }
        self.log.sync_all().map_err(|error| Error::file(&self.files.join(LOG), error))?;
        self.samples.as_ref().map_or(Ok(()), SampleFiles::sync)?;
        let event_bytes = self.events.flush().map_err(|error| Error::file(&self.files.folder, error))?;
        let run = RunState { log_bytes: self.log_bytes, last: self.last.clone(), event_bytes };
        Checkpoint { state, run }.write(&self.files.join(CHECKPOINT))
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arch: Some(self.prepared.config.arch.clone()),
            spec: None,
            likelihood: self.prepared.config.likelihood,
            data: self.prepared.config.data.describe(),
            data_sha256: Some(self.prepared.problem.training.dataset().sha256()),
            standardisation: self.prepared.problem.training.standardisation().clone(),
            seed: self.prepared.config.seed,
            config: serde_json::to_value(&self.prepared.config).expect("a configuration is plain data"),
            aligned: None,
        }
    }

    /// Writes the posterior and the result, and removes what nothing needs any more.
    fn finish(mut self) -> Result<TrainResult> {
        // So that a stop or a crash from here on costs the evaluation only.
        self.save()?;
        let samples = self.samples.take();
        let posterior = self.prepared.inference.posterior();
        let (wanted, context) = (self.prepared.config.evaluate.samples, self.context);
        let (test, calibration) =
            context.monitored("predicting the test examples", |monitor| match (&posterior, &samples) {
                (Some(posterior), _) => self.quality(posterior, wanted, monitor),
                (None, Some(samples)) => self.quality(samples, wanted, monitor),
                (None, None) => unreachable!("a method yields a posterior or samples"),
            })?;
        let chains = samples.as_ref().map(|samples| self.convergence(samples)).transpose()?;
        let (provenance, file) = (self.provenance(), self.files.join(POSTERIOR));
        match (posterior, &samples) {
            (Some(posterior), _) => StoredPosterior { posterior, provenance }.write(&file)?,
            (None, Some(samples)) => samples.gather(&file, provenance)?,
            (None, None) => {}
        }
        let warnings = self.warnings(chains.as_ref());
        // Those of the method were said at the start.
        for warning in warnings.iter().skip(self.prepared.inference.warnings().len()) {
            self.context.host.message(&format!("warning: {warning}"));
        }
        let result = TrainResult {
            steps: self.prepared.inference.done(),
            epochs: self.prepared.inference.epoch(),
            training: std::mem::take(&mut self.last),
            test,
            calibration: Some(calibration),
            chains,
            warnings,
        };
        write_json(&self.files.join(RESULT), &result)?;
        // Windows removes no file that is open.
        drop(samples);
        self.files.tidy_up()?;
        Ok(result)
    }

    /// What a person should know before trusting the result, a sentence each.
    fn warnings(&self, chains: Option<&Convergence>) -> Vec<String> {
        let mut all = self.prepared.inference.warnings();
        let Some(convergence) = chains else { return all };
        all.extend(convergence.warnings(self.prepared.inference.chains()));
        let number = |name: &str| self.last.get(name).copied().flatten();
        if let Some(count) = number("divergences").filter(|count| *count > 0.0) {
            all.push(format!("{count} trajectories diverged; lower `infer.step` or raise `infer.acceptance`"));
        }
        if let Some(mean) = number("acceptance_since_burn_in").filter(|mean| *mean < MIN_ACCEPTANCE) {
            all.push(format!(
                "only {:.0} % of the proposals are accepted; lower `infer.step`, or raise `infer.burn_in` so that it is adapted longer",
                100.0 * mean
            ));
        }
        all
    }

    /// Whether the chains agree on the predictions of the first test examples.
    fn convergence(&mut self, samples: &SampleFiles) -> Result<Convergence> {
        let examples = DIAGNOSTIC_EXAMPLES.min(self.prepared.test.len());
        let indices: Vec<u32> = (0..examples as u32).collect();
        let some =
            Examples::new(self.prepared.test.dataset().select(&indices), self.prepared.test.standardisation().clone())?;
        let (count, chains) = (samples.len()? as usize, self.prepared.inference.chains());
        let quantities = examples * self.prepared.test.classes();
        // (quantity, chain, sample)
        let mut series = vec![0.0; quantities * chains * count];
        let collect = |part: SampleProbabilities<'_>| {
            for (quantity, probability) in part.probabilities.iter().enumerate() {
                series[quantity * chains * count + part.sample] = f64::from(*probability);
            }
        };
        self.prepared.predictor.visit(samples, &some, chains * count, 0, collect, &mut Monitor::silent())?;
        Ok(diagnostics::summarise(series.chunks_exact(chains * count), chains))
    }
}

/// The first two numbers, for a person.
fn shown(values: &[(&str, f64)]) -> String {
    values.iter().take(2).map(|(name, value)| format!("{name} {value:.4}")).collect::<Vec<_>>().join(", ")
}
