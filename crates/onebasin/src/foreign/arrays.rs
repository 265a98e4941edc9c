//! The user's own arrays, as the network reads them.

use super::fault;
use crate::error::{Error, Result};
use onebasin_checkpoint::{Checkpoint, DType};
use std::path::Path;

/// An array in a file: its shape, and its entries, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its entries, as numbers of 32 bits.
    pub values: Vec<f32>,
}

impl Array {
    /// Reads a `NumPy` array (`.npy`), or the array of one of these names in an archive (`.npz`), which may hold others.
    pub fn read(path: &Path, names: &[&str]) -> Result<Self> {
        let file = Checkpoint::open(path).map_err(fault)?;
        let index = match file.tensors() {
            [_] => Some(0),
            all => all.iter().position(|tensor| names.iter().any(|name| tensor.name.eq_ignore_ascii_case(name))),
        };
        let refuse = |reason: String| Error::File { path: path.to_owned(), reason };
        let index = index.ok_or_else(|| refuse(format!("it has no array of the name {}", names.join(" or "))))?;
        let tensor = &file.tensors()[index];
        let mut values = vec![0.0; tensor.shape.iter().product()];
        if tensor.dtype.is_float() {
            file.read_f32(index, &mut values).map_err(fault)?;
        } else {
            let bytes = file.read_bytes(index).map_err(fault)?;
            let convert: fn(&[u8]) -> f32 = match tensor.dtype {
                DType::U8 | DType::Bool => |bytes| f32::from(bytes[0]),
                DType::I8 => |bytes| f32::from(bytes[0].cast_signed()),
                DType::I16 => |bytes| f32::from(i16::from_le_bytes(bytes.try_into().expect("two bytes"))),
                DType::I32 => |bytes| i32::from_le_bytes(bytes.try_into().expect("four bytes")) as f32,
                DType::I64 => |bytes| i64::from_le_bytes(bytes.try_into().expect("eight bytes")) as f32,
                DType::U32 => |bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as f32,
                _ => return Err(refuse(format!("entries of the type {} are not read", tensor.dtype))),
            };
            let size = tensor.dtype.size().expect("these types have whole bytes");
            for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                *value = convert(bytes);
            }
        }
        Ok(Self { shape: tensor.shape.clone(), values })
    }

    /// The entries as classes.
    pub fn labels(&self, path: &Path) -> Result<Vec<u32>> {
        let refuse = |at: usize, value: f32| Error::File {
            path: path.to_owned(),
            reason: format!("entry {at} is {value}; a class is a whole number from 0 on"),
        };
        let label = |(at, value): (usize, &f32)| {
            let whole = value.fract() == 0.0 && (0.0..1e6).contains(value);
            if whole { Ok(*value as u32) } else { Err(refuse(at, *value)) }
        };
        self.values.iter().enumerate().map(label).collect()
    }
}
