//! bfloat16: numbers of f32 rounded to the upper half of their bits, two of them in the place of one f32.
//!
//! A product of two such numbers is exact in f32, so sums of products differ from those of f32 by the rounding of the factors alone.

use crate::lanes::{BLOCK, Kernel, Lanes};

/// What the factors of products are; sums are of f32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Factors {
    /// Numbers of f32.
    #[default]
    Singles,
    /// Pairs of bf16, each in the place of an f32, whose products are summed.
    Pairs,
}

impl Factors {
    /// Numbers in the place of one f32.
    pub const fn packed(self) -> usize {
        match self {
            Self::Singles => 1,
            Self::Pairs => 2,
        }
    }
}

/// [`Factors`] as a type, so that a kernel is compiled for each.
pub(super) trait Multiply {
    /// Numbers in the place of one f32.
    const PACKED: usize;
    /// `sum` and the products of each lane.
    ///
    /// # Safety
    /// The caller is compiled for the vector's instruction set.
    unsafe fn multiply<V: Lanes>(a: V, b: V, sum: V) -> V;
}

/// Numbers of f32.
pub(super) struct Singles;

impl Multiply for Singles {
    const PACKED: usize = Factors::Singles.packed();
    #[inline(always)]
    unsafe fn multiply<V: Lanes>(a: V, b: V, sum: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.mul_add(b, sum) }
    }
}

/// Pairs of bf16; `NATIVE` where one instruction multiplies them, [`Lanes::has_bf16`].
pub(super) struct Pairs<const NATIVE: bool>;

impl<const NATIVE: bool> Multiply for Pairs<NATIVE> {
    const PACKED: usize = Factors::Pairs.packed();
    #[inline(always)]
    unsafe fn multiply<V: Lanes>(a: V, b: V, sum: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { sum.dot_pairs::<NATIVE>(a, b) }
    }
}

/// The bits of the bf16 that is nearest, of two equally near the even one; a NaN stays one.
#[inline(always)]
fn round(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // The sum of a NaN's bits could overflow into those of a number.
    if bits & 0x7fff_ffff > 0x7f80_0000 { bits >> 16 | 0x40 } else { rounded }
}

/// Rounds neighbours to pairs: half as many as there are numbers, in the same order.
pub struct RoundNeighbours<'a> {
    /// Whole blocks of 16.
    pub from: &'a [f32],
    /// Half as long.
    pub to: &'a mut [f32],
}

impl Kernel for RoundNeighbours<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        assert!(self.from.len().is_multiple_of(BLOCK) && self.from.len() == 2 * self.to.len());
        if cfg!(target_endian = "big") {
            for ([first, second], to) in self.from.as_chunks().0.iter().zip(self.to) {
                *to = f32::from_bits(round(*first) | round(*second) << 16);
            }
            return;
        }
        // SAFETY: a half of an f32 is aligned wherever an f32 is, any bits are one, and there are as many as numbers.
        let to = unsafe { std::slice::from_raw_parts_mut(self.to.as_mut_ptr().cast::<u16>(), self.from.len()) };
        for (from, to) in self.from.iter().zip(to) {
            *to = round(*from) as u16;
        }
    }
}

/// Rounds two arrays to pairs, one of each.
pub struct RoundTogether<'a> {
    /// The first of each pair.
    pub first: &'a [f32],
    /// The second of each pair; zeros if there are none.
    pub second: Option<&'a [f32]>,
    /// As long as either.
    pub to: &'a mut [f32],
}

impl Kernel for RoundTogether<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { first, second, to } = self;
        assert!(first.len() == to.len() && second.is_none_or(|second| second.len() == to.len()));
        match second {
            Some(second) => {
                for ((first, second), to) in first.iter().zip(second).zip(to) {
                    *to = f32::from_bits(round(*first) | round(*second) << 16);
                }
            }
            None => {
                for (first, to) in first.iter().zip(to) {
                    *to = f32::from_bits(round(*first));
                }
            }
        }
    }
}

/// Rounds pairs of neighbouring blocks: the first with the second, the third with the fourth.
pub struct RoundBlocks<'a> {
    /// Whole blocks of 16; an odd last one is paired with zeros.
    pub from: &'a [f32],
    /// A block for each pair.
    pub to: &'a mut [f32],
}

impl Kernel for RoundBlocks<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { from, to } = self;
        let (from, to) = (from.as_chunks::<BLOCK>().0, to.as_chunks_mut::<BLOCK>().0);
        assert!(from.len().div_ceil(2) == to.len());
        let (pairs, rest) = from.as_chunks::<2>();
        let (whole, last) = to.split_at_mut(pairs.len());
        for ([first, second], to) in pairs.iter().zip(whole) {
            for lane in 0..BLOCK {
                to[lane] = f32::from_bits(round(first[lane]) | round(second[lane]) << 16);
            }
        }
        for (first, to) in rest.iter().zip(last) {
            *to = first.map(|value| f32::from_bits(round(value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_the_nearest_and_of_two_to_the_even_one() {
        let half = |value: f32| f32::from_bits(round(value) << 16);
        for exact in [0.0, -0.0, 1.0, -2.5, f32::INFINITY, f32::NEG_INFINITY, 1.5e38] {
            let exact = f32::from_bits(exact.to_bits() & 0xffff_0000);
            assert_eq!(half(exact).to_bits(), exact.to_bits());
        }
        // Between 1 and 1 + 2⁻⁷, whose last bits are 0 and 1.
        assert_eq!(half(1.0 + 0.003_906_25), 1.0);
        assert_eq!(half(1.007_812_5 + 0.003_906_25), 1.015_625);
        assert_eq!(half(1.0 + 0.004), 1.007_812_5);
        assert_eq!(half(f32::MAX), f32::INFINITY);
        assert!(half(f32::NAN).is_nan() && half(f32::from_bits(0x7f80_0001)).is_nan());
        assert!(half(f32::from_bits(0xffff_ffff)).is_nan());
    }
}
