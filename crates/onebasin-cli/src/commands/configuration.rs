//! Configuration files, as they are before anything is understood of them.

use anyhow::Context;
use std::path::Path;

/// A file, by its name and its text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// What it is called in errors.
    pub(super) name: String,
    pub(super) text: String,
}

impl Text {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the configuration {name}"))?;
        Ok(Self { name, text })
    }
}
