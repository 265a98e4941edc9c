//! Measures a path: the predictive distribution of draws at each of its points, by blocks of images, also at the softmax
//! temperature at which it predicts best.

use super::barrier::{Bootstrap, Curve, Means, Scores};
use super::temperature;
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::path::{Path, grid};
use crate::posterior::{Gaussian, Posterior, Predictor, SampleProbabilities};
use crate::progress::Monitor;
use onebasin_kernels::ThreadPool;
use onebasin_kernels::lanes::BLOCK;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes that the probabilities of one point of a path may have at a time; those of both ends are kept beside them.
const MEMORY: usize = 64 << 20;
/// Images that are looked at together, however few samples there are.
const IMAGES: usize = 10_000;
/// Probabilities of one sample whose replicates one thread makes at a time, about: they stay in the second-level cache.
const ENTRIES: usize = 512;

/// How a path is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarrierSettings {
    /// Number of points of the path, ends included; odd, so that the middle is one of them.
    pub points: usize,
    /// Number of Monte Carlo samples per point of the path, with the same noise at each; one where all standard deviations are zero.
    pub samples: usize,
    /// Number of bootstrap replicates behind the standard errors.
    pub replicates: usize,
    /// Seed of samples and replicates.
    pub seed: u64,
}

impl Default for BarrierSettings {
    fn default() -> Self {
        Self { points: 25, samples: 128, replicates: 200, seed: 0 }
    }
}

impl BarrierSettings {
    /// Refuses what cannot be measured.
    pub fn check(&self) -> Result<()> {
        grid(self.points)?;
        let Self { samples, replicates, .. } = *self;
        Error::unless((1..=MOST).contains(&samples), "samples", samples, "from 1 to 100000")?;
        Error::unless((2..=MOST).contains(&replicates), "replicates", replicates, "from 2 to 100000")
    }
}

/// More samples, or replicates, than there is memory for.
const MOST: usize = 100_000;

/// What was measured along a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Number of examples it was measured on.
    pub examples: usize,
    /// Number of Monte Carlo samples at each point.
    pub samples: usize,
    /// Along the path.
    pub path: Curve,
    /// Along the mixture (1 − τ) q₀ + τ q₁ of its ends, which has no barrier in the loss.
    pub mixture: Curve,
    /// Along the path, at the softmax temperature of each point that predicts best.
    pub calibrated: Option<Calibrated>,
}

/// A path whose points were calibrated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Softmax temperature at each point: the geometric mean over examples, as each half of them has the one that is best on the other.
    pub temperatures: Vec<f64>,
    /// What was measured with them.
    pub path: Curve,
}

impl Curves {
    /// Refuses to calibrate a regression.
    pub fn check_calibrate(calibrate: bool, is_regression: bool) -> Result<()> {
        let expected = "false for a regression, whose outputs have no softmax temperature";
        Error::unless(!(calibrate && is_regression), "calibrate", calibrate, expected)
    }

    /// Measures `path` on `examples`; to `calibrate` is to measure it also with the softmax temperature that is best at each
    /// point, where no example is predicted with a temperature that its own label was used for.
    pub fn along(
        path: &dyn Path,
        predictor: &mut Predictor,
        examples: &Examples,
        calibrate: bool,
        settings: BarrierSettings,
        monitor: &mut Monitor<'_>,
    ) -> Result<Self> {
        settings.check()?;
        Self::check_calibrate(calibrate, examples.targets().is_some())?;
        let grid = grid(settings.points)?;
        let last = grid.len() - 1;
        let ends = [path.at(grid[0])?, path.at(grid[last])?];
        let drawn = ends.iter().any(|end| end.std().values().iter().any(|std| *std != 0.0));
        let samples = if drawn { settings.samples } else { 1 };
        let bootstrap = Bootstrap::new(settings.seed, settings.replicates, samples);
        let zeros = || vec![Scores::zero(bootstrap.replicates); grid.len()];
        let (mut along, mut mixture, mut tempered) = (zeros(), zeros(), zeros());

        let total = grid.len() * samples * examples.len();
        let mut done = 0;
        let most = (MEMORY / size_of::<f32>() / samples / examples.classes()).clamp(1, IMAGES);
        // Blocks of about the same size, so that none is left with too few examples to fit a temperature on. An even number,
        // so that an index is even in its block if it is even in all.
        let images = examples.len().div_ceil(examples.len().div_ceil(most)).next_multiple_of(2);
        // Σ of the logarithms of the temperatures of all examples, at each point.
        let mut logarithms = vec![0.0; grid.len()];
        for first in (0..examples.len()).step_by(images) {
            let indices: Vec<u32> = (first as u32..examples.len().min(first + images) as u32).collect();
            let mut part = Examples::new(examples.dataset().select(&indices), examples.standardisation().clone())?;
            if let Some(targets) = examples.targets() {
                let outputs = examples.classes();
                part = part.with_targets(targets[first * outputs..][..indices.len() * outputs].to_vec())?;
            }
            let block = Block { examples: &part, bootstrap: &bootstrap, samples, seed: settings.seed };
            let mut evaluate = |gaussian: Gaussian, predictor: &mut Predictor| {
                let evaluated = monitor.part(done, total, |monitor| block.evaluate(gaussian, predictor, monitor));
                done += samples * block.examples.len();
                evaluated
            };
            let mut from = evaluate(ends[0].clone(), predictor)?;
            let mut to = evaluate(ends[1].clone(), predictor)?;
            let mixed = block.mixtures(&from, &to, &grid, predictor.pool());
            mixture.iter_mut().zip(&mixed).for_each(|(sum, scores)| sum.add(scores));
            let mut temper = |point: usize, probabilities: &mut [f32], pool: &ThreadPool| {
                if calibrate {
                    let (labels, classes) = (block.examples.dataset().labels(), block.examples.classes());
                    let temperatures = temperature::cross_fit(probabilities, labels, classes, pool);
                    let of_examples = temperatures.iter().cycle().take(labels.len());
                    logarithms[point] += of_examples.map(|temperature| temperature.ln()).sum::<f64>();
                    tempered[point].add(&block.scores(probabilities, pool));
                }
            };
            for (end, probabilities) in [(0, &mut from), (last, &mut to)] {
                along[end].add(&mixed[end]);
                temper(end, probabilities, predictor.pool());
            }
            for (point, tau) in grid.iter().enumerate().take(last).skip(1) {
                let mut probabilities = evaluate(path.at(*tau)?, predictor)?;
                along[point].add(&block.scores(&probabilities, predictor.pool()));
                temper(point, &mut probabilities, predictor.pool());
            }
        }
        let curve = |scores: &[Scores]| Curve::new(&grid, scores, examples.len());
        let calibrated = calibrate.then(|| Calibrated {
            temperatures: logarithms.iter().map(|sum| (sum / examples.len() as f64).exp()).collect(),
            path: curve(&tempered),
        });
        let (path, mixture) = (curve(&along), curve(&mixture));
        Ok(Self { examples: examples.len(), samples, path, mixture, calibrated })
    }
}

