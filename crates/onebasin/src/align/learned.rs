//! Learned matching: the permutations with the least loss between two posteriors, found with straight-through gradients.
//!
//! A copy of the second posterior's means moves along the gradient of the loss, and no permutation need reach it. The
//! permutations in use are those that bring the means closest to this copy (Ainsworth et al. 2023, their third method).

use super::assigners::Duals;
use super::objective::{Feature, Objective, Value};
use super::solve::{Attempt, Workspace};
use super::{Alignment, subtask};
use crate::arch::Arch;
use crate::data::{Batches, Examples};
use crate::error::{Error, Result};
use crate::infer::State;
use crate::model::Batch;
use crate::net::{Likelihood, Net, Precision};
use crate::params::Params;
use crate::path::{DataStatistics, Geodesic, Path, Repair, Rescale, Rescaled, Source};
use crate::posterior::{Gaussian, Posterior, Predictor};
use crate::progress::Monitor;
use crate::rng::{Stream, below};
use crate::symmetry::{Permutation, Permutations, Spec};
use onebasin_kernels::ThreadPool;
use std::fmt;

/// Share of the velocity that stays from one step to the next.
const MOMENTUM: f32 = 0.9;
/// Sweeps of coordinate descent that bring the permutations up to date, at most.
const SWEEPS: u64 = 3;
/// Steps between two looks at the validation examples.
const EVERY: usize = 20;
/// Validation examples at most, from the last on, and draws there.
const VALIDATION: usize = 1000;
const DRAWS: usize = 4;
/// Examples that tell the statistics of units, and draws there for the validation.
const STATISTICS: (usize, usize) = (128, 2);

/// Number of different τ that are drawn.
const GRID: usize = 1 << 20;

named_enum! {
    /// The τ at which the loss is looked at.
    #[derive(Default)]
    pub enum Tau {
        /// At the midpoint.
        #[default]
        Midpoint = "midpoint",
        /// At a τ drawn uniformly from 0 to 1 for each step.
        Uniform = "uniform",
    }
}

/// How matching is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learning {
    /// Number of steps from each start.
    pub steps: usize,
    /// Number of restarts, at the best permutations so far.
    pub restarts: usize,
    /// Number of examples of a step.
    pub batch: usize,
    /// What the gradient of the mean loss is multiplied by.
    pub learning_rate: f64,
    /// The τ at which the loss is looked at.
    pub tau: Tau,
    /// Whether the statistics of units are restored before the loss is looked at (REPAIR).
    pub repair: bool,
    /// Precision of products.
    pub precision: Precision,
    /// Seed of batches and draws.
    pub seed: u64,
}

impl Learning {
    /// Refuses what cannot be learned with.
    pub fn check(&self) -> Result<()> {
        Error::unless_counted("steps", self.steps)?;
        Error::unless_counted("batch", self.batch)?;
        Error::unless_positive("learning_rate", self.learning_rate)
    }

    /// Number of steps in all.
    fn total(&self) -> usize {
        self.steps.saturating_mul(self.restarts.saturating_add(1))
    }

    /// Whether the validation examples are looked at after so many steps.
    fn is_validated_after(&self, step: usize) -> bool {
        step.is_multiple_of(EVERY) || step.is_multiple_of(self.steps)
    }
}

/// Two posteriors, and the examples on which the loss between them is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Between<'a> {
    /// The network.
    pub arch: &'a Arch,
    /// What its outputs mean.
    pub likelihood: Likelihood,
    /// The posterior that stays.
    pub fixed: &'a Gaussian,
    /// The posterior that is permuted.
    pub moved: &'a Gaussian,
    /// Training examples; the last of them are kept for validation.
    pub examples: &'a Examples,
}

/// Permutations to start from.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of what found them.
    pub name: &'static str,
    /// The permutations.
    pub permutations: Permutations,
}

/// How learning is interrupted and continued.
pub struct Session<'a> {
    /// State to go on from.
    pub resume: Option<State>,
    /// Keeps a state.
    pub save: &'a mut dyn FnMut(State) -> Result<()>,
    /// Says whether the time is over.
    pub expired: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("resume", &self.resume).finish_non_exhaustive()
    }
}

