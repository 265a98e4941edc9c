//! Hamiltonian Monte Carlo: full batches, several chains, the step size adapted while they burn in.

use super::ensemble::member_seed;
use super::{Course, Inference, Info, Mean, Problem, Settings, Started, State, Vectors};
use crate::error::{Error, Result};
use crate::keys::number;
use crate::params::Params;
use crate::posterior::{Draws, Posterior};
use crate::threads;
use chain::{Chain, Run};
use onebasin_kernels::ThreadPool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

mod chain;

/// Chains that have accepted none of this many proposals since burn-in stand still.
const PATIENCE: u64 = 100;
/// A mean acceptance probability below this is that of chains that stand still.
const STILL: f64 = 1e-6;

/// Settings of Hamiltonian Monte Carlo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HmcConfig {
    /// Number of chains.
    #[serde(default = "number::<4, usize>")]
    pub chains: usize,
    /// Number of trajectories of each chain before samples are kept.
    pub burn_in: u64,
    /// Number of samples kept of each chain.
    pub samples: u64,
    /// Number of trajectories for each sample.
    #[serde(default = "number::<1, u64>")]
    pub thin: u64,
    /// Length of a trajectory in time; by default π/2 times the root of the temperature times the prior's largest
    /// variance: a quarter of the period of a parameter that the data say nothing about.
    pub trajectory: Option<f64>,
    /// Jitter of the length of a trajectory, which is drawn between (1 - jitter) and (1 + jitter) times `trajectory`.
    #[serde(default = "default_jitter")]
    pub jitter: f64,
    /// Step size of the leapfrog; if absent it is found and adapted during burn-in.
    pub step: Option<f64>,
    /// Acceptance probability that the adaptation of the step size aims at.
    #[serde(default = "default_acceptance")]
    pub acceptance: f64,
    /// Largest number of leapfrog steps of one trajectory.
    #[serde(default = "number::<1000, u64>")]
    pub max_leapfrog_steps: u64,
}

fn default_jitter() -> f64 {
    0.2
}
fn default_acceptance() -> f64 {
    0.8
}

impl Settings for HmcConfig {
    const STARTS_AT_POSTERIOR: bool = true;
    /// Differences of energies, which accept or reject, would be those of the rounding.
    const ALLOWS_BF16: bool = false;
    const YIELDS_SAMPLES: bool = true;
    const GROWS: &'static [&'static str] = &["samples", "chains"];

    fn vectors(&self) -> Vectors {
        let chains = self.chains as u128;
        // Two places with their gradients, and the momentum.
        // Samples are written as they come, and once more in the end as a posterior.
        Vectors { in_memory: 5 * chains, written: 2 * chains * u128::from(self.samples) }
    }

    fn check(&self) -> Result<()> {
        Error::unless_counted("chains", self.chains as u64)?;
        Error::unless_counted("samples", self.samples)?;
        Error::unless_counted("thin", self.thin)?;
        Error::unless_counted("max_leapfrog_steps", self.max_leapfrog_steps)?;
        let total = self.samples.checked_mul(self.thin).and_then(|kept| kept.checked_add(self.burn_in));
        let expected = "so few that samples * thin + burn_in is below 2^64";
        Error::unless(total.is_some(), "samples", self.samples, expected)?;
        for (key, value) in [("trajectory", self.trajectory), ("step", self.step)] {
            value.map_or(Ok(()), |value| Error::unless_positive(key, value))?;
        }
        Error::unless((0.0..1.0).contains(&self.jitter), "jitter", self.jitter, "at least 0 and below 1")?;
        let aim = self.acceptance;
        Error::unless(aim > 0.0 && aim < 1.0, "acceptance", aim, "between 0 and 1")
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, from: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Hmc::new(self.clone(), problem, seed, pool, from)?))
    }
}

/// Markov chains under way.
#[derive(Debug)]
pub struct Hmc {
    run: Run,
    chains: Vec<Mutex<Chain>>,
    pool: ThreadPool,
    /// The chains that the last step advanced.
    advanced: Vec<usize>,
}

