//! The error type of the crate.

use std::path::PathBuf;

/// Reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of an experiment cannot be read, or a file of the report cannot be written.
    #[error(transparent)]
    Library(#[from] onebasin::error::Error),
    /// A folder has no results.
    #[error(
        "{}: it has no measures.json, alignment.json or result.json, so it is not the folder of a finished experiment or \
         stage; the command that writes it has not ended, or it is another folder",
        folder.display()
    )]
    NoResult {
        /// The folder.
        folder: PathBuf,
    },
    /// A file would be replaced that no report wrote, or that was changed since.
    #[error(
        "{}: `onebasin report` did not write it as it is, so nothing is replaced; move it away, or name another place with -o",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The results of an experiment cannot be shown.
    #[error("cannot report the experiment in {}", folder.display())]
    Experiment {
        /// Folder of the experiment.
        folder: PathBuf,
        /// What is wrong.
        source: Box<Error>,
    },
    /// The result of a stage is not what the stage writes.
    #[error("the result of `{task}` cannot be read")]
    Unreadable {
        /// Name of the stage and of what it measured, such as `barrier/0-1`.
        task: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The result of a stage has gaps.
    #[error("the result of `{task}` cannot be drawn: {reason}")]
    Incomplete {
        /// Name of the stage and of what it measured, such as `barrier/0-1`.
        task: String,
        /// What is missing.
        reason: &'static str,
    },
    /// No stage has this name.
    #[error("there is no stage `{0}`")]
    UnknownStage(String),
    /// The settings of an experiment cannot be written as TOML.
    #[error("the settings of the experiment cannot be shown")]
    Settings(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An image of this size is empty, or larger than an image can be.
    #[error("an image cannot be {width} by {height} pixels large")]
    Size {
        /// Width in pixels, as the caller asked for.
        width: u32,
        /// Height in pixels, which follows from the figure.
        height: u32,
    },
    /// The SVG cannot be rasterised, or the pixels cannot be encoded.
    #[error("the figure cannot be rendered as PNG")]
    Render(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Result of functions of the crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
