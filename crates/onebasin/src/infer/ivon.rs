//! IVON (Shen et al. 2024): mean-field variational inference by an online Newton method, as cheap as a step of SGD.

use super::optimise::{Noise, Optimisation};
use super::{
    Course, Divergence, Inference, Info, Optimise, Optimiser, Problem, Schedule, Settings, Started, State, Vectors,
    start_point,
};
use crate::error::{Error, Result};
use crate::keys::number;
use crate::params::Params;
use crate::posterior::{Gaussian, Posterior};
use onebasin_kernels::ThreadPool;
use onebasin_kernels::ivon::{DrawIvon, Scale, StepIvon, SumIvon};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of IVON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IvonConfig {
    /// How the lower bound is optimised; `momentum` is β₁, and `optimiser`, `weight_decay` and `clip_norm` must be left
    /// out.
    pub optimise: Optimise,
    /// Estimate of the Hessian at the start, h₀, so that the standard deviations start at 1/√(λ(h₀ + δ)), except where the
    /// posterior to start from has its own; learning rates are in units of h₀ + δ throughout.
    #[serde(default = "default_hessian")]
    pub hessian: f64,
    /// Decay β₂ of the estimate of the Hessian; 1/(1 − β₂) steps are its memory.
    #[serde(default = "default_hessian_decay")]
    pub hessian_decay: f64,
    /// Number of epochs at the start during which the standard deviations stay: they must not move before the mean has found
    /// something.
    #[serde(default)]
    #[schemars(extend("x-unit" = "epochs"))]
    pub hold: f64,
    /// Largest Newton step of a parameter before the learning rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Number of points drawn for each step.
    #[serde(default = "number::<1, usize>")]
    pub samples: usize,
}

fn default_hessian() -> f64 {
    0.5
}

fn default_hessian_decay() -> f64 {
    0.9999
}

impl Settings for IvonConfig {
    const GROWS: &'static [&'static str] = &["optimise.epochs"];
    const STARTS_AT_POSTERIOR: bool = true;

    fn vectors(&self) -> Vectors {
        // Mean, Hessian, momentum, a draw, its gradient and two sums.
        Vectors { in_memory: 7, written: 2 }
    }

    fn check(&self) -> Result<()> {
        self.optimise.check().map_err(|error| error.within("optimise"))?;
        let Optimise { optimiser, weight_decay, clip_norm, .. } = self.optimise;
        for (given, key, value, expected) in [
            (optimiser != Optimiser::default(), "optimiser", optimiser.to_string(), "left out: IVON is an optimiser"),
            (weight_decay != 0.0, "weight_decay", weight_decay.to_string(), "left out: the prior decays the weights"),
            (
                clip_norm.is_some(),
                "clip_norm",
                clip_norm.unwrap_or_default().to_string(),
                "left out: `infer.clip` clips the steps of IVON",
            ),
        ] {
            Error::unless(!given, key, value, expected).map_err(|error| error.within("optimise"))?;
        }
        Error::unless_positive("hessian", self.hessian)?;
        Error::unless_counted("samples", self.samples as u64)?;
        if !(0.0..1.0).contains(&self.hessian_decay) {
            return Err(Error::setting("hessian_decay", self.hessian_decay, "at least 0 and below 1"));
        }
        if !(0.0..self.optimise.epochs).contains(&self.hold) {
            return Err(Error::setting("hold", self.hold, "at least 0 and below `optimise.epochs`"));
        }
        self.clip.map_or(Ok(()), |clip| Error::unless_positive("clip", clip))
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(self.optimise.schedule)
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, from: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Ivon::new(self.clone(), problem, seed, pool, from)?))
    }
}

/// A Gaussian that IVON optimises.
#[derive(Debug)]
pub struct Ivon {
    config: IvonConfig,
    optimisation: Optimisation,
    seed: u64,
    mean: Vec<f32>,
    momentum: Vec<f32>,
    hessian: Vec<f32>,
    point: Params,
    /// Sums over draws of gradients, and of gradients times distances from the mean.
    sums: [Vec<f32>; 2],
}

