//! What a stage asks of the program that runs it: threads, data, a clock, and somebody to tell.

use crate::error::{Error, Result};
use crate::progress::{Monitor, Progress};
use crate::threads::ThreadPool;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

/// A process that does tasks, as others that write to the same folder know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Name of its machine.
    pub machine: String,
    /// What tells this start of the machine from all others; without it, no other process is taken for one of the same machine.
    pub boot: Option<String>,
    /// Its number on that machine.
    pub process: u32,
    /// What a scheduler of jobs calls it.
    pub job: Option<String>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of {}", self.process, self.machine)?;
        self.job.iter().try_for_each(|job| write!(f, ", {job}"))
    }
}

/// The program that runs stages.
///
/// The library never reads a clock and never prints: it asks its host.
pub trait Host: Sync {
    /// Hears how far a task is; may ask it to stop.
    fn progress(&self, progress: Progress<'_>) -> ControlFlow<()>;

    /// Hears one line that is meant for a person.
    fn message(&self, text: &str);

    /// Seconds on a clock that never goes back.
    fn seconds(&self) -> f64;

    /// Seconds since 1970.
    fn unix_time(&self) -> f64;

    /// Bytes of memory that are free, if that is known.
    fn free_memory(&self) -> Option<u64> {
        None
    }

    /// Bytes that are free on the disk of a folder, which need not be there yet, if that is known.
    fn free_disk(&self, _folder: &Path) -> Option<u64> {
        None
    }

    /// Which process this is.
    fn owner(&self) -> Owner {
        Owner::default()
    }

    /// The host of one of several stages that run at the same time.
    fn part(&self, name: &str) -> Box<dyn Host + '_>;
}

/// What every stage of a run has in common.
#[derive(Clone)]
pub struct Context<'a> {
    /// Threads to compute on; their number changes no result.
    pub pool: ThreadPool,
    /// Folder of the data sets.
    pub data: &'a Path,
    /// Hears of progress, and tells the time.
    pub host: &'a dyn Host,
}

impl Context<'_> {
    /// Refuses work that needs more memory than there is.
    pub(super) fn check_memory(&self, what: &str, needed: u128, remedy: &'static str) -> Result<()> {
        check_room(what, "memory".to_owned(), needed, self.host.free_memory(), remedy)
    }

    /// Refuses work that needs more space than there is on the disk of a folder.
    pub(super) fn check_disk(&self, what: &str, folder: &Path, needed: u128, remedy: &'static str) -> Result<()> {
        let place = format!("the disk of {}", folder.display());
        check_room(what, place, needed, self.host.free_disk(folder), remedy)
    }

    /// Runs work that reports to the host, under the name of a task.
    pub fn monitored<T>(&self, task: &str, work: impl FnOnce(&mut Monitor<'_>) -> Result<T>) -> Result<T> {
        let mut callback = |progress: Progress<'_>| self.host.progress(progress);
        work(&mut Monitor::new(task, &mut callback))
    }

    /// The same, and returns how many seconds it took beside what it returned.
    pub fn measured<T>(&self, task: &str, work: impl FnOnce(&mut Monitor<'_>) -> Result<T>) -> Result<(T, f64)> {
        self.timed(|| self.monitored(task, work))
    }

    /// Runs work and returns how many seconds it took beside what it returned.
    pub fn timed<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
        let start = self.host.seconds();
        let value = work()?;
        Ok((value, self.host.seconds() - start))
    }
}

fn check_room(what: &str, place: String, needed: u128, there: Option<u64>, remedy: &'static str) -> Result<()> {
    match there.filter(|there| needed > u128::from(*there)) {
        Some(there) => Err(Error::Room { what: what.to_owned(), place, needed, there, remedy }),
        None => Ok(()),
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("pool", &self.pool).field("data", &self.data).finish_non_exhaustive()
    }
}

/// A host that tells nobody, never stops, and whose clocks stand still.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {
    fn progress(&self, _: Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn message(&self, _: &str) {}
    fn seconds(&self) -> f64 {
        0.0
    }
    fn unix_time(&self) -> f64 {
        0.0
    }
    fn part(&self, _: &str) -> Box<dyn Host + '_> {
        Box::new(Self)
    }
}
