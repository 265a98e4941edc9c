//! Kernels that run on vectors, and a thread pool: slices in, slices out; the only crate with `unsafe`.
//!
//! A kernel is a struct of its arguments; [`Isa::run`] compiles and runs it for an instruction set.

#![allow(clippy::inline_always, reason = "only what is inlined into an instruction set's entry is compiled for it")]
#![allow(missing_debug_implementations, reason = "a kernel is run as soon as it is made, and never shown")]
#![allow(clippy::needless_range_loop, reason = "one index into several arrays of lanes is what becomes a vector")]
#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "offsets of one position around the border")]

/// A loop that is unrolled whatever its size: a loop that the compiler keeps has its sums in memory, not in registers.
macro_rules! unrolled {
    ($index:ident < $count:expr, $body:block) => {
        unrolled!(@ $index, $count, $body, [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17])
    };
    (@ $index:ident, $count:expr, $body:block, [$($literal:literal)*]) => {
        $(if $literal < $count {
            let $index = $literal;
            $body
        })*
    };
}

pub mod isa;
pub mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;
pub mod thread_pool;
pub mod aligned;
pub mod math;
pub mod normal;
pub mod geometry;
pub mod bf16;
pub mod pack;
pub mod convolve;
pub mod outer;
pub mod quantise;
pub mod int8;
pub mod marginals;
pub mod sparse;
pub mod elementwise;
pub mod normalise;
pub mod resample;
pub mod likelihood;
pub mod optimise;
pub mod gaussian;
pub mod ivon;
pub mod assignment;

pub use aligned::Aligned;
pub use isa::Isa;
pub use lanes::Kernel;
pub use thread_pool::ThreadPool;
