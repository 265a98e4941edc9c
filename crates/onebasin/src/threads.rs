//! The threads that computations share.

pub use onebasin_kernels::ThreadPool;

use crate::error::{Error, Result};
use onebasin_kernels::Isa;

/// Name of the instruction set that computations use on this machine.
pub fn instruction_set() -> &'static str {
    match Isa::detect() {
        Isa::Portable => "portable",
        Isa::Avx2 => "AVX2",
        Isa::Avx512 => "AVX-512",
    }
}

/// Refuses a value of the environment variable `ONEBASIN_ISA` that names no instruction set.
#[cfg(feature = "environment")]
pub fn check_instruction_set() -> Result<()> {
    use onebasin_kernels::isa::{NAMES, VARIABLE};
    match std::env::var(VARIABLE) {
        Ok(name) if NAMES.iter().all(|(known, _)| *known != name) => {
            Err(Error::unknown("instruction set", &name, NAMES.iter().map(|(known, _)| *known)).at(VARIABLE))
        }
        _ => Ok(()),
    }
}

/// How this machine multiplies in bf16.
pub fn bf16_products() -> &'static str {
    if Isa::detect().has_bf16() { "AVX-512 BF16" } else { "by f32" }
}

/// More threads than any computer has cores for: they would take a minute to start, and wait for each other from then on.
const MAX_THREADS: usize = 1024;

/// A pool of so many threads, the caller's included.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    Error::unless_counted("threads", threads)?;
    let expected = format!("at most {MAX_THREADS}");
    Error::unless(threads <= MAX_THREADS, "threads", threads, &expected)?;
    ThreadPool::new(threads).map_err(|error| Error::Threads { threads, reason: error.to_string() })
}

/// A pool of its own for one of `parts` computations that run side by side on `pool`, of so many threads as fall to it.
///
/// The caller works too, so one that has a single thread needs none.
pub fn inner(pool: &ThreadPool, parts: usize) -> Result<ThreadPool> {
    match pool.threads() / parts {
        0 | 1 => Ok(ThreadPool::alone()),
        threads => self::pool(threads),
    }
}
