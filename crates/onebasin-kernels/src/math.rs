//! Elementary functions of f32 without branches, tables or library calls, which LLVM turns into vector code.
//!
//! Every step is rounded as IEEE 754 prescribes and `mul_add` is fused everywhere, so the results have the same bits on
//! every instruction set and platform (NaNs up to sign and payload). The price is paid by processors without a fused
//! multiply-add: there each `mul_add` is a library call.
//!
//! The polynomials are those of the single-precision Cephes library (S. L. Moshier, 1992). The errors named below are
//! the largest over all arguments, in units in the last place of the result.

use std::f32::consts::LOG2_E;
use std::f64::consts::TAU;

const MANTISSA_BITS: u32 = 23;
const SIGN: u32 = 1 << 31;

/// Adding 1.5·2²³ rounds any number below 2²² to an integer, and leaves that integer in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// ln 2 = `LN_2_HIGH` + `LN_2_LOW`; the high part has nine bits, so its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// A polynomial by Horner's rule, from its highest coefficient on.
macro_rules! polynomial {
    ($x:ident; $highest:expr, $($next:expr),*) => {{
        let sum: f32 = $highest;
        $(let sum = sum.mul_add($x, $next);)*
        sum
    }};
}

/// eˣ within 1.02 units in the last place.
///
/// NaN gives NaN; ∞ from the first x whose eˣ rounds to it; 0 where eˣ is below the smallest normal number
/// (x < −87.3365), since subnormal results would cost a hundred cycles each.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// The last arguments whose results are normal numbers.
    const LOWEST: f32 = -87.336_54;
    const HIGHEST: f32 = 88.722_83;

    // x = exponent · ln 2 + rest, |rest| ≤ ½ ln 2
    let rounded = x.mul_add(LOG2_E, ROUNDER);
    let exponent = rounded - ROUNDER;
    let rest = exponent.mul_add(-LN_2_LOW, exponent.mul_add(-LN_2_HIGH, x));
    let polynomial = polynomial!(rest;
        1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5
    );
    let mantissa = polynomial.mul_add(rest * rest, rest) + 1.0;

    // Added in the bits, 2^128 needs no second step. Outside the bounds the sum means nothing, and is not selected.
    let scaled = f32::from_bits(mantissa.to_bits().wrapping_add(rounded.to_bits() << MANTISSA_BITS));
    let bounded_below = if x < LOWEST { 0.0 } else { scaled };
    if x <= HIGHEST { bounded_below } else { x + f32::INFINITY }
}

/// The natural logarithm of x within 0.83 units in the last place.
///
/// NaN and negative numbers give NaN, ∞ gives ∞; subnormal numbers count as zero and give −∞.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;

    // x = 2^exponent · (1 + m), √½ ≤ 1 + m < √2
    let exponent_bits = x.to_bits().wrapping_sub(SQRT_HALF_BITS).cast_signed() >> MANTISSA_BITS;
    let m = f32::from_bits(x.to_bits().wrapping_sub((exponent_bits << MANTISSA_BITS).cast_unsigned())) - 1.0;
    let exponent = exponent_bits as f32;
    let square = m * m;
    let polynomial = polynomial!(m;
        7.037_683_6e-2, -1.151_461e-1, 0.116_769_984, -1.242_014_1e-1, 1.424_932_3e-1, -1.666_805_7e-1, 2.000_071_4e-1,
        -2.499_999_4e-1, 3.333_333e-1
    );

    // ln(1 + m) = m − m²/2 + m³ · polynomial; the small terms are added first.
    let small = square.mul_add(-0.5, exponent.mul_add(LN_2_LOW, m * square * polynomial));
    let of_normal = exponent.mul_add(LN_2_HIGH, m + small);

    let of_finite = if x < f32::MIN_POSITIVE { f32::NEG_INFINITY } else { of_normal };
    let of_positive = if x < f32::INFINITY { of_finite } else { x };
    if x < 0.0 { f32::NAN } else { of_positive }
}

/// The hyperbolic tangent of x within 1.34 units in the last place, for tiny and subnormal x too.
///
/// NaN gives NaN, −0 gives −0, and ±1 is reached from |x| = 9.011 on.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    /// Below this 1 − 2/(e²ˣ + 1) would cancel.
    const SERIES_BOUND: f32 = 0.625;

    let size = x.abs();
    let square = size * size;
    let polynomial = polynomial!(square;
        -5.704_988_7e-3, 2.063_908_8e-2, -5.373_971_5e-2, 1.333_144_2e-1, -3.333_328e-1
    );
    let series = (polynomial * square).mul_add(size, size);
    let quotient = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    let value = if size < SERIES_BOUND { series } else { quotient };
    value.copysign(x)
}

