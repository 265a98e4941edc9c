//! Mean-field variational inference: a diagonal Gaussian maximises the evidence lower bound.

use super::distil::Distillation;
use super::optimise::{Noise, Optimisation, StepRule};
use super::prior::Place;
use super::{
    Course, Divergence, Inference, Info, Optimise, Prior, Problem, Scaling, Schedule, Settings, Started, State,
    Teacher, Vectors, start_point,
};
use crate::error::{Error, Result};
use crate::keys::number;
use crate::params::Params;
use crate::posterior::{Gaussian, Posterior};
use onebasin_kernels::gaussian::{Draw, Spread, SquareGaussian, StepGaussian, SumMoments, Weights};
use onebasin_kernels::optimise::Rule;
use onebasin_kernels::{Isa, ThreadPool, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of mean-field variational inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViConfig {
    /// How the lower bound is optimised.
    pub optimise: Optimise,
    /// Standard deviation of every parameter at the start; by default that of the posterior to start from, and 0.01 where it
    /// has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// MOPED's δ: the standard deviations start at δ times the size of the mean of the posterior to start from, at least δ/100
    /// times the root mean square of all means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moped: Option<f64>,
    /// Number of points drawn for each step.
    #[serde(default = "number::<1, usize>")]
    pub samples: usize,
}

impl ViConfig {
    /// Standard deviation at the start where nothing else is said.
    pub const STD: f64 = 0.01;

    /// The standard deviations at the start, as long as the mean.
    fn stds(&self, mean: &[f32], from: Option<&Posterior>) -> Result<Vec<f64>> {
        if let Some(delta) = self.moped {
            let expected = "left out without a posterior to start from (`start`), whose means it multiplies";
            Error::unless(from.is_some(), "moped", delta, expected)?;
            let squares: f64 = mean.iter().map(|mean| f64::from(*mean).powi(2)).sum();
            let least = MOPED_FLOOR * (squares / mean.len() as f64).sqrt();
            let fault = "left out for a posterior to start from whose means are all zero";
            Error::unless(delta * least >= 1e-30, "moped", delta, fault)?;
            return Ok(mean.iter().map(|mean| delta * f64::from(mean.abs()).max(least)).collect());
        }
        match (self.std, from) {
            (None, Some(from)) => {
                let known = |std: &f32| if *std > 0.0 { f64::from(*std) } else { Self::STD };
                Ok(from.gaussian().std().values().iter().map(known).collect())
            }
            (std, _) => Ok(vec![std.unwrap_or(Self::STD); mean.len()]),
        }
    }
}

/// What MOPED takes for a mean that is smaller, in units of the root mean square of all: a parameter that happens to be near
/// zero must not be held there by a standard deviation of nearly zero.
const MOPED_FLOOR: f64 = 0.01;

impl Settings for ViConfig {
    const GROWS: &'static [&'static str] = &["optimise.epochs"];
    const STARTS_AT_POSTERIOR: bool = true;

    fn vectors(&self) -> Vectors {
        // Mean, standard deviation, two moments of each, a draw and its gradient.
        Vectors { in_memory: 8, written: 2 }
    }

    fn check(&self) -> Result<()> {
        self.optimise.check().map_err(|error| error.within("optimise"))?;
        Error::unless_counted("samples", self.samples as u64)?;
        for (key, value) in [("std", self.std), ("moped", self.moped)] {
            value.map_or(Ok(()), |value| Error::unless_positive(key, value))?;
        }
        match (self.std, self.moped) {
            (Some(_), Some(delta)) => Err(Error::setting("moped", delta, "left out where `std` is given")),
            _ => Ok(()),
        }
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(self.optimise.schedule)
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, from: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Vi::new(self, problem, seed, pool, from)?))
    }
}

/// A Gaussian that is optimised.
#[derive(Debug)]
pub struct Vi {
    optimisation: Optimisation,
    samples: usize,
    seed: u64,
    mean: Vec<f32>,
    /// The standard deviations are softplus of this.
    rho: Vec<f32>,
    mean_moments: [Vec<f32>; 2],
    rho_moments: [Vec<f32>; 2],
    point: Params,
    /// Sums of gradients and of gradients times distances from the mean; empty for a single sample.
    sums: [Vec<f32>; 2],
}