/// How often the memory of the Hessian must fit into the updates that move it, so that nothing is left of its start.
const MEMORIES: f64 = 5.0;

/// Smallest h, in units of δ, that is made of a standard deviation: it becomes that of the prior but for half a percent.
const HESSIAN_FLOOR: f64 = 0.01;
/// Largest h that is made of a standard deviation: single precision can work with it.
const LARGEST_HESSIAN: f64 = 1e30;

/// The vectors of a saved state.
const NAMES: [&str; 3] = ["mean", "momentum", "hessian"];

impl Ivon {
    /// Starts around the initialisation of `seed`, or around the mean of a posterior.
    pub fn new(
        config: IvonConfig,
        problem: &Problem,
        seed: u64,
        pool: &ThreadPool,
        from: Option<&Posterior>,
    ) -> Result<Self> {
        problem.check()?;
        config.check()?;
        let layout = problem.arch.layout();
        let mean = start_point(problem, seed, from)?.values().to_vec();
        let zeros = || vec![0.0; layout.len()];
        let mut ivon = Self {
            optimisation: Optimisation::new(config.optimise, problem, seed, pool)?,
            seed,
            mean,
            momentum: zeros(),
            hessian: vec![config.hessian as f32; layout.len()],
            point: Params::zeros(layout),
            sums: [zeros(), zeros()],
            config,
        };
        if let Some(from) = from {
            ivon.take_stds(from.gaussian().std().values());
        }
        ivon.draw(0);
        Ok(ivon)
    }

    /// Takes over standard deviations, by h = 1/(λσ²) − δ; where there is none, h stays. One that is as large as the
    /// prior's leaves h a small positive value.
    fn take_stds(&mut self, stds: &[f32]) {
        let Optimisation { problem, pieces, .. } = &self.optimisation;
        for (range, precision) in pieces.ranges.iter().zip(&pieces.precisions) {
            let Scale { lambda, delta } = scale(problem, *precision);
            let (lambda, delta) = (f64::from(lambda), f64::from(delta));
            for (hessian, std) in self.hessian[range.clone()].iter_mut().zip(&stds[range.clone()]) {
                if *std > 0.0 {
                    let known = 1.0 / (lambda * f64::from(*std).powi(2)) - delta;
                    *hessian = known.min(LARGEST_HESSIAN).max(HESSIAN_FLOOR * delta) as f32;
                }
            }
        }
    }

    /// The Gaussian as it is now.
    pub fn gaussian(&self) -> Gaussian {
        let layout = self.optimisation.problem.arch.layout();
        let mut std = vec![0.0; layout.len()];
        let pieces = &self.optimisation.pieces;
        for (range, precision) in pieces.ranges.iter().zip(&pieces.precisions) {
            let Scale { lambda, delta } = scale(&self.optimisation.problem, *precision);
            for (std, hessian) in std[range.clone()].iter_mut().zip(&self.hessian[range.clone()]) {
                *std = 1.0 / (lambda * (hessian + delta)).sqrt();
            }
        }
        let params = |values| Params::from_values(layout, values).expect("as many values as the layout has");
        Gaussian::new(params(self.mean.clone()), params(std)).expect("an inverse root is never negative")
    }

    /// Draws the point of `sample` of the next step.
    fn draw(&mut self, sample: usize) {
        let Optimisation { problem, pool, isa, pieces, done, .. } = &self.optimisation;
        let noise = Noise::new(self.seed, "ivon", problem, done * self.config.samples as u64 + sample as u64);
        let (isa, mean, hessian) = (*isa, &self.mean, &self.hessian);
        pool.pieces(&pieces.ranges, [self.point.values_mut()], |index, [point]| {
            let range = pieces.ranges[index].clone();
            let scale = scale(problem, pieces.precisions[index]);
            let (mean, hessian) = (&mean[range.clone()], &hessian[range]);
            noise.for_each_block(isa, pieces.places[index], point, |range, noise, out| {
                isa.run(DrawIvon { scale, mean: &mean[range.clone()], hessian: &hessian[range], noise, out });
            });
        });
    }

