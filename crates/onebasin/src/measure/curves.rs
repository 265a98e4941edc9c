//! Measures a path: the predictive distribution of draws at each of its points, by blocks of images.

use super::barrier::Curve;
use super::bootstrap::Bootstrap;
use super::bootstrap::Means;
use super::bootstrap::Scores;
use super::temperature;
use super::temperature::Sampled;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::kernels::lanes::BLOCK;
use crate::path::Path;
use crate::path::grid;
use crate::posterior::Gaussian;
use crate::posterior::Posterior;
use crate::posterior::Predictor;
use serde::Deserialize;
use serde::Serialize;
use std::ops::ControlFlow;
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
    /// Points of the path, ends included; odd, so that the middle is one of them.
    pub points: usize,
    /// Draws at each point, with the same noise; where nothing has width, there is one.
    pub samples: usize,
    /// Bootstrap replicates behind the standard errors.
    pub replicates: usize,
    /// Of draws and replicates.
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
        if !(1..=MOST).contains(&self.samples) {
            let value = self.samples.to_string();
            return Err(Error::OutOfRange { what: "the number of samples", value, expected: "from 1 to 100000" });
        }
        if !(2..=MOST).contains(&self.replicates) {
            let value = self.replicates.to_string();
            return Err(Error::OutOfRange { what: "the number of replicates", value, expected: "from 2 to 100000" });
        }
        Ok(())
    }
}

/// More samples, or replicates, than there is memory for.
const MOST: usize = 100_000;

/// What was measured along a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Images it was measured on.
    pub images: usize,
    /// Draws at each point.
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
    ///
    /// `progress` is told how much of how much is done, and may break off: then the result is `None`.
    pub fn along(
        path: &dyn Path,
        predictor: &mut Predictor,
        examples: &Examples,
        calibration: Option<&Examples>,
        settings: BarrierSettings,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        settings.check()?;
        let grid = grid(settings.points)?;
        let last = grid.len() - 1;
        let ends = [path.at(grid[0])?, path.at(grid[last])?];
        let drawn = ends.iter().any(|end| end.std().values().iter().any(|std| *std != 0.0));
        let samples = if drawn { settings.samples } else { 1 };
        let bootstrap = Bootstrap::new(settings.seed, settings.replicates, samples);
        let zeros = || vec![Scores::zero(bootstrap.replicates()); grid.len()];
        let (mut along, mut mixture, mut tempered) = (zeros(), zeros(), zeros());

        let all = examples.len() + calibration.map_or(0, Examples::len);
        let total = grid.len() * samples * all;
        let mut done = 0;
        let images = (MEMORY / size_of::<f32>() / samples / examples.classes()).clamp(1, IMAGES);
        let mut inverses = Vec::new();
        if let Some(examples) = calibration {
            let block = Block { examples, bootstrap: &bootstrap, samples, seed: settings.seed };
            for tau in &grid {
                let evaluated =
                    block.evaluate(path.at(*tau)?, predictor, &mut |part, _| progress(done + part, total))?;
                let Some(probabilities) = evaluated else { return Ok(None) };
                done += samples * examples.len();
                let (labels, classes) = (examples.dataset().labels(), examples.classes());
                let sampled = Sampled { probabilities: &probabilities, labels, classes };
                inverses.push(sampled.best_inverse_temperature(predictor.team()));
            }
        }
        for first in (0..examples.len()).step_by(images) {
            let range = first..examples.len().min(first + images);
            let block =
                Block { examples: &part(examples, range)?, bootstrap: &bootstrap, samples, seed: settings.seed };
            let mut evaluate = |gaussian: Gaussian, predictor: &mut Predictor| {
                let evaluated = block.evaluate(gaussian, predictor, &mut |part, _| progress(done + part, total));
                done += samples * block.examples.len();
                evaluated
            };
            let [from, to] = &ends;
            let Some(mut from) = evaluate(from.clone(), predictor)? else { return Ok(None) };
            let Some(mut to) = evaluate(to.clone(), predictor)? else { return Ok(None) };
            let mixed = block.mixtures(&from, &to, &grid, predictor.team());
            for (sum, scores) in mixture.iter_mut().zip(&mixed) {
                sum.add(scores);
            }
            let mut temper = |point: usize, probabilities: &mut [f32], team: &Team| {
                if let Some(inverse) = inverses.get(point) {
                    temperature::temper(probabilities, block.examples.classes(), *inverse, team);
                    tempered[point].add(&block.scores(probabilities, team));
                }
            };
            for (end, probabilities) in [(0, &mut from), (last, &mut to)] {
                along[end].add(&mixed[end]);
                temper(end, probabilities, predictor.team());
            }
            for (point, tau) in grid.iter().enumerate().take(last).skip(1) {
                let Some(mut probabilities) = evaluate(path.at(*tau)?, predictor)? else { return Ok(None) };
                along[point].add(&block.scores(&probabilities, predictor.team()));
                temper(point, &mut probabilities, predictor.team());
            }
        }
        let curve = |scores: &[Scores]| Curve::new(&grid, scores, examples.len());
        let calibrated = calibration.is_some().then(|| Calibrated {
            temperatures: inverses.iter().map(|inverse| 1.0 / inverse).collect(),
            path: curve(&tempered),
        });
        let (path, mixture) = (curve(&along), curve(&mixture));
        Ok(Some(Self { images: examples.len(), samples, path, mixture, calibrated }))
    }
}