/// Images whose probabilities at all samples are in memory together.
struct Block<'a> {
    examples: &'a Examples,
    bootstrap: &'a Bootstrap,
    samples: usize,
    seed: u64,
}

impl Block<'_> {
    /// The probabilities at draws of a Gaussian, (sample, image, class).
    fn evaluate(&self, gaussian: Gaussian, predictor: &mut Predictor, monitor: &mut Monitor<'_>) -> Result<Vec<f32>> {
        let classes = self.examples.classes();
        let each = self.examples.len() * classes;
        let mut all = vec![0.0; self.samples * each];
        let posterior = Posterior::Gaussian(gaussian);
        let keep = |part: SampleProbabilities<'_>| {
            let first = part.sample * each + part.first * classes;
            all[first..][..part.probabilities.len()].copy_from_slice(part.probabilities);
        };
        predictor.visit(&posterior, self.examples, self.samples, self.seed, keep, monitor)?;
        Ok(all)
    }

    fn scores(&self, probabilities: &[f32], pool: &ThreadPool) -> Scores {
        let work = |entries: Range<usize>, labels: &[u32]| {
            vec![self.score(&self.bootstrap.means(probabilities, entries.clone()), entries, labels)]
        };
        self.by_pieces(1, pool, work).remove(0)
    }

    /// Of the means of some entries: against their labels, or the numbers of a regression.
    fn score(&self, means: &Means, entries: Range<usize>, labels: &[u32]) -> Scores {
        match self.examples.targets() {
            None => means.scores(labels),
            Some(targets) => means.squares(&targets[entries], self.examples.classes()),
        }
    }

    /// Of the mixtures of two ends, those at τ = 0 and τ = 1 being the ends themselves.
    fn mixtures(&self, from: &[f32], to: &[f32], grid: &[f64], pool: &ThreadPool) -> Vec<Scores> {
        self.by_pieces(grid.len(), pool, |entries, labels| {
            let [from, to] = [from, to].map(|samples| self.bootstrap.means(samples, entries.clone()));
            let mixed = grid.iter().map(|tau| Means::mixture(&from, &to, *tau));
            mixed.map(|means| self.score(&means, entries.clone(), labels)).collect()
        })
    }

    /// Adds up what `work` makes of the probabilities of a sample, cut into pieces, and their labels: `count` scores.
    fn by_pieces(
        &self,
        count: usize,
        pool: &ThreadPool,
        work: impl Fn(Range<usize>, &[u32]) -> Vec<Scores> + Sync,
    ) -> Vec<Scores> {
        let (labels, classes) = (self.examples.dataset().labels(), self.examples.classes());
        // So that every piece begins with a whole block of probabilities.
        let images = (ENTRIES / classes).next_multiple_of(BLOCK).max(BLOCK);
        let mut pieces = vec![Vec::new(); labels.len().div_ceil(images)];
        pool.chunks(&mut pieces, 1, |piece, out| {
            let range = piece * images..labels.len().min((piece + 1) * images);
            out[0] = work(range.start * classes..range.end * classes, &labels[range]);
        });
        let mut sums = vec![Scores::zero(self.bootstrap.replicates); count];
        for piece in &pieces {
            sums.iter_mut().zip(piece).for_each(|(sum, scores)| sum.add(scores));
        }
        sums
    }
}
