//! Initializers: tensors of an ONNX file whose entries are read when they are asked for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::number::{f16_to_f64, varint};
use super::tensor::{DataType, Pieces, RawTensor};
use crate::error::{Error, Result};

/// The model file.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file on disk.
    File(PathBuf),
    /// A file in memory, whose tensors are all in it.
    Bytes(Arc<[u8]>),
}

/// Where the entries of a tensor are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Storage {
    Missing,
    Raw(Pieces),
    Typed(Pieces),
    External { location: String, offset: u64, length: Option<u64> },
}

/// A tensor that is stored in an ONNX file or next to it.
#[derive(Clone, Debug)]
pub struct Initializer {
    /// Its name in the file.
    pub name: String,
    /// Its shape, row-major.
    pub shape: Vec<usize>,
    /// Type of its entries.
    pub data_type: DataType,
    storage: Storage,
    source: Source,
}

impl Initializer {
    /// The tensor that the file describes so.
    pub(super) fn new(raw: RawTensor, source: &Source) -> Result<Self> {
        let RawTensor { name, data_type, dims, raw, typed, external, is_external } = raw;
        let fault = |fault: String| Error::new(format!("tensor `{name}`"), fault);
        let shape: Option<Vec<usize>> = dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
        let shape = shape.filter(|shape| {
            shape.len() <= 16 && shape.iter().try_fold(1usize, |all, size| all.checked_mul(*size)).is_some()
        });
        let Some(shape) = shape else { return Err(fault(format!("{dims:?} is no shape"))) };
        let storage = if is_external {
            let value = |key: &str| external.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
            let number = |key: &str| -> Result<Option<u64>> {
                let number = |text: &str| text.parse().map_err(|_| fault(format!("its {key} `{text}` is no number")));
                value(key).map(number).transpose()
            };
            let location = value("location").ok_or_else(|| fault("it does not say which file it is in".into()))?;
            Storage::External {
                location: location.to_owned(),
                offset: number("offset")?.unwrap_or(0),
                length: number("length")?,
            }
        } else {
            match raw {
                Some(pieces) => Storage::Raw(pieces),
                None if typed.len() > 0 => Storage::Typed(typed),
                None => Storage::Missing,
            }
        };
        let data_type = DataType::from_number(data_type);
        Ok(Self { name, shape, data_type, storage, source: source.clone() })
    }

