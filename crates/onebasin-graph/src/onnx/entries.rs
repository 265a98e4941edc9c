//! Constants whose entries are known, and how their entries are found by position.

use super::tensor::DataType;

/// An array whose entries are known, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entries {
    /// Its shape; an axis may have no entries.
    pub shape: Vec<usize>,
    /// What its entries are.
    pub data_type: DataType,
    /// Its entries; integers too, as far as a number of 8 bytes holds them.
    pub data: Vec<f64>,
}

impl Entries {
    /// A vector of integers.
    pub(super) fn integers(data: impl IntoIterator<Item = usize>) -> Self {
        let data: Vec<f64> = data.into_iter().map(|entry| entry as f64).collect();
        Self { shape: vec![data.len()], data_type: DataType::I64, data }
    }

    /// The same entries as integers, if they are.
    pub(super) fn to_integers(&self) -> Option<Vec<i64>> {
        let integer = |entry: &f64| (entry.fract() == 0.0).then_some(*entry as i64);
        self.data.iter().map(integer).collect()
    }

    /// The only entry, if there is one.
    pub(super) fn single(&self) -> Option<f64> {
        if let [entry] = self.data[..] { Some(entry) } else { None }
    }

    /// Whether all entries are equal.
    pub(super) fn is_uniform(&self) -> bool {
        self.data.iter().all(|entry| entry.to_bits() == self.data[0].to_bits())
    }

    /// Whether all entries are exactly what the network has: integers that a number of 8 bytes holds, or the largest of all, which
    /// stand for "to the end".
    pub(super) fn is_exact(&self) -> bool {
        const EXACT: f64 = (1u64 << 53) as f64;
        const LARGEST: f64 = i64::MAX as f64;
        self.data_type.is_float() || self.data.iter().all(|entry| entry.abs() <= EXACT || entry.abs() == LARGEST)
    }

    /// The entries of another shape, each taken from the position that `from` gives for it in row-major order.
    pub(super) fn gathered(&self, shape: Vec<usize>, from: impl Iterator<Item = usize>) -> Self {
        Self { shape, data_type: self.data_type, data: from.map(|position| self.data[position]).collect() }
    }
}

/// Row-major distance between neighbours along each axis.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// The positions in row-major order of a shape, for an array whose neighbours along the axes are this far apart.
pub(super) fn positions<'a>(
    shape: &'a [usize],
    strides: &'a [isize],
    offset: usize,
) -> impl Iterator<Item = usize> + 'a {
    let len: usize = shape.iter().product();
    let mut counter = vec![0; shape.len()];
    let mut position = offset as isize;
    (0..len).map(move |_| {
        let present = position as usize;
        for axis in (0..shape.len()).rev() {
            counter[axis] += 1;
            position += strides[axis];
            if counter[axis] < shape[axis] {
                break;
            }
            position -= strides[axis] * shape[axis] as isize;
            counter[axis] = 0;
        }
        present
    })
}

/// The positions in an array of shape `own` when it is broadcast to `shape`; none if it cannot be.
pub(super) fn broadcast_strides(own: &[usize], shape: &[usize]) -> Option<Vec<isize>> {
    let skipped = shape.len().checked_sub(own.len())?;
    let mut all = vec![0; shape.len()];
    for (axis, (size, stride)) in own.iter().zip(strides(own)).enumerate() {
        match *size {
            size if size == shape[skipped + axis] => all[skipped + axis] = stride as isize,
            1 => {}
            _ => return None,
        }
    }
    Some(all)
}

/// The common shape of arrays that are broadcast as in `NumPy`; none if there is none.
pub(super) fn common_shape(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let axes = shapes.iter().map(|shape| shape.len()).max()?;
    let mut common = vec![1; axes];
    for shape in shapes {
        for (all, own) in common.iter_mut().rev().zip(shape.iter().rev()) {
            match (*all, *own) {
                (all, own) if all == own => {}
                (1, own) => *all = own,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(common)
}

/// Number of entries of a shape, if it is at most `most`.
pub(super) fn count(shape: &[usize], most: usize) -> Option<usize> {
    // An axis without entries makes the product small, whatever the others are.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |all, size| all.checked_mul(*size)).filter(|count| *count <= most)
}
