//! Barriers: by how much loss and error rise on the path between two posteriors, and how far other draws could have put
//! them, by means over the samples, drawn again.

use super::quality::Score;
use crate::keys::null_is_nan;
use crate::path::between;
use crate::rng::{Stream, below};
use onebasin_kernels::bf16::Factors;
use onebasin_kernels::geometry::{Geometry, Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::outer::WeightGradient;
use onebasin_kernels::{Aligned, Isa, pack};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Loss and error along a path, with what they rise by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// From one end to the other.
    pub points: Vec<Point>,
    /// What the loss rises by.
    pub loss: Barriers,
    /// What the error rises by.
    pub error: Barriers,
}

/// One point of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// From 0 to 1.
    pub tau: f64,
    /// Minus the mean logarithm of the predictive probability of the label.
    pub loss: Estimate,
    /// Part of the examples whose most probable class is not their label.
    pub error: Estimate,
}

/// A number, and how far the draws that it was estimated from may have put it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    #[serde(deserialize_with = "null_is_nan")]
    pub value: f64,
    /// The standard deviation over replicates; none where nothing is drawn.
    pub standard_error: Option<f64>,
}

/// Three answers to how much a curve rises, L₀ and L₁ its ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Barriers {
    /// The largest L(τ) − ((1 − τ) L₀ + τ L₁) over the inner points: negative where the whole curve lies below the chord.
    /// The ends would add a zero, and so clip it: max(0, barrier) is the largest over all points.
    pub barrier: Barrier,
    /// L(½) − ½ (L₀ + L₁).
    pub midpoint: Barrier,
    /// The largest L(τ), less ½ (L₀ + L₁).
    pub instability: Barrier,
}

/// A rise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Barrier {
    /// How much.
    #[serde(deserialize_with = "null_is_nan")]
    pub value: f64,
    /// The τ where it is, the first of several.
    pub at: f64,
    /// The standard deviation over replicates, each of which has a maximum of its own; none where nothing is drawn.
    pub standard_error: Option<f64>,
}

impl Curve {
    /// From the scores at each τ of `grid`, which has one half in the middle; sums over `examples`.
    pub(super) fn new(grid: &[f64], scores: &[Scores], examples: usize) -> Self {
        let (loss, losses) = Self::quantity(grid, scores, |score| score.nll / examples as f64);
        let (error, errors) = Self::quantity(grid, scores, |score| score.errors / examples as f64);
        let points = grid.iter().zip(losses).zip(errors);
        Self { points: points.map(|((tau, loss), error)| Point { tau: *tau, loss, error }).collect(), loss, error }
    }

    /// The loss or the error: its barriers, and itself at each τ.
    fn quantity(grid: &[f64], scores: &[Scores], of: impl Fn(&Score) -> f64) -> (Barriers, Vec<Estimate>) {
        let whole: Vec<f64> = scores.iter().map(|scores| of(&scores.whole)).collect();
        let curves: Vec<Vec<f64>> = (0..scores[0].replicates.len())
            .map(|replicate| scores.iter().map(|scores| of(&scores.replicates[replicate])).collect())
            .collect();
        let spread: Vec<[Barrier; 3]> = curves.iter().map(|curve| rises(grid, curve)).collect();
        let [barrier, midpoint, instability] = [0, 1, 2].map(|which| {
            let standard_error = deviation(spread.iter().map(|rises| rises[which].value));
            Barrier { standard_error, ..rises(grid, &whole)[which] }
        });
        let estimate = |(index, value): (usize, &f64)| Estimate {
            value: *value,
            standard_error: deviation(curves.iter().map(|curve| curve[index])),
        };
        (Barriers { barrier, midpoint, instability }, whole.iter().enumerate().map(estimate).collect())
    }
}

