//! Vectors of f32: one trait, and a type for each instruction set.

use super::isa::Kernel;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;

/// Channels per block of every activation and packed weight: all lane counts divide it.
pub const BLOCK: usize = 16;

/// A vector of `LANES` f32 values.
///
/// Only this room has types that implement it, and only [`super::Isa::run`] chooses among them.
///
/// # Safety
/// `LANES` is 4, 8 or 16. Methods are only called from code compiled for the type's instruction set, and the
/// pointers given to `load*` and `store*` must be valid for the lanes they touch; no alignment is needed.
#[expect(clippy::missing_safety_doc, reason = "the contract is the same for all, and stands above")]
#[expect(clippy::return_self_not_must_use, reason = "arithmetic")]
pub unsafe trait Lanes: Copy {
    /// Number of lanes.
    const LANES: usize;
    /// Runs `kernel` as a function of its own, compiled for this instruction set.
    ///
    /// Large kernels call their parts by it: inlined into one function, they would need more stack than a thread
    /// has where the compiler does not optimise.
    unsafe fn call<K: Kernel>(kernel: K) -> K::Output;
    /// The value in every lane.
    unsafe fn splat(value: f32) -> Self;
    /// All lanes from memory.
    unsafe fn load(from: *const f32) -> Self;
    /// The first `count` lanes from memory, zero in the others.
    unsafe fn load_part(from: *const f32, count: usize) -> Self;
    /// All lanes from memory, `stride` values apart; 16 strides must fit 31 bits.
    unsafe fn load_apart(from: *const f32, stride: usize) -> Self;
    /// All lanes from memory, each from as many values behind `from` as its index says; indices must fit 31 bits.
    unsafe fn load_at(from: *const f32, indices: *const u32) -> Self;
    /// All lanes to memory.
    unsafe fn store(self, to: *mut f32);
    /// The first `count` lanes to memory.
    unsafe fn store_part(self, to: *mut f32, count: usize);
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// `self * other`.
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + term`, rounded once where the instruction set can.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The larger of the two; `other` where either is NaN, so `zero.max(x)` keeps a NaN in x.
    unsafe fn max(self, other: Self) -> Self;
    /// The larger of the two, NaN where either is.
    unsafe fn max_or_nan(self, other: Self) -> Self;
    /// `self` where `test > bound`, zero elsewhere and where either is NaN.
    unsafe fn keep_where_greater(self, test: Self, bound: Self) -> Self;
    /// One bit for each lane, set where it is not below `bound` (a NaN is not).
    unsafe fn at_least(self, bound: Self) -> u32;
    /// Sum of the lanes.
    unsafe fn sum(self) -> f32;
    /// One bit for each lane, set where it is not zero (a NaN is not).
    unsafe fn non_zero(self) -> u32;
    /// 1 / √self within 2 units in the last place, for normal numbers above 10⁻³⁷.
    unsafe fn inverse_sqrt(self) -> Self;
    /// 1 / self within 2 units in the last place, for positive normal numbers up to 2¹²⁵: beyond, the estimate that it
    /// begins with may be zero.
    unsafe fn reciprocal(self) -> Self;
    /// Begins to bring a cache line near; the address may be any.
    unsafe fn prefetch(from: *const f32);
}

/// 16 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(x86::__m512);

/// 8 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(x86::__m256);

/// 4 lanes, in plain Rust.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable([f32; 4]);

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn first(count: usize) -> x86::__mmask16 {
    ((1u32 << count) - 1) as x86::__mmask16
}

/// One step of Newton's iteration for 1 / √x, which doubles the bits of an estimate.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn newton_inverse_sqrt<V: Lanes>(x: V, estimate: V) -> V {
    // SAFETY: the caller runs on the vector's instruction set.
    unsafe {
        let square = V::splat(-0.5).mul(x).mul(estimate);
        estimate.mul(square.mul_add(estimate, V::splat(1.5)))
    }
}

/// One step of Newton's iteration for 1 / x.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn newton_reciprocal<V: Lanes>(x: V, estimate: V) -> V {
    // SAFETY: as above.
    unsafe {
        let minus = V::splat(0.0).sub(x);
        estimate.mul(minus.mul_add(estimate, V::splat(2.0)))
    }
}

// SAFETY: the contract of the trait is passed on to the intrinsics unchanged.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on to the intrinsic it names")]
unsafe impl Lanes for Avx512 {
    const LANES: usize = 16;
    #[inline(always)]
    unsafe fn call<K: Kernel>(kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
        fn entry<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<Avx512>()
        }
        entry(kernel)
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(x86::_mm512_set1_ps(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(x86::_mm512_loadu_ps(from))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self {
        Self(x86::_mm512_maskz_loadu_ps(first(count), from))
    }
    #[inline(always)]
    unsafe fn load_apart(from: *const f32, stride: usize) -> Self {
        let lanes = x86::_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let offsets = x86::_mm512_mullo_epi32(lanes, x86::_mm512_set1_epi32(stride as i32));
        Self(x86::_mm512_i32gather_ps::<4>(offsets, from))
    }
    #[inline(always)]
    unsafe fn load_at(from: *const f32, indices: *const u32) -> Self {
        Self(x86::_mm512_i32gather_ps::<4>(x86::_mm512_loadu_epi32(indices.cast()), from))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        x86::_mm512_storeu_ps(to, self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, count: usize) {
        x86::_mm512_mask_storeu_ps(to, first(count), self.0);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(x86::_mm512_add_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(x86::_mm512_sub_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(x86::_mm512_mul_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(x86::_mm512_fmadd_ps(self.0, factor.0, term.0))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(x86::_mm512_max_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn max_or_nan(self, other: Self) -> Self {
        let nan = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_UNORD_Q }>(self.0, self.0);
        Self(x86::_mm512_mask_mov_ps(self.max(other).0, nan, self.0))
    }
    #[inline(always)]
    unsafe fn keep_where_greater(self, test: Self, bound: Self) -> Self {
        let mask = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_GT_OQ }>(test.0, bound.0);
        Self(x86::_mm512_maskz_mov_ps(mask, self.0))
    }
    #[inline(always)]
    unsafe fn at_least(self, bound: Self) -> u32 {
        u32::from(x86::_mm512_cmp_ps_mask::<{ x86::_CMP_GE_OQ }>(self.0, bound.0))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        x86::_mm512_reduce_add_ps(self.0)
    }
    #[inline(always)]
    unsafe fn non_zero(self) -> u32 {
        u32::from(x86::_mm512_cmp_ps_mask::<{ x86::_CMP_NEQ_UQ }>(self.0, x86::_mm512_setzero_ps()))
    }
    #[inline(always)]
    unsafe fn inverse_sqrt(self) -> Self {
        newton_inverse_sqrt(self, Self(x86::_mm512_rsqrt14_ps(self.0)))
    }
    #[inline(always)]
    unsafe fn reciprocal(self) -> Self {
        newton_reciprocal(self, Self(x86::_mm512_rcp14_ps(self.0)))
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        x86::_mm_prefetch::<{ x86::_MM_HINT_T0 }>(from.cast());
    }
}

// SAFETY: as above.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on to the intrinsic it names")]
unsafe impl Lanes for Avx2 {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn call<K: Kernel>(kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,bmi2")]
        fn entry<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<Avx2>()
        }
        entry(kernel)
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(x86::_mm256_set1_ps(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(x86::_mm256_loadu_ps(from))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self {
        let mut lanes = [0.0f32; 8];
        std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
        Self::load(lanes.as_ptr())
    }
    #[inline(always)]
    unsafe fn load_apart(from: *const f32, stride: usize) -> Self {
        let lanes = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let offsets = x86::_mm256_mullo_epi32(lanes, x86::_mm256_set1_epi32(stride as i32));
        Self(x86::_mm256_i32gather_ps::<4>(from, offsets))
    }
    #[inline(always)]
    unsafe fn load_at(from: *const f32, indices: *const u32) -> Self {
        Self(x86::_mm256_i32gather_ps::<4>(from, x86::_mm256_loadu_si256(indices.cast())))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        x86::_mm256_storeu_ps(to, self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, count: usize) {
        let mut lanes = [0.0f32; 8];
        self.store(lanes.as_mut_ptr());
        std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(x86::_mm256_add_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(x86::_mm256_sub_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(x86::_mm256_mul_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(x86::_mm256_fmadd_ps(self.0, factor.0, term.0))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(x86::_mm256_max_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn max_or_nan(self, other: Self) -> Self {
        let nan = x86::_mm256_cmp_ps::<{ x86::_CMP_UNORD_Q }>(self.0, self.0);
        Self(x86::_mm256_blendv_ps(self.max(other).0, self.0, nan))
    }
    #[inline(always)]
    unsafe fn keep_where_greater(self, test: Self, bound: Self) -> Self {
        Self(x86::_mm256_and_ps(self.0, x86::_mm256_cmp_ps::<{ x86::_CMP_GT_OQ }>(test.0, bound.0)))
    }
    #[inline(always)]
    unsafe fn at_least(self, bound: Self) -> u32 {
        x86::_mm256_movemask_ps(x86::_mm256_cmp_ps::<{ x86::_CMP_GE_OQ }>(self.0, bound.0)) as u32
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let half = x86::_mm_add_ps(x86::_mm256_castps256_ps128(self.0), x86::_mm256_extractf128_ps::<1>(self.0));
        let pair = x86::_mm_add_ps(half, x86::_mm_movehl_ps(half, half));
        x86::_mm_cvtss_f32(x86::_mm_add_ss(pair, x86::_mm_movehdup_ps(pair)))
    }
    #[inline(always)]
    unsafe fn non_zero(self) -> u32 {
        let different = x86::_mm256_cmp_ps::<{ x86::_CMP_NEQ_UQ }>(self.0, x86::_mm256_setzero_ps());
        x86::_mm256_movemask_ps(different) as u32
    }
    #[inline(always)]
    unsafe fn inverse_sqrt(self) -> Self {
        // Twelve bits become twenty-four in two steps.
        let estimate = newton_inverse_sqrt(self, Self(x86::_mm256_rsqrt_ps(self.0)));
        newton_inverse_sqrt(self, estimate)
    }
    #[inline(always)]
    unsafe fn reciprocal(self) -> Self {
        let estimate = newton_reciprocal(self, Self(x86::_mm256_rcp_ps(self.0)));
        newton_reciprocal(self, estimate)
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        x86::_mm_prefetch::<{ x86::_MM_HINT_T0 }>(from.cast());
    }
}

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
}
