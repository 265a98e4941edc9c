//! Whether Markov chains have converged, and how many independent samples they are worth: R-hat and effective sample size.
//!
//! Every function takes one quantity as `chains: (chain, sample)`. Where there is nothing to say the answer is NaN,
//! never a panic: without chains, with chains of different lengths, with fewer samples in each than are needed, with a
//! value that is not finite, and if all values are equal. Formulas: docs/math.md, "Convergence of chains".

use crate::keys::null_is_nan;
use serde::{Deserialize, Serialize};

/// R-hat needs this many samples in each chain: two in each half, or a half would have no variance.
pub const MIN_SAMPLES_RHAT: usize = 4;

/// The effective sample size needs this many samples in each chain: with fewer, a half has too few lags to look at.
pub const MIN_SAMPLES_ESS: usize = 10;

/// Split-R-hat (Gelman et al. 2013): the deviation of all samples over that within half a chain; 1 at convergence.
///
/// `chains: (chain, sample)`; one chain is enough, as its halves are compared. Infinite if every half stands still, but not
/// all at the same value. NaN as said at the top of this file.
pub fn split_rhat(chains: &[&[f64]]) -> f64 {
    Halves::split(chains).map_or(f64::NAN, |halves| halves.rhat())
}

/// R-hat of ranks (Vehtari et al. 2021): the larger of the split-R-hats of rank-normalised values and of rank-normalised
/// distances to the median.
///
/// The first sees chains that differ in location, also where the variance is infinite, the second those that differ in
/// scale.
///
/// `chains: (chain, sample)`; infinite and NaN as [`split_rhat`].
pub fn rank_rhat(chains: &[&[f64]]) -> f64 {
    // `max` takes the number if the other is NaN: the distances to the median may all be equal (values of a coin).
    Halves::split(chains)
        .map_or(f64::NAN, |halves| halves.rank_normalised().rhat().max(halves.folded().rank_normalised().rhat()))
}

/// The effective sample size of the mean: how many independent samples would estimate it as well as all chains do.
///
/// `chains: (chain, sample)`. Of S samples it is more than S where successive ones lie on opposite sides of the mean, but
/// never more than S log₁₀ S. NaN as said at the top of this file.
pub fn ess(chains: &[&[f64]]) -> f64 {
    Halves::split(chains).map_or(f64::NAN, |halves| halves.ess())
}

/// The effective sample size of rank-normalised values (Vehtari et al. 2021), which exists for every distribution.
///
/// `chains: (chain, sample)`; bound and NaN as [`ess`].
pub fn bulk_ess(chains: &[&[f64]]) -> f64 {
    Halves::split(chains).map_or(f64::NAN, |halves| halves.rank_normalised().ess())
}

/// The convergence of chains in many quantities at once; null stands for NaN and infinities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Number of quantities, such as probabilities or parameters.
    pub quantities: usize,
    /// Number of samples of each chain.
    pub samples: usize,
    /// Number of quantities for which R-hat or the effective sample size is NaN; they are left out of what follows.
    pub undefined: usize,
    /// Largest [`rank_rhat`]; NaN if there is none.
    #[serde(deserialize_with = "null_is_nan")]
    pub max_rhat: f64,
    /// Median [`rank_rhat`]; NaN if there is none.
    #[serde(deserialize_with = "null_is_nan")]
    pub median_rhat: f64,
    /// Smallest [`bulk_ess`]; NaN if there is none.
    #[serde(deserialize_with = "null_is_nan")]
    pub min_ess: f64,
    /// Median [`bulk_ess`]; NaN if there is none.
    #[serde(deserialize_with = "null_is_nan")]
    pub median_ess: f64,
}

impl Convergence {
    /// R-hats above this say that chains have not mixed.
    pub const MAX_RHAT: f64 = 1.1;
    /// Effective sample sizes below this say little about the tails of a distribution.
    pub const MIN_ESS: f64 = 100.0;

    /// What a person should know before trusting the samples of `chains` chains, a sentence each.
    pub fn warnings(&self, chains: usize) -> Vec<String> {
        let Self { samples, max_rhat, median_rhat, min_ess, .. } = *self;
        let mut all = Vec::new();
        if max_rhat.is_nan() {
            all.push(format!(
                "R-hat is not defined: {samples} samples of each chain are too few, or all of them are equal; raise `infer.samples`"
            ));
        } else if max_rhat > Self::MAX_RHAT {
            all.push(format!(
                "the chains have not mixed: R-hat of the test probabilities is up to {max_rhat:.2}, its median {median_rhat:.2}, and \
                 should be below {}; raise `infer.burn_in` and `infer.samples`",
                Self::MAX_RHAT
            ));
        }
        if min_ess < Self::MIN_ESS {
            let total = samples * chains;
            all.push(format!(
                "{total} samples are worth {min_ess:.0} independent ones where it is worst, and should be worth {}; raise \
                 `infer.samples` or `infer.thin`",
                Self::MIN_ESS
            ));
        }
        all
    }
}

