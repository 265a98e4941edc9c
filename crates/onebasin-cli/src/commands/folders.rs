//! What is in a folder, and texts that are written into one.

use anyhow::Context;
use onebasin::error::Error;
use onebasin::store::write_whole;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// What is in a folder, in the order of names; nothing, if there is no such folder.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| folder.display().to_string())?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Writes a text, whole or not at all.
pub(super) fn write_text(path: &Path, parts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), Error> {
    let fault = |error: std::io::Error| Error::File { path: path.to_owned(), reason: error.to_string() };
    write_whole(path, |out| {
        parts.into_iter().try_for_each(|part| out.write_all(part.as_ref().as_bytes()).map_err(fault))
    })
}
