//! Measures a path: the predictive distribution of draws at each of its points, by blocks of images, also at the softmax
//! temperature at which it predicts best.

use super::barrier::{Bootstrap, Curve, Means, Scores};
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
    /// Along the path, at the temperature of each point that suits it best.
    pub calibrated: Option<Calibrated>,
}

/// A path whose points were calibrated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// What logits are divided by, at each point.
    pub temperatures: Vec<f64>,
    /// What was measured with them.
    pub path: Curve,
}

impl Curves {
    /// Measures `path` on `examples`; if there are images for `calibration`, also with the softmax temperature that is best on those.
    pub fn along(
        path: &dyn Path,
        predictor: &mut Predictor,
        examples: &Examples,
        calibration: Option<&Examples>,
        settings: BarrierSettings,
        monitor: &mut Monitor<'_>,
    ) -> Result<Self> {
        settings.check()?;
        let grid = grid(settings.points)?;
        let last = grid.len() - 1;
        let ends = [path.at(grid[0])?, path.at(grid[last])?];
        let drawn = ends.iter().any(|end| end.std().values().iter().any(|std| *std != 0.0));
        let samples = if drawn { settings.samples } else { 1 };
        let bootstrap = Bootstrap::new(settings.seed, settings.replicates, samples);
        let zeros = || vec![Scores::zero(bootstrap.replicates); grid.len()];
        let (mut along, mut mixture, mut tempered) = (zeros(), zeros(), zeros());

        let all = examples.len() + calibration.map_or(0, Examples::len);
        let total = grid.len() * samples * all;
        let mut done = 0;
        let images = (MEMORY / size_of::<f32>() / samples / examples.classes()).clamp(1, IMAGES);
        let mut inverses = Vec::new();
        if let Some(examples) = calibration {
            let block = Block { examples, bootstrap: &bootstrap, samples, seed: settings.seed };
            for tau in &grid {
                let gaussian = path.at(*tau)?;
                let probabilities =
                    monitor.part(done, total, |monitor| block.evaluate(gaussian, predictor, monitor))?;
                done += samples * examples.len();
                let (labels, classes) = (examples.dataset().labels(), examples.classes());
                let sampled = Sampled { probabilities: &probabilities, labels, classes };
                inverses.push(sampled.best_inverse_temperature(predictor.pool()));
            }
        }
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
                if let Some(inverse) = inverses.get(point) {
                    temper(probabilities, block.examples.classes(), *inverse, pool);
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
        let calibrated = calibration.is_some().then(|| Calibrated {
            temperatures: inverses.iter().map(|inverse| 1.0 / inverse).collect(),
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

/// Where the logarithm of the inverse temperature is looked for.
const RANGE: [f64; 2] = [-3.0, 3.0];
/// Steps of the search: they leave a part of 10⁻⁴ of the range.
const STEPS: usize = 20;

/// Probabilities of some examples at all samples, and their labels.
#[derive(Clone, Copy, Debug)]
struct Sampled<'a> {
    /// (sample, example, class)
    probabilities: &'a [f32],
    labels: &'a [u32],
    classes: usize,
}

impl Sampled<'_> {
    /// The inverse temperature b with the least loss of the mean over samples, if each sample predicts softmax(b z), z its logits.
    ///
    /// By golden sections: the loss falls, then rises, in all but odd cases, and then one of its dips is found.
    fn best_inverse_temperature(&self, pool: &ThreadPool) -> f64 {
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let [mut low, mut high] = RANGE;
        let [mut left, mut right] = [high - ratio * (high - low), low + ratio * (high - low)];
        let [mut at_left, mut at_right] = [left, right].map(|log| self.loss(log.exp(), pool));
        for _ in 0..STEPS {
            if at_left < at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = self.loss(left.exp(), pool);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = self.loss(right.exp(), pool);
            }
        }
        (0.5 * (low + high)).exp()
    }

    fn loss(&self, inverse: f64, pool: &ThreadPool) -> f64 {
        let each = self.labels.len() * self.classes;
        let samples = self.probabilities.len() / each;
        let mut losses = vec![0.0; self.labels.len()];
        let share = pool.share(losses.len());
        pool.chunks(&mut losses, share, |part, losses| {
            for (index, loss) in losses.iter_mut().enumerate() {
                let image = part * share + index;
                let rows =
                    self.probabilities.chunks_exact(each).map(|sample| &sample[image * self.classes..][..self.classes]);
                let label = self.labels[image] as usize;
                let mean: f64 = rows.map(|row| at_label(row, label, inverse)).sum::<f64>() / samples as f64;
                *loss = -mean.max(f64::from(f32::MIN_POSITIVE)).ln();
            }
        });
        losses.iter().sum::<f64>() / losses.len() as f64
    }
}

/// softmax(b z) at the label, from softmax(z).
fn at_label(row: &[f32], label: usize, inverse: f64) -> f64 {
    let power = |probability: f32| f64::from((probability.max(f32::MIN_POSITIVE).ln()) * inverse as f32).exp();
    power(row[label]) / row.iter().map(|probability| power(*probability)).sum::<f64>()
}

/// Turns softmax(z) into softmax(b z), (sample, example, class).
fn temper(probabilities: &mut [f32], classes: usize, inverse: f64, pool: &ThreadPool) {
    let share = pool.share(probabilities.len() / classes) * classes;
    pool.chunks(probabilities, share, |_, rows| {
        for row in rows.chunks_exact_mut(classes) {
            let mut sum = 0.0;
            for probability in &mut *row {
                *probability = (probability.max(f32::MIN_POSITIVE).ln() * inverse as f32).exp();
                sum += *probability;
            }
            for probability in row {
                *probability /= sum;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_temperature_is_found() {
        // Labels that follow softmax(z) when softmax(3 z) is given: the best inverse temperature is 1/3.
        let classes = 2;
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        for step in 1..100u32 {
            let first = f64::from(step) / 100.0;
            let z = (first / (1.0 - first)).ln();
            for copy in 0..100 {
                labels.push(u32::from(copy >= step));
                let given = 1.0 / (1.0 + (-3.0 * z).exp());
                probabilities.extend([given as f32, 1.0 - given as f32]);
            }
        }
        let sampled = Sampled { probabilities: &probabilities, labels: &labels, classes };
        let pool = ThreadPool::new(2).unwrap();
        assert!((sampled.best_inverse_temperature(&pool) - 1.0 / 3.0).abs() < 1e-3);
        let mut tempered = probabilities.clone();
        temper(&mut tempered, classes, 1.0 / 3.0, &pool);
        let sampled = Sampled { probabilities: &tempered, ..sampled };
        assert!((sampled.best_inverse_temperature(&pool) - 1.0).abs() < 1e-3);
    }
}
