//! Inference: from a problem to a posterior, one step at a time, stopped and continued at will.
//!
//! All methods have one shape: made by `new` (the settings, a [`Problem`], a seed), advanced by [`Inference::step`],
//! saved as a [`State`] and continued from one with the same bits, watched through [`Info`].

pub mod diagnostics;
mod distil;
mod optimise;
mod prior;

pub use distil::{Teacher, distil};
pub(crate) use ensemble::member_seed;
pub use optimise::{Optimise, Optimiser, Schedule};
pub use prior::{Prior, Scaling};

use crate::arch::Arch;
use crate::data::Examples;
use crate::error::{Error, List, Result};
use crate::keys::deserialize_tagged;
use crate::model::DifferentiableModel;
use crate::net::{Likelihood, Net, Precision};
use crate::params::Params;
use crate::posterior::{Draws as _, Posterior};
use onebasin_kernels::ThreadPool;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is to be inferred: the log posterior is (log-likelihood of all training examples + log prior) / temperature.
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
    /// Precision of products.
    pub precision: Precision,
    /// The data.
    pub training: Arc<Examples>,
}

impl Problem {
    /// Says what is wrong with the numbers, or what does not fit.
    pub fn check(&self) -> Result<()> {
        self.likelihood.check().map_err(|error| error.within("likelihood"))?;
        self.prior.check().map_err(|error| error.within("prior"))?;
        check_temperature(self.temperature)?;
        self.training.check_fits(&self.arch)
    }

    /// The model that inference differentiates.
    fn model(&self, pool: &ThreadPool) -> Result<Box<dyn DifferentiableModel>> {
        let net = Net::new(&self.arch, pool)?.with_precision(self.precision);
        Ok(Box::new(net.with_likelihood(self.likelihood)?))
    }
}

/// Says whether a temperature is one.
pub(crate) fn check_temperature(temperature: f64) -> Result<()> {
    Error::unless_positive("temperature", temperature)
}

/// How much room a method needs, in vectors over the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// Kept in memory, at least.
    pub in_memory: u128,
    /// Written as a posterior.
    pub written: u128,
}

/// The settings of a method, and how it starts.
trait Settings {
    /// Whether the method can start at a posterior.
    const STARTS_AT_POSTERIOR: bool = false;

    /// Says what is wrong with the numbers.
    fn check(&self) -> Result<()>;

    /// Whether products of bf16 are precise enough for it.
    const ALLOWS_BF16: bool = true;

    /// Whether its posterior is a number of samples, not a point or a Gaussian.
    const YIELDS_SAMPLES: bool = false;

    /// Keys of the numbers that may be larger when a finished inference is extended.
    const GROWS: &'static [&'static str];

    /// Number of vectors over the parameters that it keeps in memory, and of those that it writes.
    fn vectors(&self) -> Vectors;

    /// How the learning rate changes, for a method that has one.
    fn schedule(&self) -> Option<Schedule> {
        None
    }

    /// Starts an inference; `from` is there only for a method that can start at a posterior.
    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, from: Option<&Posterior>) -> Result<Started>;
}

