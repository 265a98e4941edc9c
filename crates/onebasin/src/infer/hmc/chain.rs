//! One chain: leapfrog trajectories, each accepted or not, with likelihood and prior kept apart in f64.

use super::super::optimise::CHECKED;
use super::super::prior::Pieces;
use super::super::{Mean, Problem, State};
use super::HmcConfig;
use crate::error::Result;
use crate::model::{Batch, DifferentiableModel};
use crate::params::Params;
use crate::rng::Stream;
use onebasin_kernels::elementwise::KickAndDrift;
use onebasin_kernels::{Isa, ThreadPool};
use rand_chacha::rand_core::Rng;

/// An error of the energy beyond which a trajectory is called divergent, as in Stan.
const DIVERGENCE: f64 = 1000.0;
/// Halvings in search of a first step size, at most.
const MOST_HALVINGS: usize = 60;

/// What all chains share.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) config: HmcConfig,
    pub(super) problem: Problem,
    pieces: Pieces,
    images: Vec<f32>,
    labels: Vec<u32>,
}

impl Run {
    pub(super) fn new(config: HmcConfig, problem: &Problem) -> Self {
        let (images, labels) = problem.training.all();
        Self { config, problem: problem.clone(), pieces: problem.prior.pieces(&problem.arch), images, labels }
    }

    fn batch(&self) -> Batch<'_> {
        Batch { inputs: &self.images, labels: &self.labels }
    }

    fn trajectory(&self) -> f64 {
        let default = || {
            let largest = self.problem.prior.variances(&self.problem.arch).into_iter().fold(0.0, f64::max);
            std::f64::consts::FRAC_PI_2 * (self.problem.temperature * largest).sqrt()
        };
        self.config.trajectory.unwrap_or_else(default)
    }
}

/// A chain and what it has seen since it was last asked.
#[derive(Debug)]
pub(super) struct Chain {
    seed: u64,
    model: Box<dyn DifferentiableModel>,
    pool: ThreadPool,
    isa: Isa,
    here: Place,
    there: Place,
    momentum: Params,
    adaptation: Option<DualAveraging>,
    pub(super) step_size: f64,
    pub(super) log_likelihood: f64,
    pub(super) log_prior: f64,
    pub(super) accepted: Mean,
    pub(super) accepted_since_burn_in: Mean,
    /// The mean of |error of the energy|, infinite if a trajectory diverged.
    pub(super) energy_error: Mean,
    /// While burning in, or since.
    pub(super) divergences: u64,
    pub(super) gradients: u64,
    /// Trajectories done.
    pub(super) done: u64,
}

/// A position and the gradient of the log-likelihood there.
#[derive(Debug)]
struct Place {
    position: Params,
    gradient: Params,
}

impl Chain {
    pub(super) fn new(run: &Run, start: Params, seed: u64, pool: ThreadPool) -> Result<Self> {
        let layout = start.layout().clone();
        let place = |position| Place { position, gradient: Params::zeros(&layout) };
        let mut chain = Self {
            seed,
            model: run.problem.model(&pool)?,
            pool,
            isa: Isa::detect(),
            there: place(start.clone()),
            here: place(start),
            momentum: Params::zeros(&layout),
            adaptation: None,
            step_size: run.config.step.unwrap_or(f64::NAN),
            log_likelihood: f64::NAN,
            log_prior: f64::NAN,
            accepted: Mean::default(),
            accepted_since_burn_in: Mean::default(),
            energy_error: Mean::default(),
            divergences: 0,
            gradients: 0,
            done: 0,
        };
        (chain.log_likelihood, chain.log_prior) = chain.evaluate_here(run);
        Ok(chain)
    }

    pub(super) fn position(&self) -> &Params {
        &self.here.position
    }

