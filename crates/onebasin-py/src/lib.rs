//! The extension module behind the Python package `onebasin`, which converts arrays and calls the library.

#![forbid(unsafe_code)]

mod align;
mod calls;
mod errors;
mod measure;
mod network;
mod symmetry;
mod tensors;

use pyo3::prelude::*;

/// The functions of the library, for the modules of the package.
#[pymodule]
mod _lib {
    #[pymodule_export]
    use crate::align::{align, permute};
    #[pymodule_export]
    use crate::measure::{barrier, compact, path_points, taus};
    #[pymodule_export]
    use crate::symmetry::Symmetry;

    /// The version of onebasin.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
