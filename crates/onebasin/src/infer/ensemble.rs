//! Deep ensembles: several MAP estimates from different initialisations, side by side.

use super::{
    Course, Divergence, Inference, Info, Map, MapConfig, Optimise, Problem, Schedule, Settings, Started, State, Vectors,
};
use crate::error::{Error, Result};
use crate::posterior::{Posterior, Samples};
use crate::rng::Stream;
use crate::threads;
use onebasin_kernels::ThreadPool;
use rand_chacha::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Steps that each member takes before all wait for each other: with fewer, an odd member out leaves cores idle.
const STRIDE: u64 = 10;

/// Settings of a deep ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnsembleConfig {
    /// Number of networks.
    pub members: usize,
    /// How each log posterior is optimised.
    pub optimise: Optimise,
}

impl Settings for EnsembleConfig {
    const YIELDS_SAMPLES: bool = true;
    const GROWS: &'static [&'static str] = &["optimise.epochs", "members"];

    fn vectors(&self) -> Vectors {
        let members = self.members as u128;
        Vectors { in_memory: 4 * members, written: members }
    }

    fn check(&self) -> Result<()> {
        self.optimise.check().map_err(|error| error.within("optimise"))?;
        Error::unless_counted("members", self.members as u64)
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(self.optimise.schedule)
    }

    fn start(&self, problem: &Problem, seed: u64, pool: &ThreadPool, _: Option<&Posterior>) -> Result<Started> {
        Ok(Box::new(Ensemble::new(self, problem, seed, pool)?))
    }
}

/// Members that are optimised.
#[derive(Debug)]
pub struct Ensemble {
    members: Vec<Mutex<Map>>,
    pool: ThreadPool,
}

impl Ensemble {
    /// Each member starts at the initialisation of a seed of its own.
    pub fn new(config: &EnsembleConfig, problem: &Problem, seed: u64, pool: &ThreadPool) -> Result<Self> {
        config.check()?;
        let members = (0..config.members).map(|member| {
            let inner = threads::inner(pool, config.members)?;
            let config = MapConfig { optimise: config.optimise };
            Ok(Mutex::new(Map::new(&config, problem, member_seed(seed, member), &inner)?))
        });
        Ok(Self { members: members.collect::<Result<_>>()?, pool: pool.clone() })
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
        self.pool.for_each(count * STRIDE as usize, |number| {
            let mut member = self.member(number % count);
            if member.done() < member.total() {
                member.step();
            }
        });
    }

    /// That of the member that is least far.
    fn course(&self) -> Course {
        let courses = (0..self.members.len()).map(|index| self.member(index).course());
        courses.min_by_key(|course| course.done).expect("there is a member")
    }

    fn divergence(&self) -> Option<Divergence> {
        let members = (0..self.members.len()).filter_map(|index| self.member(index).divergence());
        members.min_by_key(|divergence| divergence.step)
    }

    fn info(&mut self) -> Info {
        // Of members that are as far as any: the others were finished before.
        let least = self.done();
        let behind = |index: &usize| self.member(*index).done() == least;
        let infos: Vec<Info> = (0..self.members.len()).filter(behind).map(|index| self.member(index).info()).collect();
        let Info(mut sums) = infos[0].clone();
        for Info(info) in &infos[1..] {
            for ((_, sum), (_, value)) in sums.iter_mut().zip(info) {
                *sum += value;
            }
        }
        for (_, sum) in &mut sums {
            *sum /= infos.len() as f64;
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
            let name = format!("member{index}");
            if index == 0 || state.has(&name) {
                self.member(index).restore(&state.get_all(&name))?;
            }
        }
        Ok(())
    }

    fn posterior(&self) -> Option<Posterior> {
        let points: Vec<_> = (0..self.members.len()).map(|index| self.member(index).point().clone()).collect();
        let count = points.len();
        Some(Posterior::Samples(Samples::new(points, count).expect("members share a layout")))
    }
}
