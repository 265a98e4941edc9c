//! Errors of the library as exceptions of Python, see `onebasin/errors.py`.

use onebasin::error::Error;
use pyo3::prelude::*;

/// Name of the exception that an error is raised as.
fn class(error: &Error) -> &'static str {
    match error.cause() {
        Error::Diverged { .. } | Error::Stuck { .. } => "DivergedError",
        Error::Io { .. } => "FileError",
        Error::Room { .. } => "RoomError",
        Error::FunctionChanged { .. } => "FunctionChangedError",
        _ => "InputError",
    }
}

/// The exception that says what the error says.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let remedy = match error.cause() {
        Error::Folder { .. } => "; choose another folder by `output`",
        Error::NoFile { .. } => ", or say by `data` in which folder it is",
        _ => "",
    };
    raised(py, class(error), &format!("{error}{remedy}"))
}

/// The exception for an error of any crate.
pub(crate) fn any(py: Python<'_>, error: &anyhow::Error) -> PyErr {
    match error.downcast_ref::<Error>() {
        Some(own) => exception(py, own),
        None => wrong(py, &format!("{error:#}")),
    }
}

/// The exception for an error of a checkpoint.
pub(crate) fn checkpoint(py: Python<'_>, error: &onebasin_checkpoint::Error) -> PyErr {
    let class = if matches!(error, onebasin_checkpoint::Error::Io { .. }) { "FileError" } else { "InputError" };
    raised(py, class, &error.to_string())
}

/// An exception for wrong input.
pub(crate) fn wrong(py: Python<'_>, message: &str) -> PyErr {
    raised(py, "InputError", message)
}

fn raised(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = || {
        let module = py.import("onebasin.errors")?;
        module.getattr("make")?.call1((class, message)).map(PyErr::from_value)
    };
    made().unwrap_or_else(|error: PyErr| error)
}
