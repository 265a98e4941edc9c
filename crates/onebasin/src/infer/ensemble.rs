//! Deep ensembles: several most probable points from different beginnings, side by side.

use super::Inference;
use super::Info;
use super::Map;
use super::MapConfig;
use super::Optimise;
use super::Problem;
use super::State;
use super::ascent::LOG_EVERY;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::posterior::Posterior;
use crate::posterior::Samples;
use crate::rng::Stream;
use rand_chacha::rand_core::Rng;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Mutex;

/// Steps that each member takes before all wait for each other: with fewer, an odd member out leaves cores idle.
const STRIDE: u64 = 10;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleConfig {
    /// Number of networks.
    pub members: usize,
    /// How each climbs the log posterior.
    pub optimise: Optimise,
}

impl EnsembleConfig {
    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        self.optimise.check()?;
        match self.members {
            0 => Err(Error::Zero { what: "infer.members".to_owned() }),
            _ => Ok(()),
        }
    }
}

/// Members on their way up.
#[derive(Debug)]
pub struct Ensemble {
    members: Vec<Mutex<Map>>,
    team: Team,
}

impl Ensemble {
    /// Each member begins at the initial values of a seed of its own.
    pub fn new(config: &EnsembleConfig, problem: &Problem, seed: u64, threads: usize) -> Result<Self> {
        config.check()?;
        let inner = (threads / config.members).max(1);
        let members = (0..config.members).map(|member| {
            let config = MapConfig { optimise: config.optimise };
            Ok(Mutex::new(Map::new(&config, problem, member_seed(seed, member), inner)?))
        });
        Ok(Self {
            members: members.collect::<Result<_>>()?,
            team: Team::new(threads.min(config.members))
                .map_err(|error| Error::Threads { threads, reason: error.to_string() })?,
        })
    }

    fn member(&self, index: usize) -> std::sync::MutexGuard<'_, Map> {
        self.members[index].lock().expect("no member panicked")
    }
}

/// The seed of one member or chain.
pub(crate) fn member_seed(seed: u64, member: usize) -> u64 {
    Stream::new(seed, "member", member as u64).generator().next_u64()
}

impl Inference for Ensemble {
    fn step(&mut self) {
        let count = self.members.len();
        // All steps of a member are alike, so it does not matter which thread does which: the lock is their order.
        self.team.for_each(count * STRIDE as usize, |number| {
            let mut member = self.member(number % count);
            if member.done() < member.total() {
                member.step();
            }
        });
    }

    fn done(&self) -> u64 {
        self.member(0).done()
    }
    fn total(&self) -> u64 {
        self.member(0).total()
    }
    fn epoch(&self) -> f64 {
        self.member(0).epoch()
    }
    fn log_every(&self) -> u64 {
        LOG_EVERY
    }

    fn info(&mut self) -> Info {
        let mut infos = (0..self.members.len()).map(|index| self.member(index).info());
        let Info(mut sums) = infos.next().expect("there is a member");
        for Info(info) in infos {
            for ((_, sum), (_, value)) in sums.iter_mut().zip(info) {
                *sum += value;
            }
        }
        for (_, sum) in &mut sums {
            *sum /= self.members.len() as f64;
        }
        Info(sums)
    }

    fn state(&self) -> State {
        let mut state = State::default();
        for index in 0..self.members.len() {
            state.put_all(&format!("member{index}"), self.member(index).state());
        }
        state
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        for index in 0..self.members.len() {
            self.member(index).restore(&state.get_all(&format!("member{index}")))?;
        }
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        let points: Vec<_> = (0..self.members.len()).map(|index| self.member(index).point().clone()).collect();
        let count = points.len();
        Some(Posterior::Samples(Samples::new(points, count).expect("members share a layout")))
    }
}
