//! Linear assignment of matrices of Python.

use crate::errors;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::assign::{Assigner, Assignment, Cost, Goal, Matrix};
use onebasin::error::Error;
use onebasin_kernels::Isa;
use pyo3::prelude::*;

/// Costs, row by row.
#[derive(FromPyObject)]
pub(crate) enum Costs<'py> {
    Single(PyReadonlyArray1<'py, f32>),
    Double(PyReadonlyArray1<'py, f64>),
}

/// Rows that have a column, and these columns; the sum of their costs; duals of rows and of columns.
type Solved<'py> = (
    Bound<'py, PyArray1<isize>>,
    Bound<'py, PyArray1<isize>>,
    f64,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Solves an assignment; `start` are finite duals of columns to start from.
#[pyfunction]
pub(crate) fn assign<'py>(
    py: Python<'py>,
    costs: Costs<'py>,
    rows: usize,
    columns: usize,
    maximise: bool,
    start: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Solved<'py>> {
    let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
    let goal = if maximise { Goal::Maximise } else { Goal::Minimise };
    let found = match &costs {
        Costs::Single(costs) => solve(py, Matrix { costs: costs.as_slice()?, rows, columns }, goal, start),
        Costs::Double(costs) => solve(py, Matrix { costs: costs.as_slice()?, rows, columns }, goal, start),
    }?;
    py.check_signals()?;
    let (given, taken): (Vec<isize>, Vec<isize>) =
        found.pairs().map(|(row, column)| (row as isize, column as isize)).unzip();
    let Assignment { value, row_duals, column_duals, .. } = found;
    let [row_duals, column_duals] = [row_duals, column_duals].map(|duals| PyArray1::from_vec(py, duals));
    Ok((PyArray1::from_vec(py, given), PyArray1::from_vec(py, taken), value, row_duals, column_duals))
}

/// Errors begin with the words of SciPy, which programs may look for.
fn solve<T: Cost + Sync>(
    py: Python<'_>,
    matrix: Matrix<'_, T>,
    goal: Goal,
    start: Option<&[f64]>,
) -> PyResult<Assignment> {
    let found = py.detach(|| Assigner::new(Isa::detect()).solve_matrix(goal, matrix, start));
    found.map_err(|error| match &error {
        Error::Infeasible => errors::wrong(py, "cost matrix is infeasible: every assignment has a forbidden pair"),
        Error::OutOfRange { .. } => errors::wrong(py, &format!("matrix contains invalid numeric entries: {error}")),
        _ => errors::exception(py, &error),
    })
}
