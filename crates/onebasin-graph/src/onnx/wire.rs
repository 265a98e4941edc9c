//! Reads the wire format of protocol buffers from a file, without keeping what is skipped.
//!
//! The file may lie: no length is believed that exceeds what the surrounding message has left, and the number of messages and
//! their nesting have a limit, so that memory stays in proportion to the file.

use std::io::{BufRead, Seek};
use std::ops::Range;

use crate::error::{Error, Result};

/// More messages than the graph of a network has.
const MOST_MESSAGES: usize = 1 << 22;
/// Deeper nesting than graphs within graphs have.
const MOST_NESTED: usize = 64;

/// Content of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// An integer of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// A string, a message or packed numbers: where its bytes are in the file.
    Bytes(Range<u64>),
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Number of the field in its message.
    pub number: u64,
    /// Where its content begins.
    pub start: u64,
    /// Its content.
    pub content: Content,
}

/// A reader that knows where it is.
#[derive(Debug)]
pub(super) struct Wire<R> {
    source: R,
    position: u64,
    messages: usize,
    nested: usize,
}

impl<R: BufRead + Seek> Wire<R> {
    /// A reader at the beginning of a file.
    pub(super) fn new(source: R) -> Self {
        Self { source, position: 0, messages: 0, nested: 0 }
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What is wrong with the file at the present position.
    pub(super) fn error(&self, fault: &str) -> Error {
        Error::new(format!("byte {}", self.position), format!("{fault}; the file is no ONNX model, or is damaged"))
    }

    /// Calls `each` for every field of the message in a range. What `each` does not read is skipped.
    pub(super) fn message(
        &mut self,
        range: Range<u64>,
        mut each: impl FnMut(&mut Self, Field) -> Result<()>,
    ) -> Result<()> {
        self.messages += 1;
        self.nested += 1;
        if self.messages > MOST_MESSAGES || self.nested > MOST_NESTED {
            return Err(self.error("there are too many messages, or they are nested too deeply"));
        }
        self.seek(range.start)?;
        while self.position < range.end {
            let field = self.field(range.end)?;
            let end = match &field.content {
                Content::Bytes(bytes) => bytes.end,
                _ => self.position,
            };
            each(self, field)?;
            self.seek(end)?;
        }
        self.nested -= 1;
        Ok(())
    }

    /// The text of a field; what is no UTF-8 is replaced.
    pub(super) fn text(&mut self, field: &Field) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(field)?).into_owned())
    }

    /// The message of a field: where its bytes are.
    pub(super) fn range(&self, field: &Field) -> Result<Range<u64>> {
        match &field.content {
            Content::Bytes(range) => Ok(range.clone()),
            _ => Err(self.error("a number is where a message should be")),
        }
    }

    /// The integer of a field.
    pub(super) fn integer(&self, field: &Field) -> Result<i64> {
        match field.content {
            Content::Varint(number) => Ok(number as i64),
            _ => Err(self.error("an integer is missing")),
        }
    }

    /// The number of a field of four bytes.
    pub(super) fn float(&self, field: &Field) -> Result<f32> {
        match field.content {
            Content::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err(self.error("a number of four bytes is missing")),
        }
    }

    /// Adds the integers of a field, packed or single.
    pub(super) fn integers(&mut self, field: &Field, all: &mut Vec<i64>) -> Result<()> {
        let Content::Bytes(range) = &field.content else {
            all.push(self.integer(field)?);
            return Ok(());
        };
        while self.position < range.end {
            all.push(self.varint(range.end)? as i64);
        }
        Ok(())
    }

    /// Adds the numbers of four bytes of a field, packed or single.
    pub(super) fn floats(&mut self, field: &Field, all: &mut Vec<f32>) -> Result<()> {
        if !matches!(field.content, Content::Bytes(_)) {
            all.push(self.float(field)?);
            return Ok(());
        }
        let bytes = self.bytes(field)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(self.error("packed numbers end in the middle of one"));
        }
        all.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        Ok(())
    }

    fn bytes(&mut self, field: &Field) -> Result<Vec<u8>> {
        let range = self.range(field)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn field(&mut self, end: u64) -> Result<Field> {
        let tag = self.varint(end)?;
        let mut start = self.position;
        let content = match tag & 7 {
            0 => Content::Varint(self.varint(end)?),
            1 => Content::Fixed64(u64::from_le_bytes(self.fixed(end)?)),
            2 => {
                let len = self.varint(end)?;
                start = self.position;
                if len > end - start {
                    return Err(self.error("a length exceeds the message that it is in"));
                }
                Content::Bytes(start..start + len)
            }
            5 => Content::Fixed32(u32::from_le_bytes(self.fixed(end)?)),
            _ => return Err(self.error("a field has an unknown type")),
        };
        Ok(Field { number: tag >> 3, start, content })
    }

    fn varint(&mut self, end: u64) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed(end)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error("an integer has too many bytes"))
    }

    fn fixed<const N: usize>(&mut self, end: u64) -> Result<[u8; N]> {
        if end - self.position < N as u64 {
            return Err(self.error("a message ends in the middle of a field"));
        }
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.source.read_exact(bytes).map_err(|error| self.error(&error.to_string()))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        if to != self.position {
            let by = to as i64 - self.position as i64;
            self.source.seek_relative(by).map_err(|error| self.error(&error.to_string()))?;
            self.position = to;
        }
        Ok(())
    }
}
