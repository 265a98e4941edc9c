//! The bytes of a pickle, taken from the front.

use super::Fault;
use std::ops::Range;

/// Bytes with the place up to which they were taken.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Takes `len` bytes, and says where they are.
    pub(super) fn take(&mut self, len: u64) -> Result<Range<usize>, Fault> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let end = end.filter(|end| *end <= self.bytes.len()).ok_or(Fault::Ended)?;
        let start = std::mem::replace(&mut self.at, end);
        Ok(start..end)
    }

    /// Takes a little-endian number of up to eight bytes.
    pub(super) fn number(&mut self, len: u64) -> Result<u64, Fault> {
        let range = self.take(len)?;
        Ok(self.bytes[range].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Takes as many bytes as the number before them says, which has `width` bytes.
    pub(super) fn counted(&mut self, width: u64) -> Result<Range<usize>, Fault> {
        let len = self.number(width)?;
        self.take(len)
    }

    /// Takes a line, without its end.
    pub(super) fn line(&mut self) -> Result<Range<usize>, Fault> {
        let len = self.bytes[self.at..].iter().position(|byte| *byte == b'\n').ok_or(Fault::Ended)?;
        let range = self.take(len as u64)?;
        self.at += 1;
        Ok(range)
    }

    /// Takes a line that is a number.
    pub(super) fn number_line<T: std::str::FromStr>(&mut self) -> Result<Option<T>, Fault> {
        let range = self.line()?;
        let text = std::str::from_utf8(&self.bytes[range]).unwrap_or_default();
        Ok(text.trim_end_matches('L').parse().ok())
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'a [u8] {
        &self.bytes[range.clone()]
    }
}
