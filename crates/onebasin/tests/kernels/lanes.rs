//! The approximate functions of vectors keep the accuracy they promise.

use onebasin::rng::Stream;
use onebasin_kernels::lanes::{BLOCK, Lanes};
use onebasin_kernels::{Isa, Kernel};

/// Every so many bit patterns are tried.
const STRIDE: usize = if cfg!(debug_assertions) { 49_999 } else { 4_999 };

/// 1 / √x and 1 / x of sixteen numbers.
struct Inverses([f32; BLOCK]);

impl Kernel<[[f32; BLOCK]; 2]> for Inverses {
    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for an instruction set")]
    #[inline(always)]
    fn run<V: Lanes>(self) -> [[f32; BLOCK]; 2] {
        let mut out = [[0.0; BLOCK]; 2];
        for lane in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: all lane counts divide a block.
            unsafe {
                let x = V::load(self.0.as_ptr().add(lane));
                x.inverse_sqrt().store(out[0].as_mut_ptr().add(lane));
                x.reciprocal().store(out[1].as_mut_ptr().add(lane));
            }
        }
        out
    }
}

/// The distance from `exact` in units in the last place of `exact`.
fn units_off(value: f32, exact: f64) -> f64 {
    let unit = (exact as f32).next_up() - exact as f32;
    (f64::from(value) - exact).abs() / f64::from(unit)
}

/// The largest error of function number `which` over the numbers from `first` to `last`.
fn largest_error(isa: Isa, which: usize, exact: fn(f64) -> f64, first: f32, last: f32) -> f64 {
    let numbers: Vec<f32> =
        (first.to_bits()..=last.to_bits()).step_by(STRIDE).chain([last.to_bits()]).map(f32::from_bits).collect();
    let blocks = numbers.chunks(BLOCK).map(|chunk| std::array::from_fn(|lane| chunk[lane.min(chunk.len() - 1)]));
    blocks.fold(0.0, |largest: f64, x| {
        let found = isa.run(Inverses(x))[which];
        x.iter().zip(found).fold(largest, |largest, (x, found)| largest.max(units_off(found, exact(f64::from(*x)))))
    })
}

#[test]
fn an_inverse_root_is_right_to_two_units() {
    for isa in Isa::available() {
        let error = largest_error(isa, 0, |x| 1.0 / x.sqrt(), 1e-37, f32::MAX);
        assert!(error <= 2.0, "{isa:?}: {error}");
    }
}

#[test]
fn a_reciprocal_is_right_to_two_units() {
    for isa in Isa::available() {
        let error = largest_error(isa, 1, |x| 1.0 / x, f32::MIN_POSITIVE, 125f32.exp2());
        assert!(error <= 2.0, "{isa:?}: {error}");
    }
}

/// Dot products of u8 and i8, with and without VNNI.
struct Sums([[u32; BLOCK]; 3]);

impl Kernel<[[u32; BLOCK]; 2]> for Sums {
    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for an instruction set")]
    #[inline(always)]
    fn run<V: Lanes>(self) -> [[u32; BLOCK]; 2] {
        let mut out = [[0; BLOCK]; 2];
        for lane in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: all lane counts divide a block, and the instruction is there if it is used.
            unsafe {
                let [sum, a, b] = self.0.each_ref().map(|lanes| V::load(lanes.as_ptr().add(lane).cast()));
                sum.dot_add::<false>(a, b).store(out[0].as_mut_ptr().add(lane).cast());
                let vnni = if V::has_vnni() { sum.dot_add::<true>(a, b) } else { sum.dot_add::<false>(a, b) };
                vnni.store(out[1].as_mut_ptr().add(lane).cast());
            }
        }
        out
    }
}

#[test]
fn dot_products_of_u8_and_i8_are_added() {
    // All extremes meet: 0, 127, 128 and 255 without a sign are 0, 127, -128 and -1 with one.
    let extremes = [0u8, 127, 128, 255];
    let a = std::array::from_fn(|lane| u32::from_le_bytes([0, 1, 2, 3].map(|byte| extremes[(lane + byte) % 4])));
    let b = std::array::from_fn(|lane| u32::from_le_bytes([0, 1, 2, 3].map(|byte| extremes[(lane / 4 + byte) % 4])));
    let sums = std::array::from_fn(|lane| (lane as u32).wrapping_sub(8));
    let expected = std::array::from_fn(|lane: usize| {
        let [a, b] = [a, b].map(|lanes: [u32; BLOCK]| lanes[lane].to_le_bytes());
        let products = a.into_iter().zip(b).map(|(a, b)| i32::from(a) * i32::from(b as i8));
        (sums[lane] as i32 + products.sum::<i32>()) as u32
    });
    for isa in Isa::available() {
        assert_eq!(isa.run(Sums([sums, a, b])), [expected; 2], "{isa:?}");
    }
}

/// Sums of products of pairs, by one instruction if there is one, and by those of f32.
struct DotPairs {
    sums: [f32; BLOCK],
    factors: [[f32; BLOCK]; 2],
}

impl Kernel<[[f32; BLOCK]; 2]> for DotPairs {
    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for an instruction set")]
    #[inline(always)]
    fn run<V: Lanes>(self) -> [[f32; BLOCK]; 2] {
        let mut out = [[0.0; BLOCK]; 2];
        for lane in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: all lane counts divide a block, and the instruction is used only where it is.
            unsafe {
                let [sum, a, b] =
                    [&self.sums, &self.factors[0], &self.factors[1]].map(|values| V::load(values.as_ptr().add(lane)));
                let plain = sum.dot_pairs::<false>(a, b);
                let native = if V::has_bf16() { sum.dot_pairs::<true>(a, b) } else { plain };
                plain.store(out[0].as_mut_ptr().add(lane));
                native.store(out[1].as_mut_ptr().add(lane));
            }
        }
        out
    }
}

#[test]
fn products_of_pairs_have_the_same_bits_everywhere() {
    for round in 0..2000 {
        let [numbers, sums] = ["numbers", "sums"].map(|label| {
            let mut values = vec![0.0; 4 * BLOCK];
            Stream::new(1, label, round).fill_normal(&mut values);
            values
        });
        let half = |value: f32| value.to_bits() >> 16;
        let pair = |first: usize, lane: usize| {
            let [low, high] = [first, first + 1].map(|part| half(numbers[part * BLOCK + lane]));
            f32::from_bits(low | high << 16)
        };
        let sums: [f32; BLOCK] = std::array::from_fn(|lane| sums[lane]);
        let factors = [0, 2].map(|first| std::array::from_fn(|lane| pair(first, lane)));
        let expected: [f32; BLOCK] = std::array::from_fn(|lane| {
            let [low_a, high_a, low_b, high_b] =
                [0, 1, 2, 3].map(|part| f32::from_bits(half(numbers[part * BLOCK + lane]) << 16));
            low_a * low_b + (high_a * high_b + sums[lane])
        });
        for isa in Isa::available() {
            let found = isa.run(DotPairs { sums, factors });
            assert_eq!(found.map(|found| found.map(f32::to_bits)), [expected.map(f32::to_bits); 2], "{isa:?}");
        }
    }
}
