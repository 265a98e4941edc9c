//! The MAP estimate: stochastic gradient ascent on the log posterior.

use super::optimise::{Optimisation, StepRule};
use super::{
    Course, Divergence, Inference, Info, Optimise, Problem, Schedule, Settings, Started, State, Vectors, start_point,
};
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Posterior;
use onebasin_kernels::ThreadPool;
use onebasin_kernels::optimise::{Rule, SquarePoint, StepPoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the MAP estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapConfig {
    /// How the log posterior is optimised.
    pub optimise: Optimise,
}

impl Settings for MapConfig {
    const GROWS: &'static [&'static str] = &["optimise.epochs"];
    const STARTS_AT_POSTERIOR: bool = true;

    fn vectors(&self) -> Vectors {
        // Point, gradient and two moments.
        Vectors { in_memory: 4, written: 1 }
    }

    fn check(&self) -> Result<()> {
        self.optimise.check().map_err(|error| error.within("optimise"))
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(self.optimise.schedule)
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, from: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Map::at(self, problem, start_point(problem, seed, from)?, seed, pool)?))
    }
}

/// A point that is optimised.
#[derive(Debug)]
pub struct Map {
    optimisation: Optimisation,
    point: Params,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Map {
    /// Starts at the initialisation of `seed`.
    pub fn new(config: &MapConfig, problem: &Problem, seed: u64, pool: &ThreadPool) -> Result<Self> {
        Self::at(config, problem, problem.arch.initialise(seed), seed, pool)
    }

    /// Starts at a point; `seed` decides the order of the examples.
    pub fn at(config: &MapConfig, problem: &Problem, point: Params, seed: u64, pool: &ThreadPool) -> Result<Self> {
        problem.check()?;
        config.check()?;
        problem.arch.layout().check_same(point.layout())?;
        let len = problem.arch.layout().len();
        Ok(Self {
            optimisation: Optimisation::new(config.optimise, problem, seed, pool)?,
            point,
            first: vec![0.0; len],
            second: vec![0.0; config.optimise.second_len(len)],
        })
    }

    /// The point as it is now.
    pub fn point(&self) -> &Params {
        &self.point
    }

    fn advance<R: Rule>(&mut self, rule: R) {
        let Optimisation { optimise, problem, pool, isa, pieces, gradient, .. } = &self.optimisation;
        let (temperature, gradient, values) = (problem.temperature, gradient.values(), self.point.values());
        let weights = |factor: f64, index: usize| {
            let scale = (factor / (temperature * optimise.batch as f64)) as f32;
            let decay = (factor / (temperature * problem.training.len() as f64)) as f32;
            (scale, decay * pieces.precisions[index])
        };
        let clip = self.optimisation.clip(|index| {
            let (range, (scale, decay)) = (pieces.ranges[index].clone(), weights(1.0, index));
            isa.run(SquarePoint { params: &values[range.clone()], gradient: &gradient[range], scale, decay })
        });
        let shrink = self.optimisation.shrink();
        let arrays = [self.point.values_mut(), &mut self.first, &mut self.second];
        pool.pieces(&pieces.ranges, arrays, |index, [params, first, second]| {
            let gradient = &gradient[pieces.ranges[index].clone()];
            let (scale, decay) = weights(clip, index);
            isa.run(StepPoint { rule, params, first, second, gradient, scale, decay, shrink });
        });
    }
}

impl Inference for Map {
    fn step(&mut self) {
        self.optimisation.load();
        self.optimisation.evaluate(&self.point);
        match self.optimisation.rule() {
            StepRule::Adam(rule) => self.advance(rule),
            StepRule::Sgd(rule) => self.advance(rule),
        }
        self.optimisation.done += 1;
    }

    fn course(&self) -> Course {
        self.optimisation.course()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.optimisation.divergence
    }

    fn info(&mut self) -> Info {
        let nll = -self.optimisation.log_likelihood.take();
        let Problem { prior, arch, training, .. } = &self.optimisation.problem;
        let log_prior = prior.log_density(arch, &self.point) / training.len() as f64;
        Info(vec![("nll", nll), ("log_prior", log_prior), ("learning_rate", self.optimisation.learning_rate())])
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put("point", self.point.values());
        state.put("first", &self.first);
        state.put("second", &self.second);
        self.optimisation.save(&mut state);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        state.get("point", self.point.values_mut())?;
        state.get("first", &mut self.first)?;
        state.get("second", &mut self.second)?;
        self.optimisation.restore(state)
    }

    fn posterior(&self) -> Option<Posterior> {
        Some(Posterior::Point(self.point.clone()))
    }
}
