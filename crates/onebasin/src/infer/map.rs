//! The most probable point: stochastic gradient ascent on the log posterior.

use super::Inference;
use super::Info;
use super::Mean;
use super::Optimise;
use super::Problem;
use super::State;
use super::optimise::StepRule;
use super::prior::Pieces;
use crate::data::Batches;
use crate::data::Examples;
use crate::error::Result;
use crate::kernels::Team;
use crate::kernels::optimise::Rule;
use crate::kernels::optimise::StepPoint;
use crate::net::Batch;
use crate::net::Net;
use crate::params::Params;
use crate::posterior::Posterior;
use serde::Deserialize;
use serde::Serialize;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapConfig {
    /// How the log posterior is climbed.
    pub optimise: Optimise,
}

/// A point on its way up.
#[derive(Debug)]
pub struct Map {
    config: MapConfig,
    problem: Problem,
    net: Net,
    pieces: Pieces,
    feed: Feed,
    gradient: Params,
    point: Params,
    first: Vec<f32>,
    second: Vec<f32>,
    done: u64,
    log_likelihood: Mean,
}

impl Map {
    /// Begins at the initial values of `seed`.
    pub fn new(config: MapConfig, problem: &Problem, seed: u64, threads: usize) -> Result<Self> {
        problem.check()?;
        config.optimise.check()?;
        let layout = problem.arch.layout();
        Ok(Self {
            net: problem.net(threads)?,
            pieces: problem.prior.pieces(&problem.arch),
            feed: Feed::new(config.optimise.batches(problem, seed)?, problem, config.optimise.batch),
            gradient: Params::zeros(layout),
            point: problem.arch.initialise(seed),
            first: vec![0.0; layout.len()],
            second: vec![0.0; config.optimise.second_len(layout.len())],
            done: 0,
            log_likelihood: Mean::default(),
            problem: problem.clone(),
            config,
        })
    }

    /// The point as it is now.
    pub fn point(&self) -> &Params {
        &self.point
    }

    fn ascend<R: Rule>(&mut self, rule: R) {
        let temperature = self.problem.temperature;
        let scale = (1.0 / (temperature * self.config.optimise.batch as f64)) as f32;
        let decay = (1.0 / (temperature * self.problem.training.len() as f64)) as f32;
        let (isa, pieces, gradient) = (self.net.isa(), &self.pieces, self.gradient.values());
        let arrays = [self.point.values_mut(), &mut self.first, &mut self.second];
        self.net.team().pieces(&pieces.ranges, arrays, |index, [params, first, second]| {
            let gradient = &gradient[pieces.ranges[index].clone()];
            let decay = decay * pieces.precisions[index];
            isa.run(StepPoint { rule, params, first, second, gradient, scale, decay });
        });
    }
}

impl Inference for Map {
    fn step(&mut self) {
        self.feed.load(self.done, &self.problem.training, self.net.team());
        let log_likelihood = self.net.gradient(&self.point, self.feed.batch(), &mut self.gradient).expect(CHECKED);
        self.log_likelihood.add(log_likelihood / self.config.optimise.batch as f64);
        match self.config.optimise.rule(self.done, self.problem.training.len()) {
            StepRule::Adam(rule) => self.ascend(rule),
            StepRule::Sgd(rule) => self.ascend(rule),
        }
        self.done += 1;
    }

    fn done(&self) -> u64 {
        self.done
    }
    fn total(&self) -> u64 {
        self.config.optimise.steps(self.problem.training.len())
    }
    fn epoch(&self) -> f64 {
        self.done as f64 / self.config.optimise.steps_per_epoch(self.problem.training.len())
    }
    fn log_every(&self) -> u64 {
        LOG_EVERY
    }

    fn info(&mut self) -> Info {
        let nll = -self.log_likelihood.take();
        let log_prior = self.problem.prior.log_density(&self.problem.arch, &self.point);
        Info(vec![
            ("nll", nll),
            ("log_prior", log_prior / self.problem.training.len() as f64),
            ("rate", self.config.optimise.rate_at(self.done.saturating_sub(1), self.problem.training.len())),
        ])
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put("point", self.point.values());
        state.put("first", &self.first);
        state.put("second", &self.second);
        state.put_number("done", self.done as f64);
        state.put_mean("log_likelihood", self.log_likelihood);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        state.get("point", self.point.values_mut())?;
        state.get("first", &mut self.first)?;
        state.get("second", &mut self.second)?;
        self.done = state.get_number("done")? as u64;
        self.log_likelihood = state.get_mean("log_likelihood")?;
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        Some(Posterior::Point(self.point.clone()))
    }
}

/// Steps between two lines of the log.
pub(super) const LOG_EVERY: u64 = 50;

/// Why an evaluation cannot fail.
pub(super) const CHECKED: &str = "the problem was checked at the beginning";

/// The batches of a training run, standardised.
#[derive(Debug)]
pub(super) struct Feed {
    batches: Batches,
    images: Vec<f32>,
    labels: Vec<u32>,
}

impl Feed {
    pub(super) fn new(batches: Batches, problem: &Problem, size: usize) -> Self {
        Self { batches, images: vec![0.0; size * problem.arch.input().len()], labels: vec![0; size] }
    }

    /// Gathers the batch of `step`.
    pub(super) fn load(&mut self, step: u64, examples: &Examples, team: &Team) {
        let indices = self.batches.indices(step);
        let share = team.share(indices.len());
        let len = examples.shape().len();
        team.chunk_pairs((&mut self.images, share * len), (&mut self.labels, share), |index, images, labels| {
            examples.fill(&indices[index * share..][..labels.len()], images, labels);
        });
    }

    /// The batch gathered last.
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch { images: &self.images, labels: &self.labels }
    }
}
