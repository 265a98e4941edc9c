//! The threads of a network: how many there are never changes a result.

use crate::error::Error;
use crate::error::Result;
use rayon::prelude::*;

/// A number of threads; one means the caller's own.
#[derive(Debug)]
pub(super) struct Workers {
    pool: Option<rayon::ThreadPool>,
}

/// Whether the work at hand may be shared among the threads of the current pool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sharing {
    /// Done by the thread that asks.
    Alone,
    /// Shared by this many.
    Among(usize),
}

impl Workers {
    pub(super) fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::Zero { what: "the number of threads".to_owned() });
        }
        let pool = if threads == 1 {
            None
        } else {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|error| Error::Threads { threads, reason: error.to_string() })?)
        };
        Ok(Self { pool })
    }

    pub(super) fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Runs `work` where it can share its parts.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce(Sharing) -> R + Send) -> R {
        match &self.pool {
            None => work(Sharing::Alone),
            Some(pool) => pool.install(|| work(Sharing::Among(pool.current_num_threads()))),
        }
    }
}

impl Sharing {
    /// Splits `count` units of work into runs of this length: two for each thread, for balance.
    pub(super) fn share(self, count: usize) -> usize {
        match self {
            Self::Alone => count.max(1),
            Self::Among(threads) => count.div_ceil(2 * threads).max(1),
        }
    }

    /// Calls `work(index, chunk)` for every chunk.
    pub(super) fn chunks<T: Send>(self, values: &mut [T], chunk: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        match self {
            Self::Alone => values.chunks_mut(chunk).enumerate().for_each(|(index, chunk)| work(index, chunk)),
            Self::Among(_) => {
                values.par_chunks_mut(chunk).enumerate().for_each(|(index, chunk)| work(index, chunk));
            }
        }
    }

    /// Calls `work(index, a chunk of the first, a chunk of the second)` for every pair of chunks.
    pub(super) fn chunk_pairs<T: Send, U: Send>(
        self,
        first: (&mut [T], usize),
        second: (&mut [U], usize),
        work: impl Fn(usize, &mut [T], &mut [U]) + Sync,
    ) {
        match self {
            Self::Alone => {
                let pairs = first.0.chunks_mut(first.1).zip(second.0.chunks_mut(second.1));
                pairs.enumerate().for_each(|(index, (a, b))| work(index, a, b));
            }
            Self::Among(_) => {
                let pairs = first.0.par_chunks_mut(first.1).zip(second.0.par_chunks_mut(second.1));
                pairs.enumerate().for_each(|(index, (a, b))| work(index, a, b));
            }
        }
    }
}
