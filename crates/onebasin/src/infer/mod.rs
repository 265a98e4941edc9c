//! Inference: from a problem to a posterior, one step at a time, stopped and continued at will.
//!
//! All methods have one shape: made by `new` (the settings, a [`Problem`], a seed), advanced by [`Inference::step`],
//! saved as a [`State`] and continued from one with the same bits, watched through [`Info`].

pub mod diagnostics;
mod ascent;
mod ensemble;
mod hmc;
mod map;
mod optimise;
mod prior;
mod state;
mod taught;
mod vi;

pub use ensemble::Ensemble;
pub use ensemble::EnsembleConfig;
pub(crate) use ensemble::member_seed;
pub use hmc::Hmc;
pub use hmc::HmcConfig;
pub use map::Map;
pub use map::MapConfig;
pub use optimise::Optimise;
pub use optimise::Optimiser;
pub use optimise::Schedule;
pub use prior::Prior;
pub use prior::Scaling;
pub use state::State;
pub use taught::Teacher;
pub use vi::Vi;
pub use vi::ViConfig;

use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::net::Likelihood;
use crate::net::Net;
use crate::params::Params;
use crate::posterior::Posterior;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// What is to be inferred: the log posterior is (log-likelihood of all training images + log prior) / temperature.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The network.
    pub arch: Arch,
    /// What its outputs mean.
    pub likelihood: Likelihood,
    /// What is known of its parameters before.
    pub prior: Prior,
    /// Below one: a cold posterior.
    pub temperature: f64,
    /// The data.
    pub training: Arc<Examples>,
}

impl Problem {
    /// Says what is wrong with the numbers, or what does not fit.
    pub fn check(&self) -> Result<()> {
        self.likelihood.check()?;
        self.prior.check()?;
        check_temperature(self.temperature)?;
        self.training.check_fits(&self.arch)
    }

    fn net(&self, threads: usize) -> Result<Net> {
        Net::new(&self.arch, threads)?.with_likelihood(self.likelihood)
    }
}

/// Says whether a temperature is one.
pub(crate) fn check_temperature(temperature: f64) -> Result<()> {
    Error::unless_positive("temperature", temperature)
}

/// Which method, with its settings; in a configuration, `method` names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum Method {
    /// The most probable point.
    Map(MapConfig),
    /// Mean-field variational inference.
    Vi(ViConfig),
    /// Several most probable points from different beginnings.
    Ensemble(EnsembleConfig),
    /// Hamiltonian Monte Carlo.
    Hmc(HmcConfig),
}

impl Method {
    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Map(config) => config.optimise.check(),
            Self::Vi(config) => config.check(),
            Self::Ensemble(config) => config.check(),
            Self::Hmc(config) => config.check(),
        }
    }

    /// Begins an inference on `threads` threads; Markov chains may begin at points of a posterior.
    pub fn begin(
        &self,
        problem: &Problem,
        seed: u64,
        threads: usize,
        from: Option<&Posterior>,
    ) -> Result<Box<dyn Inference>> {
        Ok(match (self, from) {
            (Self::Hmc(config), from) => Box::new(Hmc::new(config.clone(), problem, seed, threads, from)?),
            (_, Some(_)) => return Err(Error::NoStart),
            (Self::Map(config), None) => Box::new(Map::new(config, problem, seed, threads)?),
            (Self::Vi(config), None) => Box::new(Vi::new(config, problem, seed, threads)?),
            (Self::Ensemble(config), None) => Box::new(Ensemble::new(config, problem, seed, threads)?),
        })
    }
}

/// An inference under way.
pub trait Inference: Send + std::fmt::Debug {
    /// Advances by some steps of an optimiser, or by one trajectory of every chain.
    fn step(&mut self);

    /// Steps done.
    fn done(&self) -> u64;

    /// Steps in all.
    fn total(&self) -> u64;

    /// Passes over the training data that the steps done amount to.
    fn epoch(&self) -> f64;

    /// Steps after which something new is worth writing down, unless the user says otherwise.
    fn log_every(&self) -> u64;

    /// What happened since this was called last.
    fn info(&mut self) -> Info;

    /// Everything that the next steps depend on.
    fn state(&self) -> State;

    /// Continues where a state was taken, by the same method with the same settings.
    fn restore(&mut self, state: &State) -> Result<()>;

    /// The posterior as far as it is known; `None` if its samples were handed out one by one.
    fn posterior(&self) -> Option<Posterior>;

    /// The samples of the last step, if it yielded any, as (chain, parameters): they are not kept.
    fn fresh(&self) -> Vec<(usize, Params)> {
        Vec::new()
    }

    /// Number of chains whose samples [`Self::fresh`] hands out, 0 if it never does.
    fn chains(&self) -> usize {
        0
    }
}

/// Named numbers to be watched; the first is the most telling.
#[derive(Clone, Debug, PartialEq)]
pub struct Info(pub Vec<(&'static str, f64)>);

/// A mean that is gathered over some steps.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    /// The mean, and begins anew; NaN if there was nothing.
    fn take(&mut self) -> f64 {
        let mean = std::mem::take(self);
        mean.sum / mean.count
    }
}
