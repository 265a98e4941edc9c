//! Trainings, experiments and their reports, and the command `onebasin` itself.

use crate::calls::{Options, long};
use crate::errors;
use onebasin::error::Result;
use onebasin::experiment::{Context, Existing, Experiment, Stage as _, Train, TrainConfig, json};
use onebasin_cli::{Needed, machine};
use onebasin_report::Report;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Trains one posterior in a folder, or continues to; returns its result as JSON. Errors call the configuration `name`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the package names them")]
pub(crate) fn train(
    py: Python<'_>,
    name: &str,
    text: &str,
    overrides: Vec<String>,
    folder: PathBuf,
    extend: bool,
    force: bool,
    options: Options,
) -> PyResult<String> {
    long(py, &options, |context, _| {
        let config = TrainConfig::from_toml(name, text, &overrides)?;
        let stage = Train { extend, ..Train::new(config) };
        let existing = if force { Existing::Replace } else { Existing::Continue };
        Ok(json(&stage.run_in(&folder, existing, context)?))
    })
}

/// The data sets that are missing; or all measures of an experiment as JSON, and the page of its report.
type Ran = (Vec<String>, Option<(String, PathBuf)>);

/// Runs an experiment in a folder, or continues to, and writes its report.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    name: &str,
    text: &str,
    overrides: Vec<String>,
    folder: PathBuf,
    options: Options,
) -> PyResult<Ran> {
    let read = long(py, &options, |_, _| Experiment::read(name, text, &overrides))?;
    let needed = long(py, &options, |context, _| Ok(Needed::by(&read, context.data)))?;
    let Needed { sums, missing } = needed.map_err(|error| errors::any(py, &error))?;
    if !missing.is_empty() {
        return Ok((missing.into_iter().map(|(name, _)| name).collect(), None));
    }
    let work = |context: &Context<'_>| -> Result<(String, onebasin_report::Result<PathBuf>)> {
        let measures = read.run(&folder, machine::describe(context.pool.threads()), sums, context)?;
        Ok((json(&measures), write(std::slice::from_ref(&folder), None)))
    };
    let (measures, page) = long(py, &options, |context, _| work(context))?;
    let page = page.map_err(|error| errors::any(py, &error.into()))?;
    Ok((Vec::new(), Some((measures, page))))
}

/// Writes the report of experiments or single stages, and returns the path of its page.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    output: Option<PathBuf>,
    options: Options,
) -> PyResult<PathBuf> {
    let written = long(py, &options, |_, _| Ok(write(&folders, output.as_deref())))?;
    written.map_err(|error| errors::any(py, &error.into()))
}

/// Several experiments share a page only where somebody says; the package makes sure of that.
fn write(folders: &[PathBuf], output: Option<&Path>) -> onebasin_report::Result<PathBuf> {
    let report = Report::read(folders)?;
    let output = output.map(Path::to_owned).or_else(|| report.output());
    report.write(&output.expect("a report of one experiment or stage has a folder"))
}

/// Says what a file or folder of onebasin is, and what is in it.
#[pyfunction]
pub(crate) fn show(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| onebasin_cli::text_of(&path)).map_err(|error| errors::any(py, &error))
}

/// Runs the command `onebasin` with these words, the name of the program first; returns the status to exit with.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| onebasin_cli::main_of(&words))
}