/// Learns permutations, from the candidate with the least validation loss on; the result is never worse on the
/// validation examples.
///
/// The objective is the validation loss at the midpoint, with its sign changed.
pub fn learn(
    between: Between<'_>,
    candidates: &[Candidate],
    learning: Learning,
    session: &mut Session<'_>,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    learning.check()?;
    let spec = Spec::of(between.arch);
    let mut learner = Learner::new(between, &spec, learning, pool)?;
    let total = learning.total();
    monitor.part(0, total, |monitor| {
        let task = monitor.task().to_owned();
        monitor.set_task(subtask(&task, "candidates"));
        let identity = Candidate { name: "identity", permutations: Permutations::identity(&spec) };
        let before = learner.attempt(&identity, monitor)?;
        let mut attempts = vec![before.clone()];
        for candidate in candidates {
            monitor.at(0, total)?;
            attempts.push(learner.attempt(candidate, monitor)?);
        }
        monitor.set_task(subtask(&task, "learned"));
        learner.begin(session.resume.as_ref(), best(&attempts))?;
        while learner.step < total && !(session.expired)() {
            monitor.at(learner.step, total)?;
            learner.advance()?;
            if learning.is_validated_after(learner.step) {
                learner.validate()?;
                (session.save)(learner.state())?;
            }
        }
        if !learning.is_validated_after(learner.step) {
            learner.validate()?;
        }
        let learned = learner.best_attempt();
        attempts.push(learned);
        // Stable: of equals the first.
        attempts.sort_by(|a, b| b.value.total.total_cmp(&a.value.total));
        Ok(Alignment {
            permutations: Permutations::new(&spec, attempts[0].permutations.clone())?,
            before: before.value,
            after: attempts[0].value.clone(),
            // No loss is below zero.
            bound: 0.0,
            attempts,
        })
    })
}

fn best(attempts: &[Attempt]) -> &Attempt {
    let better = |a: &&Attempt, b: &&Attempt| a.value.total.total_cmp(&b.value.total);
    attempts.iter().rev().max_by(better).expect("one of them is the identity")
}

struct Learner<'a> {
    between: Between<'a>,
    spec: &'a Spec,
    learning: Learning,
    pool: &'a ThreadPool,
    net: Net,
    predictor: Predictor,
    training: Examples,
    validation: Examples,
    batches: Batches,
    repair: Option<Repair>,
    source: Option<Source>,
    /// Steps done.
    step: usize,
    /// The learning rate now.
    rate: f64,
    /// The copy that follows the gradient, and its velocity.
    copy: Params,
    velocity: Params,
    permutations: Permutations,
    duals: Duals,
    assignments: usize,
    /// Those with the least validation loss so far.
    best: (Permutations, f64),
}

impl<'a> Learner<'a> {
    fn new(between: Between<'a>, spec: &'a Spec, learning: Learning, pool: &'a ThreadPool) -> Result<Self> {
        let Between { arch, likelihood, fixed, moved, examples } = between;
        examples.check_fits(arch)?;
        let kept = VALIDATION.min(examples.len() / 5).max(1);
        let part = |range: std::ops::Range<usize>| {
            let indices: Vec<u32> = (range.start as u32..range.end as u32).collect();
            Examples::new(examples.dataset().select(&indices), examples.standardisation().clone())
        };
        let training = part(0..(examples.len() - kept).max(1))?;
        let some = training.first(STATISTICS.0)?;
        let net = || Ok(Net::new(arch, pool)?.with_precision(learning.precision));
        let statistics = |draws: usize| DataStatistics::new(Box::new(net()?), &some, draws, learning.seed, pool);
        let (mut repair, mut source) = (None, None);
        if learning.repair {
            // A step looks at one draw, and compares it with one draw of each end.
            repair = Some(Repair::new(arch, statistics(1)?, [fixed, moved])?);
            source = Some(Source::Data(Box::new(statistics(STATISTICS.1)?)));
        }
        let identity = Permutations::identity(spec);
        Ok(Self {
            spec,
            learning,
            pool,
            net: net()?.with_likelihood(likelihood)?,
            predictor: Predictor::new(arch, likelihood, learning.precision, pool)?,
            validation: part(examples.len() - kept..examples.len())?,
            batches: Batches::new(training.len(), learning.batch.min(training.len()), learning.seed)?,
            training,
            repair,
            source,
            step: 0,
            rate: learning.learning_rate,
            copy: Params::zeros(arch.layout()),
            velocity: Params::zeros(arch.layout()),
            duals: vec![None; spec.groups().len()],
            assignments: 0,
            best: (identity.clone(), f64::INFINITY),
            permutations: identity,
            between,
        })
    }

