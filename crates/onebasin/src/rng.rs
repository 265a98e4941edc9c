//! Turns a seed, a label and an index into an independent stream of random numbers, the same on every platform.

use onebasin_kernels::Isa;
use onebasin_kernels::normal::{FillNormal, State};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Normal numbers made from one seeding of the fast generators: the unit in which a fill can be divided.
///
/// Blocks of 16384 would be 7 % (16 lanes) or 3 % (8 lanes) faster, since seeding costs the time of up to four hundred
/// values; but 4096 divide evenly among threads in smaller fills, and stay in the first-level cache.
pub const BLOCK_LEN: usize = 4096;

/// The `ChaCha` stream of [`Stream::generator`]; no fill has so many blocks.
const GENERATOR_STREAM: u64 = u64::MAX;

/// The name of an endless sequence of random numbers: a key, without a position.
///
/// Two streams that differ in seed, label or index are independent; equal ones give the same numbers, and so does every
/// call on the same stream. Draw more by asking for another label or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The key of `ChaCha8`, which makes unrelated sequences from keys however similar.
    key: [u8; 32],
}

impl Stream {
    /// The stream of (`seed`, `label`, `index`): say the seed of the run, what the numbers are for, and which step.
    ///
    /// The label enters by its length and its 64-bit FNV-1a hash, seed and index as they are.
    pub fn new(seed: u64, label: &str, index: u64) -> Self {
        let mut key = [0; 32];
        let parts = [seed, fnv1a(label.as_bytes()), index, label.len() as u64];
        for (bytes, part) in key.as_chunks_mut::<8>().0.iter_mut().zip(parts) {
            *bytes = part.to_le_bytes();
        }
        Self { key }
    }

    /// A generator at the beginning of this stream, for permutations and single numbers; independent of the normal numbers.
    pub fn generator(&self) -> ChaCha8Rng {
        self.chacha(GENERATOR_STREAM)
    }

    /// Fills `out` with the numbers 0, 1, 2... in random order (Fisher and Yates, in the form of Durstenfeld).
    pub fn fill_permutation(&self, out: &mut [u32]) {
        for (number, slot) in (0..).zip(&mut *out) {
            *slot = number;
        }
        let mut generator = self.generator();
        for last in (1..out.len()).rev() {
            out.swap(last, below(&mut generator, last + 1));
        }
    }

    /// Fills `out` with standard normal numbers; a shorter fill is a prefix of a longer one.
    pub fn fill_normal(&self, out: &mut [f32]) {
        self.fill_normal_on(Isa::detect(), 0, out);
    }

    /// Fills `out` with the part of the sequence of [`Self::fill_normal`] that begins at value `first_block · BLOCK_LEN`, on
    /// a given instruction set; all give the same bits.
    ///
    /// Threads that each fill some blocks thus make together what one call would.
    pub fn fill_normal_on(&self, isa: Isa, first_block: usize, out: &mut [f32]) {
        for (offset, block) in out.chunks_mut(BLOCK_LEN).enumerate() {
            let mut seeder = self.chacha((first_block + offset) as u64);
            let mut state = State::default();
            state.as_flattened_mut().fill_with(|| seeder.next_u32());
            wake_zero_generators(&mut state);
            isa.run(FillNormal { state: &mut state, out: block });
        }
    }

    fn chacha(&self, stream: u64) -> ChaCha8Rng {
        let mut generator = ChaCha8Rng::from_seed(self.key);
        generator.set_stream(stream);
        generator
    }
}

/// A number uniform in 0..`bound`, up to a bias of less than `bound`/2⁶⁴.
pub fn below(generator: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u128::from(generator.next_u64()) * bound as u128) >> 64) as usize
}

