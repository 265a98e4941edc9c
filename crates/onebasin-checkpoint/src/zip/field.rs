//! Numbers in an archive, with the places where they stand.

use crate::error::{Error, Result};
use crate::file::Positioned;

/// A number in a file, of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) at: u64,
    pub(super) wide: bool,
}

impl Field {
    pub(super) fn narrow(at: u64) -> Self {
        Self { at, wide: false }
    }

    pub(super) fn wide(at: u64) -> Self {
        Self { at, wide: true }
    }

    /// The same field of a file in which it stands elsewhere.
    pub(super) fn moved(self, at: impl Fn(u64) -> u64) -> Self {
        Self { at: at(self.at), ..self }
    }

    /// Writes a number; one that does not fit is an error.
    pub(super) fn put(self, file: &Positioned, number: u64) -> Result<()> {
        if self.wide {
            return file.write_at(self.at, &number.to_le_bytes());
        }
        let fits = u32::try_from(number).ok().filter(|number| *number != u32::MAX);
        let number = fits.ok_or_else(|| {
            let what = "an entry of the archive grew beyond 4 GB, which its header has no room for";
            Error::unsupported(&file.path, what, "save the arrays uncompressed (numpy.savez)")
        })?;
        file.write_at(self.at, &number.to_le_bytes())
    }
}

/// The 16 bits at a place of a slice that is long enough.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The 32 bits at a place of a slice that is long enough.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// The 64 bits at a place of a slice that is long enough.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
