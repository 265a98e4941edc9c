//! Predictive means and what they could have been with other draws: means over the samples, drawn again.

use super::quality::Score;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::geometry::Geometry;
use crate::kernels::geometry::Plane;
use crate::kernels::geometry::blocks;
use crate::kernels::lanes::BLOCK;
use crate::kernels::outer::WeightGradient;
use crate::kernels::pack;
use crate::path::between;
use crate::rng::Stream;
use crate::rng::below;
use std::ops::Range;

/// Replicates of a mean over samples, each with weights of its own, which are the same wherever it is used.
#[derive(Debug)]
pub(super) struct Bootstrap {
    samples: usize,
    replicates: usize,
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

    /// How many there are.
    pub(super) fn replicates(&self) -> usize {
        self.replicates
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
            let columns = entries.start / BLOCK..blocks(entries.end);
            pack::vectors(plane, all, columns, samples, &mut packed);
            let (inputs, units) = (self.replicates, entries.len());
            self.isa.run(WeightGradient {
                geometry: &Geometry { kernel: 1, stride: 1, inputs, units, from: plane, to: plane },
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

/// The predictive means of some images.
#[derive(Debug)]
pub(super) struct Means {
    /// Over all samples, (image, class).
    whole: Vec<f64>,
    /// (replicate, image, class)
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

    /// What they are worth.
    pub(super) fn scores(&self, labels: &[u32]) -> Scores {
        let mut scores = Scores::default();
        scores.whole.add_rows(&self.whole, labels);
        for replicate in self.replicates.chunks_exact(self.whole.len()) {
            let mut score = Score::default();
            score.add_rows(replicate, labels);
            scores.replicates.push(score);
        }
        scores
    }
}

/// Sums over images, of the means over all samples and of those of each replicate.
#[derive(Clone, Debug, Default)]
pub(super) struct Scores {
    pub(super) whole: Score,
    pub(super) replicates: Vec<Score>,
}

impl Scores {
    /// Nothing yet.
    pub(super) fn zero(replicates: usize) -> Self {
        Self { whole: Score::default(), replicates: vec![Score::default(); replicates] }
    }

    /// Adds those of further images.
    pub(super) fn add(&mut self, other: &Self) {
        let replicates = self.replicates.iter_mut().zip(&other.replicates);
        for (sum, score) in replicates.chain([(&mut self.whole, &other.whole)]) {
            sum.errors += score.errors;
            sum.nll += score.nll;
        }
    }
}