/// The barrier, the midpoint and the instability of one curve.
fn rises(grid: &[f64], curve: &[f64]) -> [Barrier; 3] {
    let rise = |value, at| Barrier { value, at, standard_error: None };
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    // A curve that is not a number somewhere has no largest value.
    let exceeds = |next: f64, best: f64| next > best || next.is_nan() && !best.is_nan();
    let over = |points: Range<usize>, base: &dyn Fn(f64) -> f64| {
        let rises = points.map(|index| rise(curve[index] - base(grid[index]), grid[index]));
        let largest = rises.reduce(|best, next| if exceeds(next.value, best.value) { next } else { best });
        largest.expect("a grid has a point between its ends")
    };
    let (count, mean) = (grid.len(), between(first, last, 0.5));
    let middle = rise(curve[count / 2] - mean, grid[count / 2]);
    [over(1..count - 1, &|tau| between(first, last, tau)), middle, over(0..count, &|_| mean)]
}

/// The standard deviation of some numbers, if there are two or more.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
}

impl Barrier {
    /// Returns how much, with its standard error.
    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.value, standard_error: self.standard_error }
    }
}

impl Estimate {
    /// Returns the mean of values and its standard error, the sample standard deviation divided by √n; a single value has
    /// none.
    pub fn mean_of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let standard_error = (values.len() > 1).then(|| {
            let squares: f64 = values.iter().map(|other| (other - value).powi(2)).sum();
            (squares / (count - 1.0) / count).sqrt()
        });
        Self { value, standard_error }
    }
}

/// Replicates of a mean over samples, each with weights of its own, which are the same wherever it is used.
#[derive(Debug)]
pub(super) struct Bootstrap {
    samples: usize,
    pub(super) replicates: usize,
    /// How often a replicate drew a sample, by the number of samples: (replicate blocks, samples, 16).
    weights: Aligned,
    isa: Isa,
}

impl Bootstrap {
    /// One sample has no spread, so it has no replicates.
    pub(super) fn new(seed: u64, replicates: usize, samples: usize) -> Self {
        let replicates = if samples > 1 { replicates } else { 0 };
        // (sample, replicate)
        let mut weights = vec![0.0; samples * replicates];
        for replicate in 0..replicates {
            let mut generator = Stream::new(seed, "bootstrap", replicate as u64).generator();
            for _ in 0..samples {
                weights[below(&mut generator, samples) * replicates + replicate] += 1.0 / samples as f32;
            }
        }
        let plane = Plane::vectors(samples);
        let mut packed = Aligned::zeros(blocks(replicates) * plane.block());
        if replicates > 0 {
            pack::vectors(plane, replicates, 0..blocks(replicates), &weights, &mut packed);
        }
        Self { samples, replicates, weights: packed, isa: Isa::detect() }
    }

    /// The means over `samples` (sample, entry) of some entries; the first of them is a multiple of 16.
    pub(super) fn means(&self, samples: &[f32], entries: Range<usize>) -> Means {
        let all = samples.len() / self.samples;
        let mut whole = vec![0.0; entries.len()];
        for sample in samples.chunks_exact(all) {
            for (sum, value) in whole.iter_mut().zip(&sample[entries.clone()]) {
                *sum += f64::from(*value);
            }
        }
        for sum in &mut whole {
            *sum /= self.samples as f64;
        }
        let mut replicates = vec![0.0; self.replicates * entries.len()];
        if self.replicates > 0 {
            assert!(entries.start.is_multiple_of(BLOCK), "blocks are packed whole");
            let plane = Plane::vectors(self.samples);
            let mut packed = Aligned::zeros(blocks(entries.len()) * plane.block());
            pack::vectors(plane, all, entries.start / BLOCK..blocks(entries.end), samples, &mut packed);
            let (inputs, units) = (self.replicates, entries.len());
            self.isa.run(WeightGradient {
                geometry: &Geometry { kernel: 1, stride: 1, inputs, units, from: plane, to: plane },
                factors: Factors::Singles,
                columns: self.samples,
                images: 1,
                x: &self.weights,
                dy: &packed,
                input_blocks: 0..blocks(inputs),
                gradient: &mut replicates,
                accumulate: false,
            });
        }
        Means { whole, replicates }
    }
}

