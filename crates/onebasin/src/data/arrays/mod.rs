//! Arrays of people's own files: inputs and targets in `.npz`, in pairs of `.npy`, or in text with separated values.
//!
//! [`read`] and [`read_inputs`] keep the order of the axes, as networks of other libraries need it;
//! [`Inputs::arranged`] brings images into the order of a [`Dataset`](super::Dataset). Files are not trusted: whatever is
//! wrong with one is an error that names the file, the place in it and a remedy.

mod array;
mod layout;
mod names;
mod source;
mod targets;
mod text;

pub(super) use layout::Arrangement;
pub use layout::Layout;
pub use source::Source;
pub use targets::{MAX_CLASSES, Targets};

use super::Values;
use crate::error::Result;
use std::path::Path;

/// Inputs as they stand in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Name of the array, such as `x`.
    pub name: String,
    /// Number of examples, at least one.
    pub examples: usize,
    /// Number of indices of each axis of one example; empty if an example is a single number.
    pub shape: Vec<usize>,
    /// The values of all examples, row-major, all of them finite: bytes are pixels from 0 to 255, all else are numbers.
    pub values: Values,
}

/// Inputs and what they should be mapped to.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrays {
    /// The inputs.
    pub inputs: Inputs,
    /// A target for each example.
    pub targets: Targets,
}

/// Reads inputs and targets, in the order of their axes in the file; of a file with a training and a test part, the training
/// part ([`Source`] has both).
///
/// `inputs` is a file of both arrays, or of the inputs alone if there is a file of `labels`.
pub fn read(inputs: &Path, labels: Option<&Path>) -> Result<Arrays> {
    Source::open(inputs, labels)?.train()
}

/// Reads inputs alone, in the order of their axes in the file, which may have targets or not.
pub fn read_inputs(path: &Path) -> Result<Inputs> {
    source::inputs_of(path)?.inputs()
}
