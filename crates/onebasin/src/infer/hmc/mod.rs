//! Hamiltonian Monte Carlo: full batches, several chains, the step size adapted while they burn in.

use super::Inference;
use super::Info;
use super::Mean;
use super::Problem;
use super::State;
use super::ensemble::member_seed;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::params::Params;
use crate::posterior::Draws;
use crate::posterior::Posterior;
use chain::Chain;
use chain::Run;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Mutex;

mod adapt;
mod chain;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HmcConfig {
    /// Number of chains.
    #[serde(default = "default_chains")]
    pub chains: usize,
    /// Trajectories of each chain before samples are kept.
    pub burn_in: u64,
    /// Samples kept of each chain.
    pub samples: u64,
    /// Trajectories for each sample.
    #[serde(default = "one")]
    pub thin: u64,
    /// Length of a trajectory in time; by default π/2 times the root of the temperature times the prior's largest
    /// variance: a quarter of the period of a parameter that the data say nothing about.
    pub trajectory: Option<f64>,
    /// The length is drawn between (1 - jitter) and (1 + jitter) times that.
    #[serde(default = "default_jitter")]
    pub jitter: f64,
    /// The step size; if absent it is found and adapted while burning in.
    pub step: Option<f64>,
    /// The acceptance that the adaptation aims at.
    #[serde(default = "default_acceptance")]
    pub acceptance: f64,
    /// Leapfrog steps of one trajectory, at most.
    #[serde(default = "default_most_steps")]
    pub most_steps: u64,
}

fn default_chains() -> usize {
    4
}
fn one() -> u64 {
    1
}
fn default_jitter() -> f64 {
    0.2
}
fn default_acceptance() -> f64 {
    0.8
}
fn default_most_steps() -> u64 {
    1000
}

impl HmcConfig {
    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("infer.chains", self.chains as u64),
            ("infer.samples", self.samples),
            ("infer.thin", self.thin),
            ("infer.most_steps", self.most_steps),
        ];
        if let Some((what, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::Zero { what: (*what).to_owned() });
        }
        let total = self.samples.checked_mul(self.thin).and_then(|kept| kept.checked_add(self.burn_in));
        if total.is_none() {
            let what = "infer.burn_in + infer.samples * infer.thin".to_owned();
            return Err(Error::TooLarge { what, size: usize::MAX });
        }
        for (what, value) in [("infer.trajectory", self.trajectory), ("infer.step", self.step)] {
            value.map_or(Ok(()), |value| Error::unless_positive(what, value))?;
        }
        if !(0.0..1.0).contains(&self.jitter) {
            let (what, value) = ("infer.jitter", self.jitter.to_string());
            return Err(Error::OutOfRange { what, value, expected: "at least 0 and below 1" });
        }
        if !(self.acceptance > 0.0 && self.acceptance < 1.0) {
            let (what, value) = ("infer.acceptance", self.acceptance.to_string());
            return Err(Error::OutOfRange { what, value, expected: "between 0 and 1" });
        }
        Ok(())
    }
}

/// Chains on their way.
#[derive(Debug)]
pub struct Hmc {
    run: Run,
    chains: Vec<Mutex<Chain>>,
    team: Team,
    done: u64,
}

impl Hmc {
    /// Each chain begins at the initial values of a seed of its own, or at a draw from a posterior.
    pub fn new(
        config: HmcConfig,
        problem: &Problem,
        seed: u64,
        threads: usize,
        from: Option<&Posterior>,
    ) -> Result<Self> {
        problem.check()?;
        config.check()?;
        if let Some(from) = from {
            problem.arch.layout().check_same(from.layout())?;
        }
        let (inner, count) = ((threads / config.chains).max(1), config.chains);
        let outer = threads.min(count);
        let run = Run::new(config, problem);
        let chains = (0..count).map(|index| {
            let seed = member_seed(seed, index);
            let mut start = problem.arch.initialise(seed);
            if let Some(from) = from {
                let draws = from.draws(count);
                from.draw(seed, index % draws, draws, &mut start)?;
            }
            Ok(Mutex::new(Chain::new(&run, start, seed, problem.net(inner)?)))
        });
        Ok(Self {
            chains: chains.collect::<Result<_>>()?,
            run,
            team: Team::new(outer).map_err(|error| Error::Threads { threads, reason: error.to_string() })?,
            done: 0,
        })
    }

    fn chain(&self, index: usize) -> std::sync::MutexGuard<'_, Chain> {
        self.chains[index].lock().expect("no chain panicked")
    }
}

impl Inference for Hmc {
    fn step(&mut self) {
        let adapting = self.done < self.run.config.burn_in;
        let last = self.done + 1 == self.run.config.burn_in;
        self.team.for_each(self.chains.len(), |index| self.chain(index).iterate(&self.run, self.done, adapting, last));
        self.done += 1;
    }

    fn done(&self) -> u64 {
        self.done
    }
    fn total(&self) -> u64 {
        self.run.config.burn_in + self.run.config.samples * self.run.config.thin
    }
    fn epoch(&self) -> f64 {
        self.chain(0).gradients as f64
    }
    fn log_every(&self) -> u64 {
        1
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
                mean.add(value);
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
        state.put_number("done", self.done as f64);
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        for index in 0..self.chains.len() {
            self.chain(index).restore(&self.run, &state.get_all(&format!("chain{index}")))?;
        }
        self.done = state.get_number("done")? as u64;
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        None
    }

    fn fresh(&self) -> Vec<(usize, Params)> {
        let kept = self.done.checked_sub(self.run.config.burn_in).filter(|kept| *kept > 0);
        if !kept.is_some_and(|kept| kept.is_multiple_of(self.run.config.thin)) {
            return Vec::new();
        }
        (0..self.chains.len()).map(|index| (index, self.chain(index).position().clone())).collect()
    }

    fn chains(&self) -> usize {
        self.chains.len()
    }
}
