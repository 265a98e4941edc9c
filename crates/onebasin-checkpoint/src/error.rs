//! The one error type: every message begins with the path of the file, and says what is wrong and what to do.

use std::path::{Path, PathBuf};

/// What can be wrong with a checkpoint, or with what a caller asks of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file that is none of the formats, or one of their kinds that is not read.
    #[error("{}: {what}; {fix}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is, or has.
        what: String,
        /// What can be done.
        fix: String,
    },
    /// A file that contradicts itself or its format.
    #[error("{}: {field} {fault}; the file is damaged or incomplete: download or save it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        field: String,
        /// What is wrong with that part.
        fault: String,
    },
    /// A tensor whose values are not floating-point numbers that can be converted.
    #[error("{}: tensor `{tensor}` is {dtype}, which is not converted to f32; f64, f32, f16 and bf16 are", path.display())]
    NotFloat {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type.
        dtype: String,
    },
    /// A buffer or a replacement that does not have the size of its tensor.
    #[error("{}: tensor `{tensor}` has {expected} {unit}, but {got} were given", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What is counted: bytes or values.
        unit: &'static str,
        /// The number that the tensor has.
        expected: usize,
        /// The number that was given.
        got: usize,
    },
    /// Two tensors that share bytes, and should have different ones.
    #[error(
        "{}: tensors `{first}` and `{second}` share bytes in the file, but would have different ones; replace both by the \
         same values, or save the checkpoint with `{second}` cloned",
        path.display()
    )]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// One tensor.
        first: String,
        /// The other; the same one if its elements share bytes among themselves.
        second: String,
    },
    /// A path to write to that is the checkpoint itself.
    #[error("{}: this is the checkpoint itself, which is never written over; choose another path", path.display())]
    Source {
        /// The path.
        path: PathBuf,
    },
    /// An index that no tensor has.
    #[error("{}: there is no tensor {tensor}; there are {count}", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The index.
        tensor: usize,
        /// The number of tensors.
        count: usize,
    },
    /// An error of the caller's own, returned by a replacement.
    #[error(transparent)]
    Replacement(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, field: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), field: field.into(), fault: fault.into() }
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.into(), fix: fix.into() }
    }
}

/// Shorthand for a result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
