//! Everything that runs on vectors, and the only room with `unsafe`: slices in, slices out.
//!
//! A kernel is a struct of its arguments; [`Isa::run`] compiles and runs it for an instruction set.

#![allow(clippy::inline_always, reason = "only what is inlined into an instruction set's entry is compiled for it")]
#![allow(clippy::needless_range_loop, reason = "one index into several arrays of lanes is what becomes a vector")]
#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "offsets of one position around the border")]

/// A loop that is unrolled whatever its size: beyond its threshold the compiler would keep the loop, and with it
/// the sums in memory instead of in registers.
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
mod portable;
pub mod team;
pub mod aligned;
pub mod math;
pub mod normal;
pub mod geometry;
pub mod pixels;
pub mod pack;
pub mod gather;
pub mod convolve;
pub mod outer;
pub mod bytes;
pub mod marginals;
pub mod vectors;
pub mod sparse;
pub mod elementwise;
pub mod normalise;
pub mod resample;
pub mod likelihood;
pub mod optimise;
pub mod gaussian;
pub mod leapfrog;
pub mod assignment;

pub use aligned::Aligned;
pub use isa::Isa;
pub use isa::Kernel;
pub use team::Team;