/// Sets a bit in every generator without any: from four zero words xoshiro never moves.
fn wake_zero_generators(state: &mut State) {
    let [first, rest @ ..] = state;
    for (lane, word) in first.iter_mut().enumerate() {
        if *word == 0 && rest.iter().all(|words| words[lane] == 0) {
            *word = 1;
        }
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo); never changed, since every published number depends on it.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How many times fewer values an unoptimised build draws.
    const THRIFT: usize = if cfg!(debug_assertions) { 256 } else { 1 };

    /// Standard deviations allowed to a statistic; with the fixed seeds here every test always passes or always fails.
    const DEVIATIONS: f64 = 4.5;

    fn stream() -> Stream {
        Stream::new(2024, "weights", 3)
    }

    fn normals(stream: Stream, len: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; len];
        stream.fill_normal(&mut out);
        out
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    /// Calls `visit` with about `len` values of `stream`, some blocks at a time; returns how many they were.
    fn for_many_normals(stream: Stream, len: usize, mut visit: impl FnMut(&[f32])) -> f64 {
        const BLOCKS: usize = 64;
        let mut part = vec![f32::NAN; BLOCKS * BLOCK_LEN];
        let parts = len.div_ceil(part.len());
        for number in 0..parts {
            stream.fill_normal_on(Isa::detect(), number * BLOCKS, &mut part);
            visit(&part);
        }
        (parts * part.len()) as f64
    }

    /// The normal distribution function by its power series (Marsaglia 2004); absolute error below 1e-14 for |x| < 7.
    fn normal_cdf(x: f64) -> f64 {
        let (mut sum, mut term, mut odd) = (x, x, 1.0);
        while sum + term != sum {
            odd += 2.0;
            term *= x * x / odd;
            sum += term;
        }
        0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
    }

    #[test]
    fn first_values_never_change() {
        let mut generator = stream().generator();
        assert_eq!(
            [generator.next_u64(), generator.next_u64()],
            [17_320_362_916_124_128_876, 2_172_947_092_232_020_462]
        );
        let values = normals(stream(), BLOCK_LEN + 2);
        assert_eq!(bits(&values[..4]), [0xbf0c_9f58, 0x3f40_42e4, 0x3ebe_8781, 0xbfa2_c147]);
        assert_eq!(values[16].to_bits(), 0xbf08_3337);
        assert_eq!(bits(&values[BLOCK_LEN..]), [0x3e07_99e4, 0xc023_2573]);
    }

    #[test]
    fn label_hash_matches_its_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn only_generators_of_zeros_are_changed() {
        let mut state = State::default();
        state[3][5] = 7;
        wake_zero_generators(&mut state);
        let mut expected = [[0; 16]; 4];
        expected[0] = [1; 16];
        expected[0][5] = 0;
        expected[3][5] = 7;
        assert_eq!(state, expected);
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        let expected = bits(&normals(stream(), 2 * BLOCK_LEN + 77));
        for isa in Isa::available() {
            let mut found = vec![f32::NAN; expected.len()];
            stream().fill_normal_on(isa, 0, &mut found);
            assert_eq!(bits(&found), expected, "{isa:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_fill_is_a_prefix_of_every_longer_fill(
            seed: u64, index: u64, short in 0..2 * BLOCK_LEN, more in 0..2 * BLOCK_LEN,
        ) {
            let stream = Stream::new(seed, "prefix", index);
            prop_assert_eq!(bits(&normals(stream, short)), bits(&normals(stream, short + more)[..short]));
        }

        #[test]
        fn blocks_filled_apart_make_the_whole(seed: u64, len in 1..6 * BLOCK_LEN, blocks_per_part in 1usize..4) {
            let stream = Stream::new(seed, "parts", 0);
            let mut parts = vec![f32::NAN; len];
            std::thread::scope(|scope| {
                for (number, part) in parts.chunks_mut(blocks_per_part * BLOCK_LEN).enumerate() {
                    scope.spawn(move || stream.fill_normal_on(Isa::detect(), number * blocks_per_part, part));
                }
            });
            prop_assert_eq!(bits(&normals(stream, len)), bits(&parts));
        }
    }

    #[test]
    fn moments_are_those_of_the_normal_distribution() {
        let mut sums = [0.0f64; 4];
        let count = for_many_normals(Stream::new(1, "moments", 0), (1 << 26) / THRIFT, |values| {
            for &value in values {
                let x = f64::from(value);
                let square = x * x;
                for (sum, power) in sums.iter_mut().zip([x, square, x * square, square * square]) {
                    *sum += power;
                }
            }
        });
        // E xᵏ, and Var xᵏ = E x²ᵏ − (E xᵏ)²
        for (order, (expected, variance)) in [(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0)].into_iter().enumerate()
        {
            let deviations = (sums[order] / count - expected) / (f64::sqrt(variance / count));
            assert!(deviations.abs() < DEVIATIONS, "moment {}: {deviations} deviations", order + 1);
        }
    }

    #[test]
    fn tails_have_the_exact_probabilities_out_to_five_sigma() {
        let bounds = [3.0f32, 4.0, 5.0];
        let mut beyond = [[0usize; 3]; 2];
        let draws = for_many_normals(Stream::new(2, "tails", 0), 200_000_000 / THRIFT, |values| {
            for (counts, sign) in beyond.iter_mut().zip([1.0, -1.0]) {
                for (count, bound) in counts.iter_mut().zip(bounds) {
                    *count += values.iter().filter(|&value| sign * value > bound).count();
                }
            }
        });
        for counts in beyond {
            for (count, bound) in counts.into_iter().zip(bounds) {
                // A count is Poisson; where little is expected its upper tail is longer than a normal one, hence the 3.
                let expected = draws * normal_cdf(-f64::from(bound));
                let allowed = DEVIATIONS * expected.sqrt() + 3.0;
                assert!((count as f64 - expected).abs() < allowed, "{count} beyond {bound}, expected {expected}");
            }
        }
    }

    #[test]
    fn kolmogorov_and_smirnov_find_no_difference() {
        for index in 0..4 {
            let mut values = normals(Stream::new(3, "Kolmogorov", index), (1 << 20) / THRIFT.min(8));
            values.sort_unstable_by(f32::total_cmp);
            let count = values.len() as f64;
            let distance = values.iter().enumerate().fold(0.0f64, |largest, (rank, &value)| {
                let probability = normal_cdf(f64::from(value));
                largest.max(probability - rank as f64 / count).max((rank + 1) as f64 / count - probability)
            });
            // Exceeded with probability 2 exp(−2 · 2.2²) = 0.0001; too small a distance, below 0.3, with 0.00001.
            let statistic = distance * count.sqrt();
            assert!((0.3..2.2).contains(&statistic), "{statistic}");
        }
    }

    #[test]
    fn counts_in_bins_pass_the_chi_square_test() {
        // Bins of width 1/16 from −4 to 4, and the two tails.
        const INNER: usize = 128;
        let mut counts = [0u32; INNER + 2];
        let count = for_many_normals(Stream::new(4, "bins", 0), (1 << 26) / THRIFT, |values| {
            for value in values {
                let bin = ((value * 16.0).floor() as i32).clamp(-65, 64) + 65;
                counts[bin.cast_unsigned() as usize] += 1;
            }
        });
        let upper_edge = |bin: usize| if bin <= INNER { normal_cdf(bin as f64 / 16.0 - 4.0) } else { 1.0 };
        let chi_square: f64 = counts
            .iter()
            .enumerate()
            .map(|(bin, &found)| {
                let lower_edge = if bin == 0 { 0.0 } else { upper_edge(bin - 1) };
                let expected = count * (upper_edge(bin) - lower_edge);
                (f64::from(found) - expected).powi(2) / expected
            })
            .sum();
        let freedom = (counts.len() - 1) as f64;
        let deviations = (chi_square - freedom) / (2.0 * freedom).sqrt();
        assert!(deviations.abs() < DEVIATIONS, "chi-square {chi_square} with {freedom} degrees of freedom");
    }

    /// Asserts that the values, and their squares, of two equally long slices have no correlation.
    fn assert_uncorrelated(a: &[f32], b: &[f32], what: &str) {
        let (mut product, mut product_of_squares) = (0.0, 0.0);
        for (&x, &y) in a.iter().zip(b) {
            let (x, y) = (f64::from(x), f64::from(y));
            product += x * y;
            // x² − 1 has mean 0 and variance 2.
            product_of_squares += (x * x - 1.0) * (y * y - 1.0) / 2.0;
        }
        let count = a.len() as f64;
        let bound = 5.0 / count.sqrt();
        assert_eq!(a.len(), b.len());
        assert!((product / count).abs() < bound, "{what}: {}", product / count);
        assert!((product_of_squares / count).abs() < bound, "squares, {what}: {}", product_of_squares / count);
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        let len = (1 << 22) / THRIFT;
        let base = normals(Stream::new(7, "layer1", 3), len);
        for (seed, label, index) in [
            (8, "layer1", 3),
            (7 ^ (1 << 63), "layer1", 3),
            (7, "layer2", 3),
            (7, "", 3),
            (7, "layer1", 4),
            (7, "layer1", 3 ^ (1 << 63)),
            (3, "layer1", 7),
        ] {
            let other = normals(Stream::new(seed, label, index), len);
            assert_uncorrelated(&base, &other, &format!("{seed} {label:?} {index}"));
        }
    }

    #[test]
    fn values_are_uncorrelated_with_later_ones_and_neighbouring_blocks() {
        let values = normals(Stream::new(9, "lags", 0), (1 << 22) / THRIFT);
        for lag in (1..=64).chain([BLOCK_LEN - 16, BLOCK_LEN, BLOCK_LEN + 16, 2 * BLOCK_LEN]) {
            assert_uncorrelated(&values[lag..], &values[..values.len() - lag], &format!("lag {lag}"));
        }
    }

    #[test]
    fn a_permutation_does_not_depend_on_what_it_is_written_over() {
        let [mut one, mut other] = [vec![7; 100], (0..100).rev().collect::<Vec<u32>>()];
        for out in [&mut one, &mut other] {
            stream().fill_permutation(out);
        }
        assert_eq!(one, other);
        one.sort_unstable();
        assert!(one.into_iter().eq(0..100));
    }

    #[test]
    fn generator_and_fill_share_no_words() {
        let word = |mut generator: ChaCha8Rng| generator.next_u64();
        let first = word(stream().generator());
        assert!((0..1000).all(|block| word(stream().chacha(block)) != first));
    }
}
