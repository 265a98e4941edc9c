//! Diagnostics of chains: R-hat and effective sample size.

use crate::errors;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use onebasin::infer::diagnostics::{bulk_ess, rank_rhat};
use pyo3::prelude::*;

/// Calls `work` with the chains of an array (chain, sample).
fn of_chains(py: Python<'_>, chains: &PyReadonlyArray2<'_, f64>, work: fn(&[&[f64]]) -> f64) -> PyResult<f64> {
    let samples = chains.shape()[1];
    if samples == 0 {
        return Err(errors::wrong(py, "the chains have no samples"));
    }
    let values = chains.as_slice()?;
    Ok(py.detach(|| work(&values.chunks_exact(samples).collect::<Vec<_>>())))
}

/// The rank-normalised R-hat of chains (chain, sample).
#[pyfunction]
pub(crate) fn rhat(py: Python<'_>, chains: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
    of_chains(py, &chains, rank_rhat)
}

/// The effective sample size of the bulk of chains (chain, sample).
#[pyfunction]
pub(crate) fn ess(py: Python<'_>, chains: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
    of_chains(py, &chains, bulk_ess)
}
