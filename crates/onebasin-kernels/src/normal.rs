//! Fills a slice with standard normal numbers: sixteen xoshiro128++ generators side by side, and Box–Muller.
//!
//! References: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021); G. E. P. Box and
//! M. E. Muller, "A note on the generation of random normal deviates" (1958). Box–Muller is chosen over the ziggurat
//! because it has no branches: every lane does the same work.

use crate::lanes::Lanes;
use crate::{Kernel, math};

/// Generators that run side by side, one per lane of the widest vector.
pub const GENERATORS: usize = 16;

/// Values made at once: a cosine and a sine from each generator.
pub const GROUP: usize = 2 * GENERATORS;

/// The states of all generators, `[word][generator]`; no generator may have four zero words.
pub type State = [[u32; GENERATORS]; 4];

/// Fills `out` with independent standard normal numbers, and advances `state` by two steps for each group begun.
///
/// A group is sixteen values r·cos(φ), then the sixteen r·sin(φ). An incomplete last group is the beginning of a
/// complete one, so a fill is a prefix of every longer one from that state. The largest value is √(2 ln 2³³) = 6.76.
pub struct FillNormal<'a> {
    /// Where the generators stand, before and after.
    pub state: &'a mut State,
    /// The values, of any number.
    pub out: &'a mut [f32],
}

impl Kernel for FillNormal<'_> {
    // Plain loops over lanes: the compiler makes full vectors of them on each instruction set.
    #[inline(always)]
    fn run<V: Lanes>(self) {
        // A copy, which the compiler can keep in registers.
        let mut state = *self.state;
        let (groups, tail) = self.out.as_chunks_mut::<GROUP>();
        for out in groups {
            fill_group(&mut state, out);
        }
        if !tail.is_empty() {
            let mut last = [0.0; GROUP];
            fill_group(&mut state, &mut last);
            tail.copy_from_slice(&last[..tail.len()]);
        }
        *self.state = state;
    }
}

#[inline(always)]
fn fill_group(state: &mut State, out: &mut [f32; GROUP]) {
    let radius_bits = step(state);
    let turns = step(state);
    for lane in 0..GENERATORS {
        let [x, y] = box_muller(radius_bits[lane], turns[lane]);
        out[lane] = x;
        out[GENERATORS + lane] = y;
    }
}

/// Two independent normal numbers from two uniform words.
#[inline(always)]
fn box_muller(radius_bits: u32, turn: u32) -> [f32; 2] {
    // In (0, 1]. Small uniforms, which make the tails, keep the full resolution of 2⁻³².
    let uniform = (radius_bits as f32 + 0.5) * (1.0 / 4_294_967_296.0);
    let radius = (-2.0 * math::ln(uniform)).sqrt();
    let (sin, cos) = math::sin_cos_turn(turn);
    [radius * cos, radius * sin]
}

