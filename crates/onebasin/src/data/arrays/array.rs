//! One array of a file: its shape, and its numbers with their places in the file.

use super::super::Values;
use super::Inputs;
use crate::error::{Error, Result};
use onebasin_checkpoint::{Checkpoint, DType};
use std::path::PathBuf;
use std::sync::Arc;

/// An array; that of a tensor is read when its numbers are asked for.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) path: PathBuf,
    /// Name in the file.
    pub(super) name: String,
    /// Number of indices of each axis, examples first; none is zero.
    pub(super) shape: Vec<usize>,
    contents: Contents,
}

#[derive(Clone, Debug)]
enum Contents {
    Tensor { file: Arc<Checkpoint>, index: usize, dtype: DType },
    Text { numbers: Vec<f64>, lines: Arc<Vec<usize>>, columns: Vec<String> },
}

/// The error of a file of another library, in ours.
pub(super) fn fault(error: onebasin_checkpoint::Error) -> Error {
    match error {
        onebasin_checkpoint::Error::Io { path, source } => Error::file(&path, source),
        other => Error::Checkpoint { fault: other.to_string() },
    }
}

impl Array {
    /// An array of a file of tensors, if it has examples and numbers.
    pub(super) fn tensor(path: &std::path::Path, file: &Arc<Checkpoint>, index: usize) -> Result<Self> {
        let info = &file.tensors()[index];
        let (name, dtype) = (info.name.clone(), info.dtype.clone());
        let contents = Contents::Tensor { file: Arc::clone(file), index, dtype: dtype.clone() };
        let array = Self { path: path.to_owned(), name, shape: info.shape.clone(), contents };
        if !is_number(&dtype) {
            let remedy = if dtype.name().contains(['U', 'S']) {
                "number the classes, by `numpy.unique(y, return_inverse=True)[1]`"
            } else {
                "save it as float32, or as uint8 if it has pixels"
            };
            return Err(array.wrong(&format!("has elements of the type {dtype}, which are not numbers; {remedy}")));
        }
        match array.shape[..] {
            [] => Err(array.wrong("is a single number; its first axis must count the examples")),
            [0, ..] => Err(array.wrong(&format!("has no examples (its shape is {})", array.axes()))),
            _ if array.shape.contains(&0) => {
                Err(array.wrong(&format!("is empty (its shape is {}); save examples with values", array.axes())))
            }
            _ => Ok(array),
        }
    }

    /// Columns of a text, (line, column), with the number of each line and the name of each column.
    pub(super) fn text(
        path: &std::path::Path,
        name: &str,
        numbers: Vec<f64>,
        lines: &Arc<Vec<usize>>,
        columns: Vec<String>,
    ) -> Self {
        let shape = vec![lines.len(), columns.len()];
        let contents = Contents::Text { numbers, lines: Arc::clone(lines), columns };
        Self { path: path.to_owned(), name: name.to_owned(), shape, contents }
    }

    /// Number of examples.
    pub(super) fn examples(&self) -> usize {
        self.shape[0]
    }

    /// The shape in words, such as `(100, 3, 8, 8)`.
    pub(super) fn axes(&self) -> String {
        axes(&self.shape)
    }

    /// What is wrong with the array.
    pub(super) fn wrong(&self, fault: &str) -> Error {
        Error::File { path: self.path.clone(), reason: format!("`{}` {fault}", self.name) }
    }

    /// What is wrong with one of its numbers.
    pub(super) fn wrong_at(&self, index: usize, fault: &str) -> Error {
        Error::File { path: self.path.clone(), reason: format!("{} {fault}", self.place(index)) }
    }

    /// Where a number is, by its place in row-major order.
    pub(super) fn place(&self, index: usize) -> String {
        let each: usize = self.shape[1..].iter().product();
        if let Contents::Text { lines, columns, .. } = &self.contents {
            return format!("line {}, column {}", lines[index / each], columns[index % each]);
        }
        let mut rest = index;
        let mut place: Vec<String> = Vec::new();
        for size in self.shape.iter().rev() {
            place.push((rest % size).to_string());
            rest /= size;
        }
        place.reverse();
        let words = match &place[..] {
            [row, column] => format!("row {row}, column {column}"),
            [row, ..] => format!("example {row}"),
            [] => unreachable!("an array has an axis"),
        };
        format!("`{}[{}]` ({words}, counted from 0)", self.name, place.join(", "))
    }

    /// Whether its elements are whole numbers by their type.
    pub(super) fn is_integer(&self) -> bool {
        matches!(&self.contents, Contents::Tensor { dtype, .. } if !dtype.is_float())
    }

    /// Calls `each` with every number in row-major order, until it fails.
    pub(super) fn each_number(&self, mut each: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
        match &self.contents {
            Contents::Text { numbers, .. } => {
                numbers.iter().enumerate().try_for_each(|(index, value)| each(index, *value))
            }
            Contents::Tensor { file, index, dtype } => {
                let bytes = file.read_bytes(*index).map_err(fault)?;
                let size = dtype.size().expect("numbers have a size");
                let mut elements = bytes.chunks_exact(size).enumerate();
                elements.try_for_each(|(index, element)| each(index, number(dtype, element)))
            }
        }
    }

    /// The array as inputs.
    pub(super) fn inputs(&self) -> Result<Inputs> {
        let values = match &self.contents {
            Contents::Tensor { file, index, dtype: DType::U8 } => {
                Values::Pixels(file.read_bytes(*index).map_err(fault)?)
            }
            _ => Values::Numbers(self.finite()?),
        };
        Ok(Inputs { name: self.name.clone(), examples: self.examples(), shape: self.shape[1..].to_vec(), values })
    }

    /// All numbers, each of them finite in single precision.
    pub(super) fn finite(&self) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        self.each_number(|index, value| {
            let single = value as f32;
            if !single.is_finite() {
                let fault = format!(
                    "is {value}, which is not a finite number of 32 bits; remove the example, or replace the value"
                );
                return Err(self.wrong_at(index, &fault));
            }
            all.push(single);
            Ok(())
        })?;
        Ok(all)
    }
}

/// A shape in words.
pub(super) fn axes(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("({})", sizes.join(", "))
}

fn is_number(dtype: &DType) -> bool {
    use DType::{Bool, I8, I16, I32, I64, U8, U16, U32, U64};
    dtype.is_float() || matches!(dtype, I64 | I32 | I16 | I8 | U64 | U32 | U16 | U8 | Bool)
}

/// The number that little-endian bytes stand for; those of an element of a type that [is a number](is_number).
fn number(dtype: &DType, bytes: &[u8]) -> f64 {
    let unsigned = bytes.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    match dtype {
        DType::F64 => f64::from_bits(unsigned),
        DType::F32 => f32::from_bits(unsigned as u32).into(),
        DType::I64 => unsigned as i64 as f64,
        DType::I32 => (unsigned as i32).into(),
        DType::I16 => (unsigned as i16).into(),
        DType::I8 => (unsigned as i8).into(),
        DType::U64 | DType::U32 | DType::U16 | DType::U8 | DType::Bool => unsigned as f64,
        _ => {
            let mut value = [0.0];
            dtype.decode(bytes, &mut value).expect("it is a floating-point type, and these are its bytes");
            value[0].into()
        }
    }
}
