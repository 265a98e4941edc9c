//! Mean-field variational inference: a diagonal Gaussian maximises the evidence lower bound.

use super::distil::Distillation;
use super::optimise::{Noise, Optimisation, StepRule};
use super::prior::Place;
use super::{Course, Inference, Info, Optimise, Prior, Problem, Scaling, Settings, Started, State, Teacher};
use crate::error::{Error, Result};
use crate::keys::number;
use crate::params::Params;
use crate::posterior::{Gaussian, Posterior};
use onebasin_kernels::gaussian::{Draw, Spread, SquareGaussian, StepGaussian, SumMoments, Weights};
use onebasin_kernels::optimise::Rule;
use onebasin_kernels::{Isa, ThreadPool, math};
use serde::{Deserialize, Serialize};

/// Settings of mean-field variational inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViConfig {
    /// How the lower bound is optimised.
    pub optimise: Optimise,
    /// The standard deviation of every parameter at the start.
    #[serde(default = "default_std")]
    pub std: f64,
    /// Number of points drawn for each step.
    #[serde(default = "number::<1, _>")]
    pub samples: usize,
}

fn default_std() -> f64 {
    0.01
}

impl Settings for ViConfig {
    fn check(&self) -> Result<()> {
        self.optimise.check().map_err(|error| error.within("optimise"))?;
        Error::unless_counted("samples", self.samples as u64)?;
        Error::unless_positive("std", self.std)
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, _: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Vi::new(self, problem, seed, pool)?))
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
    /// Starts around the initialisation of `seed`.
    pub fn new(config: &ViConfig, problem: &Problem, seed: u64, pool: &ThreadPool) -> Result<Self> {
        problem.check()?;
        config.check()?;
        let layout = problem.arch.layout();
        let zeros = || vec![0.0; layout.len()];
        let moments = || [zeros(), vec![0.0; config.optimise.second_len(layout.len())]];
        // The inverse of softplus, ln(eˢ − 1).
        let rho = config.std + (-(-config.std).exp_m1()).ln();
        let mut vi = Self {
            optimisation: Optimisation::new(config.optimise, problem, seed, pool)?,
            samples: config.samples,
            seed,
            mean: problem.arch.initialise(seed).values().to_vec(),
            rho: vec![rho as f32; layout.len()],
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
        let mut vi = Self::new(config, &problem, seed, pool)?;
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