impl Vi {
    /// Starts around the initialisation of `seed`, or around the mean of a posterior.
    pub fn new(
        config: &ViConfig,
        problem: &Problem,
        seed: u64,
        pool: &ThreadPool,
        from: Option<&Posterior>,
    ) -> Result<Self> {
        problem.check()?;
        config.check()?;
        let layout = problem.arch.layout();
        let zeros = || vec![0.0; layout.len()];
        let moments = || [zeros(), vec![0.0; config.optimise.second_len(layout.len())]];
        let mean = start_point(problem, seed, from)?;
        // The inverse of softplus, ln(eˢ − 1).
        let rho = |std: f64| (std + (-(-std).exp_m1()).ln()) as f32;
        let stds = config.stds(mean.values(), from).map_err(|error| error.within("infer"))?;
        let mut vi = Self {
            optimisation: Optimisation::new(config.optimise, problem, seed, pool)?,
            samples: config.samples,
            seed,
            mean: mean.values().to_vec(),
            rho: stds.into_iter().map(rho).collect(),
            mean_moments: moments(),
            rho_moments: moments(),
            point: Params::zeros(layout),
            sums: if config.samples > 1 { [zeros(), zeros()] } else { [Vec::new(), Vec::new()] },
        };
        vi.draw(0);
        Ok(vi)
    }

    /// Distils a teacher: starts at its Gaussian, which is the prior too, and learns what it predicts on the examples of the
    /// problem, whose own labels and prior are not looked at. Standard deviations start at `config.std` times those of that
    /// Gaussian, and learning rates are in units of them.
    pub fn distil(
        config: &ViConfig,
        problem: &Problem,
        teacher: Teacher<'_>,
        seed: u64,
        pool: &ThreadPool,
    ) -> Result<Self> {
        let (arch, examples) = (&problem.arch, problem.training.len());
        arch.layout().check_same(teacher.gaussian.mean().layout())?;
        let problem = Problem { prior: Prior { variance: 1.0, scaling: Scaling::One }, ..problem.clone() };
        let mut vi = Self::new(config, &problem, seed, pool, None)?;
        vi.optimisation.distillation = Some(Distillation::new(teacher, examples, arch.classes(), seed)?);
        vi.mean.fill(0.0);
        vi.draw(0);
        Ok(vi)
    }

    /// The Gaussian as it is now.
    pub fn gaussian(&self) -> Gaussian {
        let layout = self.optimisation.problem.arch.layout();
        let params = |values| Params::from_values(layout, values).expect("as many values as the layout has");
        let std: Vec<f32> = self.rho.iter().map(|rho| math::softplus(*rho)).collect();
        if let Some(distillation) = &self.optimisation.distillation {
            return distillation.gaussian(&self.mean, &std);
        }
        Gaussian::new(params(self.mean.clone()), params(std)).expect("softplus is never negative")
    }

    /// Draws the point of `sample` of the next step.
    fn draw(&mut self, sample: usize) {
        let Optimisation { problem, pool, isa, pieces, done, .. } = &self.optimisation;
        let noise = Noise::new(self.seed, "vi", problem, done * self.samples as u64 + sample as u64);
        let (isa, mean, rho) = (*isa, &self.mean, &self.rho);
        pool.pieces(&pieces.ranges, [self.point.values_mut()], |index, [point]| {
            let range = pieces.ranges[index].clone();
            draw(&noise, isa, pieces.places[index], &mean[range.clone()], &rho[range], point);
        });
    }

