//! What can be wrong with a network.

/// What can be wrong with a network, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct Error {
    /// The file, or the node of the network.
    pub place: String,
    /// What is wrong there, and what to do.
    pub fault: String,
}

impl Error {
    /// An error at a place.
    pub fn new(place: impl Into<String>, fault: impl Into<String>) -> Self {
        Self { place: place.into(), fault: fault.into() }
    }
}

/// What reading a network returns.
pub type Result<T> = std::result::Result<T, Error>;