#[inline(always)]
fn step(state: &mut State) -> [u32; GENERATORS] {
    let [s0, s1, s2, s3] = state;
    let mut words = [0; GENERATORS];
    for lane in 0..GENERATORS {
        words[lane] = s0[lane].wrapping_add(s3[lane]).rotate_left(7).wrapping_add(s0[lane]);
        let shifted = s1[lane] << 9;
        s2[lane] ^= s0[lane];
        s3[lane] ^= s1[lane];
        s1[lane] ^= s2[lane];
        s0[lane] ^= s3[lane];
        s2[lane] ^= shifted;
        s3[lane] = s3[lane].rotate_left(11);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use proptest::prelude::*;

    /// Lanes that differ, and of which none is zero.
    fn some_state() -> State {
        std::array::from_fn(|word| {
            std::array::from_fn(|lane| 0x9e37_79b9_u32.wrapping_mul((16 * word + lane + 1) as u32))
        })
    }

    fn filled(isa: Isa, mut state: State, len: usize) -> (Vec<f32>, State) {
        let mut out = vec![f32::NAN; len];
        isa.run(FillNormal { state: &mut state, out: &mut out });
        (out, state)
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn every_generator_is_xoshiro128_plus_plus() {
        // The words of the authors' C program from the state 1, 2, 3, 4.
        let expected = [
            641,
            1_573_767,
            3_222_811_527,
            3_517_856_514,
            836_907_274,
            4_247_214_768,
            3_867_114_732,
            1_355_841_295,
            495_546_011,
            621_204_420,
        ];
        let mut state = std::array::from_fn(|word| [word as u32 + 1; GENERATORS]);
        for word in expected {
            assert_eq!(step(&mut state), [word; GENERATORS]);
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits_and_states() {
        for len in [0, 1, 15, 16, 17, 31, 32, 33, 63, 1000, 20_000] {
            let (expected, expected_state) = filled(Isa::Portable, some_state(), len);
            for isa in Isa::available() {
                let (found, state) = filled(isa, some_state(), len);
                assert_eq!(bits(&found), bits(&expected), "{isa:?}, {len} values");
                assert_eq!(state, expected_state, "{isa:?}, {len} values");
            }
        }
    }

    #[test]
    fn values_follow_the_formula_in_f64() {
        let mut state = some_state();
        let (values, _) = filled(Isa::detect(), state, 64 * GROUP);
        for group in values.as_chunks::<GROUP>().0 {
            let (radius_bits, turns) = (step(&mut state), step(&mut state));
            for lane in 0..GENERATORS {
                let radius = (-2.0 * ((f64::from(radius_bits[lane]) + 0.5) / 4_294_967_296.0).ln()).sqrt();
                let (sin, cos) = (std::f64::consts::TAU * f64::from(turns[lane]) / 4_294_967_296.0).sin_cos();
                // Near a uniform of 1 its rounding moves −ln by 2⁻²⁵ absolutely, hence the second term.
                let tolerance = 4e-7 * radius + 4e-8 / radius;
                assert!((f64::from(group[lane]) - radius * cos).abs() < tolerance);
                assert!((f64::from(group[GENERATORS + lane]) - radius * sin).abs() < tolerance);
            }
        }
    }

    #[test]
    fn extreme_words_give_finite_values_out_to_six_point_seven() {
        assert_eq!(box_muller(u32::MAX, 0), [0.0, 0.0]);
        let [farthest, zero] = box_muller(0, 0);
        assert!((farthest - 6.763_71).abs() < 1e-4, "{farthest}");
        assert_eq!(zero, 0.0);
        for radius_bits in [0, 1, 1 << 23, (1 << 24) + 1, 1 << 31, u32::MAX - 1, u32::MAX] {
            for turn in [0, 1, 1 << 29, 1 << 30, 1 << 31, 3 << 30, u32::MAX] {
                assert!(box_muller(radius_bits, turn).iter().all(|value| value.abs() <= farthest));
            }
        }
    }

    proptest! {
        #[test]
        fn a_fill_is_a_prefix_of_every_longer_fill(
            state in prop::array::uniform4(prop::array::uniform16(1u32..)), short in 0usize..200, more in 0usize..200,
        ) {
            let (values, _) = filled(Isa::detect(), state, short);
            let (longer, _) = filled(Isa::detect(), state, short + more);
            prop_assert_eq!(bits(&values), bits(&longer[..short]));
        }

        #[test]
        fn whole_groups_can_be_filled_in_turn(
            state in prop::array::uniform4(prop::array::uniform16(1u32..)), groups in 0usize..5, rest in 0usize..100,
        ) {
            let (whole, end) = filled(Isa::detect(), state, groups * GROUP + rest);
            let (mut parts, middle) = filled(Isa::detect(), state, groups * GROUP);
            let (second, second_end) = filled(Isa::detect(), middle, rest);
            parts.extend(second);
            prop_assert_eq!(bits(&whole), bits(&parts));
            prop_assert_eq!(end, second_end);
        }
    }
}
