//! Vectors of f32 for the instruction sets of the x86.

use crate::lanes::{Kernel, Lanes, methods};
use std::arch::x86_64 as x86;

/// 16 lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(x86::__m512);

/// 8 lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(x86::__m256);

#[inline(always)]
fn first(count: usize) -> x86::__mmask16 {
    ((1u32 << count) - 1) as x86::__mmask16
}

/// Not the intrinsic, which is only inlined where the whole kernel is compiled for these instructions.
///
/// # Safety
/// The machine has them.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn dot_add_vnni(mut sum: x86::__m512, a: x86::__m512, b: x86::__m512) -> x86::__m512 {
    // SAFETY: only registers are touched, and the caller's promise.
    unsafe {
        std::arch::asm!(
            "vpdpbusd {sum}, {a}, {b}",
            sum = inlateout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

/// As above.
///
/// # Safety
/// The machine has AVX-512 BF16.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn dot_pairs_native(mut sum: x86::__m512, a: x86::__m512, b: x86::__m512) -> x86::__m512 {
    // SAFETY: only registers are touched, and the caller's promise.
    unsafe {
        std::arch::asm!(
            "vdpbf16ps {sum}, {a}, {b}",
            sum = inlateout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

/// One step of Newton's iteration for 1 / √x, which doubles the bits of an estimate.
#[inline(always)]
unsafe fn newton_inverse_sqrt<V: Lanes>(x: V, estimate: V) -> V {
    // SAFETY: the caller runs on the vector's instruction set.
    unsafe {
        let square = V::splat(-0.5).mul(x).mul(estimate);
        estimate.mul(square.mul_add(estimate, V::splat(1.5)))
    }
}

/// One step of Newton's iteration for 1 / x.
#[inline(always)]
unsafe fn newton_reciprocal<V: Lanes>(x: V, estimate: V) -> V {
    // SAFETY: as above.
    unsafe {
        let minus = V::splat(0.0).sub(x);
        estimate.mul(minus.mul_add(estimate, V::splat(2.0)))
    }
}

// SAFETY: the contract of the trait is passed on to the intrinsics unchanged.
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on to the intrinsic it names")]
unsafe impl Lanes for Avx512 {
    const LANES: usize = 16;
    #[inline(always)]
    unsafe fn call<O>(kernel: impl Kernel<O>) -> O {
        #[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
        fn entry<O>(kernel: impl Kernel<O>) -> O {
            kernel.run::<Avx512>()
        }
        entry(kernel)
    }
    #[inline(always)]
    fn has_vnni() -> bool {
        is_x86_feature_detected!("avx512vnni")
    }
    #[inline(always)]
    unsafe fn dot_add<const VNNI: bool>(self, a: Self, b: Self) -> Self {
        if VNNI {
            return Self(dot_add_vnni(self.0, a.0, b.0));
        }
        let [sum, a, b] = [self, a, b].map(|lanes| x86::_mm512_castps_si512(lanes.0));
        let even = x86::_mm512_madd_epi16(
            x86::_mm512_and_si512(a, x86::_mm512_set1_epi16(0xff)),
            x86::_mm512_srai_epi16::<8>(x86::_mm512_slli_epi16::<8>(b)),
        );
        let odd = x86::_mm512_madd_epi16(x86::_mm512_srli_epi16::<8>(a), x86::_mm512_srai_epi16::<8>(b));
        Self(x86::_mm512_castsi512_ps(x86::_mm512_add_epi32(sum, x86::_mm512_add_epi32(even, odd))))
    }
    #[inline(always)]
    fn has_bf16() -> bool {
        is_x86_feature_detected!("avx512bf16")
    }
    #[inline(always)]
    unsafe fn dot_pairs<const NATIVE: bool>(self, a: Self, b: Self) -> Self {
        if NATIVE { Self(dot_pairs_native(self.0, a.0, b.0)) } else { self.dot_halves(a, b) }
    }
    methods! {
        splat(value: f32) -> Self = Self(x86::_mm512_set1_ps(value));
        load(from: *const f32) -> Self = Self(x86::_mm512_loadu_ps(from));
        load_part(from: *const f32, count: usize) -> Self = Self(x86::_mm512_maskz_loadu_ps(first(count), from));
        load_apart(from: *const f32, stride: usize) -> Self = {
            let lanes = x86::_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let offsets = x86::_mm512_mullo_epi32(lanes, x86::_mm512_set1_epi32(stride as i32));
            Self(x86::_mm512_i32gather_ps::<4>(offsets, from))
        };
        load_at(from: *const f32, indices: *const u32) -> Self =
            Self(x86::_mm512_i32gather_ps::<4>(x86::_mm512_loadu_epi32(indices.cast()), from));
        load_doubles(from: *const f64, factor: f64) -> Self = {
            let factor = x86::_mm512_set1_pd(factor);
            let [low, high] = [from, from.add(8)]
                .map(|from| x86::_mm512_cvtpd_ps(x86::_mm512_mul_pd(x86::_mm512_loadu_pd(from), factor)));
            Self(x86::_mm512_insertf32x8::<1>(x86::_mm512_castps256_ps512(low), high))
        };
        store(self, to: *mut f32) = x86::_mm512_storeu_ps(to, self.0);
        store_part(self, to: *mut f32, count: usize) = x86::_mm512_mask_storeu_ps(to, first(count), self.0);
        add(self, other: Self) -> Self = Self(x86::_mm512_add_ps(self.0, other.0));
        sub(self, other: Self) -> Self = Self(x86::_mm512_sub_ps(self.0, other.0));
        mul(self, other: Self) -> Self = Self(x86::_mm512_mul_ps(self.0, other.0));
        mul_add(self, factor: Self, term: Self) -> Self = Self(x86::_mm512_fmadd_ps(self.0, factor.0, term.0));
        max(self, other: Self) -> Self = Self(x86::_mm512_max_ps(self.0, other.0));
        max_or_nan(self, other: Self) -> Self = {
            let nan = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_UNORD_Q }>(self.0, self.0);
            Self(x86::_mm512_mask_mov_ps(self.max(other).0, nan, self.0))
        };
        keep_where_greater(self, test: Self, bound: Self) -> Self = {
            let mask = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_GT_OQ }>(test.0, bound.0);
            Self(x86::_mm512_maskz_mov_ps(mask, self.0))
        };
        at_least(self, bound: Self) -> u32 = u32::from(x86::_mm512_cmp_ps_mask::<{ x86::_CMP_GE_OQ }>(self.0, bound.0));
        sum(self) -> f32 = x86::_mm512_reduce_add_ps(self.0);
        non_zero(self) -> u32 =
            u32::from(x86::_mm512_cmp_ps_mask::<{ x86::_CMP_NEQ_UQ }>(self.0, x86::_mm512_setzero_ps()));
        inverse_sqrt(self) -> Self = newton_inverse_sqrt(self, Self(x86::_mm512_rsqrt14_ps(self.0)));
        reciprocal(self) -> Self = newton_reciprocal(self, Self(x86::_mm512_rcp14_ps(self.0)));
        prefetch(from: *const f32) = x86::_mm_prefetch::<{ x86::_MM_HINT_T0 }>(from.cast());
        upper_half(self) -> Self = {
            let upper = x86::_mm512_and_si512(x86::_mm512_castps_si512(self.0), x86::_mm512_set1_epi32(!0xffff));
            Self(x86::_mm512_castsi512_ps(upper))
        };
        lower_half(self) -> Self =
            Self(x86::_mm512_castsi512_ps(x86::_mm512_slli_epi32::<16>(x86::_mm512_castps_si512(self.0))));
        to_unsigned(self) -> Self = {
            let flipped = x86::_mm512_xor_si512(x86::_mm512_castps_si512(self.0), x86::_mm512_set1_epi8(-128));
            Self(x86::_mm512_castsi512_ps(flipped))
        };
        load_pairs(pairs: [*const u16; 2]) -> Self = {
            let [low, high] = pairs.map(|from| x86::_mm512_cvtepu16_epi32(x86::_mm256_loadu_si256(from.cast())));
            Self(x86::_mm512_castsi512_ps(x86::_mm512_or_si512(low, x86::_mm512_slli_epi32::<16>(high))))
        };
        quantise(low: Self, high: Self) -> Self = {
            let [low, high] = [low, high].map(|lanes| x86::_mm512_cvtps_epi32(lanes.0));
            let low = x86::_mm512_and_si512(low, x86::_mm512_set1_epi32(0xff));
            Self(x86::_mm512_castsi512_ps(x86::_mm512_or_si512(low, x86::_mm512_slli_epi32::<8>(high))))
        };
        store_low_pairs(self, to: *mut u16) =
            x86::_mm256_storeu_si256(to.cast(), x86::_mm512_cvtepi32_epi16(x86::_mm512_castps_si512(self.0)));
        i32_to_f32(self) -> Self = Self(x86::_mm512_cvtepi32_ps(x86::_mm512_castps_si512(self.0)));
    }
}

// SAFETY: as above.
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on to the intrinsic it names")]
unsafe impl Lanes for Avx2 {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn call<O>(kernel: impl Kernel<O>) -> O {
        #[target_feature(enable = "avx2,fma,bmi2")]
        fn entry<O>(kernel: impl Kernel<O>) -> O {
            kernel.run::<Avx2>()
        }
        entry(kernel)
    }
    #[inline(always)]
    unsafe fn dot_add<const VNNI: bool>(self, a: Self, b: Self) -> Self {
        let [sum, a, b] = [self, a, b].map(|lanes| x86::_mm256_castps_si256(lanes.0));
        let even = x86::_mm256_madd_epi16(
            x86::_mm256_and_si256(a, x86::_mm256_set1_epi16(0xff)),
            x86::_mm256_srai_epi16::<8>(x86::_mm256_slli_epi16::<8>(b)),
        );
        let odd = x86::_mm256_madd_epi16(x86::_mm256_srli_epi16::<8>(a), x86::_mm256_srai_epi16::<8>(b));
        Self(x86::_mm256_castsi256_ps(x86::_mm256_add_epi32(sum, x86::_mm256_add_epi32(even, odd))))
    }
    methods! {
        splat(value: f32) -> Self = Self(x86::_mm256_set1_ps(value));
        load(from: *const f32) -> Self = Self(x86::_mm256_loadu_ps(from));
        load_part(from: *const f32, count: usize) -> Self = {
            let mut lanes = [0.0f32; 8];
            std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            Self::load(lanes.as_ptr())
        };
        load_apart(from: *const f32, stride: usize) -> Self = {
            let lanes = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let offsets = x86::_mm256_mullo_epi32(lanes, x86::_mm256_set1_epi32(stride as i32));
            Self(x86::_mm256_i32gather_ps::<4>(from, offsets))
        };
        load_at(from: *const f32, indices: *const u32) -> Self =
            Self(x86::_mm256_i32gather_ps::<4>(from, x86::_mm256_loadu_si256(indices.cast())));
        load_doubles(from: *const f64, factor: f64) -> Self = {
            let factor = x86::_mm256_set1_pd(factor);
            let [low, high] = [from, from.add(4)]
                .map(|from| x86::_mm256_cvtpd_ps(x86::_mm256_mul_pd(x86::_mm256_loadu_pd(from), factor)));
            Self(x86::_mm256_set_m128(high, low))
        };
        store(self, to: *mut f32) = x86::_mm256_storeu_ps(to, self.0);
        store_part(self, to: *mut f32, count: usize) = {
            let mut lanes = [0.0f32; 8];
            self.store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
        };
        add(self, other: Self) -> Self = Self(x86::_mm256_add_ps(self.0, other.0));
        sub(self, other: Self) -> Self = Self(x86::_mm256_sub_ps(self.0, other.0));
        mul(self, other: Self) -> Self = Self(x86::_mm256_mul_ps(self.0, other.0));
        mul_add(self, factor: Self, term: Self) -> Self = Self(x86::_mm256_fmadd_ps(self.0, factor.0, term.0));
        max(self, other: Self) -> Self = Self(x86::_mm256_max_ps(self.0, other.0));
        max_or_nan(self, other: Self) -> Self = {
            let nan = x86::_mm256_cmp_ps::<{ x86::_CMP_UNORD_Q }>(self.0, self.0);
            Self(x86::_mm256_blendv_ps(self.max(other).0, self.0, nan))
        };
        keep_where_greater(self, test: Self, bound: Self) -> Self =
            Self(x86::_mm256_and_ps(self.0, x86::_mm256_cmp_ps::<{ x86::_CMP_GT_OQ }>(test.0, bound.0)));
        at_least(self, bound: Self) -> u32 =
            x86::_mm256_movemask_ps(x86::_mm256_cmp_ps::<{ x86::_CMP_GE_OQ }>(self.0, bound.0)) as u32;
        sum(self) -> f32 = {
            let half = x86::_mm_add_ps(x86::_mm256_castps256_ps128(self.0), x86::_mm256_extractf128_ps::<1>(self.0));
            let pair = x86::_mm_add_ps(half, x86::_mm_movehl_ps(half, half));
            x86::_mm_cvtss_f32(x86::_mm_add_ss(pair, x86::_mm_movehdup_ps(pair)))
        };
        non_zero(self) -> u32 = {
            let different = x86::_mm256_cmp_ps::<{ x86::_CMP_NEQ_UQ }>(self.0, x86::_mm256_setzero_ps());
            x86::_mm256_movemask_ps(different) as u32
        };
        inverse_sqrt(self) -> Self = {
            // Twelve bits become twenty-four in two steps.
            let estimate = newton_inverse_sqrt(self, Self(x86::_mm256_rsqrt_ps(self.0)));
            newton_inverse_sqrt(self, estimate)
        };
        reciprocal(self) -> Self = {
            let estimate = newton_reciprocal(self, Self(x86::_mm256_rcp_ps(self.0)));
            newton_reciprocal(self, estimate)
        };
        prefetch(from: *const f32) = x86::_mm_prefetch::<{ x86::_MM_HINT_T0 }>(from.cast());
        upper_half(self) -> Self = {
            let upper = x86::_mm256_and_si256(x86::_mm256_castps_si256(self.0), x86::_mm256_set1_epi32(!0xffff));
            Self(x86::_mm256_castsi256_ps(upper))
        };
        lower_half(self) -> Self =
            Self(x86::_mm256_castsi256_ps(x86::_mm256_slli_epi32::<16>(x86::_mm256_castps_si256(self.0))));
        to_unsigned(self) -> Self = {
            let flipped = x86::_mm256_xor_si256(x86::_mm256_castps_si256(self.0), x86::_mm256_set1_epi8(-128));
            Self(x86::_mm256_castsi256_ps(flipped))
        };
        load_pairs(pairs: [*const u16; 2]) -> Self = {
            let [low, high] = pairs.map(|from| x86::_mm256_cvtepu16_epi32(x86::_mm_loadu_si128(from.cast())));
            Self(x86::_mm256_castsi256_ps(x86::_mm256_or_si256(low, x86::_mm256_slli_epi32::<16>(high))))
        };
        quantise(low: Self, high: Self) -> Self = {
            let [low, high] = [low, high].map(|lanes| x86::_mm256_cvtps_epi32(lanes.0));
            let low = x86::_mm256_and_si256(low, x86::_mm256_set1_epi32(0xff));
            Self(x86::_mm256_castsi256_ps(x86::_mm256_or_si256(low, x86::_mm256_slli_epi32::<8>(high))))
        };
        store_low_pairs(self, to: *mut u16) = {
            let mut lanes = [0u32; 8];
            self.store(lanes.as_mut_ptr().cast());
            to.cast::<[u16; 8]>().write_unaligned(lanes.map(|lane| lane as u16));
        };
        i32_to_f32(self) -> Self = Self(x86::_mm256_cvtepi32_ps(x86::_mm256_castps_si256(self.0)));
    }
}
