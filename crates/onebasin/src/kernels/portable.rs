//! Vectors of four, in plain Rust, for instruction sets without a type of their own.

use super::isa::Kernel;
use super::lanes::Lanes;

/// 4 lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable([f32; 4]);

// SAFETY: reads and writes exactly the lanes named.
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on")]
unsafe impl Lanes for Portable {
    const LANES: usize = 4;
    #[inline(never)]
    unsafe fn call<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Portable>()
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(from.cast::<[f32; 4]>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self {
        let mut lanes = [0.0; 4];
        std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn load_apart(from: *const f32, stride: usize) -> Self {
        Self(std::array::from_fn(|lane| *from.add(lane * stride)))
    }
    #[inline(always)]
    unsafe fn load_at(from: *const f32, indices: *const u32) -> Self {
        Self(std::array::from_fn(|lane| *from.add(*indices.add(lane) as usize)))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        to.cast::<[f32; 4]>().write_unaligned(self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, count: usize) {
        std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] - other.0[lane]))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // Without a fused instruction `f32::mul_add` is a library call a hundred times slower.
        Self(std::array::from_fn(|lane| {
            if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
                self.0[lane].mul_add(factor.0[lane], term.0[lane])
            } else {
                self.0[lane] * factor.0[lane] + term.0[lane]
            }
        }))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] }))
    }
    #[inline(always)]
    unsafe fn max_or_nan(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            let (value, other) = (self.0[lane], other.0[lane]);
            if value > other || value.is_nan() { value } else { other }
        }))
    }
    #[inline(always)]
    unsafe fn keep_where_greater(self, test: Self, bound: Self) -> Self {
        Self(std::array::from_fn(|lane| if test.0[lane] > bound.0[lane] { self.0[lane] } else { 0.0 }))
    }
    #[inline(always)]
    unsafe fn at_least(self, bound: Self) -> u32 {
        (0..4).fold(0, |mask, lane| mask | u32::from(self.0[lane] >= bound.0[lane]) << lane)
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
    }
    #[inline(always)]
    unsafe fn non_zero(self) -> u32 {
        self.0.iter().enumerate().fold(0, |mask, (lane, value)| mask | u32::from(*value != 0.0) << lane)
    }
    #[inline(always)]
    unsafe fn inverse_sqrt(self) -> Self {
        Self(self.0.map(|value| 1.0 / value.sqrt()))
    }
    #[inline(always)]
    unsafe fn reciprocal(self) -> Self {
        Self(self.0.map(|value| 1.0 / value))
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const f32) {}
    #[inline(always)]
    unsafe fn add_products<const AT_ONCE: bool>(self, a: Self, b: Self) -> Self {
        let [a, b] = [a, b].map(|lanes| lanes.0.map(f32::to_bits));
        let mut sums = self.0.map(|lane| lane.to_bits() as i32);
        // Byte after byte of all lanes, which the compiler does side by side.
        for byte in 0..4 {
            for lane in 0..4 {
                let (a, b) = (a[lane] >> (8 * byte) & 0xff, (b[lane] << (24 - 8 * byte)) as i32 >> 24);
                sums[lane] = sums[lane].wrapping_add(a as i32 * b);
            }
        }
        Self(sums.map(|sum| f32::from_bits(sum as u32)))
    }
    #[inline(always)]
    unsafe fn without_sign(self) -> Self {
        Self(self.0.map(|lane| f32::from_bits(lane.to_bits() ^ 0x8080_8080)))
    }
    #[inline(always)]
    unsafe fn load_halves([low, high]: [*const u16; 2]) -> Self {
        Self(std::array::from_fn(|lane| f32::from_bits(u32::from(*low.add(lane)) | u32::from(*high.add(lane)) << 16)))
    }
    #[inline(always)]
    unsafe fn round_bytes(low: Self, high: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            let [low, high] = [low, high].map(|lanes| lanes.0[lane].round_ties_even() as i32 as u32);
            f32::from_bits(low & 0xff | high << 8)
        }))
    }
    #[inline(always)]
    unsafe fn store_low_halves(self, to: *mut u16) {
        to.cast::<[u16; 4]>().write_unaligned(self.0.map(|lane| lane.to_bits() as u16));
    }
    #[inline(always)]
    unsafe fn integers_as_numbers(self) -> Self {
        Self(self.0.map(|bits| bits.to_bits() as i32 as f32))
    }
}