    fn permuted(&self, permutations: &Permutations) -> Result<Gaussian> {
        let moved = self.between.moved;
        Gaussian::new(self.spec.apply(permutations, moved.mean())?, self.spec.apply(permutations, moved.std())?)
    }

    /// The marginalised loss of the midpoint on the validation examples.
    fn loss(&mut self, permutations: &Permutations, monitor: &mut Monitor<'_>) -> Result<f64> {
        let moved = self.permuted(permutations)?;
        let straight = Geodesic::new(self.between.fixed, &moved)?;
        let middle = match &self.source {
            Some(source) => Rescaled::new(straight, self.between.arch, source, Rescale::ScaleAndMean)?.at(0.5)?,
            None => straight.at(0.5)?,
        };
        let drawn = middle.std().values().iter().any(|std| *std != 0.0);
        let draws = if drawn { DRAWS } else { 1 };
        let posterior = Posterior::Gaussian(middle);
        let means = self.predictor.mean(&posterior, &self.validation, draws, self.learning.seed, monitor)?;
        let labels = self.validation.dataset().labels();
        let rows = means.chunks_exact(means.len() / labels.len()).zip(labels);
        let losses = rows.map(|(row, label)| -row[*label as usize].max(f64::from(f32::MIN_POSITIVE)).ln());
        Ok(losses.sum::<f64>() / labels.len() as f64)
    }

    fn attempt(&mut self, candidate: &Candidate, monitor: &mut Monitor<'_>) -> Result<Attempt> {
        let loss = monitor.part(0, 0, |monitor| self.loss(&candidate.permutations, monitor))?;
        Ok(attempt(candidate.name, &candidate.permutations, loss, 0))
    }

    fn best_attempt(&self) -> Attempt {
        attempt("learned", &self.best.0, self.best.1, self.assignments)
    }

    /// Starts at an attempt, or goes on from a state.
    fn begin(&mut self, resume: Option<&State>, from: &Attempt) -> Result<()> {
        self.best = (Permutations::new(self.spec, from.permutations.clone())?, -from.value.total);
        self.go_back()?;
        resume.map_or(Ok(()), |state| self.restore(state))
    }

    /// Goes back to the best permutations so far, with half the learning rate.
    fn fall_back(&mut self) -> Result<()> {
        self.rate *= 0.5;
        self.go_back()
    }

    /// Puts the copy in the middle, where the best permutations so far are the closest, and stops it.
    fn go_back(&mut self) -> Result<()> {
        self.permutations = self.best.0.clone();
        let moved = self.permuted(&self.permutations)?;
        self.copy = Geodesic::new(self.between.fixed, &moved)?.at(0.5)?.into_parts().0;
        self.velocity = Params::zeros(self.copy.layout());
        self.duals.fill(None);
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        let Learning { steps, seed, learning_rate, .. } = self.learning;
        if self.step > 0 && self.step.is_multiple_of(steps) {
            self.rate = learning_rate;
            self.go_back()?;
        }
        let stream = |label: &str| Stream::new(seed, label, self.step as u64);
        let tau = match self.learning.tau {
            Tau::Midpoint => 0.5,
            Tau::Uniform => below(&mut stream("align/learned/tau").generator(), GRID) as f64 / GRID as f64,
        };
        let moved = self.permuted(&self.permutations)?;
        let mut point = Params::zeros(self.copy.layout());
        Geodesic::new(self.between.fixed, &moved)?.at(tau)?.draw(stream("align/learned/draw"), &mut point);
        let mut slope = None;
        if let Some(repair) = &self.repair {
            let [restored, factors] = repair.restore(self.spec, &self.permutations, tau, &point)?;
            (point, slope) = (restored, Some(factors));
        }
        let indices = self.batches.indices(self.step as u64);
        let mut inputs = vec![0.0; indices.len() * self.training.shape().len()];
        let mut labels = vec![0; indices.len()];
        self.training.fill(indices, &mut inputs, &mut labels);
        let mut gradient = Params::zeros(self.copy.layout());
        let batch = Batch { inputs: &inputs, labels: &labels };
        let log_likelihood = self.net.gradient(&point, batch, &mut gradient)?;
        if !log_likelihood.is_finite() {
            self.step += 1;
            return self.fall_back();
        }
        if let Some(slope) = slope {
            let pairs = gradient.values_mut().iter_mut().zip(slope.values());
            pairs.for_each(|(gradient, slope)| *gradient *= slope);
        }
        // Upwards in the log-likelihood.
        let scale = tau as f32 / labels.len() as f32;
        let rate = self.rate as f32;
        let gradients = gradient.values().iter();
        let copies = self.copy.values_mut().iter_mut().zip(self.velocity.values_mut());
        for ((copy, velocity), gradient) in copies.zip(gradients) {
            *velocity = MOMENTUM * *velocity + scale * gradient;
            *copy += rate * *velocity;
        }
        self.project()?;
        self.step += 1;
        Ok(())
    }

