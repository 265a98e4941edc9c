//! Reads and writes posteriors and the states of unfinished runs: safetensors files, each written whole or not at all.

mod checkpoint;
mod events;
mod posterior;
mod samples;
mod tensors;

pub use checkpoint::{Checkpoint, RunState};
pub use events::Events;
pub use posterior::{Aligned, Provenance, StoredPosterior};
pub use samples::{PooledSamples, SampleFiles, StoredSamples};

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Opens a file that grows, made if it is not there; a symbolic link is refused, because what it leads to is not ours.
pub(crate) fn open_growing(path: &Path) -> std::io::Result<File> {
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(std::io::Error::other("it is a symbolic link, and what that leads to is not written to"));
    }
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
}

/// Number of files that are being written by [`write_whole`].
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// Whether some file of this process is half written: who ends the process now leaves its beginning behind.
pub fn is_writing() -> bool {
    WRITING.load(Ordering::SeqCst) > 0
}

/// One of the files that are being written, or work that ends with one.
pub(crate) struct Writing;

impl Writing {
    pub(crate) fn begin() -> Self {
        WRITING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Writes a file through a temporary one beside it, synced before it takes the name: after a crash at any moment there
/// is the old file or the new one.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let _writing = Writing::begin();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let fault = |error: std::io::Error| Error::file(&temporary, error);
    let written = (|| {
        // What a crash left goes, and so does a symbolic link, which is not followed.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(fault(error)),
            _ => {}
        }
        let mut file = BufWriter::with_capacity(1 << 20, File::create_new(&temporary).map_err(fault)?);
        fill(&mut file)?;
        file.into_inner().map_err(|error| fault(error.into_error()))?.sync_all().map_err(fault)?;
        std::fs::rename(&temporary, path).map_err(|error| Error::file(path, error))
    })();
    if written.is_err() {
        // What is left of it is of no use to anyone.
        let _ = std::fs::remove_file(&temporary);
    }
    written?;
    // Makes the name durable; only Unix can open folders.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::file(folder, error))?;
    }
    Ok(())
}
