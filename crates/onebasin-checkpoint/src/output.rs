//! A copy of a file in which bytes of tensors are replaced, and which takes its name when it is whole.

use crate::contents::{Location, Place, Source};
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::zip::{Entry, Method, Repacked, correct_checksums, splice};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Names that are tried for a temporary file before the folder is given up.
const ATTEMPTS: usize = 1000;

/// A temporary file, which is removed unless it takes another name.
#[derive(Debug)]
struct Temporary {
    file: Positioned,
    renamed: bool,
}

impl Temporary {
    fn beside(target: &Path) -> Result<Self> {
        let mut attempt = 0;
        loop {
            let mut name = OsString::from(".");
            name.push(target.file_name().unwrap_or_default());
            name.push(format!(".{}-{attempt}.tmp", std::process::id()));
            match Positioned::create_new(&target.with_file_name(name)) {
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::AlreadyExists && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                file => return Ok(Self { file: file?, renamed: false }),
            }
        }
    }

    fn rename(mut self, target: &Path) -> Result<()> {
        std::fs::rename(&self.file.path, target).map_err(|error| Error::io(target, error))?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // What is left of it is of no use to anyone.
            let _ = std::fs::remove_file(&self.file.path);
        }
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    source: &'a Source,
    target: PathBuf,
    copy: Temporary,
    /// Stored entries whose bytes were changed.
    changed: BTreeSet<usize>,
    /// Unpacked bytes of deflated entries whose bytes were changed.
    unpacked: BTreeMap<usize, Temporary>,
}

impl<'a> Output<'a> {
    /// Copies a source.
    pub(crate) fn new(source: &'a Source, target: PathBuf) -> Result<Self> {
        let mut copy = Temporary::beside(&target)?;
        copy.file.copy_at(0, &source.file, 0..source.file.len)?;
        copy.file.len = source.file.len;
        Ok(Self { source, target, copy, changed: BTreeSet::new(), unpacked: BTreeMap::new() })
    }

    fn entry(&self, index: usize) -> &'a Entry {
        &self.source.archive.as_ref().expect("entries are in archives").entries[index]
    }

    /// The file that has the bytes of a storage, and where they begin in it; none if they are still packed.
    fn bytes_of(&self, place: Place) -> Option<(&Positioned, u64)> {
        match place {
            Place::Plain(start) => Some((&self.copy.file, start)),
            Place::Entry(index) if self.entry(index).method == Method::Deflated => {
                self.unpacked.get(&index).map(|unpacked| (&unpacked.file, 0))
            }
            Place::Entry(index) => Some((&self.copy.file, self.entry(index).data)),
        }
    }

    /// The bytes that a tensor has by now; none if its entry is not changed.
    pub(crate) fn read(&self, place: Place, location: &Location) -> Result<Option<Vec<u8>>> {
        let Some((file, start)) = self.bytes_of(place) else { return Ok(None) };
        location.view.gather(|at, out| file.read_at(start + at, out)).map(Some)
    }

    /// Replaces the bytes of a tensor.
    pub(crate) fn replace(&mut self, place: Place, location: &Location, bytes: Vec<u8>) -> Result<()> {
        if let Place::Entry(index) = place {
            let entry = self.entry(index);
            if entry.method == Method::Deflated {
                if !self.unpacked.contains_key(&index) {
                    let temporary = Temporary::beside(&self.target)?;
                    // Also checks the number of bytes and the checksum.
                    temporary.file.write_at(0, &entry.read(&self.source.file)?)?;
                    self.unpacked.insert(index, temporary);
                }
            } else {
                self.changed.insert(index);
            }
        }
        let (file, start) = self.bytes_of(place).expect("it was unpacked");
        location.view.scatter(bytes, file, start)
    }

    /// Corrects the archive, and makes the file durable under its temporary name.
    pub(crate) fn complete(mut self) -> Result<Complete> {
        for index in &self.changed {
            correct_checksums(&self.source.file, &self.copy.file, self.entry(*index))?;
        }
        if let (false, Some(archive)) = (self.unpacked.is_empty(), &self.source.archive) {
            let spliced = Temporary::beside(&self.target)?;
            let unpacked: Repacked<'_> = self.unpacked.iter().map(|(index, file)| (*index, &file.file)).collect();
            splice(archive, &self.copy.file, &unpacked, &spliced.file)?;
            self.copy = spliced;
        }
        self.copy.file.sync()?;
        Ok(Complete { target: self.target, copy: self.copy })
    }
}

/// A file that only lacks its name.
#[derive(Debug)]
pub(crate) struct Complete {
    target: PathBuf,
    copy: Temporary,
}

impl Complete {
    /// Gives the file its name, and makes that durable.
    pub(crate) fn rename(self) -> Result<()> {
        self.copy.rename(&self.target)?;
        let folder = folder_of(&self.target);
        if cfg!(unix) {
            // Only Unix can open folders.
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::io(folder, error))?;
        }
        Ok(())
    }
}

/// The folder that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
