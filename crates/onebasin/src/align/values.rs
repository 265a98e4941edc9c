//! The values that one side of a feature has: numbers of 32 bits, or those of a file in its own type, which takes less memory.

use onebasin_checkpoint::DType;
use onebasin_kernels::Isa;
use onebasin_kernels::marginals::{Indices, PermutedProduct};
use std::borrow::Cow;
use std::ops::Range;

/// One value for each parameter, in the order of the layout.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Numbers of 32 bits.
    Plain(Cow<'a, [f32]>),
    /// Numbers of a floating-point type, little-endian; parts are converted when they are needed.
    Stored {
        /// Type of the numbers.
        dtype: DType,
        /// All numbers.
        bytes: Cow<'a, [u8]>,
    },
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::Plain(Cow::Borrowed(values))
    }
}

impl From<Vec<f32>> for Values<'_> {
    fn from(values: Vec<f32>) -> Self {
        Self::Plain(Cow::Owned(values))
    }
}

impl Values<'_> {
    /// Number of values.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(values) => values.len(),
            Self::Stored { dtype, bytes } => bytes.len() / size(dtype),
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(values) => size_of_val(&**values),
            Self::Stored { bytes, .. } => bytes.len(),
        }
    }

    /// The same in memory of its own.
    pub(super) fn into_owned(self) -> Values<'static> {
        match self {
            Self::Plain(values) => Values::Plain(Cow::Owned(values.into_owned())),
            Self::Stored { dtype, bytes } => Values::Stored { dtype, bytes: Cow::Owned(bytes.into_owned()) },
        }
    }

    /// One value.
    pub(super) fn at(&self, index: usize) -> f32 {
        match self {
            Self::Plain(values) => values[index],
            Self::Stored { dtype, bytes } => {
                let (size, mut value) = (size(dtype), [0.0]);
                dtype.decode(&bytes[index * size..(index + 1) * size], &mut value).expect(FLOAT);
                value[0]
            }
        }
    }

    /// Some values, in new memory only if they have to be converted.
    pub(super) fn part(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match self {
            Self::Plain(values) => Cow::Borrowed(&values[range]),
            Self::Stored { dtype, bytes } => {
                let size = size(dtype);
                let mut values = vec![0.0; range.len()];
                let converted = dtype.decode(&bytes[range.start * size..range.end * size], &mut values);
                converted.expect(FLOAT);
                Cow::Owned(values)
            }
        }
    }

    /// All values, to be changed.
    pub(super) fn to_mut(&mut self) -> &mut [f32] {
        if let Self::Stored { .. } = self {
            *self = self.part(0..self.len()).into_owned().into();
        }
        let Self::Plain(values) = self else { unreachable!("all values were converted") };
        values.to_mut()
    }

    /// `Σᵢ a[at + i · stride] · b[from + p[i] · stride]`
    pub(super) fn gathered(&self, at: usize, other: &Self, from: usize, stride: usize, indices: Indices<'_>) -> f64 {
        let isa = Isa::detect();
        if let (Self::Plain(a), Self::Plain(b)) = (self, other) {
            return gathered(isa, &a[at..], &b[from..], stride, indices);
        }
        let row = |values: &Self, first: usize| -> Vec<f32> {
            (0..indices.count()).map(|index| values.at(first + index * stride)).collect()
        };
        gathered(isa, &row(self, at), &row(other, from), 1, indices)
    }
}

const FLOAT: &str = "stored values are of a floating-point type";

fn size(dtype: &DType) -> usize {
    dtype.size().expect(FLOAT)
}

/// `Σᵢ a[i · stride] · b[p[i] · stride]`
pub(super) fn gathered(isa: Isa, a: &[f32], b: &[f32], stride: usize, indices: Indices<'_>) -> f64 {
    isa.run(PermutedProduct { a, b, far: 0, rows: &[0], stride, indices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_are_those_that_were_stored() {
        let values: Vec<f32> = (0..40).map(|index| (index as f32 - 20.0) * 0.125).collect();
        let plain = Values::from(values.clone());
        let permutation: Vec<u32> = (0..8).map(|index| (3 * index + 1) % 8).collect();
        let indices = Indices::new(&permutation);
        for dtype in [DType::BF16, DType::F16, DType::F32, DType::F64] {
            let mut stored = Values::Stored { bytes: dtype.encode(&values).unwrap().into(), dtype };
            assert_eq!(stored.len(), 40);
            assert_eq!(stored.part(3..9), plain.part(3..9));
            assert_eq!(stored.at(39), values[39]);
            for stride in [1, 3] {
                let found = stored.gathered(2, &plain, 5, stride, indices);
                assert_eq!(found, plain.gathered(2, &plain, 5, stride, indices));
            }
            assert_eq!(stored.to_mut(), &values[..]);
            assert!(matches!(stored, Values::Plain(_)));
        }
    }
}
