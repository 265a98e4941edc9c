//! Permutations that are arrays of Python: their algebra, random ones, and their files.

use crate::errors;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::experiment::write_text;
use onebasin::rng::Stream;
use onebasin::symmetry::Permutation;
use pyo3::prelude::*;
use serde::{Serialize, Serializer};
use std::path::PathBuf;

type Order<'py> = PyReadonlyArray1<'py, u32>;
type Array<'py> = Bound<'py, PyArray1<u32>>;

fn read(py: Python<'_>, order: &Order<'_>) -> PyResult<Permutation> {
    Permutation::new(order.as_slice()?.to_vec()).map_err(|error| errors::exception(py, &error))
}

fn array<'py>(py: Python<'py>, permutation: &Permutation) -> Array<'py> {
    PyArray1::from_slice(py, permutation.as_slice())
}

/// The permutation that acts like `first` and then `second`, which have the same length.
#[pyfunction]
pub(crate) fn compose<'py>(py: Python<'py>, first: Order<'py>, second: Order<'py>) -> PyResult<Array<'py>> {
    Ok(array(py, &read(py, &second)?.after(&read(py, &first)?)))
}

/// The permutation that undoes this one.
#[pyfunction]
pub(crate) fn invert<'py>(py: Python<'py>, order: Order<'py>) -> PyResult<Array<'py>> {
    Ok(array(py, &read(py, &order)?.inverse()))
}

/// How many swaps of two units a permutation takes at least; refuses what is none.
#[pyfunction]
pub(crate) fn transpositions(py: Python<'_>, order: Order<'_>) -> PyResult<usize> {
    Ok(read(py, &order)?.transpositions())
}

/// A uniformly random permutation of all, or of those with a number of transpositions; of each name another one.
#[pyfunction]
pub(crate) fn random_permutation<'py>(
    py: Python<'py>,
    units: u32,
    transpositions: Option<usize>,
    seed: u64,
    name: &str,
) -> PyResult<Array<'py>> {
    let random = || match transpositions {
        None => Ok(Permutation::random(units as usize, &Stream::new(seed, &format!("permutation/{name}"), 0))),
        Some(number) => {
            let stream = Stream::new(seed, &format!("transpositions/{name}"), 0);
            Permutation::with_transpositions(units as usize, number, &stream)
        }
    };
    let found = py.detach(random).map_err(|error| errors::exception(py, &error))?;
    Ok(array(py, &found))
}

/// Permutations by their groups, in one line of JSON.
struct Line(Vec<(String, Permutation)>);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(group, order)| (group, order)))
    }
}

/// Writes permutations by their groups as the JSON that an alignment writes; several, a line each. The file is whole or not at all.
#[pyfunction]
pub(crate) fn write_permutations(py: Python<'_>, path: PathBuf, lines: Vec<Vec<(String, Order<'_>)>>) -> PyResult<()> {
    let mut text = String::new();
    for line in lines {
        let line = line.into_iter().map(|(group, order)| Ok((group, read(py, &order)?)));
        let line = Line(line.collect::<PyResult<_>>()?);
        text += &(serde_json::to_string(&line).expect("names and numbers can be written as JSON") + "\n");
    }
    py.detach(|| write_text(&path, &text)).map_err(|error| errors::exception(py, &error))
}
