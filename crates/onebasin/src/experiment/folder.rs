//! Files of results: written whole or not at all, removed, and locked against other processes.

use crate::error::{Error, Result};
use crate::store::{open_growing, write_whole};
use serde::Serialize;
use std::fs;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Writes a text file, whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_whole(path, |file| file.write_all(text.as_bytes()).map_err(|error| Error::file(path, error)))
}

/// Writes indented JSON, whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_text(path, &json(value))
}

/// A result as indented JSON with a line break at its end.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a result is plain data") + "\n"
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(path, error)),
        _ => Ok(()),
    }
}

/// What stands beside a folder: its name, a dot and an ending.
pub(super) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut path = folder.to_owned().into_os_string();
    path.push(".");
    path.push(ending);
    path.into()
}

/// The file by which a process holds a folder.
pub(super) const LOCK: &str = "lock";

/// A folder that this process holds; unless it is kept, folders that were made for this and have nothing in them are removed.
#[derive(Debug)]
pub(super) struct Claim {
    _file: File,
    lock: PathBuf,
    /// From the inside out.
    made: Vec<PathBuf>,
}

impl Claim {
    /// Makes a folder if it is not there, which shows that it can be written, and holds it; `refusal` says what another process
    /// does there.
    pub(super) fn new(folder: &Path, refusal: &str) -> Result<Self> {
        let made = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let made = made.map(Path::to_owned).collect();
        Ok(Self { _file: lock(folder, refusal)?, lock: folder.join(LOCK), made })
    }

    /// Leaves the folder where it is.
    pub(super) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
        for folder in &self.made {
            // One with something in it stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes a folder if it is not there, and holds it for this process as long as the file that is returned lives; `refusal`
/// says what another process does there. Where files cannot be locked, it is not held.
pub(super) fn lock(folder: &Path, refusal: &str) -> Result<File> {
    let path = folder.join(LOCK);
    fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
    let file = open_growing(&path).map_err(|error| Error::file(&path, error))?;
    match try_lock(&file) {
        Ok(Some(false)) => Err(Error::Folder { path: folder.to_owned(), reason: refusal.to_owned() }),
        Ok(_) => Ok(file),
        Err(error) => Err(Error::file(&path, error)),
    }
}

/// Locks a file as long as it is open; says whether another process has not, and nothing on a file system without locks.
pub(super) fn try_lock(file: &File) -> std::io::Result<Option<bool>> {
    /// `ENOLCK` of Linux: a mount of NFS without a lock manager.
    const NO_LOCKS: i32 = 37;
    match file.try_lock() {
        Ok(()) => Ok(Some(true)),
        Err(TryLockError::WouldBlock) => Ok(Some(false)),
        Err(TryLockError::Error(error))
            if error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(NO_LOCKS) =>
        {
            Ok(None)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The files in a folder, by name; none, if there is no such folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let fault = |error| Error::file(folder, error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fault)?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(fault)?;
    files.sort();
    Ok(files)
}