    /// The same tensor under another name.
    pub(super) fn named(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether its entries are stored; a graph may come without weights.
    pub fn is_stored(&self) -> bool {
        self.storage != Storage::Missing || self.is_empty()
    }

    /// Its entries, row-major, as numbers of 4 bytes.
    pub fn read_f32(&self) -> Result<Vec<f32>> {
        if self.data_type == DataType::F32 && !matches!(self.storage, Storage::Typed(_)) {
            let (bytes, len) = (self.bytes()?, self.len());
            let numbers = bytes.as_chunks::<4>().0;
            return Ok(numbers[..len].iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
        }
        Ok(self.read_f64()?.into_iter().map(|entry| entry as f32).collect())
    }

    /// Its entries, row-major, as numbers of 8 bytes.
    pub fn read_f64(&self) -> Result<Vec<f64>> {
        self.entries(|data_type, bits| match data_type {
            DataType::F32 => f64::from(f32::from_bits(bits as u32)),
            DataType::F64 => f64::from_bits(bits),
            DataType::F16 => f16_to_f64(bits as u16),
            DataType::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            DataType::U64 => bits as f64,
            _ => signed(data_type, bits) as f64,
        })
    }

    /// Its entries, row-major, as integers. Floating-point numbers are refused.
    pub fn read_i64(&self) -> Result<Vec<i64>> {
        if self.data_type.is_float() {
            return Err(self.error("its entries are no integers"));
        }
        self.entries(signed)
    }

    /// Its entries, each from its type and bits.
    fn entries<T>(&self, entry: impl Fn(DataType, u64) -> T) -> Result<Vec<T>> {
        let Some(width) = self.data_type.bytes() else {
            return Err(self.error("entries of its type are not read"));
        };
        let (bytes, len) = (self.bytes()?, self.len());
        if !matches!(self.storage, Storage::Typed(_)) {
            let bits = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, byte| (bits << 8) | u64::from(*byte));
            return Ok(bytes.chunks_exact(width).take(len).map(|chunk| entry(self.data_type, bits(chunk))).collect());
        }
        let mut all = Vec::with_capacity(len.min(bytes.len()));
        let mut rest = &bytes[..];
        while !rest.is_empty() && all.len() < len {
            let bits = match self.data_type {
                DataType::F32 => {
                    rest.split_first_chunk().map(|(bytes, rest)| (u64::from(u32::from_le_bytes(*bytes)), rest))
                }
                DataType::F64 => rest.split_first_chunk().map(|(bytes, rest)| (u64::from_le_bytes(*bytes), rest)),
                _ => varint(rest),
            };
            let (bits, behind) = bits.ok_or_else(|| self.error("its entries end in the middle of one"))?;
            rest = behind;
            all.push(entry(self.data_type, bits));
        }
        if all.len() != len || !rest.is_empty() {
            return Err(self.error(format!("it does not have the {len} entries of its shape {:?}", self.shape)));
        }
        Ok(all)
    }

    /// The bytes of its entries: of typed fields as they are stored, else exactly as many as its shape needs.
    fn bytes(&self) -> Result<Vec<u8>> {
        let needed = self.data_type.bytes().and_then(|width| (width as u64).checked_mul(self.len() as u64));
        let Some(needed) = needed else { return Err(self.error("entries of its type are not read")) };
        let fits = |stored: u64| {
            let fault = || self.error(format!("{stored} bytes are stored, {needed} are needed for {:?}", self.shape));
            if stored == needed { Ok(()) } else { Err(fault()) }
        };
        match &self.storage {
            Storage::Missing if self.is_empty() => Ok(Vec::new()),
            Storage::Missing => Err(self.error("the file holds no entries of it")),
            Storage::Typed(pieces) => self.pieces(pieces),
            Storage::Raw(pieces) => {
                fits(pieces.len())?;
                self.pieces(pieces)
            }
            Storage::External { location, offset, length } => {
                length.map_or(Ok(()), fits)?;
                let Source::File(model) = &self.source else {
                    return Err(self.error(format!("it is in another file, `{location}`, and the model is in memory")));
                };
                let path = beside(model, location).ok_or_else(|| {
                    self.error(format!("its file `{location}` is not in the folder of the model, so it is not read"))
                })?;
                let end = offset.checked_add(needed).ok_or_else(|| self.error("its place is beyond all files"))?;
                self.read(&path, Pieces::from(*offset..end).ranges())
            }
        }
    }

    fn pieces(&self, pieces: &Pieces) -> Result<Vec<u8>> {
        match &self.source {
            Source::File(path) => self.read(path, pieces.ranges()),
            Source::Bytes(bytes) => {
                let part = |range: &std::ops::Range<u64>| bytes.get(range.start as usize..range.end as usize);
                let parts: Option<Vec<&[u8]>> = pieces.ranges().iter().map(part).collect();
                parts
                    .map(|parts| parts.concat())
                    .ok_or_else(|| self.error("its entries are behind the end of the file"))
            }
        }
    }

    fn read(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<u8>> {
        let fault = |error: std::io::Error| self.error(format!("{}: {error}", path.display()));
        let mut file = File::open(path).map_err(fault)?;
        let size = file.metadata().map_err(fault)?.len();
        let mut bytes = Vec::new();
        for range in ranges {
            if range.end > size {
                return Err(self.error(format!("its entries are behind the end of {}", path.display())));
            }
            file.seek(SeekFrom::Start(range.start)).map_err(fault)?;
            let (from, len) = (bytes.len(), (range.end - range.start) as usize);
            bytes.resize(from + len, 0);
            file.read_exact(&mut bytes[from..]).map_err(fault)?;
        }
        Ok(bytes)
    }

    fn error(&self, fault: impl Into<String>) -> Error {
        Error::new(format!("tensor `{}`", self.name), fault)
    }
}

/// The file of this relative location in the folder of the model; none if the location leaves the folder.
fn beside(model: &Path, location: &str) -> Option<PathBuf> {
    let location = Path::new(location);
    let inside = location.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (inside && !location.as_os_str().is_empty()).then(|| model.parent().unwrap_or(Path::new("")).join(location))
}

/// The integer of these bits.
fn signed(data_type: DataType, bits: u64) -> i64 {
    match data_type {
        DataType::I8 => i64::from(bits as i8),
        DataType::I16 => i64::from(bits as i16),
        DataType::I32 => i64::from(bits as i32),
        DataType::U8 | DataType::Bool => i64::from(bits as u8),
        DataType::U16 => i64::from(bits as u16),
        DataType::U32 => i64::from(bits as u32),
        _ => bits as i64,
    }
}