    /// The next trajectory.
    pub(super) fn iterate(&mut self, run: &Run) {
        let (iteration, burn_in) = (self.done, run.config.burn_in);
        let (adapting, last_of_burn_in) = (iteration < burn_in, iteration + 1 == burn_in);
        self.done += 1;
        if self.step_size.is_nan() {
            self.step_size = self.first_step_size(run);
            self.adaptation = Some(DualAveraging::new(self.step_size));
        }
        self.draw_momentum(iteration);
        let mut generator = Stream::new(self.seed, "trajectory", iteration).generator();
        let mut uniform = || (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let length = run.trajectory() * (1.0 + run.config.jitter * (2.0 * uniform() - 1.0));
        let steps = (length / self.step_size).ceil().clamp(1.0, run.config.max_leapfrog_steps as f64) as u64;

        let end = self.leapfrog(run, steps);
        let acceptance = (-end.energy_error).exp().min(1.0);
        // A trajectory that left the numbers is rejected too.
        let divergent = end.energy_error.is_nan() || end.energy_error >= DIVERGENCE;
        let acceptance = if divergent { 0.0 } else { acceptance };
        self.divergences += u64::from(divergent);
        self.accepted.add(acceptance);
        if !adapting {
            self.accepted_since_burn_in.add(acceptance);
        }
        self.energy_error.add(if divergent { f64::INFINITY } else { end.energy_error.abs() });
        if uniform() < acceptance {
            std::mem::swap(&mut self.here, &mut self.there);
            (self.log_likelihood, self.log_prior) = (end.log_likelihood, end.log_prior);
        }
        if last_of_burn_in {
            // Those of the search for a step size say nothing about the samples.
            self.divergences = 0;
        }
        if let Some(adaptation) = self.adaptation.as_mut().filter(|_| adapting) {
            self.step_size = adaptation.update(acceptance, run.config.acceptance);
            if last_of_burn_in {
                self.step_size = adaptation.finish();
            }
        }
    }

    fn draw_momentum(&mut self, iteration: u64) {
        Stream::new(self.seed, "momentum", iteration).fill_normal(self.momentum.values_mut());
    }

    /// Goes from here to there.
    fn leapfrog(&mut self, run: &Run, steps: u64) -> End {
        self.there.position.values_mut().copy_from_slice(self.here.position.values());
        self.there.gradient.values_mut().copy_from_slice(self.here.gradient.values());
        let kinetic = half_square(&self.momentum);
        let mut log_likelihood = self.log_likelihood;
        self.kick_and_drift(run, 0.5, 1.0);
        for step in 1..=steps {
            log_likelihood =
                self.model.gradient(&self.there.position, run.batch(), &mut self.there.gradient).expect(CHECKED);
            self.gradients += 1;
            let (kick, drift) = if step < steps { (1.0, 1.0) } else { (0.5, 0.0) };
            self.kick_and_drift(run, kick, drift);
        }
        let log_prior = run.problem.prior.log_density(&run.problem.arch, &self.there.position);
        // Each difference on its own: the sums are large, their differences small.
        let potential = (self.log_likelihood - log_likelihood) + (self.log_prior - log_prior);
        let energy_error = potential / run.problem.temperature + (half_square(&self.momentum) - kinetic);
        End { log_likelihood, log_prior, energy_error }
    }

    fn kick_and_drift(&mut self, run: &Run, kick: f64, drift: f64) {
        let (isa, pieces) = (self.isa, &run.pieces);
        let kick = (kick * self.step_size / run.problem.temperature) as f32;
        let drift = (drift * self.step_size) as f32;
        let gradient = self.there.gradient.values();
        let arrays = [self.momentum.values_mut(), self.there.position.values_mut()];
        self.pool.pieces(&pieces.ranges, arrays, |index, [momentum, position]| {
            let gradient = &gradient[pieces.ranges[index].clone()];
            isa.run(KickAndDrift { momentum, position, gradient, precision: pieces.precisions[index], kick, drift });
        });
    }

    /// Log-likelihood and log prior here, and the gradient.
    fn evaluate_here(&mut self, run: &Run) -> (f64, f64) {
        let Place { position, gradient } = &mut self.here;
        let log_likelihood = self.model.gradient(position, run.batch(), gradient).expect(CHECKED);
        self.gradients += 1;
        (log_likelihood, run.problem.prior.log_density(&run.problem.arch, position))
    }

    /// The longest step, halved from a whole trajectory, that alone would be accepted half of the time.
    fn first_step_size(&mut self, run: &Run) -> f64 {
        self.draw_momentum(u64::MAX);
        let start = self.momentum.clone();
        self.step_size = run.trajectory();
        for _ in 0..MOST_HALVINGS {
            self.momentum.values_mut().copy_from_slice(start.values());
            if self.leapfrog(run, 1).energy_error < std::f64::consts::LN_2 {
                break;
            }
            self.step_size *= 0.5;
        }
        self.step_size
    }

    pub(super) fn state(&self) -> State {
        let mut state = State::default();
        state.put("position", self.here.position.values());
        state.put_number("step_size", self.step_size);
        state.put_number("divergences", self.divergences as f64);
        state.put_number("gradients", self.gradients as f64);
        state.put_number("done", self.done as f64);
        state.put_mean("accepted", self.accepted);
        state.put_mean("accepted_since_burn_in", self.accepted_since_burn_in);
        state.put_mean("energy_error", self.energy_error);
        if let Some(adaptation) = &self.adaptation {
            adaptation.save(&mut state);
        }
        state
    }

    pub(super) fn restore(&mut self, run: &Run, state: &State) -> Result<()> {
        state.get("position", self.here.position.values_mut())?;
        // The same bits as when the position was reached.
        (self.log_likelihood, self.log_prior) = self.evaluate_here(run);
        self.step_size = state.get_number("step_size")?;
        self.divergences = state.get_number("divergences")? as u64;
        self.gradients = state.get_number("gradients")? as u64;
        self.done = state.get_number("done")? as u64;
        self.accepted = state.get_mean("accepted")?;
        self.accepted_since_burn_in = state.get_mean("accepted_since_burn_in")?;
        self.energy_error = state.get_mean("energy_error")?;
        self.adaptation = match run.config.step {
            // Not started before the first trajectory.
            None if !self.step_size.is_nan() => Some(DualAveraging::load(state)?),
            _ => None,
        };
        Ok(())
    }
}

struct End {
    log_likelihood: f64,
    log_prior: f64,
    energy_error: f64,
}

/// The kinetic energy.
fn half_square(momentum: &Params) -> f64 {
    0.5 * momentum.norm().powi(2)
}

/// The numbers of the adaptation in a saved state.
const ADAPT: [&str; 4] = ["adapt.centre", "adapt.shortfall", "adapt.average", "adapt.count"];

/// γ, t₀ and κ of Hoffman and Gelman.
const SHRINKAGE: f64 = 0.05;
const OFFSET: f64 = 10.0;
const FORGETTING: f64 = 0.75;

/// Dual averaging of the step size (Hoffman and Gelman 2014, section 3.2).
#[derive(Clone, Copy, Debug)]
struct DualAveraging {
    /// μ: the logarithm it is drawn towards.
    centre: f64,
    /// Mean shortfall of the acceptance.
    shortfall: f64,
    /// The averaged logarithm of the step size, which remains in the end.
    average: f64,
    count: f64,
}

impl DualAveraging {
    fn new(step_size: f64) -> Self {
        Self { centre: (10.0 * step_size).ln(), shortfall: 0.0, average: step_size.ln(), count: 0.0 }
    }

