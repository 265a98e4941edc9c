//! Where the elements of a tensor lie in a storage: shape, strides and offset, and the bytes gathered from and scattered to there.

use crate::error::Result;
use crate::file::Positioned;
use std::ops::Range;

/// Most axes of a tensor; torch and NumPy have at most 64.
const AXES: usize = 64;
/// Shortest run of bytes that is worth a read of its own.
const LONG_RUN: usize = 1 << 12;
/// Bytes between the first and the last element of a tensor with gaps that are read at once, whatever their use.
const SMALL_HULL: usize = 1 << 24;

/// A tensor as part of a storage; all sizes fit in `usize` and lie in the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    shape: Vec<usize>,
    /// Elements from one index of an axis to the next.
    strides: Vec<u64>,
    /// First byte in the storage.
    offset: u64,
    /// Bytes of an element.
    element: usize,
    /// Bytes that are reversed together, because the file is big-endian; one or zero if it is not.
    swapped: usize,
    /// All bytes of the elements.
    bytes: usize,
    /// Bytes from the beginning of the first to the end of the last element.
    hull: u64,
}

impl View {
    /// A view of a storage of `len` bytes, or what is wrong with it.
    pub(crate) fn new(
        shape: &[usize],
        strides: Vec<u64>,
        offset: u64,
        element: usize,
        len: u64,
    ) -> std::result::Result<Self, String> {
        if shape.len() > AXES {
            return Err(format!("has {} axes, more than {AXES}", shape.len()));
        }
        if shape.len() != strides.len() {
            return Err(format!("has {} axes but {} strides", shape.len(), strides.len()));
        }
        let too_large = || format!("has the shape {shape:?}, which is too large");
        let bytes = byte_count(shape, element).ok_or_else(too_large)?;
        let mut last: u64 = 0;
        for (size, stride) in shape.iter().zip(&strides).filter(|_| bytes > 0) {
            let reach = (*size as u64 - 1).checked_mul(*stride);
            last = reach.and_then(|reach| last.checked_add(reach)).ok_or_else(too_large)?;
        }
        let hull = if bytes == 0 { Some(0) } else { (last + 1).checked_mul(element as u64) };
        let hull = hull.ok_or_else(too_large)?;
        if offset.checked_add(hull).is_none_or(|end| end > len) {
            let place = format!("offset {offset}, shape {shape:?}, strides {strides:?}, {element} bytes per element");
            return Err(format!("reaches beyond the {len} bytes of its storage ({place})"));
        }
        Ok(Self { shape: shape.to_vec(), strides, offset, element, swapped: 0, bytes, hull })
    }

    /// A view in row-major order, or in column-major order.
    pub(crate) fn contiguous(
        shape: &[usize],
        column_major: bool,
        offset: u64,
        element: usize,
        len: u64,
    ) -> std::result::Result<Self, String> {
        let mut strides = vec![0; shape.len()];
        let mut stride = 1_u64;
        for index in 0..shape.len() {
            let axis = if column_major { index } else { shape.len() - 1 - index };
            strides[axis] = stride;
            stride = stride.saturating_mul(shape[axis] as u64);
        }
        Self::new(shape, strides, offset, element, len)
    }

    /// The same view of a big-endian storage.
    pub(crate) fn big_endian(self, swapped: usize) -> Self {
        Self { swapped, ..self }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes of the storage from the first to the last element.
    pub(crate) fn hull(&self) -> Range<u64> {
        self.offset..self.offset + self.hull
    }

    /// Whether two indices may mean the same element, as in a tensor that was expanded.
    pub(crate) fn overlaps_itself(&self) -> bool {
        let mut axes: Vec<(u64, usize)> =
            self.strides.iter().copied().zip(self.shape.iter().copied()).filter(|(_, size)| *size > 1).collect();
        axes.sort_unstable();
        let mut reach = 0;
        for (stride, size) in axes.into_iter().filter(|_| self.bytes > 0) {
            if stride <= reach {
                return true;
            }
            reach += stride * (size as u64 - 1);
        }
        false
    }

    /// Whether each byte between the first and the last element belongs to one element.
    pub(crate) fn is_dense(&self) -> bool {
        self.bytes as u64 == self.hull && !self.overlaps_itself()
    }

    /// Calls `visit` with the place in the storage and the length of each run of bytes, in row-major order, until it fails.
    pub(crate) fn runs<E>(
        &self,
        mut visit: impl FnMut(u64, usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut outer: Vec<(usize, u64)> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|(size, _)| *size > 1).collect();
        let mut run = 1;
        while let Some((size, _)) = outer.pop_if(|(_, stride)| *stride == run as u64) {
            run *= size;
        }
        let mut index = vec![0; outer.len()];
        let mut at = 0;
        loop {
            visit(self.offset + at * self.element as u64, run * self.element)?;
            let mut axis = outer.len();
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                let (size, stride) = outer[axis];
                index[axis] += 1;
                at += stride;
                if index[axis] < size {
                    break;
                }
                at -= stride * size as u64;
                index[axis] = 0;
            }
        }
    }

    /// Whether the bytes are best moved together with those between them.
    fn as_hull(&self) -> bool {
        let mut first = 0;
        let _ = self.runs(|_, len| {
            first = len;
            Err(())
        });
        let worth = self.bytes.saturating_mul(4).max(SMALL_HULL) as u64;
        first < LONG_RUN && self.hull <= worth
    }

    /// The bytes in row-major order, little-endian; `read` fills a slice from a place in the storage.
    pub(crate) fn gather(&self, mut read: impl FnMut(u64, &mut [u8]) -> Result<()>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        let mut done = 0;
        if self.as_hull() {
            let mut hull = vec![0; self.hull as usize];
            read(self.offset, &mut hull)?;
            self.runs(|at, len| {
                let at = (at - self.offset) as usize;
                bytes[done..done + len].copy_from_slice(&hull[at..at + len]);
                done += len;
                Ok::<(), crate::error::Error>(())
            })?;
        } else {
            self.runs(|at, len| {
                done += len;
                read(at, &mut bytes[done - len..done])
            })?;
        }
        self.swap(&mut bytes);
        Ok(bytes)
    }

    /// Writes row-major, little-endian bytes to a storage that begins at `start` of a file.
    pub(crate) fn scatter(&self, mut bytes: Vec<u8>, file: &Positioned, start: u64) -> Result<()> {
        assert_eq!(bytes.len(), self.bytes, "the length was checked");
        self.swap(&mut bytes);
        let mut done = 0;
        if self.as_hull() && !self.is_empty() {
            let mut hull = vec![0; self.hull as usize];
            file.read_at(start + self.offset, &mut hull)?;
            self.runs(|at, len| {
                let at = (at - self.offset) as usize;
                hull[at..at + len].copy_from_slice(&bytes[done..done + len]);
                done += len;
                Ok::<(), crate::error::Error>(())
            })?;
            return file.write_at(start + self.offset, &hull);
        }
        self.runs(|at, len| {
            done += len;
            file.write_at(start + at, &bytes[done - len..done])
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn swap(&self, bytes: &mut [u8]) {
        if self.swapped > 1 {
            bytes.chunks_exact_mut(self.swapped).for_each(<[u8]>::reverse);
        }
    }
}

/// Bytes of all elements of a shape, if they can be counted.
pub(crate) fn byte_count(shape: &[usize], element: usize) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(element, |bytes, size| bytes.checked_mul(*size))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
}