    /// Brings the permutations up to date with the copy.
    fn project(&mut self) -> Result<()> {
        let feature = Feature { fixed: self.copy.values().into(), moved: self.between.moved.mean().values().into() };
        let objective = Objective::new(self.spec, vec![feature], None)?;
        let mut permutations: Vec<Permutation> = self.permutations.as_slice().to_vec();
        let mut silent = Monitor::silent();
        let seed = self.learning.seed.wrapping_add(self.step as u64);
        let mut workspace = Workspace::new(&objective, self.pool, seed, &mut silent);
        workspace.improve(&mut permutations, &mut self.duals, SWEEPS)?;
        self.assignments += workspace.solved();
        self.permutations = Permutations::new(self.spec, permutations)?;
        Ok(())
    }

    /// Keeps the permutations if they are the best so far; else goes back to the best, with half the learning rate.
    fn validate(&mut self) -> Result<()> {
        let permutations = self.permutations.clone();
        let loss = self.loss(&permutations, &mut Monitor::silent())?;
        if loss < self.best.1 {
            self.best = (permutations, loss);
        } else {
            self.fall_back()?;
        }
        // A state does not hold them.
        self.duals.fill(None);
        Ok(())
    }

    fn state(&self) -> State {
        let whole = |permutations: &Permutations| -> Vec<f32> {
            let all = permutations.as_slice().iter().flat_map(Permutation::as_slice);
            all.map(|unit| *unit as f32).collect()
        };
        let vectors = [
            ("copy", self.copy.values().to_vec()),
            ("velocity", self.velocity.values().to_vec()),
            ("permutations", whole(&self.permutations)),
            ("best", whole(&self.best.0)),
        ];
        let (step, assignments) = (self.step as f64, self.assignments as f64);
        let numbers = [("step", step), ("loss", self.best.1), ("assignments", assignments), ("rate", self.rate)];
        State {
            vectors: vectors.into_iter().map(|(name, values)| (name.to_owned(), values)).collect(),
            numbers: numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
        }
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        state.get("copy", self.copy.values_mut())?;
        state.get("velocity", self.velocity.values_mut())?;
        let units = self.spec.groups().iter().map(|group| group.size).sum();
        let permutations = |name: &str| {
            let mut flat = vec![0.0; units];
            state.get(name, &mut flat)?;
            let mut rest = flat.into_iter().map(|unit| unit as u32);
            let groups = self.spec.groups().iter();
            let each = groups.map(|group| Permutation::new(rest.by_ref().take(group.size).collect()));
            Permutations::new(self.spec, each.collect::<Result<_>>()?)
        };
        (self.permutations, self.best) =
            (permutations("permutations")?, (permutations("best")?, state.get_number("loss")?));
        self.step = state.get_number("step")? as usize;
        self.rate = state.get_number("rate")?;
        self.assignments = state.get_number("assignments")? as usize;
        Ok(())
    }
}

fn attempt(solver: &'static str, permutations: &Permutations, loss: f64, assignments: usize) -> Attempt {
    let value = Value { total: -loss, tensors: Vec::new(), groups: Vec::new() };
    Attempt { solver, permutations: permutations.as_slice().to_vec(), value, assignments }
}
