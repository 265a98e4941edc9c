//! Threads that share the parts of one computation with the thread that asks for it.
//!
//! Rayon is as fast inside its pool, but entering costs 4 us more and may allocate, and the caller, with the data in
//! its cache, sleeps. Here the caller works too, helpers wait awake for a moment, and nothing is allocated.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::JoinHandle;

/// Looks before a waiting thread offers its core to others: some tens of microseconds.
const EAGER_LOOKS: u32 = 2_000;
/// Looks before a helper goes to sleep: a few milliseconds, longer than most assignments take on one core.
const LOOKS: u32 = EAGER_LOOKS + 5_000;

/// A handle of a fixed number of threads, the caller's included; its clones share them, and the last one ends them.
#[derive(Clone, Debug)]
pub struct ThreadPool(Arc<Threads>);

#[derive(Debug, Default)]
struct Threads {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    /// Held while a computation is shared; a nested one is done by its caller alone.
    in_use: Mutex<()>,
}

/// A computation: its parts are numbered, and whoever comes takes the next number.
#[derive(Clone, Copy, Debug)]
struct Job {
    work: NonNull<dyn Fn(usize) + Sync>,
    count: usize,
}

/// What the caller and its helpers share.
///
/// `state` holds the number of the job (upper half), whether it is open to helpers (`OPEN`), and how many are
/// inside. A helper enters only an open job, and the caller leaves only when it is closed and nobody is inside:
/// so `job` is never touched while somebody may read it, and `work` outlives its use.
#[derive(Debug, Default)]
struct Shared {
    state: AtomicU64,
    job: Mutex<Option<Job>>,
    next: AtomicUsize,
    started: AtomicUsize,
    asleep: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stopped: AtomicBool,
}

const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const NUMBER: u32 = 32;

// SAFETY: the pointer in a job is to something that is Sync, and is followed only while its owner waits.
unsafe impl Send for Job {}

impl ThreadPool {
    /// A pool of `threads`, or the reason why one could not be started. One thread is the caller alone.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let mut all = Threads::default();
        for index in 1..threads {
            let shared = Arc::clone(&all.shared);
            let helper = std::thread::Builder::new().name(format!("onebasin {index}")).spawn(move || shared.help());
            // If this fails, dropping the threads stops those already there.
            all.helpers.push(helper?);
        }
        // A thread allocates when it starts: let that be over before the first job.
        while all.shared.started.load(Ordering::Acquire) < all.helpers.len() {
            std::thread::yield_now();
        }
        Ok(Self(Arc::new(all)))
    }

    /// The caller and nobody else.
    pub fn alone() -> Self {
        Self(Arc::new(Threads::default()))
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.0.helpers.len() + 1
    }

    /// How many of `count` equal units of work to put into one part: four parts for each thread, for balance.
    pub fn share(&self, count: usize) -> usize {
        if self.0.helpers.is_empty() { count.max(1) } else { count.div_ceil(4 * self.threads()).max(1) }
    }

    /// Calls `work` with every number below `count`, each once, on any of the threads, and waits for all.
    ///
    /// # Panics
    /// If `work` does.
    pub fn for_each(&self, count: usize, work: impl Fn(usize) + Sync) {
        let lock = match self.0.in_use.try_lock() {
            _ if self.0.helpers.is_empty() || count < 2 => None,
            Ok(lock) => Some(lock),
            // An earlier computation panicked; it has ended all the same.
            Err(TryLockError::Poisoned(lock)) => Some(lock.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if lock.is_none() {
            (0..count).for_each(work);
            return;
        }
        let work: &(dyn Fn(usize) + Sync) = &work;
        // SAFETY: only the lifetime changes. The pointer is followed by helpers inside the job, and `Session`
        // does not let this function end, not even by a panic, before all have left.
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        let shared = &*self.0.shared;
        *shared.panic.lock().expect(UNPOISONED) = None;
        *shared.job.lock().expect(UNPOISONED) = Some(Job { work: NonNull::from(work), count });
        shared.next.store(0, Ordering::Relaxed);
        let session = Session(shared);
        let number = (shared.state.load(Ordering::Relaxed) >> NUMBER).wrapping_add(1);
        shared.state.store(number << NUMBER | OPEN, Ordering::SeqCst);
        if shared.asleep.load(Ordering::SeqCst) > 0 {
            self.0.helpers.iter().for_each(|helper| helper.thread().unpark());
        }
        shared.take_parts(count, work);
        drop(session);
        let panic = shared.panic.lock().expect(UNPOISONED).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Calls `work(index, chunk)` for every chunk of `len` values (the last may be shorter).
    pub fn chunks<T: Send>(&self, values: &mut [T], len: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        let chunks = Chunks::new(values, len);
        // SAFETY: `for_each` gives every number once.
        self.for_each(chunks.count(), |index| work(index, unsafe { chunks.take(index) }));
    }

    /// Calls `work(index, chunk of the first, chunk of the second)` as long as both have one.
    pub fn chunk_pairs<T: Send, U: Send>(
        &self,
        (first, first_len): (&mut [T], usize),
        (second, second_len): (&mut [U], usize),
        work: impl Fn(usize, &mut [T], &mut [U]) + Sync,
    ) {
        let (first, second) = (Chunks::new(first, first_len), Chunks::new(second, second_len));
        // SAFETY: as above, for each of the two.
        self.for_each(first.count().min(second.count()), |index| unsafe {
            work(index, first.take(index), second.take(index));
        });
    }

    /// Calls `work(index, parts)` for every one of the `ranges`, with that part of each array; the parts of an empty
    /// array are empty.
    ///
    /// # Panics
    /// If the ranges are not in order, overlap or reach beyond an array.
    pub fn pieces<const N: usize>(
        &self,
        ranges: &[Range<usize>],
        arrays: [&mut [f32]; N],
        work: impl Fn(usize, [&mut [f32]; N]) + Sync,
    ) {
        let shortest = arrays.iter().map(|array| array.len()).filter(|len| *len > 0).min().unwrap_or(0);
        let mut end = 0;
        for range in ranges {
            assert!(end <= range.start && range.start <= range.end, "{range:?} begins before {end}");
            end = range.end;
        }
        assert!(end <= shortest, "pieces up to {end} of arrays of {shortest}");
        let arrays = arrays.map(|array| Chunks::new(array, 1));
        self.for_each(ranges.len(), |index| {
            // SAFETY: the ranges are inside the arrays and disjoint, and `for_each` gives every number once.
            work(index, arrays.each_ref().map(|array| unsafe { array.range(ranges[index].clone()) }));
        });
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            // A helper only ends by being told to, its panics are caught.
            let _ = helper.join();
        }
    }
}

const UNPOISONED: &str = "nobody panics while holding this lock";

/// The time during which helpers may be inside; its end waits for them.
struct Session<'a>(&'a Shared);

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::SeqCst);
        let mut looks = 0;
        while self.0.state.load(Ordering::Acquire) & INSIDE != 0 {
            wait(&mut looks);
        }
    }
}