    /// Steps the Gaussian, and draws the first point of the step after it while each piece is still in the cache.
    fn advance<R: Rule>(&mut self, rule: R) {
        let Optimisation { optimise, problem, pool, isa, pieces, gradient, done, .. } = &self.optimisation;
        let (temperature, count) = (problem.temperature, self.optimisation.label_count());
        let weights = |factor: f64, index: usize| Weights {
            scale: (factor / (temperature * (self.samples * optimise.batch) as f64)) as f32,
            decay: (factor / (temperature * count)) as f32 * pieces.precisions[index],
            entropy: (factor / count) as f32,
        };
        let noise = Noise::new(self.seed, "vi", problem, (done + 1) * self.samples as u64);
        let (isa, single, gradient) = (*isa, self.samples == 1, gradient.values());
        let [sum, spread_sum] = &self.sums;
        let gradient = if single { gradient } else { sum };
        let (mean, rho, point) = (&self.mean, &self.rho, self.point.values());
        let clip = self.optimisation.clip(|index| {
            let range = pieces.ranges[index].clone();
            let spread =
                if single { Spread::Point(&point[range.clone()]) } else { Spread::Summed(&spread_sum[range.clone()]) };
            let (mean, rho, gradient) = (&mean[range.clone()], &rho[range.clone()], &gradient[range]);
            isa.run(SquareGaussian { mean, rho, gradient, spread, weights: weights(1.0, index) })
        });
        let shrink = self.optimisation.shrink();
        let ([first, second], [third, fourth]) = (&mut self.mean_moments, &mut self.rho_moments);
        let arrays = [&mut self.mean[..], &mut self.rho, self.point.values_mut(), first, second, third, fourth];
        pool.pieces(&pieces.ranges, arrays, |index, [mean, rho, point, first, second, third, fourth]| {
            let range = pieces.ranges[index].clone();
            let spread = if single { Spread::Point(point) } else { Spread::Summed(&spread_sum[range.clone()]) };
            isa.run(StepGaussian {
                rule,
                mean,
                rho,
                mean_moments: [first, second],
                rho_moments: [third, fourth],
                gradient: &gradient[range],
                spread,
                weights: weights(clip, index),
                shrink,
            });
            draw(&noise, isa, pieces.places[index], mean, rho, point);
        });
    }
}

/// The vectors of a saved state.
const NAMES: [&str; 6] = ["mean", "rho", "mean.first", "mean.second", "rho.first", "rho.second"];

/// Draws one piece.
fn draw(noise: &Noise, isa: Isa, place: Place, mean: &[f32], rho: &[f32], point: &mut [f32]) {
    noise.for_each_block(isa, place, point, |range, noise, out| {
        isa.run(Draw { mean: &mean[range.clone()], rho: &rho[range], noise, out });
    });
}

impl Inference for Vi {
    fn step(&mut self) {
        self.optimisation.load();
        for sample in 0..self.samples {
            // The first was drawn by the step before.
            if sample > 0 {
                self.draw(sample);
            }
            self.optimisation.evaluate(&self.point);
            if self.samples > 1 {
                self.optimisation.gather(&self.point, &self.mean, &mut self.sums, sample == 0);
            }
        }
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
        let (isa, mean, rho) = (self.optimisation.isa, &self.mean, &self.rho);
        self.optimisation.bound(|range, _| {
            let moments = isa.run(SumMoments { mean: &mean[range.clone()], rho: &rho[range] });
            [moments.log_stds, moments.squares]
        })
    }

    fn state(&self) -> State {
        let mut state = State::default();
        let (means, rhos) = (&self.mean_moments, &self.rho_moments);
        let vectors = [&self.mean, &self.rho, &means[0], &means[1], &rhos[0], &rhos[1]];
        for (name, values) in NAMES.into_iter().zip(vectors) {
            state.put(name, values);
        }
        self.optimisation.save(&mut state);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        let ([first, second], [third, fourth]) = (&mut self.mean_moments, &mut self.rho_moments);
        let vectors = [&mut self.mean, &mut self.rho, first, second, third, fourth];
        for (name, values) in NAMES.into_iter().zip(vectors) {
            state.get(name, values)?;
        }
        self.optimisation.restore(state)?;
        self.draw(0);
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        Some(Posterior::Gaussian(self.gaussian()))
    }
}
