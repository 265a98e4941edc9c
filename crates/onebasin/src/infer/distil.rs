//! Knowledge distillation: the predictions of a teacher in the place of labels, its Gaussian in the place of the prior.

use super::{Inference, Optimise, Problem, Schedule, Vi, ViConfig};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::progress::Monitor;
use crate::rng::{Stream, below};
use crate::threads::ThreadPool;

/// Number of examples in a batch.
const BATCH: usize = 100;
/// Largest learning rate, in units of the standard deviations of the fitted Gaussian.
const LEARNING_RATE: f64 = 0.01;
/// Initial standard deviations, in units of those of the fitted Gaussian.
const STD: f64 = 0.1;
/// Number of labels that the prediction of an example counts as: it says more than one label would.
const WEIGHT: f64 = 10.0;

/// Distils the predictions of samples into a diagonal Gaussian that was fitted to them, in `epochs` passes over the examples
/// of `problem`, whose labels and prior are not used.
///
/// `predictions` are those of the samples together, (example, class).
pub fn distil(
    problem: &Problem,
    fitted: &Gaussian,
    predictions: &[f64],
    epochs: f64,
    seed: u64,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Gaussian> {
    let batch = BATCH.min(problem.training.len());
    let optimise = Optimise { schedule: Schedule::Cosine, ..Optimise::new(epochs, batch, LEARNING_RATE) };
    let config = ViConfig { optimise, std: Some(STD), moped: None, samples: 1 };
    let teacher = Teacher { gaussian: fitted, predictions, weight: WEIGHT };
    let mut vi = Vi::distil(&config, problem, teacher, seed, pool)?;
    while vi.done() < vi.total() {
        monitor.at(vi.done() as usize, vi.total() as usize)?;
        vi.step();
    }
    Ok(vi.gaussian())
}

/// Probabilities are compared with numbers of so many bits.
const BITS: u32 = 32;

/// What one Gaussian, the student, is to learn of many samples.
#[derive(Clone, Copy, Debug)]
pub struct Teacher<'a> {
    /// The prior of the student: a Gaussian fitted to the samples, for instance. A parameter whose standard deviation is zero stays where it is.
    pub gaussian: &'a Gaussian,
    /// What the samples predict together on the examples of the problem, (example, class).
    pub predictions: &'a [f64],
    /// How many labels the prediction of an example counts as: the more, the less of the prior is kept.
    pub weight: f64,
}

/// A distillation under way.
///
/// Points are in units of the Gaussian, θ = m + s·u, so that the prior of u is N(0, 1). Each time an example is seen, its label is
/// drawn from the predictions: in the mean, under softmax, their log-likelihood is then the cross-entropy with the predictions.
#[derive(Debug)]
pub(super) struct Distillation {
    gaussian: Gaussian,
    /// Of each example, the sum of the probabilities up to each class, (example, class).
    sums: Vec<f64>,
    classes: usize,
    /// Labels that each example counts as.
    pub(super) weight: f64,
    seed: u64,
    /// The point that was placed last.
    point: Params,
}

impl Distillation {
    pub(super) fn new(teacher: Teacher<'_>, examples: usize, classes: usize, seed: u64) -> Result<Self> {
        let Teacher { gaussian, predictions, weight } = teacher;
        Error::unless_positive("weight", weight)?;
        let why = format_args!("{examples} examples, {classes} classes");
        Error::unless_length("the array of predictions", predictions.len(), examples * classes, why)?;
        let mut sums = predictions.to_vec();
        for row in sums.chunks_exact_mut(classes) {
            let wrong = row.iter().find(|probability| !(0.0..=1.0).contains(*probability)).copied();
            for class in 1..classes {
                row[class] += row[class - 1];
            }
            let none = Some(row[classes - 1]).filter(|sum| *sum == 0.0);
            if let Some(value) = wrong.or(none) {
                return Err(Error::setting("predictions", value, "from 0 to 1, and not 0 for all classes"));
            }
        }
        let point = Params::zeros(gaussian.mean().layout());
        Ok(Self { gaussian: gaussian.clone(), sums, classes, weight, seed, point })
    }

    /// Draws the labels of the examples of a step.
    pub(super) fn label(&self, step: u64, examples: &[u32], labels: &mut [u32]) {
        // The label of the stream stays what it was, so that results do.
        let mut generator = Stream::new(self.seed, "taught/label", step).generator();
        for (example, label) in examples.iter().zip(labels) {
            let row = &self.sums[*example as usize * self.classes..][..self.classes];
            let drawn = below(&mut generator, 1 << BITS) as f64 / f64::from(BITS).exp2() * row[self.classes - 1];
            *label = row.iter().position(|sum| drawn < *sum).expect("it is below the last sum") as u32;
        }
    }

    /// Where a point in units of the Gaussian is.
    pub(super) fn place(&mut self, units: &Params) -> &Params {
        let known = self.gaussian.mean().values().iter().zip(self.gaussian.std().values());
        for ((value, unit), (mean, std)) in self.point.values_mut().iter_mut().zip(units.values()).zip(known) {
            *value = mean + std * unit;
        }
        &self.point
    }

    /// Turns the gradient at a point into that in units of the Gaussian.
    pub(super) fn scale(&self, gradient: &mut Params) {
        for (value, std) in gradient.values_mut().iter_mut().zip(self.gaussian.std().values()) {
            *value *= std;
        }
    }

    /// A Gaussian given in units of the prior.
    pub(super) fn gaussian(&self, mean: &[f32], std: &[f32]) -> Gaussian {
        let layout = self.gaussian.mean().layout();
        let (mut means, mut stds) = (Params::zeros(layout), Params::zeros(layout));
        for at in 0..layout.len() {
            let (centre, scale) = (self.gaussian.mean().values()[at], self.gaussian.std().values()[at]);
            means.values_mut()[at] = centre + scale * mean[at];
            stds.values_mut()[at] = scale * std[at];
        }
        Gaussian::new(means, stds).expect("no standard deviation is negative")
    }
}
