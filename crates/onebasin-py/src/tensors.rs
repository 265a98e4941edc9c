//! Arrays of Python as tensors of the library, without copies, and the other way round.
//!
//! The package hands over each array as a tuple (name, dtype, shape, bytes): the name of its type in PyTorch, such as `float32`, and its
//! elements, row-major and little-endian, as a one-dimensional array of `uint8` that shares its memory.

use crate::errors;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::foreign::{Array, Arrays};
use onebasin_checkpoint::{DType, Scalar};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// An array of Python.
#[derive(FromPyObject)]
pub(crate) struct Tensor<'py>(String, String, Vec<usize>, PyReadonlyArray1<'py, u8>);

/// Named arrays, and numbers beside them.
#[derive(FromPyObject)]
pub(crate) struct Tensors<'py>(String, Vec<Tensor<'py>>, BTreeMap<String, f64>);

impl Tensors<'_> {
    /// The same as a checkpoint of the library.
    pub(crate) fn arrays(&self, py: Python<'_>) -> PyResult<Arrays<'_>> {
        let Self(own, tensors, numbers) = self;
        let mut arrays = Vec::with_capacity(tensors.len());
        for Tensor(name, dtype, shape, bytes) in tensors {
            let dtype = DType::of_torch(dtype).ok_or_else(|| {
                errors::wrong(py, &format!("{own}: `{name}` has the type {dtype}, which onebasin does not know"))
            })?;
            arrays.push(Array { name: name.clone(), shape: shape.clone(), dtype, bytes: bytes.as_slice()? });
        }
        let metadata = numbers.iter().map(|(name, number)| (name.clone(), Scalar::Float(*number))).collect();
        Arrays::new(own, arrays, metadata).map_err(|error| errors::exception(py, &error))
    }

    /// The name of the checkpoint.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// The bytes of each tensor that changed; none for the others.
pub(crate) fn changed(py: Python<'_>, tensors: Vec<Option<Vec<u8>>>) -> Vec<Option<Bound<'_, PyArray1<u8>>>> {
    tensors.into_iter().map(|bytes| bytes.map(|bytes| PyArray1::from_vec(py, bytes))).collect()
}