/// Summarises `series: (quantity, chain, sample)`, one item per quantity, with `chains` chains in each.
///
/// An item is a slice (`matrix.chunks_exact(chains * samples)`) or a vector made when it is asked for, so the whole matrix
/// need never exist. One that cannot be divided into `chains` chains is undefined.
pub fn summarise<Q: AsRef<[f64]>>(series: impl IntoIterator<Item = Q>, chains: usize) -> Convergence {
    let (mut quantities, mut samples, mut undefined) = (0, 0, 0);
    let (mut rhats, mut sizes) = (Vec::new(), Vec::new());
    for quantity in series {
        let quantity = quantity.as_ref();
        let chains: Vec<&[f64]> = match quantity.len().checked_div(chains) {
            Some(samples) if samples > 0 && samples * chains == quantity.len() => {
                quantity.chunks_exact(samples).collect()
            }
            _ => Vec::new(),
        };
        let (rhat, size) = (rank_rhat(&chains), bulk_ess(&chains));
        samples = chains.first().map_or(samples, |chain| chain.len());
        quantities += 1;
        undefined += usize::from(rhat.is_nan() || size.is_nan());
        rhats.extend((!rhat.is_nan()).then_some(rhat));
        sizes.extend((!size.is_nan()).then_some(size));
    }
    Convergence {
        quantities,
        samples,
        undefined,
        max_rhat: rhats.iter().copied().fold(f64::NAN, f64::max),
        median_rhat: median(&mut rhats),
        min_ess: sizes.iter().copied().fold(f64::NAN, f64::min),
        median_ess: median(&mut sizes),
    }
}

/// Chains cut in two, so that one which drifts disagrees with itself.
struct Halves {
    /// (half, sample); finite, and not all equal when split.
    values: Vec<f64>,
    /// Samples in each half.
    len: usize,
}

impl Halves {
    /// The halves of `chains: (chain, sample)`, or nothing where no answer is possible; an odd chain loses its middle.
    fn split(chains: &[&[f64]]) -> Option<Self> {
        let samples = chains.first()?.len();
        if samples < MIN_SAMPLES_RHAT || chains.iter().any(|chain| chain.len() != samples) {
            return None;
        }
        let len = samples / 2;
        let values: Vec<f64> =
            chains.iter().flat_map(|chain| [&chain[..len], &chain[samples - len..]]).flatten().copied().collect();
        let usable = chains.iter().all(|chain| chain.iter().all(|value| value.is_finite()))
            && values.iter().any(|&value| value != values[0]);
        usable.then_some(Self { values, len })
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.len)
    }

    /// The two estimates of the variance whose ratio tells whether the chains agree: W, the mean of the variances of the
    /// halves, and V, that of all values, from W and the variance of the means of the halves.
    fn variances(&self) -> (f64, f64) {
        let means: Vec<f64> = self.iter().map(mean).collect();
        let within = self.iter().map(variance).sum::<f64>() / means.len() as f64;
        let len = self.len as f64;
        (within, within * (len - 1.0) / len + variance(&means))
    }

    /// √(V / W).
    fn rhat(&self) -> f64 {
        let (within, total) = self.variances();
        (total / within).sqrt()
    }

    /// S / τ, with τ from the initial monotone sequence of Geyer (1992) over all halves.
    ///
    /// Autocovariances are summed directly: most sequences end after a few lags, before a Fourier transform would pay. The
    /// price is a time quadratic in the samples where chains are stuck.
    fn ess(&self) -> f64 {
        let (within, total) = self.variances();
        let enough = self.len >= MIN_SAMPLES_ESS / 2;
        // The variance of huge values overflows, that of tiny ones underflows.
        if !(enough && total.is_finite() && total > 0.0) {
            return f64::NAN;
        }
        let centred: Vec<f64> = self
            .iter()
            .flat_map(|half| {
                let mean = mean(half);
                half.iter().map(move |value| value - mean)
            })
            .collect();
        let covariance = |lag: usize| {
            let products = centred.chunks_exact(self.len).flat_map(|half| half.iter().zip(&half[lag..]));
            products.map(|(x, y)| x * y).sum::<f64>() / centred.len() as f64
        };
        let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / total;

        let (mut lag, mut sum, mut smallest) = (0, 0.0, f64::INFINITY);
        let (mut even, mut odd) = (1.0, correlation(1));
        // The bound on the lag is that of Stan and ArviZ.
        while even + odd > 0.0 && lag + 4 < self.len {
            smallest = f64::min(smallest, even + odd);
            sum += smallest;
            lag += 2;
            (even, odd) = (correlation(lag), correlation(lag + 1));
        }
        let samples = self.values.len() as f64;
        let time = -1.0 + 2.0 * sum + f64::max(even, 0.0);
        samples / time.max(1.0 / samples.log10())
    }

    /// Every value becomes the normal quantile of its rank among all; equal values share the mean of their ranks.
    fn rank_normalised(&self) -> Self {
        let count = self.values.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let mut values = vec![0.0; count];
        let mut before = 0;
        for equal in order.chunk_by(|&a, &b| self.values[a] == self.values[b]) {
            let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
            // (rank − 3/8) / (S + 1/4), after Blom (1958).
            let score = normal_quantile((rank - 0.375) / (count as f64 + 0.25));
            for &index in equal {
                values[index] = score;
            }
            before += equal.len();
        }
        Self { values, len: self.len }
    }

    /// The distances to the median of all values.
    fn folded(&self) -> Self {
        let median = median(&mut self.values.clone());
        Self { values: self.values.iter().map(|value| (value - median).abs()).collect(), len: self.len }
    }
}