/// Defines [`Method`] and its modules from lines of the form `module: Type(Settings) = "name", "documentation";`.
macro_rules! methods {
    ($($module:ident: $Type:ident($Config:ident) = $name:literal, $doc:literal;)+) => {
        $(
            mod $module;
            pub use $module::{$Config, $Type};
        )+

        /// Which method, with its settings; in a configuration, `method` names it.
        #[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
        #[serde(tag = "method")]
        #[non_exhaustive]
        pub enum Method {
            $(#[doc = $doc] #[serde(rename = $name)] $Type($Config),)+
        }

        deserialize_tagged!(Method by "method" { $($name => $Type,)+ });

        impl Method {
            /// Its name in a configuration.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Type(_) => $name,)+
                }
            }

            /// Says what is wrong with the numbers.
            pub fn check(&self) -> Result<()> {
                match self {
                    $(Self::$Type(config) => Settings::check(config),)+
                }
            }

            /// Whether its posterior is a number of samples, not a point or a Gaussian.
            pub fn yields_samples(&self) -> bool {
                match self {
                    $(Self::$Type(_) => <$Config as Settings>::YIELDS_SAMPLES,)+
                }
            }

            /// Keys of the numbers that may be larger when a finished inference is extended.
            pub fn grows(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$Type(_) => <$Config as Settings>::GROWS,)+
                }
            }

            /// Number of vectors over the parameters that it keeps in memory, and of those that it writes.
            pub fn vectors(&self) -> Vectors {
                match self {
                    $(Self::$Type(config) => Settings::vectors(config),)+
                }
            }

            /// How its learning rate changes, for a method that has one.
            pub fn schedule(&self) -> Option<Schedule> {
                match self {
                    $(Self::$Type(config) => Settings::schedule(config),)+
                }
            }

            /// Refuses a precision that is too low for the method.
            pub fn check_precision(&self, precision: Precision) -> Result<()> {
                let any = match self {
                    $(Self::$Type(_) => <$Config as Settings>::ALLOWS_BF16,)+
                };
                if any { Ok(()) } else { precision.check_f32(&format!("the method {}", self.name())) }
            }

            /// Says whether the method can start at a posterior.
            pub fn check_start(&self) -> Result<()> {
                let all = [$(($name, <$Config as Settings>::STARTS_AT_POSTERIOR)),+];
                let able = all.iter().filter(|(_, able)| *able).map(|(name, _)| *name);
                if able.clone().any(|name| name == self.name()) {
                    return Ok(());
                }
                Err(Error::NoStart { method: self.name(), able: List(able.map(str::to_owned).collect()) })
            }

            /// Starts an inference on the threads of `pool`, at the initialisation of the seed or at a posterior.
            pub fn start(
                &self,
                problem: &Problem,
                seed: u64,
                pool: &ThreadPool,
                from: Option<&Posterior>,
            ) -> Result<Box<dyn Inference>> {
                if from.is_some() {
                    self.check_start()?;
                }
                match self {
                    $(Self::$Type(config) => Settings::start(config, problem, seed, pool, from),)+
                }
            }
        }
    };
}

// rustfmt does not find modules that a macro declares: `rustfmt` formats the files of methods by their names.
methods! {
    map: Map(MapConfig) = "map", "The MAP estimate, by stochastic optimisation.";
    vi: Vi(ViConfig) = "vi", "Mean-field variational inference.";
    ivon: Ivon(IvonConfig) = "ivon", "IVON: mean-field variational inference by an online Newton method.";
    ensemble: Ensemble(EnsembleConfig) = "ensemble", "A deep ensemble: MAP estimates from different initialisations.";
    hmc: Hmc(HmcConfig) = "hmc", "Hamiltonian Monte Carlo.";
}

/// An inference under way.
pub trait Inference: Send + std::fmt::Debug {
    /// Advances by some steps of an optimiser, or by one trajectory of every chain.
    fn step(&mut self);

    /// How far it is.
    fn course(&self) -> Course;

    /// Steps done.
    fn done(&self) -> u64 {
        self.course().done
    }
    /// Steps in all.
    fn total(&self) -> u64 {
        self.course().total
    }
    /// Passes over the training data that the steps done amount to.
    fn epoch(&self) -> f64 {
        self.course().epoch
    }
    /// Steps after which something new is worth writing down, unless the user says otherwise.
    fn log_every(&self) -> u64 {
        50
    }

    /// What a person should know before trusting the result, a sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Where the objective stopped being finite, if it did since the start or the last [`Self::restore`].
    fn divergence(&self) -> Option<Divergence> {
        None
    }

    /// The number of proposals of each chain since burn-in, if none of them was accepted and there have been enough to tell.
    fn stuck(&self) -> Option<u64> {
        None
    }

    /// What happened since this was called last.
    fn info(&mut self) -> Info;

    /// Everything that the next steps depend on.
    fn state(&self) -> State;

    /// Continues where a state was taken, by the same method with the same settings, but for those that may grow: members and
    /// chains that the state does not have stay at their start.
    fn restore(&mut self, state: &State) -> Result<()>;

    /// The posterior as far as it is known; `None` if its samples were handed out one by one.
    fn posterior(&self) -> Option<Posterior>;

