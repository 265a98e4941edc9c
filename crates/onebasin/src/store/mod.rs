//! Reads and writes posteriors and the states of unfinished runs: safetensors files, each written whole or not at all.

mod checkpoint;
mod posterior;
mod samples;
mod stored_samples;
mod tensors;

pub use checkpoint::Checkpoint;
pub use checkpoint::RunState;
pub use posterior::Aligned;
pub use posterior::Provenance;
pub use posterior::StoredPosterior;
pub use samples::SampleFiles;
pub use stored_samples::StoredSamples;

use crate::error::Error;
use crate::error::Result;
use std::fs::File;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// Writes a file through a temporary one beside it, synced before it takes the name: after a crash at any moment there
/// is the old file or the new one.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let temporary = temporary(path);
    let written = (|| {
        let file = File::create(&temporary).map_err(|error| Error::file(&temporary, &error))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        fill(&mut file)?;
        let file = file.into_inner().map_err(|error| Error::file(&temporary, error.error()))?;
        file.sync_all().map_err(|error| Error::file(&temporary, &error))?;
        std::fs::rename(&temporary, path).map_err(|error| Error::file(path, &error))
    })();
    if written.is_err() {
        // What is left of it is of no use to anyone.
        let _ = std::fs::remove_file(&temporary);
    }
    written?;
    sync_folder(path)
}

/// Makes the names in a file's folder durable; only Unix can open folders.
fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::file(folder, &error))?;
    }
    Ok(())
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    path.with_file_name(name)
}