/// Sine and cosine of 2π · `turn` / 2³², in this order, within 1.36 units in the last place.
///
/// The angle is an integer because its reduction to an eighth of a turn is then exact and free.
#[inline(always)]
pub fn sin_cos_turn(turn: u32) -> (f32, f32) {
    const TURN: f32 = 1.0 / 4_294_967_296.0;
    const SQUARE: f64 = TAU * TAU;
    /// 2π = `TAU_HIGH` + `TAU_LOW`: the rounding of 2π alone would cost half a unit.
    const TAU_HIGH: f32 = TAU as f32;
    const TAU_LOW: f32 = (TAU - TAU_HIGH as f64) as f32;

    // turn = quarter · 2³⁰ + rest, |rest| ≤ 2²⁹
    let quarter = turn.wrapping_add(1 << 29) >> 30;
    let angle = turn.wrapping_sub(quarter << 30).cast_signed() as f32 * TURN;
    let square = angle * angle;
    let sine_tail = ((-1.951_529_589_1e-4 * TAU * SQUARE * SQUARE * SQUARE) as f32)
        .mul_add(square, (8.332_160_873_6e-3 * TAU * SQUARE * SQUARE) as f32)
        .mul_add(square, (-1.666_665_461_1e-1 * TAU * SQUARE) as f32)
        .mul_add(square, TAU_LOW);
    let sine = angle.mul_add(TAU_HIGH, angle * sine_tail);
    let cosine = ((2.443_315_711_809_948e-5 * SQUARE * SQUARE * SQUARE * SQUARE) as f32)
        .mul_add(square, (-1.388_731_625_493_765e-3 * SQUARE * SQUARE * SQUARE) as f32)
        .mul_add(square, (4.166_664_568_298_827e-2 * SQUARE * SQUARE) as f32)
        .mul_add(square, (-0.5 * SQUARE) as f32)
        .mul_add(square, 1.0);

    // Each quarter turn takes (sin, cos) to (cos, −sin): odd ones swap, bit 1 of the number is the sign.
    let (sine, cosine) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let sine_sign = (quarter << 30) & SIGN;
    let cosine_sign = ((quarter + 1) << 30) & SIGN;
    (f32::from_bits(sine.to_bits() ^ sine_sign), f32::from_bits(cosine.to_bits() ^ cosine_sign))
}

/// ln(1 + eˣ) within 2.7 units in the last place wherever that is a normal number; 0 below x = −87.3365.
///
/// NaN gives NaN, ∞ gives ∞.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    softplus_from(x, exp(-x.abs()))
}

/// [`softplus`] of x for a caller who has `e` = exp(−|x|) already.
#[inline(always)]
pub fn softplus_from(x: f32, e: f32) -> f32 {
    // ln(1 + e) / e for 0 ≤ e ≤ 1: the polynomial through its values at ten Chebyshev nodes, off by 10⁻⁷ at most.
    let polynomial = polynomial!(e;
        -3.176_057e-3, 1.954_252_8e-2, -5.637_361_5e-2, 1.054_362_4e-1, -1.526_966_7e-1, 1.966_327_4e-1,
        -2.495_161_6e-1, 3.332_971e-1, -4.999_989_3e-1, 1.0
    );
    let rest = e * polynomial;
    if x > 0.0 { x + rest } else { rest }
}