impl Hmc {
    /// Each chain starts at the initialisation of a seed of its own, or at a draw from a posterior.
    pub fn new(
        config: HmcConfig,
        problem: &Problem,
        seed: u64,
        pool: &ThreadPool,
        from: Option<&Posterior>,
    ) -> Result<Self> {
        problem.check()?;
        config.check()?;
        if problem.training.augment().is_some() {
            return Err(Error::setting("data.augment", "given", "left out for `hmc`, whose steps need all examples"));
        }
        if let Some(from) = from {
            problem.arch.layout().check_same(from.layout())?;
        }
        let count = config.chains;
        let run = Run::new(config, problem);
        let chains = (0..count).map(|index| {
            let seed = member_seed(seed, index);
            let mut start = problem.arch.initialise(seed);
            if let Some(from) = from {
                let draws = from.draws(count);
                from.draw(seed, index % draws, draws, &mut start)?;
            }
            Ok(Mutex::new(Chain::new(&run, start, seed, threads::inner(pool, count)?)?))
        });
        Ok(Self { chains: chains.collect::<Result<_>>()?, run, pool: pool.clone(), advanced: Vec::new() })
    }

    fn chain(&self, index: usize) -> std::sync::MutexGuard<'_, Chain> {
        self.chains[index].lock().expect("no chain panicked")
    }
}

impl Inference for Hmc {
    /// Advances the chains that are least far: those of an inference that was extended by chains begin later than the others.
    fn step(&mut self) {
        let least = self.done();
        self.advanced = (0..self.chains.len()).filter(|index| self.chain(*index).done == least).collect();
        self.pool.for_each(self.advanced.len(), |place| self.chain(self.advanced[place]).iterate(&self.run));
    }

    fn course(&self) -> Course {
        let HmcConfig { burn_in, samples, thin, .. } = self.run.config;
        let courses = (0..self.chains.len()).map(|index| {
            let chain = self.chain(index);
            (chain.done, chain.gradients)
        });
        let (done, gradients) = courses.min().expect("there is a chain");
        Course { done, total: burn_in + samples * thin, epoch: gradients as f64 }
    }
    fn log_every(&self) -> u64 {
        1
    }

    fn stuck(&self) -> Option<u64> {
        let proposals = self.done().saturating_sub(self.run.config.burn_in);
        let moves = |index: usize| { self.chain(index).accepted_since_burn_in }.take() > STILL;
        (proposals >= PATIENCE && !(0..self.chains.len()).any(moves)).then_some(proposals)
    }

    fn info(&mut self) -> Info {
        let images = self.run.problem.training.len() as f64;
        let mut means = [Mean::default(); 6];
        let mut divergences = 0.0;
        for index in 0..self.chains.len() {
            let mut chain = self.chain(index);
            let values = [
                -chain.log_likelihood / images,
                chain.log_prior / images,
                chain.accepted.take(),
                chain.energy_error.take(),
                chain.step_size,
                { chain.accepted_since_burn_in }.take(),
            ];
            for (mean, value) in means.iter_mut().zip(values) {
                // A chain that rests has nothing new to tell.
                if self.advanced.contains(&index) || !value.is_nan() {
                    mean.add(value);
                }
            }
            divergences += chain.divergences as f64;
        }
        let [nll, log_prior, acceptance, energy_error, step_size, since_burn_in] = means.map(|mut mean| mean.take());
        Info(vec![
            ("nll", nll),
            ("log_prior", log_prior),
            ("acceptance", acceptance),
            ("energy_error", energy_error),
            ("step_size", step_size),
            ("acceptance_since_burn_in", since_burn_in),
            ("divergences", divergences),
        ])
    }

    fn state(&self) -> State {
        let mut state = State::default();
        for index in 0..self.chains.len() {
            state.put_all(&format!("chain{index}"), self.chain(index).state());
        }
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        for index in 0..self.chains.len() {
            let name = format!("chain{index}");
            if index == 0 || state.has(&name) {
                self.chain(index).restore(&self.run, &state.get_all(&name))?;
            }
        }
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        None
    }

    fn fresh(&self) -> Vec<(usize, Params)> {
        let HmcConfig { burn_in, thin, .. } = self.run.config;
        let sample = |index: &usize| {
            let chain = self.chain(*index);
            let kept = chain.done.saturating_sub(burn_in);
            (kept > 0 && kept.is_multiple_of(thin)).then(|| (*index, chain.position().clone()))
        };
        self.advanced.iter().filter_map(sample).collect()
    }

    fn handed_out(&self) -> Vec<u64> {
        let HmcConfig { burn_in, thin, .. } = self.run.config;
        (0..self.chains.len()).map(|index| self.chain(index).done.saturating_sub(burn_in) / thin).collect()
    }
}
