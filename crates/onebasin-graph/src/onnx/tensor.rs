//! What an ONNX file says of a tensor: its name, type and shape, and where its entries are.

use std::ops::Range;

/// More pieces than a tensor is stored in.
const MOST_PIECES: usize = 1 << 16;

/// Where the bytes of a tensor are in the file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces(Vec<Range<u64>>);

impl From<Range<u64>> for Pieces {
    fn from(range: Range<u64>) -> Self {
        Self(vec![range])
    }
}

impl Pieces {
    /// Adds a piece behind the others; refuses too many.
    pub(super) fn add(&mut self, piece: Range<u64>) -> bool {
        self.0.push(piece);
        self.0.len() <= MOST_PIECES
    }
    /// All pieces.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }
    /// Number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }
}

/// A tensor as the file has it.
#[derive(Clone, Debug, Default)]
pub(super) struct RawTensor {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub data_type: i64,
    /// Its shape.
    pub dims: Vec<i64>,
    /// Its entries as little-endian bytes.
    pub raw: Option<Pieces>,
    /// Its entries in the field of their type.
    pub typed: Pieces,
    /// Keys and values that say where its entries are in another file.
    pub external: Vec<(String, String)>,
    /// Whether its entries are in another file.
    pub is_external: bool,
}

/// Type of the entries of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataType {
    /// IEEE floating-point number of 4 bytes.
    F32,
    /// IEEE floating-point number of 8 bytes.
    F64,
    /// IEEE floating-point number of 2 bytes.
    F16,
    /// The upper half of an `F32`.
    Bf16,
    /// Unsigned integer of 1 byte.
    U8,
    /// Signed integer of 1 byte.
    I8,
    /// Unsigned integer of 2 bytes.
    U16,
    /// Signed integer of 2 bytes.
    I16,
    /// Signed integer of 4 bytes.
    I32,
    /// Unsigned integer of 4 bytes.
    U32,
    /// Signed integer of 8 bytes.
    I64,
    /// Unsigned integer of 8 bytes.
    U64,
    /// True or false, 1 byte.
    Bool,
    /// Text, complex numbers, or numbers of less than a byte, whose entries are not read.
    Other,
}

impl DataType {
    /// The type of this number in `onnx.proto`.
    pub(super) fn from_number(number: i64) -> Self {
        match number {
            1 => Self::F32,
            2 => Self::U8,
            3 => Self::I8,
            4 => Self::U16,
            5 => Self::I16,
            6 => Self::I32,
            7 => Self::I64,
            9 => Self::Bool,
            10 => Self::F16,
            11 => Self::F64,
            12 => Self::U32,
            13 => Self::U64,
            16 => Self::Bf16,
            _ => Self::Other,
        }
    }

    /// Number of bytes of an entry; none if entries of this type are not read.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::F16 | Self::Bf16 | Self::U16 | Self::I16 => Some(2),
            Self::F32 | Self::I32 | Self::U32 => Some(4),
            Self::F64 | Self::I64 | Self::U64 => Some(8),
            Self::Other => None,
        }
    }

    /// Whether entries are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::Bf16)
    }
}