/// 1/x within 1 unit in the last place for positive x from 2⁻¹²⁵ to 2¹²⁵.
///
/// Only additions and multiplications: a division takes 16 cycles for 16 values, and is not pipelined.
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    // From 12 % the errors are 1.5e-2, 2e-4, 5e-8.
    let mut inverse = f32::from_bits(0x7ef3_11c3_u32.wrapping_sub(x.to_bits()));
    inverse = inverse * (-x).mul_add(inverse, 2.0);
    inverse = inverse * (-x).mul_add(inverse, 2.0);
    let rest = (-x).mul_add(inverse, 1.0);
    rest.mul_add(inverse, inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Lanes;
    use crate::{Isa, Kernel};

    /// Every so many bit patterns are tried.
    const STRIDE: usize = if cfg!(debug_assertions) { 8209 } else { 1021 };

    /// The distance of `value` from `exact` in units in the last place of `exact`.
    fn error_in_ulp(value: f32, exact: f64) -> f64 {
        assert!(value.is_finite(), "{value} for {exact}");
        let nearest = (exact as f32).abs();
        let exponent = (nearest.to_bits() >> MANTISSA_BITS).max(1).cast_signed() - 150;
        (f64::from(value) - exact).abs() / f64::from(exponent).exp2()
    }

    /// Asserts `bound` on the error of `function` at every `STRIDE`-th number from `first` away from zero to `last`.
    fn assert_accurate(function: fn(f32) -> f32, exact: fn(f64) -> f64, first: f32, last: f32, bound: f64) {
        for bits in (first.to_bits()..=last.to_bits()).step_by(STRIDE).chain([last.to_bits()]) {
            let x = f32::from_bits(bits);
            let error = error_in_ulp(function(x), exact(f64::from(x)));
            assert!(error <= bound, "{error} ulp at {x:e}");
        }
    }

    #[test]
    fn exp_is_accurate_wherever_the_result_is_a_normal_number() {
        assert_accurate(exp, f64::exp, 0.0, 88.722_83, 1.02);
        assert_accurate(exp, f64::exp, -0.0, -87.336_54, 1.02);
    }

    #[test]
    fn exp_saturates_and_keeps_nan() {
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        for x in [88.722_84, 89.0, 200.0, 1e30, f32::MAX, f32::INFINITY] {
            assert_eq!(exp(x), f32::INFINITY, "{x}");
        }
        for x in [-87.336_55, -88.0, -100.0, -1e30, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(exp(x).to_bits(), 0, "{x}");
        }
    }

    #[test]
    fn ln_is_accurate_for_all_normal_numbers() {
        assert_accurate(ln, f64::ln, f32::MIN_POSITIVE, f32::MAX, 0.83);
        assert_accurate(ln, f64::ln, 0.99, 1.01, 0.83);
    }

    #[test]
    fn ln_of_special_values() {
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        for x in [0.0, -0.0, 1e-40] {
            assert_eq!(ln(x), f32::NEG_INFINITY, "{x}");
        }
        for x in [f32::NAN, -1e-40, -1.0, f32::NEG_INFINITY] {
            assert!(ln(x).is_nan(), "{x}");
        }
    }

    #[test]
    fn tanh_is_accurate_from_the_smallest_number_on() {
        assert_accurate(tanh, f64::tanh, f32::from_bits(1), 20.0, 1.34);
        assert_accurate(tanh, f64::tanh, -f32::from_bits(1), -20.0, 1.34);
        assert_accurate(tanh, f64::tanh, 0.6, 0.7, 1.34);
    }

    #[test]
    fn tanh_saturates_and_keeps_nan_and_signs() {
        assert!(tanh(f32::NAN).is_nan());
        assert_eq!(tanh(0.0).to_bits(), 0);
        assert_eq!(tanh(-0.0).to_bits(), SIGN);
        for x in [9.011, 44.5, 100.0, f32::MAX, f32::INFINITY] {
            assert_eq!(tanh(x), 1.0, "{x}");
            assert_eq!(tanh(-x), -1.0, "{x}");
        }
    }

    #[test]
    fn softplus_is_accurate_and_saturates() {
        let exact = |x: f64| x.exp().ln_1p();
        assert_accurate(softplus, exact, 0.0, 700.0, 2.7);
        assert_accurate(softplus, exact, -0.0, -87.336_54, 2.7);
        assert_eq!(softplus(-100.0), 0.0);
        assert_eq!(softplus(f32::INFINITY), f32::INFINITY);
        assert!(softplus(f32::NAN).is_nan());
    }

    #[test]
    fn reciprocals_are_accurate() {
        assert_accurate(reciprocal, |x| 1.0 / x, (-125f32).exp2(), 125f32.exp2(), 1.0);
        assert!(reciprocal(f32::NAN).is_nan());
    }

    #[test]
    fn sine_and_cosine_are_accurate_all_around() {
        let eighths =
            (0..8u32).flat_map(|eighth| (0..1000).map(move |step| (eighth << 29).wrapping_add(step).wrapping_sub(500)));
        for turn in (0..=u32::MAX).step_by(STRIDE).chain(eighths) {
            // Reduced first: near whole quarters the f64 functions would see the rounding of their argument.
            let quarter = turn.wrapping_add(1 << 29) >> 30;
            let rest = f64::from(turn.wrapping_sub(quarter << 30).cast_signed()) / 4_294_967_296.0;
            let (sin, cos) = (TAU * rest).sin_cos();
            let exact = [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][quarter as usize];
            let found = sin_cos_turn(turn);
            let error = error_in_ulp(found.0, exact.0).max(error_in_ulp(found.1, exact.1));
            assert!(error <= 1.36, "{error} ulp at {turn}");
        }
    }

    #[test]
    fn sine_and_cosine_of_whole_quarters_are_exact() {
        for (quarter, expected) in [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)].into_iter().enumerate() {
            assert_eq!(sin_cos_turn((quarter as u32) << 30), expected);
        }
    }

    /// The bits of all functions at each argument, in vectors.
    struct AllFunctions<'a>(&'a [u32], &'a mut [[u32; 7]]);

    impl Kernel for AllFunctions<'_> {
        #[inline(always)]
        fn run<V: Lanes>(self) {
            for (results, &bits) in self.1.iter_mut().zip(self.0) {
                let x = f32::from_bits(bits);
                let (sin, cos) = sin_cos_turn(bits);
                *results = [exp(x), ln(x), tanh(x), softplus(x), reciprocal(x), sin, cos].map(f32::to_bits);
            }
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        let numbers: Vec<u32> = (0..=u32::MAX).step_by(65_521).collect();
        let mut expected = vec![[0; 7]; numbers.len()];
        Isa::Portable.run(AllFunctions(&numbers, &mut expected));
        for isa in Isa::available() {
            let mut found = vec![[0; 7]; numbers.len()];
            isa.run(AllFunctions(&numbers, &mut found));
            for ((&bits, found), expected) in numbers.iter().zip(found).zip(&expected) {
                for (found, &expected) in found.into_iter().zip(expected) {
                    let both_nan = f32::from_bits(found).is_nan() && f32::from_bits(expected).is_nan();
                    assert!(found == expected || both_nan, "{isa:?} at {bits:#x}: {found:#x}, not {expected:#x}");
                }
            }
        }
    }
}
