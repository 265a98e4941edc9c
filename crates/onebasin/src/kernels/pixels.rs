//! Pixels become floats: a scale and a shift for each.

use super::isa::Kernel;
use super::lanes::Lanes;

/// value = pixel · scale + shift; each operation is rounded, since a fused one would give other bits on some machines.
#[derive(Debug)]
pub struct ScaleAndShift<'a> {
    /// The pixels.
    pub pixels: &'a [u8],
    /// As many values.
    pub values: &'a mut [f32],
    /// One, or as many as in a row, which begin anew with every row.
    pub scale: &'a [f32],
    /// As many as scales.
    pub shift: &'a [f32],
}

impl Kernel for ScaleAndShift<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        if let (&[scale], &[shift]) = (self.scale, self.shift) {
            for (value, &pixel) in self.values.iter_mut().zip(self.pixels) {
                *value = f32::from(pixel) * scale + shift;
            }
            return;
        }
        let row = self.scale.len();
        for (values, pixels) in self.values.chunks_exact_mut(row).zip(self.pixels.chunks_exact(row)) {
            for (((value, &pixel), scale), shift) in values.iter_mut().zip(pixels).zip(self.scale).zip(self.shift) {
                *value = f32::from(pixel) * scale + shift;
            }
        }
    }
}
