//! Runs an experiment, or a share of it: each task after those whose results it reads, several at a time, none that is up to
//! date or that another process does. A training that diverges is an outcome: what needs it is left out, and all else goes on.

use super::context::Context;
use super::folder::{beside, lock, remove, write_json, write_text};
use super::measures::{Failure, Measures, Times, pairs_table};
use super::names;
use super::read::{Experiment, POSTERIORS};
use super::stage::record_beside;
use super::status::{failures, left_out, states};
use super::tasks::{Planned, Tasks};
use super::work::{Begun, Work};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::threads;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, mem, thread};

/// The file that holds the experiment of a folder.
pub const EXPERIMENT: &str = "experiment.toml";

/// The file with the barriers and distances of all pairs.
pub(super) const PAIRS: &str = "pairs.csv";

/// Time between two looks at what another process does.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Experiment {
    /// Runs all tasks in a folder that is its own, and writes what they measured.
    ///
    /// `machine` describes what the seconds depend on, and `data` has the checksums of the data's files.
    pub fn run(
        &self,
        folder: &Path,
        machine: String,
        data: BTreeMap<String, String>,
        context: &Context<'_>,
    ) -> Result<Measures> {
        let _lock = lock(Self::check(folder)?, REFUSAL)?;
        self.settle(folder, context)?;
        let tasks = Tasks::of(self, folder)?;
        Self::perform(&tasks, 0..tasks.all.len(), context)?;
        self.gather(&tasks, folder, machine, data, context)
    }

    /// Runs some shares of the experiment, by their numbers, and what they need; any process may do the same at the same time.
    /// Returns which of their tasks have no result.
    pub fn run_shares(
        &self,
        folder: &Path,
        wanted: impl FnOnce(usize) -> Result<Vec<usize>>,
        context: &Context<'_>,
    ) -> Result<Vec<Failure>> {
        self.settle(Self::check(folder)?, context)?;
        let tasks = Tasks::of(self, folder)?;
        let shares = tasks.shares();
        let own: BTreeSet<usize> = wanted(shares.len())?.into_iter().flat_map(|share| shares[share].clone()).collect();
        let failed = Self::perform(&tasks, own.iter().copied(), context)?;
        Ok(failed.into_iter().filter(|(index, _)| own.contains(index)).map(|(_, failure)| failure).collect())
    }

    /// Runs nothing, and writes what has been measured so far; a task that is not done is one without a result.
    pub fn merge(
        &self,
        folder: &Path,
        machine: String,
        data: BTreeMap<String, String>,
        context: &Context<'_>,
    ) -> Result<Measures> {
        let _lock = lock(Self::check(folder)?, REFUSAL)?;
        self.settle(folder, context)?;
        self.gather(&Tasks::of(self, folder)?, folder, machine, data, context)
    }

    /// Makes a folder that of this experiment.
    pub fn prepare(&self, folder: &Path, context: &Context<'_>) -> Result<()> {
        self.settle(Self::check(folder)?, context)
    }

    /// Writes what all tasks that are done have measured.
    fn gather(
        &self,
        tasks: &Tasks,
        folder: &Path,
        machine: String,
        data: BTreeMap<String, String>,
        context: &Context<'_>,
    ) -> Result<Measures> {
        tasks.all.iter().try_for_each(|planned| Work::sweep(&planned.task.folder, context.host))?;
        let states = context.monitored("checking results", |monitor| states(tasks, context.host, monitor))?;
        let place = |(index, failure): (usize, Failure)| (tasks.all[index].task.folder.clone(), failure);
        let failures = failures(tasks, &states).map(place).collect();
        let mut times = Times { machine, command: self.command.clone(), seconds: BTreeMap::new() };
        let measures = Measures::collect(self, folder, data, &failures, &mut times)?;
        write_json(&folder.join(super::TIMES), &times)?;
        match pairs_table(&measures)? {
            Some(table) => write_text(&folder.join(PAIRS), &table)?,
            None => remove(&folder.join(PAIRS))?,
        }
        write_json(&folder.join(super::MEASURES), &measures)?;
        Ok(measures)
    }

    /// Does some tasks, and all that they need; returns which have no result.
    fn perform(
        tasks: &Tasks,
        some: impl IntoIterator<Item = usize>,
        context: &Context<'_>,
    ) -> Result<BTreeMap<usize, Failure>> {
        let failures = Mutex::new(BTreeMap::<usize, Failure>::new());
        let failed = || failures.lock().expect("no thread panics while it holds this");
        for level in tasks.levels(some) {
            let theirs = Mutex::new(BTreeSet::new());
            let work = |index: usize, threads: usize, waits: bool| {
                let Planned { title, needs, .. } = &tasks.all[index];
                let cause = needs.iter().find_map(|need| failed().get(need).cloned());
                let end = if let Some(cause) = cause {
                    End::Without(left_out(&cause.task))
                } else {
                    let host = context.host.part(title);
                    let same = threads == context.pool.threads();
                    let pool = if same { context.pool.clone() } else { threads::pool(threads)? };
                    perform(tasks, index, &Context { pool, data: context.data, host: &*host }, waits)?
                };
                match end {
                    End::Done => {}
                    End::Without(reason) => {
                        failed().insert(index, Failure { task: title.clone(), reason });
                    }
                    End::Theirs => {
                        theirs.lock().expect("no thread panics while it holds this").insert(index);
                    }
                }
                Ok(())
            };
            // What nobody else is at work on comes first; then there is nothing to do but wait.
            share(&level, context.pool.threads(), |index, threads| work(*index, threads, false))?;
            let theirs: Vec<usize> =
                mem::take(&mut *theirs.lock().expect("all workers are gone")).into_iter().collect();
            share(&theirs, context.pool.threads(), |index, threads| work(*index, threads, true))?;
        }
        Ok(failures.into_inner().expect("all workers are gone"))
    }

    /// Gives folders of posteriors that were trained under another name, because other settings were swept, their name of now.
    fn rename(&self, folder: &Path) -> Result<()> {
        let folder = folder.join(POSTERIORS);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        let there: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        for posterior in self.cells.iter().flat_map(|cell| &cell.posteriors) {
            let hash = names::hash_of(&posterior.id);
            let earlier =
                there.iter().find(|name| names::hash_of(name) == hash && !folder.join(&posterior.id).exists());
            if let Some(earlier) = earlier {
                let (from, to) = (folder.join(earlier), folder.join(&posterior.id));
                match fs::rename(&from, &to) {
                    // Another process did it.
                    Err(error) if error.kind() == ErrorKind::NotFound || to.exists() => continue,
                    renamed => renamed.map_err(|error| Error::file(&from, error))?,
                }
                let _ = fs::rename(record_beside(&from), record_beside(&to));
            }
        }
        Ok(())
    }

    /// Refuses a folder that is something else.
    fn check(folder: &Path) -> Result<&Path> {
        // A kill at the very start leaves these.
        let ours = |name: &OsStr| name == "lock" || name.to_string_lossy().starts_with(EXPERIMENT);
        let foreign = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| !ours(&entry.file_name()));
        if !folder.join(EXPERIMENT).exists() && fs::read_dir(folder).is_ok_and(|mut files| files.any(foreign)) {
            let reason = "it is not empty, and not the folder of an experiment".to_owned();
            return Err(Error::Folder { path: folder.to_owned(), reason });
        }
        Ok(folder)
    }

    /// Writes the experiment into its folder, and gives posteriors of other names their name of now.
    fn settle(&self, folder: &Path, context: &Context<'_>) -> Result<()> {
        fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        let file = folder.join(EXPERIMENT);
        let text = toml::to_string(&self.table).expect("a table that was read can be written");
        if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            // Others may write it at the same time.
            let own = beside(&file, &names::unique(&context.host.owner()));
            write_text(&own, &text)?;
            fs::rename(&own, &file).map_err(|error| Error::file(&file, error))?;
        }
        self.rename(folder)
    }
}

