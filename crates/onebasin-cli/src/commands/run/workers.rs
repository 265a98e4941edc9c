//! Jobs that do not depend on each other, as many at a time as there are cores.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

/// Does all jobs, the first ones first; each is told how many threads it may use. After a job that fails, or that returns
/// `true`, no other is begun. Returns whether one returned `true`, or the first error in the order of jobs.
pub(super) fn all<J: Sync>(
    jobs: &[J],
    cores: usize,
    work: impl Fn(&J, usize) -> anyhow::Result<bool> + Sync,
) -> anyhow::Result<bool> {
    let at_a_time = jobs.len().clamp(1, cores.max(1));
    let threads = (cores / at_a_time).max(1);
    let next = AtomicUsize::new(0);
    let ends = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(job, threads);
                    if !matches!(result, Ok(false)) {
                        next.store(jobs.len(), Ordering::Relaxed);
                        ends.lock().expect("no worker panics while it holds this").push((index, result));
                    }
                }
            });
        }
    });
    let mut ends = ends.into_inner().expect("all workers are gone");
    ends.sort_by_key(|(index, _)| *index);
    let failed = ends.iter().position(|(_, result)| result.is_err());
    match failed {
        Some(at) => ends.swap_remove(at).1,
        None => Ok(!ends.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn every_job_is_done_once() {
        let done: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
        let stopped = all(&done, 4, |job, threads| {
            assert_eq!(threads, 1);
            job.fetch_add(1, Ordering::Relaxed);
            Ok(false)
        });
        assert!(!stopped.unwrap());
        assert!(done.iter().all(|job| job.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn few_jobs_share_the_cores() {
        assert!(!all(&[0, 1], 8, |_, threads| Ok(threads != 4)).unwrap());
        assert!(!all(&[0], 8, |_, threads| Ok(threads != 8)).unwrap());
        assert!(!all(&[0; 0], 8, |_, _| bail!("there is no job")).unwrap());
    }

    #[test]
    fn nothing_is_begun_after_a_failure_or_a_stop() {
        let begun = AtomicUsize::new(0);
        let work = |job: &usize, _| {
            begun.fetch_add(1, Ordering::Relaxed);
            match job {
                3 => bail!("three"),
                _ => Ok(false),
            }
        };
        let error = all(&[0, 1, 2, 3, 4, 5], 1, work).unwrap_err();
        assert_eq!((error.to_string(), begun.load(Ordering::Relaxed)), ("three".to_owned(), 4));
        assert!(all(&[0, 1, 2], 1, |job, _| Ok(*job == 1)).unwrap());
    }
}