    fn optimise(&mut self) {
        let Optimisation { optimise, problem, pool, isa, pieces, done, .. } = &self.optimisation;
        let IvonConfig { hessian, hessian_decay, hold, clip, samples, .. } = self.config;
        let examples = problem.training.len();
        let held = (*done as f64) < hold * optimise.steps_per_epoch(examples);
        let learning_rate = optimise.learning_rate_at(*done, examples);
        let decay = optimise.momentum;
        let correction = 1.0 / (1.0 - decay.powf((done + 1) as f64));
        let mean_loss = -1.0 / (samples * optimise.batch) as f64;
        let [gradient, spread] = &self.sums;
        let arrays = [&mut self.mean[..], &mut self.momentum, &mut self.hessian];
        pool.pieces(&pieces.ranges, arrays, |index, [mean, momentum, curvature]| {
            let range = pieces.ranges[index].clone();
            let scale = scale(problem, pieces.precisions[index]);
            isa.run(StepIvon {
                scale,
                mean,
                momentum,
                hessian: curvature,
                gradient: &gradient[range.clone()],
                spread: &spread[range],
                mean_loss: mean_loss as f32,
                decay: decay as f32,
                correction: correction as f32,
                hessian_gain: if held { 0.0 } else { (1.0 - hessian_decay) as f32 },
                rate: (learning_rate * (hessian + f64::from(scale.delta))) as f32,
                clip: clip.map_or(f32::INFINITY, |clip| clip as f32),
            });
        });
    }
}

/// λ = N/T and δ = precision of the prior / N: the temperature divides the whole log posterior, prior included.
fn scale(problem: &Problem, precision: f32) -> Scale {
    let count = problem.training.len() as f64;
    Scale { lambda: (count / problem.temperature) as f32, delta: (f64::from(precision) / count) as f32 }
}

impl Inference for Ivon {
    fn step(&mut self) {
        self.optimisation.load();
        for sample in 0..self.config.samples {
            // The first was drawn by the step before.
            if sample > 0 {
                self.draw(sample);
            }
            self.optimisation.evaluate(&self.point);
            self.optimisation.gather(&self.point, &self.mean, &mut self.sums, sample == 0);
        }
        self.optimise();
        self.optimisation.done += 1;
        self.draw(0);
    }

    fn course(&self) -> Course {
        self.optimisation.course()
    }

    fn warnings(&self) -> Vec<String> {
        let (IvonConfig { hessian_decay, hold, .. }, total) = (&self.config, self.total());
        let held = hold * self.optimisation.optimise.steps_per_epoch(self.optimisation.problem.training.len());
        let moving = total.saturating_sub(held.ceil() as u64);
        let memory = 1.0 / (1.0 - hessian_decay);
        if memory * MEMORIES <= moving as f64 {
            return Vec::new();
        }
        let after = if *hold > 0.0 { " after `infer.hold`" } else { "" };
        let longest = moving as f64 / MEMORIES;
        let fix = if longest > 1.0 {
            format!("lower `infer.hessian_decay` to {:.6} or less, or train for longer", 1.0 - 1.0 / longest)
        } else {
            "train for longer".to_owned()
        };
        vec![format!(
            "the standard deviations stay near their start: the Hessian remembers 1/(1 - hessian_decay) = {memory:.0} \
             updates, of which fewer than {MEMORIES} fit into the {moving} updates{after}; {fix}"
        )]
    }

    fn divergence(&self) -> Option<Divergence> {
        self.optimisation.divergence
    }

    fn info(&mut self) -> Info {
        let (isa, mean, hessian) = (self.optimisation.isa, &self.mean, &self.hessian);
        let problem = self.optimisation.problem.clone();
        self.optimisation.bound(|range, precision| {
            let scale = scale(&problem, precision);
            isa.run(SumIvon { scale, mean: &mean[range.clone()], hessian: &hessian[range] })
        })
    }

    fn state(&self) -> State {
        let mut state = State::default();
        for (name, values) in NAMES.into_iter().zip([&self.mean, &self.momentum, &self.hessian]) {
            state.put(name, values);
        }
        self.optimisation.save(&mut state);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        for (name, values) in NAMES.into_iter().zip([&mut self.mean, &mut self.momentum, &mut self.hessian]) {
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
