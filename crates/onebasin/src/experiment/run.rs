//! Runs an experiment: each task after those whose results it reads, several at a time, none that is up to date. A training
//! that diverges is an outcome: what needs it is left out, and all else goes on.

use super::context::Context;
use super::folder::{lock, remove, write_json, write_text};
use super::measures::{Failure, Measures, Times, pairs_table};
use super::names;
use super::read::{Experiment, POSTERIORS};
use super::stage::{Hashes, Task, record_beside};
use crate::error::{Error, Result};
use crate::threads;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// The file that holds the experiment of a folder.
pub const EXPERIMENT: &str = "experiment.toml";

/// The file with the barriers and distances of all pairs.
pub(super) const PAIRS: &str = "pairs.csv";

/// Tasks of all cells, each with the number of the first cell that has it.
type Tasks = Vec<(usize, Task)>;

/// Tasks that failed or were left out, by their numbers.
type Failures<'a> = BTreeMap<usize, (&'a Task, Failure)>;

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
        let _lock = self.claim(folder)?;
        self.rename(folder)?;
        let tasks = self.tasks(folder)?;
        let (hashes, failures) = (Hashes::default(), Mutex::new(Failures::new()));
        let failed = || failures.lock().expect("no thread panics while it holds this");
        for level in levels(&tasks) {
            let work = |index: &usize, threads: usize| {
                let (cell, task) = &tasks[*index];
                let title = self.title_of(*cell, task);
                let cause = failed().values().find(|(other, _)| needs(task, other)).map(|(_, failure)| failure.clone());
                if let Some(cause) = cause {
                    let reason = format!("left out, because {} failed", cause.task);
                    failed().insert(*index, (task, Failure { task: title, reason }));
                    return Ok(());
                }
                let host = context.host.part(&title);
                let pool =
                    if threads == context.pool.threads() { context.pool.clone() } else { threads::pool(threads)? };
                // Somebody may have removed what a finished task left.
                let whole = tasks.iter().flat_map(|(_, other)| task.files_for(other)).all(|file| file.exists());
                let ended = task.run(whole, &hashes, &Context { pool, data: context.data, host: &*host });
                ended.or_else(|error| match error.cause() {
                    Error::Diverged { .. } | Error::Stuck { .. } => {
                        host.message(&error.to_string());
                        let failure = Failure { task: title, reason: error.cause().to_string() };
                        failed().insert(*index, (task, failure));
                        Ok(())
                    }
                    _ => Err(error),
                })
            };
            share(&level, context.pool.threads(), work)?;
        }
        let failures = failures.into_inner().expect("all workers are gone");
        let failures = failures.into_values().map(|(task, failure)| (task.folder.clone(), failure)).collect();
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

    /// All tasks; cells that need the same posterior share its training.
    fn tasks(&self, folder: &Path) -> Result<Tasks> {
        let mut all: Tasks = Vec::new();
        for (cell, tasks) in self.cells.iter().map(|cell| cell.tasks(folder)).enumerate() {
            for task in tasks.map_err(|error| error.at(&self.file))? {
                if all.iter().all(|(_, other)| other.folder != task.folder) {
                    all.push((cell, task));
                }
            }
        }
        Ok(all)
    }

    /// What a task is called where several run at once.
    fn title_of(&self, cell: usize, task: &Task) -> String {
        let cell = &self.cells[cell];
        let own = task.name.strip_prefix(POSTERIORS).and_then(|name| name.strip_prefix('/'));
        if let Some(posterior) = cell.posteriors.iter().find(|posterior| own == Some(posterior.id.as_str())) {
            return posterior.title.clone();
        }
        if cell.settings.is_empty() { task.name.clone() } else { format!("{} of {}", task.name, cell.title()) }
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
                fs::rename(&from, &to).map_err(|error| Error::file(&from, error))?;
                let _ = fs::rename(record_beside(&from), record_beside(&to));
            }
        }
        Ok(())
    }

    /// Locks the folder for this process, and writes the experiment into it.
    fn claim(&self, folder: &Path) -> Result<File> {
        let file = folder.join(EXPERIMENT);
        // A kill at the very start leaves these.
        let ours = |name: &OsStr| name == "lock" || name == "experiment.toml.tmp";
        let foreign = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| !ours(&entry.file_name()));
        if !file.exists() && fs::read_dir(folder).is_ok_and(|mut files| files.any(foreign)) {
            let reason = "it is not empty, and not the folder of an experiment".to_owned();
            return Err(Error::Folder { path: folder.to_owned(), reason });
        }
        let lock = lock(folder, "another process runs an experiment in it")?;
        write_text(&file, &toml::to_string(&self.table).expect("a table that was read can be written"))?;
        Ok(lock)
    }
}

/// Whether a task reads what another one leaves.
fn needs(task: &Task, other: &Task) -> bool {
    other.files_for(task).next().is_some()
}

/// The indices of tasks in groups: each task is in a later group than those whose results it reads.
fn levels(tasks: &[(usize, Task)]) -> Vec<Vec<usize>> {
    let mut level_of: Vec<usize> = Vec::with_capacity(tasks.len());
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (index, (_, task)) in tasks.iter().enumerate() {
        // A task reads results of tasks before it only.
        let is_needed = |other: &usize| needs(task, &tasks[*other].1);
        let needed = (0..index).filter(is_needed).map(|other| level_of[other] + 1);
        let level = needed.max().unwrap_or(0);
        level_of.push(level);
        levels.resize_with(levels.len().max(level + 1), Vec::new);
        levels[level].push(index);
    }
    levels
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
