//! Arrays of f32 that begin on a cache line, so that no block of 16 channels straddles two.

use crate::lanes::BLOCK;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = BLOCK * size_of::<f32>();

/// An array of zeros to begin with, whose first value is the first of a cache line.
///
/// A `Vec` of this size begins 16 bytes into a line, and then every load of a block is two.
#[derive(Debug, Default)]
pub struct Aligned {
    /// Longer than the array by what the first line may begin with.
    values: Vec<f32>,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    ///
    /// Large arrays come from the system as zeros, page by page when they are first touched, by whatever thread does.
    pub fn zeros(len: usize) -> Self {
        Self { values: vec![0.0; if len == 0 { 0 } else { len + BLOCK - 1 }], len }
    }

    fn start(&self) -> usize {
        if self.len == 0 { 0 } else { self.values.as_ptr().align_offset(LINE) }
    }
}

impl Deref for Aligned {
    type Target = [f32];
    #[inline]
    fn deref(&self) -> &[f32] {
        &self.values[self.start()..][..self.len]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        let start = self.start();
        &mut self.values[start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_length_begin_on_a_line() {
        for len in [0, 1, 16, 1000, 1 << 20] {
            let mut values = Aligned::zeros(len);
            assert_eq!(values.len(), len);
            assert!(values.iter().all(|value| *value == 0.0));
            assert!(len == 0 || values.as_ptr().addr().is_multiple_of(LINE), "{len} values");
            values.fill(1.0);
            assert_eq!(values.iter().sum::<f32>(), len as f32);
        }
    }
}