/// What is said to a second process that runs all of an experiment.
const REFUSAL: &str = "another process runs an experiment in it";

/// How a task ended for this process.
enum End {
    /// It has a result.
    Done,
    /// It has none, and this is why.
    Without(String),
    /// Another process is at work on it.
    Theirs,
}

/// Does a task unless its result is up to date. If another process does it, waits for that or leaves it.
fn perform(tasks: &Tasks, index: usize, context: &Context<'_>, waits: bool) -> Result<End> {
    let (Planned { task, .. }, host) = (&tasks.all[index], context.host);
    let ended = || {
        let done = tasks.is_current(index)?;
        Ok::<_, Error>(if done { Some(End::Done) } else { task.failure(&tasks.hashes)?.map(End::Without) })
    };
    let mut told = false;
    loop {
        if let Some(end) = ended()? {
            return Ok(end);
        }
        match Work::begin(&task.folder, host)? {
            Begun::Ours(work) => {
                // Another process may have been faster.
                if let Some(end) = ended()? {
                    return Ok(end);
                }
                match task.run(&work, &tasks.hashes, context) {
                    Ok(()) => return Ok(End::Done),
                    Err(error) if error.is_outcome() => {
                        host.message(&error.cause().to_string());
                        return Ok(End::Without(error.cause().to_string()));
                    }
                    Err(_) if work.is_lost() => host.message("another process does it now"),
                    Err(error) => return Err(error),
                }
            }
            Begun::Theirs(_) if !waits => return Ok(End::Theirs),
            Begun::Theirs(owner) => {
                if let Some(owner) = owner.filter(|_| !told) {
                    told = true;
                    host.message(&format!("waiting for {owner}, which does it"));
                }
                let progress = Progress { task: "waiting for another process", done: 0, total: 0 };
                if host.progress(progress).is_break() {
                    return Err(Error::Stopped);
                }
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}

/// Does all jobs, as many at a time as there are cores, the first ones first; each is told how many threads it may use.
/// After a job that fails no other is started. Returns the first error in the order of jobs, but an order to stop only
/// if there is no other.
fn share<J: Sync>(jobs: &[J], cores: usize, work: impl Fn(&J, usize) -> Result<()> + Sync) -> Result<()> {
    let at_a_time = jobs.len().clamp(1, cores.max(1));
    let threads = (cores / at_a_time).max(1);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    if let Err(error) = work(job, threads) {
                        next.store(jobs.len(), Ordering::Relaxed);
                        failures.lock().expect("no worker panics while it holds this").push((index, error));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("all workers are gone");
    failures.sort_by_key(|(index, error)| (*error == Error::Stopped, *index));
    failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        let done: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
        let shared = share(&done, 4, |job, threads| {
            assert_eq!(threads, 1);
            job.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        assert_eq!(shared, Ok(()));
        assert!(done.iter().all(|job| job.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn few_jobs_share_the_cores() {
        let expect = |expected: usize| {
            move |_: &usize, threads: usize| {
                assert_eq!(threads, expected);
                Ok(())
            }
        };
        assert_eq!(share(&[0, 1], 8, expect(4)), Ok(()));
        assert_eq!(share(&[0], 8, expect(8)), Ok(()));
        assert_eq!(share(&[], 8, expect(0)), Ok(()));
    }

    #[test]
    fn nothing_is_started_after_a_failure_and_a_failure_outweighs_a_stop() {
        let started = AtomicUsize::new(0);
        let failing = |job: &usize, _| {
            started.fetch_add(1, Ordering::Relaxed);
            if *job == 3 { Err(Error::EmptyBatch) } else { Ok(()) }
        };
        assert_eq!(share(&[0, 1, 2, 3, 4, 5], 1, failing), Err(Error::EmptyBatch));
        assert_eq!(started.load(Ordering::Relaxed), 4);
        assert_eq!(
            share(&[1, 0], 1, |job, _| if *job == 1 { Err(Error::Stopped) } else { Ok(()) }),
            Err(Error::Stopped)
        );
    }
}