/// Taken from the first value on, so that equal values have exactly themselves as mean, and no variance.
fn mean(values: &[f64]) -> f64 {
    values[0] + values.iter().map(|value| value - values[0]).sum::<f64>() / values.len() as f64
}

/// With one less than their number below the sum.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The middle value, or the mean of the two; sorts `values`. NaN of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values {
        [] => f64::NAN,
        _ if values.len() % 2 == 1 => values[values.len() / 2],
        _ => f64::midpoint(values[values.len() / 2 - 1], values[values.len() / 2]),
    }
}

/// The inverse of the normal distribution function: algorithm AS 241 of Wichura (1988), relative error about 1e-16.
///
/// Its third branch, for tails below exp(−25), is left out: no rank among fewer than 4·10¹⁰ values lies there.
fn normal_quantile(probability: f64) -> f64 {
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        let [above, below] = polynomials(&CENTRE, 0.180_625 - centred * centred);
        return centred * above / below;
    }
    let tail = if centred < 0.0 { probability } else { 1.0 - probability };
    let [above, below] = polynomials(&TAIL, (-tail.ln()).sqrt() - 1.6);
    (above / below).copysign(centred)
}

/// Both polynomials of a rational function, with coefficients of falling powers.
fn polynomials(coefficients: &[[f64; 8]; 2], x: f64) -> [f64; 2] {
    coefficients.map(|coefficients| coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient))
}

/// Numerator and denominator for probabilities from 0.075 to 0.925.
const CENTRE: [[f64; 8]; 2] = [
    [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ],
    [
        5_226.495_278_852_854,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
];

/// Numerator and denominator for the tails.
const TAIL: [[f64; 8]; 2] = [
    [
        0.000_774_545_014_278_341_4,
        0.022_723_844_989_269_184,
        0.241_780_725_177_450_6,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-09,
        0.000_547_593_808_499_534_5,
        0.015_198_666_563_616_457,
        0.148_103_976_427_480_08,
        0.689_767_334_985_1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_scipy() {
        // scipy.stats.norm.ppf of SciPy 1.17.1
        let expected = [
            (0.5, 0.0),
            (0.25, -0.674_489_750_196_081_7),
            (0.9, 1.281_551_565_544_600_4),
            (0.925, 1.439_531_470_938_456_3),
            (0.05, -1.644_853_626_951_472_9),
            (1e-4, -3.719_016_485_455_680_4),
            (0.999_999, 4.753_424_308_817_087),
            (1e-9, -5.997_807_015_007_686_5),
        ];
        for (probability, quantile) in expected {
            let found = normal_quantile(probability);
            assert!((found - quantile).abs() <= 1e-14 * f64::abs(quantile), "{probability}: {found}, not {quantile}");
        }
    }

    #[test]
    fn the_mean_of_equal_values_is_that_value() {
        assert_eq!((mean(&[0.1; 7]), variance(&[0.1; 7])), (0.1, 0.0));
    }
}
