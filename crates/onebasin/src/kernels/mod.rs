//! Everything that runs on vectors of f32, and the only room with `unsafe`: slices in, slices out.
//!
//! A kernel is a struct of its arguments; [`Isa::run`] compiles and runs it for an instruction set.

pub mod isa;
pub mod lanes;
pub mod math;
pub mod normal;
pub mod geometry;
pub mod pack;
pub mod convolve;
pub mod outer;
pub mod elementwise;
pub mod normalise;
pub mod resample;
pub mod softmax;

pub use isa::Isa;
pub use isa::Kernel;
