//! Zip archives: their entries with every place where a size, an offset or a checksum stands, so that these can be changed in place.

mod archive;
mod field;
mod rewrite;

pub(crate) use archive::Archive;
pub(crate) use rewrite::{Repacked, correct_checksums, splice};

use crate::error::{Error, Result};
use crate::file::Positioned;
use field::Field;
use flate2::read::DeflateDecoder;
use std::io::Read;

/// How the bytes of an entry are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflated,
    /// Any other; its bytes are copied, but not read.
    Other(u16),
}

/// A file in an archive.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) method: Method,
    /// CRC-32 of the unpacked bytes; torch writes zero where it did not compute it.
    pub(crate) checksum: u32,
    /// Unpacked bytes.
    pub(crate) size: u64,
    /// Packed bytes.
    packed: u64,
    /// Where the packed bytes begin.
    pub(crate) data: u64,
    /// Where the local header begins.
    header: u64,
    /// Bytes of the data descriptor that follows the packed ones; zero if there is none.
    descriptor: u64,
    checksum_fields: Vec<Field>,
    packed_fields: Vec<Field>,
    header_field: Field,
}

/// Bytes that deflate can make of one; a larger ratio is a lie.
const DEFLATE_RATIO: u64 = 1032;

impl Entry {
    /// Refuses an entry whose bytes cannot be read, or that claims more bytes than its packed ones can give.
    pub(crate) fn check_readable(&self, file: &Positioned) -> Result<()> {
        let field = format!("zip entry `{}`", self.name);
        match self.method {
            Method::Stored if self.size != self.packed => {
                let fault = format!("is stored, but claims {} bytes of {}", self.size, self.packed);
                Err(Error::damaged(&file.path, field, fault))
            }
            Method::Deflated if self.size > self.packed.saturating_mul(DEFLATE_RATIO) => {
                let fault =
                    format!("claims {} bytes unpacked of {}, which deflate cannot give", self.size, self.packed);
                Err(Error::damaged(&file.path, field, fault))
            }
            Method::Other(method) => {
                let what = format!("{field} is packed by method {method}");
                Err(Error::unsupported(&file.path, what, "store or deflate it instead, as torch and NumPy do"))
            }
            _ => Ok(()),
        }
    }

    /// A reader of the unpacked bytes, at most as many as are claimed.
    pub(crate) fn reader<'a>(&self, file: &'a Positioned) -> Box<dyn Read + 'a> {
        let packed = file.section(self.data, self.packed);
        match self.method {
            Method::Deflated => Box::new(DeflateDecoder::new(packed).take(self.size)),
            _ => Box::new(packed),
        }
    }

    /// All unpacked bytes, with their number and checksum checked.
    pub(crate) fn read(&self, file: &Positioned) -> Result<Vec<u8>> {
        self.check_readable(file)?;
        // Grows with what is really there.
        let mut bytes = Vec::new();
        let read = self.reader(file).read_to_end(&mut bytes);
        read.map_err(|error| self.damaged(file, &format!("cannot be unpacked ({error})")))?;
        if bytes.len() as u64 != self.size {
            return Err(self.damaged(file, &format!("has {} bytes, not the {} that it claims", bytes.len(), self.size)));
        }
        self.check(file, crc32fast::hash(&bytes))?;
        Ok(bytes)
    }

    /// Refuses another checksum than that of the entry, if the entry has one.
    pub(crate) fn check(&self, file: &Positioned, checksum: u32) -> Result<()> {
        if self.checksum == checksum || self.checksum == 0 {
            return Ok(());
        }
        Err(self.damaged(file, "has bytes that do not match its CRC-32"))
    }

    pub(crate) fn damaged(&self, file: &Positioned, fault: &str) -> Error {
        Error::damaged(&file.path, format!("zip entry `{}`", self.name), fault)
    }

    fn end(&self) -> u64 {
        self.data + self.packed
    }
}
