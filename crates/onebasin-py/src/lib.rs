//! The extension module behind the Python package `onebasin`, which converts arrays and calls the library.

#![forbid(unsafe_code)]
#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands over what it has extracted")]

mod align;
mod assign;
mod calls;
mod errors;
mod experiments;
mod files;
mod measure;
mod network;
mod permutations;
mod symmetry;
mod tensors;

use pyo3::prelude::*;

/// The functions of the library, for the modules of the package.
#[pymodule]
mod _lib {
    #[pymodule_export]
    use crate::align::{align, permute};
    #[pymodule_export]
    use crate::assign::assign;
    #[pymodule_export]
    use crate::experiments::{main, report, run, show, train};
    #[pymodule_export]
    use crate::files::{is_posterior, load, rewrite, write_posterior};
    #[pymodule_export]
    use crate::measure::{barrier, compact, path_points, taus};
    #[pymodule_export]
    use crate::permutations::{compose, invert, random_permutation, transpositions, write_permutations};
    #[pymodule_export]
    use crate::symmetry::Symmetry;

    /// The version of onebasin.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