    /// The samples of the last step, if it yielded any, as (chain, parameters): they are not kept.
    fn fresh(&self) -> Vec<(usize, Params)> {
        Vec::new()
    }

    /// Number of samples of each chain that [`Self::fresh`] has handed out; empty if it never does.
    fn handed_out(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Number of chains whose samples [`Self::fresh`] hands out, 0 if it never does.
    fn chains(&self) -> usize {
        self.handed_out().len()
    }
}

/// An optimisation that left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divergence {
    /// The first step, counted from one, at which the log-likelihood was not finite.
    pub step: u64,
    /// The nll per example of the last evaluation before it, if there was one.
    pub last: Option<f64>,
}

/// How far an inference is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// Steps done.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
    /// Passes over the training data that the steps done amount to.
    pub epoch: f64,
}

/// Where the parameters start: at the mean of a posterior, or at the initialisation of `seed`.
fn start_point(problem: &Problem, seed: u64, from: Option<&Posterior>) -> Result<Params> {
    let Some(from) = from else { return Ok(problem.arch.initialise(seed)) };
    problem.arch.layout().check_same(from.layout())?;
    Ok(from.gaussian().into_owned().into_parts().0)
}

/// An inference that was started.
type Started = Box<dyn Inference>;

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

    /// The mean, and starts over; NaN if there was nothing.
    fn take(&mut self) -> f64 {
        let mean = std::mem::take(self);
        mean.sum / mean.count
    }
}

/// The state of an inference, ready to be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Vectors over the parameters.
    pub vectors: BTreeMap<String, Vec<f32>>,
    /// Everything else; counts are whole numbers.
    pub numbers: BTreeMap<String, f64>,
}

impl State {
    fn put(&mut self, name: &str, values: &[f32]) {
        self.vectors.insert(name.to_owned(), values.to_vec());
    }

    fn put_number(&mut self, name: &str, number: f64) {
        self.numbers.insert(name.to_owned(), number);
    }

    fn put_mean(&mut self, name: &str, mean: Mean) {
        self.put_number(&format!("{name}.sum"), mean.sum);
        self.put_number(&format!("{name}.count"), mean.count);
    }

    /// Copies the vector of this name, which must have the length of `to`.
    pub(crate) fn get(&self, name: &str, to: &mut [f32]) -> Result<()> {
        let values = self.vectors.get(name).ok_or_else(|| missing(name, self.vectors.keys()))?;
        Error::unless_length("a vector of the saved state", values.len(), to.len(), format_args!("`{name}`"))?;
        to.copy_from_slice(values);
        Ok(())
    }

    pub(crate) fn get_number(&self, name: &str) -> Result<f64> {
        self.numbers.get(name).copied().ok_or_else(|| missing(name, self.numbers.keys()))
    }

    fn get_mean(&self, name: &str) -> Result<Mean> {
        Ok(Mean { sum: self.get_number(&format!("{name}.sum"))?, count: self.get_number(&format!("{name}.count"))? })
    }

    /// Takes another state in, its names behind `prefix/`.
    fn put_all(&mut self, prefix: &str, inner: State) {
        self.vectors.extend(inner.vectors.into_iter().map(|(name, values)| (format!("{prefix}/{name}"), values)));
        self.numbers.extend(inner.numbers.into_iter().map(|(name, number)| (format!("{prefix}/{name}"), number)));
    }

    /// Whether [`Self::put_all`] took anything in behind this prefix.
    fn has(&self, prefix: &str) -> bool {
        self.numbers.keys().any(|name| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')))
    }

    /// What [`Self::put_all`] took in.
    fn get_all(&self, prefix: &str) -> State {
        fn inside<T: Clone>(prefix: &str, all: &BTreeMap<String, T>) -> BTreeMap<String, T> {
            let inner = |(name, value): (&String, &T)| {
                let name = name.strip_prefix(prefix)?.strip_prefix('/')?;
                Some((name.to_owned(), value.clone()))
            };
            all.iter().filter_map(inner).collect()
        }
        State { vectors: inside(prefix, &self.vectors), numbers: inside(prefix, &self.numbers) }
    }
}

fn missing<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    Error::unknown("tensor", name, known.map(String::as_str))
}