/// Waits a moment: busily at first, then leaving the core to others.
fn wait(looks: &mut u32) {
    *looks = looks.saturating_add(1);
    if *looks < EAGER_LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
}

impl Shared {
    fn take_parts(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            work(index);
        }
    }

    fn help(&self) {
        self.started.fetch_add(1, Ordering::Release);
        let mut seen = 0;
        loop {
            let state = self.wait_for_job(seen);
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            seen = state >> NUMBER;
            // Enter, unless the job has been closed in the meantime.
            let entered = self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| {
                (now & OPEN != 0 && now >> NUMBER == seen).then_some(now + 1)
            });
            if entered.is_err() {
                continue;
            }
            let job = self.job.lock().expect(UNPOISONED).expect("an open job is there");
            // SAFETY: inside an open job the caller waits, so what the pointer leads to is alive.
            let work = unsafe { job.work.as_ref() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_parts(job.count, work))) {
                *self.panic.lock().expect(UNPOISONED) = Some(panic);
            }
            self.state.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Waits for an open job with another number than `seen`, or the end.
    fn wait_for_job(&self, seen: u64) -> u64 {
        let mut looks = 0;
        loop {
            if let Some(state) = self.called(seen) {
                return state;
            }
            wait(&mut looks);
            if looks > LOOKS {
                self.asleep.fetch_add(1, Ordering::SeqCst);
                // Look once more: whoever opened a job before the line above has not seen us asleep.
                if self.called(seen).is_none() {
                    std::thread::park();
                }
                self.asleep.fetch_sub(1, Ordering::SeqCst);
                looks = 0;
            }
        }
    }

    /// The state, if a helper that has seen job number `seen` is needed.
    fn called(&self, seen: u64) -> Option<u64> {
        let state = self.state.load(Ordering::SeqCst);
        let open = state & OPEN != 0 && state >> NUMBER != seen;
        (open || self.stopped.load(Ordering::SeqCst)).then_some(state)
    }
}

/// A slice cut into chunks that different threads may take.
struct Chunks<'a, T> {
    start: *mut T,
    total: usize,
    len: usize,
    borrowed: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: a chunk goes to one thread only, and its values may be sent there.
unsafe impl<T: Send> Sync for Chunks<'_, T> {}

impl<'a, T> Chunks<'a, T> {
    fn new(values: &'a mut [T], len: usize) -> Self {
        assert!(len > 0, "chunks have a length");
        Self { start: values.as_mut_ptr(), total: values.len(), len, borrowed: std::marker::PhantomData }
    }