/// Some of the images.
fn part(examples: &Examples, range: Range<usize>) -> Result<Examples> {
    let indices: Vec<u32> = (range.start as u32..range.end as u32).collect();
    Examples::new(examples.dataset().select(&indices), examples.standardisation().clone())
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
    fn evaluate(
        &self,
        gaussian: Gaussian,
        predictor: &mut Predictor,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Vec<f32>>> {
        let classes = self.examples.classes();
        let each = self.examples.len() * classes;
        let mut all = vec![0.0; self.samples * each];
        let posterior = Posterior::Gaussian(gaussian);
        let whole = predictor.visit(&posterior, self.examples, self.samples, self.seed, progress, |part| {
            let first = part.sample * each + part.first_image * classes;
            all[first..][..part.probabilities.len()].copy_from_slice(part.probabilities);
        })?;
        Ok(whole.is_continue().then_some(all))
    }

    fn scores(&self, probabilities: &[f32], team: &Team) -> Scores {
        let scores = self
            .by_pieces(1, team, |entries, labels| vec![self.bootstrap.means(probabilities, entries).scores(labels)]);
        scores.into_iter().next().expect("there is one")
    }

    /// Of the mixtures of two ends, those at τ = 0 and τ = 1 being the ends themselves.
    fn mixtures(&self, from: &[f32], to: &[f32], grid: &[f64], team: &Team) -> Vec<Scores> {
        self.by_pieces(grid.len(), team, |entries, labels| {
            let [from, to] = [from, to].map(|samples| self.bootstrap.means(samples, entries.clone()));
            grid.iter().map(|tau| Means::mixture(&from, &to, *tau).scores(labels)).collect()
        })
    }

    /// Adds up what `work` makes of the probabilities of a sample, cut into pieces, and their labels: `count` scores.
    fn by_pieces(
        &self,
        count: usize,
        team: &Team,
        work: impl Fn(Range<usize>, &[u32]) -> Vec<Scores> + Sync,
    ) -> Vec<Scores> {
        let (labels, classes) = (self.examples.dataset().labels(), self.examples.classes());
        // So that every piece begins with a whole block of probabilities.
        let images = (ENTRIES / classes).next_multiple_of(BLOCK).max(BLOCK);
        let mut pieces = vec![Vec::new(); labels.len().div_ceil(images)];
        team.chunks(&mut pieces, 1, |piece, out| {
            let range = piece * images..labels.len().min((piece + 1) * images);
            out[0] = work(range.start * classes..range.end * classes, &labels[range]);
        });
        let mut sums = vec![Scores::zero(self.bootstrap.replicates()); count];
        for piece in &pieces {
            sums.iter_mut().zip(piece).for_each(|(sum, scores)| sum.add(scores));
        }
        sums
    }
}
