//! Types of elements, their names in each library, and conversions of floating-point types from and to `f32`.

use std::fmt;
use std::sync::Arc;

/// Type of the elements of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the documentation")]
#[non_exhaustive]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    F8E4M3,
    F8E5M2,
    F8E4M3FNUZ,
    F8E5M2FNUZ,
    F8E8M0,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool,
    C128,
    C64,
    C32,
    /// A type whose bytes are passed through.
    Other {
        /// Its name in the file.
        name: Arc<str>,
        /// Bytes of an element; none if that is not known or not whole.
        size: Option<usize>,
    },
}

/// Each type with its name in messages, in safetensors, of its storage and its elements in torch, and in NumPy.
const NAMES: &[(DType, &str, &str, &str, &str, &str)] = &[
    (DType::F64, "f64", "F64", "DoubleStorage", "float64", "f8"),
    (DType::F32, "f32", "F32", "FloatStorage", "float32", "f4"),
    (DType::F16, "f16", "F16", "HalfStorage", "float16", "f2"),
    (DType::BF16, "bf16", "BF16", "BFloat16Storage", "bfloat16", ""),
    (DType::F8E4M3, "f8_e4m3", "F8_E4M3", "", "float8_e4m3fn", ""),
    (DType::F8E5M2, "f8_e5m2", "F8_E5M2", "", "float8_e5m2", ""),
    (DType::F8E4M3FNUZ, "f8_e4m3fnuz", "F8_E4M3FNUZ", "", "float8_e4m3fnuz", ""),
    (DType::F8E5M2FNUZ, "f8_e5m2fnuz", "F8_E5M2FNUZ", "", "float8_e5m2fnuz", ""),
    (DType::F8E8M0, "f8_e8m0", "F8_E8M0", "", "float8_e8m0fnu", ""),
    (DType::I64, "i64", "I64", "LongStorage", "int64", "i8"),
    (DType::I32, "i32", "I32", "IntStorage", "int32", "i4"),
    (DType::I16, "i16", "I16", "ShortStorage", "int16", "i2"),
    (DType::I8, "i8", "I8", "CharStorage", "int8", "i1"),
    (DType::U64, "u64", "U64", "", "uint64", "u8"),
    (DType::U32, "u32", "U32", "", "uint32", "u4"),
    (DType::U16, "u16", "U16", "", "uint16", "u2"),
    (DType::U8, "u8", "U8", "ByteStorage", "uint8", "u1"),
    (DType::Bool, "bool", "BOOL", "BoolStorage", "bool", "b1"),
    (DType::C128, "c128", "C128", "ComplexDoubleStorage", "complex128", "c16"),
    (DType::C64, "c64", "C64", "ComplexFloatStorage", "complex64", "c8"),
    (DType::C32, "c32", "C32", "", "complex32", ""),
];

impl DType {
    /// Bytes of an element; none for a passed-through type whose elements are not whole bytes or not known.
    pub fn size(&self) -> Option<usize> {
        Some(match self {
            Self::C128 => 16,
            Self::F64 | Self::I64 | Self::U64 | Self::C64 => 8,
            Self::F32 | Self::I32 | Self::U32 | Self::C32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::Other { size, .. } => return *size,
            _ => 1,
        })
    }

    /// The name in messages: `f32`, `bf16`, `i64`; of a passed-through type, that in the file.
    pub fn name(&self) -> &str {
        match self {
            Self::Other { name, .. } => name,
            _ => NAMES.iter().find(|row| row.0 == *self).map_or("", |row| row.1),
        }
    }

    /// Whether values are converted from and to `f32`: f64, f32, f16 and bf16 are.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }

    /// Converts little-endian `bytes` to as many values as `out` has; an f64 is rounded to nearest.
    ///
    /// None if the type [is not converted](Self::is_float) or the lengths differ; `out` is unchanged then.
    pub fn decode(&self, bytes: &[u8], out: &mut [f32]) -> Option<()> {
        let size = self.size().filter(|_| self.is_float())?;
        if out.len().checked_mul(size)? != bytes.len() {
            return None;
        }
        let two = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
        for (value, bytes) in out.iter_mut().zip(bytes.chunks_exact(size)) {
            *value = match self {
                Self::F64 => f64::from_le_bytes(bytes.try_into().ok()?) as f32,
                Self::F32 => f32::from_le_bytes(bytes.try_into().ok()?),
                Self::F16 => half_to_single(two(bytes)),
                _ => f32::from_bits(u32::from(two(bytes)) << 16),
            };
        }
        Some(())
    }

    /// Converts values to little-endian bytes, rounded to nearest, ties to even; beyond the range they are infinite.
    ///
    /// None if the type [is not converted](Self::is_float).
    pub fn encode(&self, values: &[f32]) -> Option<Vec<u8>> {
        Some(match self {
            Self::F64 => values.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect(),
            Self::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::F16 => values.iter().flat_map(|value| single_to_half(*value).to_le_bytes()).collect(),
            Self::BF16 => values.iter().flat_map(|value| single_to_bfloat(*value).to_le_bytes()).collect(),
            _ => return None,
        })
    }

    pub(crate) fn of_safetensors(name: &str) -> Self {
        let row = NAMES.iter().find(|row| row.2 == name);
        row.map_or_else(|| Self::Other { name: name.into(), size: None }, |row| row.0.clone())
    }