    fn count(&self) -> usize {
        self.total.div_ceil(self.len)
    }

    /// Chunk number `index`.
    ///
    /// # Safety
    /// Every number is taken at most once.
    #[expect(clippy::mut_from_ref, reason = "different numbers are different parts of the slice")]
    unsafe fn take(&self, index: usize) -> &mut [T] {
        let first = index * self.len;
        assert!(first < self.total);
        // SAFETY: inside the slice, and disjoint from every other chunk.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), self.len.min(self.total - first)) }
    }

    /// The values of `range`, or none if there are none at all.
    ///
    /// # Safety
    /// The range is inside the slice (unless that is empty), and disjoint from all others that are taken.
    #[expect(clippy::mut_from_ref, reason = "disjoint ranges are different parts of the slice")]
    unsafe fn range(&self, range: Range<usize>) -> &mut [T] {
        if self.total == 0 {
            return &mut [];
        }
        // SAFETY: handed on to the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_ranges_of_every_array() {
        let pool = ThreadPool::new(3).unwrap();
        let (mut a, mut b) = (vec![0.0; 10], vec![0.0; 12]);
        pool.pieces(&[0..3, 4..4, 5..10], [&mut a, &mut [], &mut b], |index, [a, none, b]| {
            assert!(none.is_empty());
            a.fill(1.0 + index as f32);
            b.copy_from_slice(a);
        });
        assert_eq!(a, [1.0, 1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(b[..10], a);
    }

    #[test]
    #[should_panic(expected = "begins before 3")]
    fn pieces_that_overlap_are_refused() {
        ThreadPool::alone().pieces(&[0..3, 2..4], [&mut [0.0; 4]], |_, _| {});
    }

    #[test]
    #[should_panic(expected = "pieces up to 5 of arrays of 4")]
    fn pieces_beyond_the_end_are_refused() {
        ThreadPool::alone().pieces(&[0..3, 3..5], [&mut [0.0; 4]], |_, _| {});
    }

    #[test]
    fn every_part_is_done_once_whatever_the_number_of_threads() {
        for threads in [1, 2, 7] {
            let pool = ThreadPool::new(threads).unwrap();
            for count in [0, 1, 2, 3, 100, 1000] {
                let mut values = vec![0u32; count];
                pool.chunks(&mut values, 3, |index, chunk| {
                    for (offset, value) in chunk.iter_mut().enumerate() {
                        *value += (3 * index + offset) as u32;
                    }
                });
                assert!(values.iter().enumerate().all(|(index, value)| index as u32 == *value));
            }
        }
    }

    #[test]
    fn many_short_jobs_follow_each_other() {
        let pool = ThreadPool::new(3).unwrap();
        let sum = AtomicUsize::new(0);
        for round in 0..20_000 {
            pool.for_each(4, |index| {
                sum.fetch_add(index + round, Ordering::Relaxed);
            });
            if round % 5000 == 0 {
                // Long enough for helpers to fall asleep.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
        assert_eq!(sum.into_inner(), 20_000 * 6 + 4 * (0..20_000).sum::<usize>());
    }

    #[test]
    fn pairs_end_with_the_shorter() {
        let pool = ThreadPool::new(2).unwrap();
        let (mut first, mut second) = (vec![1; 10], vec![2; 5]);
        pool.chunk_pairs((&mut first, 4), (&mut second, 1), |_, first, second| {
            std::mem::swap(&mut first[0], &mut second[0]);
        });
        assert_eq!((first, second), (vec![2, 1, 1, 1, 2, 1, 1, 1, 2, 1], vec![1, 1, 1, 2, 2]));
    }

    #[test]
    fn a_clone_shares_the_threads() {
        let pool = ThreadPool::new(2).unwrap();
        let clone = pool.clone();
        drop(pool);
        // Two parts that wait for each other can only end on two threads.
        let together = std::sync::Barrier::new(2);
        clone.for_each(2, |_| {
            together.wait();
        });
    }

    #[test]
    fn a_job_inside_a_job_is_done_alone() {
        let pool = ThreadPool::new(2).unwrap();
        let count = AtomicUsize::new(0);
        pool.for_each(4, |_| {
            pool.for_each(5, |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 20);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = ThreadPool::new(3).unwrap();
        for part in 0..6 {
            let result = catch_unwind(AssertUnwindSafe(|| pool.for_each(6, |index| assert_ne!(index, part))));
            assert!(result.is_err());
        }
        // Two parts that wait for each other can only end on two threads.
        let together = std::sync::Barrier::new(2);
        pool.for_each(2, |_| {
            together.wait();
        });
    }
}
