//! Zip archives that may lie: every size is checked before memory is taken.

use std::cell::RefCell;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Result};

/// Largest file of an archive that is unpacked, in bytes.
pub(super) const MOST_BYTES: u64 = 512 << 20;
/// Deflate makes JSON some 30 times smaller. More than this, beyond the first bytes, is an attack.
const MOST_RATIO: u64 = 250;
const FREE_BYTES: u64 = 16 << 20;

/// A part of a file that is read like a file, so that archives inside of archives need not be unpacked.
#[derive(Debug)]
pub(super) struct Section<R> {
    reader: Rc<RefCell<R>>,
    start: u64,
    len: u64,
    at: u64,
}

impl<R: Read + Seek> Read for Section<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let len = buffer.len().min(left);
        let mut reader = self.reader.borrow_mut();
        reader.seek(SeekFrom::Start(self.start + self.at))?;
        let read = reader.read(&mut buffer[..len])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: Read + Seek> Seek for Section<R> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
        };
        self.at = at.filter(|at| self.start.checked_add(*at).is_some()).ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// An archive.
pub(super) struct Archive<R> {
    /// Its name for error messages.
    pub(super) name: String,
    reader: Rc<RefCell<R>>,
    start: u64,
    zip: ZipArchive<Section<R>>,
}

impl<R: Read + Seek> Archive<R> {
    pub(super) fn open(name: &str, mut reader: R) -> Result<Self> {
        let len = reader.seek(SeekFrom::End(0)).map_err(|error| Error::new(name, error.to_string()))?;
        Self::part(name, &Rc::new(RefCell::new(reader)), 0, len)
    }

    fn part(name: &str, reader: &Rc<RefCell<R>>, start: u64, len: u64) -> Result<Self> {
        let zip = ZipArchive::new(Section { reader: Rc::clone(reader), start, len, at: 0 })
            .map_err(|error| Error::new(name, format!("it is no zip archive ({error})")))?;
        Ok(Self { name: name.to_owned(), reader: Rc::clone(reader), start, zip })
    }

    /// The paths of all files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.zip.file_names()
    }

    /// The path that is `tail`, or `tail` in the one folder that newer versions put everything into.
    pub(super) fn find(&self, tail: &str) -> Option<String> {
        let fits = |path: &&str| {
            *path == tail || path.strip_suffix(tail).and_then(|root| root.strip_suffix('/')).is_some_and(|root| !root.contains('/'))
        };
        self.paths().find(fits).map(str::to_owned)
    }

    /// The bytes of a file of at most `most` bytes.
    pub(super) fn read(&mut self, path: &str, most: u64) -> Result<Vec<u8>> {
        let place = format!("{}: {path}", self.name);
        let fault = |fault: String| Error::new(place.clone(), fault);
        let file = self.zip.by_name(path).map_err(|error| fault(error.to_string()))?;
        let ratio = file.compressed_size().saturating_mul(MOST_RATIO).max(FREE_BYTES);
        let most = most.min(ratio);
        if file.size() > most {
            return Err(fault(format!("it would unpack to {} bytes, more than {most}", file.size())));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).map_err(|error| fault(error.to_string()))?;
        if bytes.len() as u64 > most {
            return Err(fault(format!("it unpacks to more than {most} bytes")));
        }
        Ok(bytes)
    }

    /// The archive that is a file of this one, if that file is not compressed.
    pub(super) fn nested(&mut self, path: &str) -> Result<Self> {
        let name = format!("{}: {path}", self.name);
        let file = self.zip.by_name(path).map_err(|error| Error::new(name.clone(), error.to_string()))?;
        if file.compression() != CompressionMethod::Stored {
            return Err(Error::new(name, "an archive inside of the archive is compressed; store it as it is"));
        }
        let start = file.data_start().and_then(|start| self.start.checked_add(start));
        let Some(start) = start else { return Err(Error::new(name, "it has no place in the archive")) };
        let len = file.compressed_size();
        drop(file);
        let reader = Rc::clone(&self.reader);
        Self::part(&name, &reader, start, len)
    }
}