    /// The step size to use after a trajectory was accepted with this probability.
    fn update(&mut self, acceptance: f64, aim: f64) -> f64 {
        self.count += 1.0;
        let weight = 1.0 / (self.count + OFFSET);
        self.shortfall += weight * (aim - acceptance - self.shortfall);
        let log_step = self.centre - self.count.sqrt() / SHRINKAGE * self.shortfall;
        let weight = self.count.powf(-FORGETTING);
        self.average += weight * (log_step - self.average);
        log_step.exp()
    }

    fn finish(&self) -> f64 {
        self.average.exp()
    }

    fn save(&self, state: &mut State) {
        for (name, number) in ADAPT.into_iter().zip([self.centre, self.shortfall, self.average, self.count]) {
            state.put_number(name, number);
        }
    }

    fn load(state: &State) -> Result<Self> {
        let [centre, shortfall, average, count] = ADAPT.map(|name| state.get_number(name));
        Ok(Self { centre: centre?, shortfall: shortfall?, average: average?, count: count? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_size_settles_where_the_acceptance_is_as_wanted() {
        // A sampler whose acceptance falls with the step size: exp(-s), 0.8 at s = 0.223.
        let mut adaptation = DualAveraging::new(5.0);
        let mut step: f64 = 5.0;
        for _ in 0..2000 {
            step = adaptation.update((-step).exp(), 0.8);
        }
        let wanted = -(0.8f64.ln());
        assert!((adaptation.finish() / wanted - 1.0).abs() < 0.05, "{} for {wanted}", adaptation.finish());
    }
}