    /// The type of a storage class of torch, without its module.
    pub(crate) fn of_torch_storage(class: &str) -> Option<Self> {
        match class {
            "UntypedStorage" => Some(Self::U8),
            _ => NAMES.iter().find(|row| !row.3.is_empty() && row.3 == class).map(|row| row.0.clone()),
        }
    }

    /// The type that torch calls by this name, without `torch.`.
    pub fn of_torch(name: &str) -> Option<Self> {
        NAMES.iter().find(|row| row.4 == name).map(|row| row.0.clone())
    }

    /// The type of a NumPy description without its byte order: `f4`.
    pub(crate) fn of_numpy(kind: &str) -> Option<Self> {
        NAMES.iter().find(|row| !row.5.is_empty() && row.5 == kind).map(|row| row.0.clone())
    }

    /// Bytes that are reversed together when the byte order changes.
    pub(crate) fn swapped_bytes(&self) -> usize {
        match self {
            Self::C128 => 8,
            Self::C64 => 4,
            Self::C32 => 2,
            Self::Other { .. } => 1,
            _ => self.size().unwrap_or(1),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn half_to_single(half: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(half >> 15) << 31, u32::from(half >> 10) & 31, u32::from(half) & 1023);
    match exponent {
        // A subnormal number is its fraction in units of 2^-24, which f32 has exactly.
        0 => f32::from_bits(sign | (fraction as f32 * f32::from_bits(103 << 23)).to_bits()),
        31 => f32::from_bits(sign | 255 << 23 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

fn single_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
    let rounded = if magnitude > 255 << 23 {
        // A NaN stays one, with the upper bits of its payload.
        0x7e00 | (magnitude >> 13) as u16 & 0x01ff
    } else if magnitude >= 143 << 23 {
        0x7c00
    } else if magnitude >= 113 << 23 {
        // A carry out of the fraction raises the exponent, at the end to infinity.
        round_off(magnitude - (112 << 23), 13) as u16
    } else if magnitude >= 102 << 23 {
        // A subnormal half: the fraction with its leading one, in units of 2^-24.
        round_off(magnitude & 0x007f_ffff | 1 << 23, 126 - (magnitude >> 23)) as u16
    } else {
        0
    };
    sign | rounded
}

fn single_to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() { (bits >> 16) as u16 | 0x0040 } else { round_off(bits, 16) as u16 }
}

/// Divides by 2^`shift`, rounded to nearest, ties to even.
fn round_off(bits: u32, shift: u32) -> u32 {
    let (kept, lost, half) = (bits >> shift, bits & ((1 << shift) - 1), 1 << (shift - 1));
    kept + u32::from(lost > half || lost == half && kept & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_and_bfloat_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            for dtype in [DType::F16, DType::BF16] {
                let mut value = [0.0];
                dtype.decode(&bits.to_le_bytes(), &mut value).unwrap();
                let back = dtype.encode(&value).unwrap();
                let same = back == bits.to_le_bytes();
                assert!(same || value[0].is_nan() && back[1] & 0x7c == 0x7c, "{dtype} {bits:#x} {value:?} {back:?}");
            }
        }
    }

    #[test]
    fn values_between_two_halves_are_rounded_to_the_nearest_and_ties_to_even() {
        let value = |bits: u16| f64::from(half_to_single(bits));
        for bits in 0..0x7bff_u16 {
            let middle = f64::midpoint(value(bits), value(bits + 1)) as f32;
            let even = bits + (bits & 1);
            assert_eq!(single_to_half(middle), even, "{bits:#x}");
            assert_eq!(single_to_half(-middle), even | 0x8000, "{bits:#x}");
            assert_eq!(single_to_half(f32::from_bits(middle.to_bits() - 1)), bits, "{bits:#x}");
            assert_eq!(single_to_half(f32::from_bits(middle.to_bits() + 1)), bits + 1, "{bits:#x}");
        }
        assert_eq!(single_to_half(65519.996), 0x7bff);
        assert_eq!(single_to_half(65520.0), 0x7c00);
        assert_eq!(single_to_half(f32::INFINITY), 0x7c00);
        assert_eq!(single_to_half(f32::MAX), 0x7c00);
        assert!(half_to_single(single_to_half(f32::NAN)).is_nan());
        assert_eq!(single_to_bfloat(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(single_to_bfloat(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(single_to_bfloat(f32::MAX), 0x7f80);
    }

    #[test]
    fn types_that_are_not_floats_and_wrong_lengths_are_not_converted() {
        assert_eq!(DType::I64.encode(&[1.0]), None);
        assert_eq!(DType::I64.decode(&[0; 8], &mut [0.0]), None);
        assert_eq!(DType::F32.decode(&[0; 5], &mut [0.0]), None);
        assert_eq!(DType::F64.encode(&[0.1]).unwrap(), f64::from(0.1_f32).to_le_bytes());
    }

    #[test]
    fn every_name_is_that_of_one_type() {
        for (dtype, name, safetensors, storage, torch, numpy) in NAMES {
            assert_eq!(dtype.name(), *name);
            assert_eq!(DType::of_safetensors(safetensors), *dtype);
            assert_eq!(DType::of_torch(torch).as_ref(), Some(dtype));
            assert!(storage.is_empty() || DType::of_torch_storage(storage).as_ref() == Some(dtype));
            assert!(numpy.is_empty() || DType::of_numpy(numpy).as_ref() == Some(dtype));
        }
    }
}
