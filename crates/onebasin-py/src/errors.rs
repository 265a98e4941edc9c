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
    raised(py, class(error), &error.to_string())
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
