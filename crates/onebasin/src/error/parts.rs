//! What errors are made of: causes of the operating system, lists and sizes, as a person reads them.

use std::fmt;
use std::sync::Arc;

/// An error of the operating system that can be cloned; two are equal if they say the same.
#[derive(Clone, Debug)]
pub struct IoError(Arc<std::io::Error>);

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

impl From<std::io::Error> for IoError {
    fn from(error: std::io::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl IoError {
    /// The kind of error.
    pub fn kind(&self) -> std::io::ErrorKind {
        self.0.kind()
    }
}

impl PartialEq for IoError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl Eq for IoError {}

/// Names in an error message, cut after the first dozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List(pub Vec<String>);

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.0.len().saturating_sub(12);
        let shown = self.0[..self.0.len() - more].join(", ");
        if more == 0 { f.write_str(&shown) } else { write!(f, "{shown}, ... ({more} more)") }
    }
}

/// A number of bytes for a person.
pub(super) fn size(bytes: impl Into<u128>) -> String {
    let bytes = bytes.into() as f64;
    match bytes {
        few if few < 1e9 => format!("{:.1} MB", few / 1e6),
        more if more < 1e12 => format!("{:.1} GB", more / 1e9),
        most => format!("{:.0} TB", most / 1e12),
    }
}
