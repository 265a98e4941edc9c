//! How long work says how far it is, and hears that it should stop.

use crate::error::{Error, Result};
use std::fmt;
use std::ops::ControlFlow;

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What is being done.
    pub task: &'a str,
    /// Units of work done.
    pub done: usize,
    /// Units of work in all; 0 if nobody knows.
    pub total: usize,
}

/// A callback that hears of progress and may ask the work to stop.
pub type Callback<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// Passes progress on to a callback; work that is asked to stop ends in [`Error::Stopped`].
pub struct Monitor<'a> {
    task: String,
    callback: Option<&'a mut Callback<'a>>,
}

impl<'a> Monitor<'a> {
    /// Reports to `callback`.
    pub fn new(task: &str, callback: &'a mut Callback<'a>) -> Self {
        Self { task: task.to_owned(), callback: Some(callback) }
    }

    /// Reports to nobody and never stops.
    pub fn silent() -> Self {
        Self { task: String::new(), callback: None }
    }

    /// What is being done.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Names what is done from now on.
    pub fn set_task(&mut self, task: impl Into<String>) {
        self.task = task.into();
    }

    /// Reports that `done` of `total` units of work are done; fails if the work should stop.
    pub fn at(&mut self, done: usize, total: usize) -> Result<()> {
        match self.tell(Progress { task: &self.task.clone(), done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped),
        }
    }

    /// Runs a part of the work whose units count from `done` on, of `total` in all.
    pub fn part<T>(
        &mut self,
        done: usize,
        total: usize,
        work: impl FnOnce(&mut Monitor<'_>) -> Result<T>,
    ) -> Result<T> {
        let task = self.task.clone();
        let mut callback =
            |progress: Progress<'_>| self.tell(Progress { done: done + progress.done, total, ..progress });
        work(&mut Monitor { task, callback: Some(&mut callback) })
    }

    /// Runs one unit of the work, after `done` of `total`; its own progress is not counted, but it can be stopped.
    pub fn unit<T>(
        &mut self,
        done: usize,
        total: usize,
        work: impl FnOnce(&mut Monitor<'_>) -> Result<T>,
    ) -> Result<T> {
        let task = self.task.clone();
        let mut callback = |_: Progress<'_>| self.tell(Progress { task: &task, done, total });
        work(&mut Monitor::new("", &mut callback))
    }

    fn tell(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        self.callback.as_mut().map_or(ControlFlow::Continue(()), |callback| callback(progress))
    }
}

impl fmt::Debug for Monitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("task", &self.task).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_within_the_whole_and_a_break_reaches_the_innermost() {
        let mut heard = Vec::new();
        let mut callback = |progress: Progress<'_>| {
            heard.push((progress.task.to_owned(), progress.done, progress.total));
            if progress.done < 12 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut monitor = Monitor::new("whole", &mut callback);
        let ended = monitor.part(10, 20, |part| {
            part.at(1, 5)?;
            part.set_task("inner");
            part.at(2, 5)
        });
        assert_eq!(ended, Err(Error::Stopped));
        assert_eq!(heard, [("whole".to_owned(), 11, 20), ("inner".to_owned(), 12, 20)]);
    }

    #[test]
    fn a_silent_monitor_never_stops() {
        assert_eq!(Monitor::silent().at(1, 1), Ok(()));
    }
}
