//! Files that are read and written at positions, within their length.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Why the lock of a file is never poisoned.
const NO_PANIC: &str = "nobody panics while holding a file";

/// Bytes that are copied at a time.
pub(crate) const CHUNK: usize = 1 << 18;

/// An open file, its path for messages, and its length when it was opened.
#[derive(Debug)]
pub(crate) struct Positioned {
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    file: Mutex<File>,
}

impl Positioned {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let fault = |error| Error::io(path, error);
        let file = File::open(path).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "it is a folder" } else { "it is not a plain file" };
            return Err(Error::unsupported(path, what, "give the path of a checkpoint file"));
        }
        Ok(Self { path: path.to_owned(), len: metadata.len(), file: Mutex::new(file) })
    }

    /// Makes a new file; one that is there already is an error.
    pub(crate) fn create_new(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| Error::io(path, error))?;
        Ok(Self { path: path.to_owned(), len: 0, file: Mutex::new(file) })
    }

    /// Fills `out` with the bytes from `at` on.
    pub(crate) fn read_at(&self, at: u64, out: &mut [u8]) -> Result<()> {
        let mut file = self.file.lock().expect(NO_PANIC);
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(out));
        read.map_err(|error| Error::io(&self.path, error))
    }

    /// The bytes from `at` on, of a length that the file is first known to have.
    pub(crate) fn read_vec(&self, field: &str, at: u64, len: u64) -> Result<Vec<u8>> {
        let end = at.checked_add(len).filter(|end| *end <= self.len);
        let len = end.and_then(|_| usize::try_from(len).ok());
        let len = len.ok_or_else(|| Error::damaged(&self.path, field, "reaches beyond the end of the file"))?;
        let mut bytes = vec![0; len];
        self.read_at(at, &mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut file = self.file.lock().expect(NO_PANIC);
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| Error::io(&self.path, error))
    }

    /// A reader of the `len` bytes from `at` on, or of those that there are.
    pub(crate) fn section(&self, at: u64, len: u64) -> BufReader<Section<'_>> {
        BufReader::with_capacity(CHUNK, Section { file: self, at, left: len })
    }

    /// A writer from a place on; what it gathered must be flushed.
    pub(crate) fn appender(&self, at: u64) -> BufWriter<Appender<'_>> {
        BufWriter::with_capacity(CHUNK, Appender { file: self, at })
    }

    /// Copies bytes of another file to a place, and returns their number.
    pub(crate) fn copy_at(&self, at: u64, from: &Self, range: Range<u64>) -> Result<u64> {
        let len = range.end - range.start;
        let mut appender = self.appender(at);
        let copied = std::io::copy(&mut from.section(range.start, len), &mut appender);
        let copied = copied.and_then(|copied| appender.flush().map(|()| copied));
        if copied.map_err(|error| Error::io(&self.path, error))? != len {
            return Err(Error::damaged(&from.path, "it", "became shorter while it was read"));
        }
        Ok(len)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.file.lock().expect(NO_PANIC).sync_all().map_err(|error| Error::io(&self.path, error))
    }
}

/// Part of a file.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    file: &'a Positioned,
    at: u64,
    left: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let wanted = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut file = self.file.file.lock().expect(NO_PANIC);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut out[..wanted])?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Writes to a file from a place on.
#[derive(Debug)]
pub(crate) struct Appender<'a> {
    file: &'a Positioned,
    pub(crate) at: u64,
}

impl Write for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut file = self.file.file.lock().expect(NO_PANIC);
        file.seek(SeekFrom::Start(self.at))?;
        let written = file.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