/// The predictive means of some examples.
#[derive(Debug)]
pub(super) struct Means {
    /// Over all samples, (example, class).
    whole: Vec<f64>,
    /// (replicate, example, class)
    replicates: Vec<f32>,
}

impl Means {
    /// Those of the mixture of two posteriors.
    pub(super) fn mixture(from: &Self, to: &Self, tau: f64) -> Self {
        let whole = from.whole.iter().zip(&to.whole);
        let replicates = from.replicates.iter().zip(&to.replicates);
        Self {
            whole: whole.map(|(from, to)| between(*from, *to, tau)).collect(),
            replicates: replicates.map(|(from, to)| between(f64::from(*from), f64::from(*to), tau) as f32).collect(),
        }
    }

    pub(super) fn scores(&self, labels: &[u32]) -> Scores {
        let replicates = self.replicates.chunks_exact(self.whole.len());
        Scores {
            whole: Score::default().with_rows(&self.whole, labels),
            replicates: replicates.map(|replicate| Score::default().with_rows(replicate, labels)).collect(),
        }
    }
}

impl Means {
    /// Of a regression: the squared errors of the means, each the mean over the outputs of an example.
    pub(super) fn squares(&self, targets: &[f32], outputs: usize) -> Scores {
        fn sum(means: impl Iterator<Item = f64>, targets: &[f32], outputs: usize) -> Score {
            let squares = means.zip(targets).map(|(mean, target)| (mean - f64::from(*target)).powi(2));
            Score { nll: squares.sum::<f64>() / outputs as f64, ..Score::default() }
        }
        let replicates = self.replicates.chunks_exact(self.whole.len());
        Scores {
            whole: sum(self.whole.iter().copied(), targets, outputs),
            replicates: replicates.map(|own| sum(own.iter().map(|mean| f64::from(*mean)), targets, outputs)).collect(),
        }
    }
}

/// Sums over examples, of the means over all samples and of those of each replicate.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    pub(super) whole: Score,
    pub(super) replicates: Vec<Score>,
}

impl Scores {
    pub(super) fn zero(replicates: usize) -> Self {
        Self { whole: Score::default(), replicates: vec![Score::default(); replicates] }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let replicates = self.replicates.iter_mut().zip(&other.replicates);
        for (sum, score) in replicates.chain([(&mut self.whole, &other.whole)]) {
            sum.errors += score.errors;
            sum.nll += score.nll;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_below_its_chord_has_a_negative_barrier_with_an_error() {
        let score = |nll| Score { nll, ..Score::default() };
        // The replicates sag by 0.4 and 0.2: a maximum over the ends too would be zero in both, and so would its error.
        let scores = [[1.0, 1.0, 1.0], [0.7, 0.6, 0.8], [1.0, 1.0, 1.0]].map(|[whole, first, second]| Scores {
            whole: score(whole),
            replicates: vec![score(first), score(second)],
        });
        let Barriers { barrier, midpoint, instability } = Curve::new(&[0.0, 0.5, 1.0], &scores, 1).loss;
        assert!((barrier.value + 0.3).abs() < 1e-12 && barrier.at == 0.5, "{barrier:?}");
        assert!((barrier.standard_error.unwrap() - 0.02_f64.sqrt()).abs() < 1e-12, "{barrier:?}");
        assert_eq!(barrier, midpoint);
        assert_eq!((instability.value, instability.at), (0.0, 0.0));
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Variance 4 with n - 1, divided by 4 values.
        assert_eq!(Estimate::mean_of(&[1.0, 1.0, 1.0, 5.0]), Estimate { value: 2.0, standard_error: Some(1.0) });
        assert_eq!(Estimate::mean_of(&[3.0]), Estimate { value: 3.0, standard_error: None });
        assert!(Estimate::mean_of(&[]).value.is_nan());
    }
}
