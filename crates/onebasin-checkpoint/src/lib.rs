//! Checkpoints of other libraries: names, shapes and bytes of their tensors, and the same file written again with some of
//! them replaced.
//!
//! [`Checkpoint::open`] reads the headers of a file of safetensors (also sharded), PyTorch or NumPy;
//! [`Checkpoint::read_bytes`] and [`Checkpoint::read_f32`] read one tensor; [`Checkpoint::write`] writes the file again.
//! Files are not trusted: whatever they claim is checked against their length, and nothing in them is executed.

#![forbid(unsafe_code)]

mod error;
mod dtype;
mod file;
mod json;
mod view;
mod zip;
mod contents;
mod safetensors;
mod numpy;
pub mod pickle;
mod torch;
mod shared;
mod output;
mod checkpoint;

pub use checkpoint::{Checkpoint, Format};
pub use contents::{Scalar, TensorInfo};
pub use dtype::DType;
pub use error::{Error, Result};

/// Runs the example of the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
