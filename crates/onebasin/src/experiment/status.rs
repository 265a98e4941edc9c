//! How far an experiment is: which of its shares are done, at work, failed or still to do, and how long the rest takes.

use super::context::{Context, Host, Owner};
use super::measures::Failure;
use super::read::Experiment;
use super::tasks::Tasks;
use super::work::{Life, life_of};
use crate::error::Result;
use crate::progress::Monitor;
use serde::Serialize;
use std::path::Path;

/// How far a task or a share is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum State {
    /// Its result is up to date.
    Done {
        /// Seconds of the attempt that finished it.
        seconds: f64,
    },
    /// It has no result, and would have none again; or it needs one that has not.
    Failed {
        /// What happened.
        reason: String,
    },
    /// A process that is alive does it.
    Running {
        /// Which, if that is known.
        by: Option<Owner>,
    },
    /// Whoever did it has stopped or died; whoever does it next goes on from there.
    Interrupted,
    /// Nobody has begun it.
    Missing,
}

/// What a share consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One training.
    Training,
    /// Alignments and measurements that build on each other.
    Measurement,
}

/// A part of an experiment that one process of many does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Its place among all shares, from 0: trainings come first.
    pub number: usize,
    /// What it consists of.
    pub kind: Kind,
    /// What a person calls it.
    pub title: String,
    /// How far it is.
    #[serde(flatten)]
    pub state: State,
}

/// How far an experiment is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// All shares, by their numbers.
    pub shares: Vec<Share>,
    /// Seconds that one process would need for all that is not done, if it takes as long as what is done of its kind did;
    /// none if nothing of some kind is done.
    pub rest: Option<f64>,
}

impl Status {
    /// The shares of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter(move |share| share.kind == kind)
    }

    fn rest(shares: &[Share]) -> Option<f64> {
        let rest = |kind: Kind| {
            let own = || shares.iter().filter(|share| share.kind == kind).map(|share| &share.state);
            let done: Vec<f64> = own()
                .filter_map(|state| if let State::Done { seconds } = state { Some(*seconds) } else { None })
                .collect();
            let left = own().filter(|state| !matches!(state, State::Done { .. } | State::Failed { .. })).count();
            match (left, done.len()) {
                (0, _) => Some(0.0),
                (_, 0) => None,
                (left, count) => Some(left as f64 * done.iter().sum::<f64>() / count as f64),
            }
        };
        Some(rest(Kind::Training)? + rest(Kind::Measurement)?)
    }
}

impl Experiment {
    /// How far the experiment in a folder is; changes nothing.
    pub fn status(&self, folder: &Path, context: &Context<'_>) -> Result<Status> {
        let tasks = Tasks::of(self, folder)?;
        let states = context.monitored("checking results", |monitor| states(&tasks, context.host, monitor))?;
        let share = |(number, share): (usize, &Vec<usize>)| {
            let first = &tasks.all[share[0]];
            let others = if share.len() > 1 { format!(", and {} more", share.len() - 1) } else { String::new() };
            Share {
                number,
                kind: if first.trains { Kind::Training } else { Kind::Measurement },
                title: format!("{}{others}", first.title),
                state: together(&share.iter().map(|index| &states[*index]).collect::<Vec<_>>()),
            }
        };
        let shares: Vec<Share> = tasks.shares().iter().enumerate().map(share).collect();
        let rest = Status::rest(&shares);
        Ok(Status { shares, rest })
    }
}

/// How far each task is.
pub(super) fn states(tasks: &Tasks, host: &dyn Host, monitor: &mut Monitor<'_>) -> Result<Vec<State>> {
    let mut states: Vec<State> = Vec::with_capacity(tasks.all.len());
    for (index, planned) in tasks.all.iter().enumerate() {
        monitor.at(index, tasks.all.len())?;
        let needs = || planned.needs.iter().map(|need| (&tasks.all[*need], &states[*need]));
        let failed = needs().find(|(_, state)| matches!(state, State::Failed { .. }));
        let ready = needs().all(|(_, state)| matches!(state, State::Done { .. }));
        let state = if let Some((need, _)) = failed {
            State::Failed { reason: left_out(&need.title) }
        } else if ready && tasks.is_current(index)? {
            State::Done { seconds: planned.task.record().map_or(0.0, |record| record.seconds) }
        } else if let Some(reason) = planned.task.failure(&tasks.hashes).ok().flatten().filter(|_| ready) {
            State::Failed { reason }
        } else {
            match life_of(&planned.task.folder, host)? {
                Some(Life::Alive(by)) => State::Running { by },
                Some(Life::Dead) => State::Interrupted,
                None if planned.task.folder.exists() => State::Interrupted,
                None => State::Missing,
            }
        };
        states.push(state);
    }
    Ok(states)
}

/// Why a task that needs one without a result has none.
pub(super) fn left_out(title: &str) -> String {
    format!("left out, because {title} failed")
}

/// What those tasks are that have no result, by their numbers; one that is not done is a failure too.
pub(super) fn failures<'a>(tasks: &'a Tasks, states: &'a [State]) -> impl Iterator<Item = (usize, Failure)> + 'a {
    states.iter().enumerate().filter_map(|(index, state)| {
        let reason = match state {
            State::Done { .. } => return None,
            State::Failed { reason } => reason.clone(),
            State::Running { .. } | State::Interrupted | State::Missing => NOT_DONE.to_owned(),
        };
        Some((index, Failure { task: tasks.all[index].title.clone(), reason }))
    })
}

/// What is said of a task that is left for later.
const NOT_DONE: &str = "it is not done yet";

/// How far a share is, by its tasks.
fn together(states: &[&State]) -> State {
    let first = |wanted: fn(&State) -> bool| states.iter().copied().find(|state| wanted(state)).cloned();
    let seconds = states.iter().map(|state| if let State::Done { seconds } = state { *seconds } else { 0.0 }).sum();
    first(|state| matches!(state, State::Running { .. }))
        .or_else(|| first(|state| matches!(state, State::Failed { .. })))
        .or_else(|| first(|state| *state == State::Interrupted))
        .or_else(|| {
            // One whose first task is done has been begun.
            let missing = first(|state| *state == State::Missing)?;
            Some(if states.iter().any(|state| matches!(state, State::Done { .. })) {
                State::Interrupted
            } else {
                missing
            })
        })
        .unwrap_or(State::Done { seconds })
}
