//! The most probable point: stochastic gradient ascent on the log posterior.

use super::Inference;
use super::Info;
use super::Optimise;
use super::Problem;
use super::State;
use super::ascent::Ascent;
use super::ascent::LOG_EVERY;
use super::optimise::StepRule;
use crate::error::Result;
use crate::kernels::optimise::Rule;
use crate::kernels::optimise::StepPoint;
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
    ascent: Ascent,
    point: Params,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Map {
    /// Begins at the initial values of `seed`.
    pub fn new(config: &MapConfig, problem: &Problem, seed: u64, threads: usize) -> Result<Self> {
        Self::at(config, problem, problem.arch.initialise(seed), seed, threads)
    }

    /// Begins at a point; `seed` decides the order of the images.
    pub fn at(config: &MapConfig, problem: &Problem, point: Params, seed: u64, threads: usize) -> Result<Self> {
        problem.check()?;
        config.optimise.check()?;
        problem.arch.layout().check_same(point.layout())?;
        let len = problem.arch.layout().len();
        Ok(Self {
            ascent: Ascent::new(config.optimise, problem, seed, threads)?,
            point,
            first: vec![0.0; len],
            second: vec![0.0; config.optimise.second_len(len)],
        })
    }

    /// The point as it is now.
    pub fn point(&self) -> &Params {
        &self.point
    }

    fn ascend<R: Rule>(&mut self, rule: R) {
        let Ascent { optimise, problem, net, pieces, gradient, .. } = &self.ascent;
        let scale = (1.0 / (problem.temperature * optimise.batch as f64)) as f32;
        let decay = (1.0 / (problem.temperature * problem.training.len() as f64)) as f32;
        let arrays = [self.point.values_mut(), &mut self.first, &mut self.second];
        net.team().pieces(&pieces.ranges, arrays, |index, [params, first, second]| {
            let gradient = &gradient.values()[pieces.ranges[index].clone()];
            let decay = decay * pieces.precisions[index];
            net.isa().run(StepPoint { rule, params, first, second, gradient, scale, decay });
        });
    }
}

impl Inference for Map {
    fn step(&mut self) {
        self.ascent.load();
        self.ascent.evaluate(&self.point);
        match self.ascent.rule() {
            StepRule::Adam(rule) => self.ascend(rule),
            StepRule::Sgd(rule) => self.ascend(rule),
        }
        self.ascent.done += 1;
    }

    fn done(&self) -> u64 {
        self.ascent.done
    }
    fn total(&self) -> u64 {
        self.ascent.total()
    }
    fn epoch(&self) -> f64 {
        self.ascent.epoch()
    }
    fn log_every(&self) -> u64 {
        LOG_EVERY
    }

    fn info(&mut self) -> Info {
        let nll = -self.ascent.log_likelihood.take();
        let Problem { prior, arch, training, .. } = &self.ascent.problem;
        let log_prior = prior.log_density(arch, &self.point) / training.len() as f64;
        Info(vec![("nll", nll), ("log_prior", log_prior), ("rate", self.ascent.rate())])
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put("point", self.point.values());
        state.put("first", &self.first);
        state.put("second", &self.second);
        self.ascent.save(&mut state);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        state.get("point", self.point.values_mut())?;
        state.get("first", &mut self.first)?;
        state.get("second", &mut self.second)?;
        self.ascent.restore(state)
    }

    fn posterior(&self) -> Option<Posterior> {
        Some(Posterior::Point(self.point.clone()))
    }
}
