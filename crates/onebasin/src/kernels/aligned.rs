//! Arrays that begin on a cache line, so that no block of 16 channels straddles two.

use super::lanes::BLOCK;
use std::ops::Deref;
use std::ops::DerefMut;

const LINE: usize = 64;

/// An array of zeros to begin with, of values of four bytes, whose first value is the first of a cache line.
///
/// A `Vec` of this size begins 16 bytes into a line, and then every load of a block is two.
#[derive(Debug, Default)]
pub struct Aligned<T = f32> {
    /// Longer than the array by what the first line may begin with.
    values: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `len` zeros.
    ///
    /// Large arrays come from the system as zeros, page by page when they are first touched, by whatever thread does.
    pub fn zeros(len: usize) -> Self {
        const { assert!(size_of::<T>() * BLOCK == LINE) };
        Self { values: vec![T::default(); if len == 0 { 0 } else { len + BLOCK - 1 }], len }
    }

    fn start(&self) -> usize {
        if self.len == 0 { 0 } else { self.values.as_ptr().align_offset(LINE) }
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut clone = Self::zeros(self.len);
        clone.copy_from_slice(self);
        clone
    }
}

impl<T: Copy + Default> Deref for Aligned<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.values[self.start()..][..self.len]
    }
}

impl<T: Copy + Default> DerefMut for Aligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let start = self.start();
        &mut self.values[start..][..self.len]
    }
}
