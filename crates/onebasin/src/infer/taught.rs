//! Learning from predictions in the place of labels, around a Gaussian in the place of a prior around zero.

use crate::error::Error;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use crate::rng::below;

/// Probabilities are compared with numbers of so many bits.
const BITS: u32 = 32;

/// What one Gaussian is to learn of many samples.
#[derive(Clone, Copy, Debug)]
pub struct Teacher<'a> {
    /// What is known before: a Gaussian fitted to the samples, for instance. A parameter without a width stays where it is.
    pub gaussian: &'a Gaussian,
    /// What the samples predict together on the images of the problem, (image, class).
    pub predictions: &'a [f64],
    /// How many labels the prediction of an image counts as: the more, the less of what is known before is kept.
    pub weight: f64,
}

/// A teacher at work.
///
/// Points are in units of the Gaussian, θ = m + s·u, so that what is known of u before is N(0, 1). Each time an image is seen, its label is
/// drawn from the predictions: in the mean, under softmax, their log-likelihood is then the cross-entropy with the predictions.
#[derive(Debug)]
pub(super) struct Taught {
    gaussian: Gaussian,
    /// Of each image, the sum of the probabilities up to each class, (image, class).
    sums: Vec<f64>,
    classes: usize,
    /// Labels that each image counts as.
    pub(super) weight: f64,
    seed: u64,
    /// The point that was placed last.
    point: Params,
}

impl Taught {
    pub(super) fn new(teacher: Teacher<'_>, images: usize, classes: usize, seed: u64) -> Result<Self> {
        let Teacher { gaussian, predictions, weight } = teacher;
        Error::unless_positive("the weight of a prediction", weight)?;
        if predictions.len() != images * classes {
            let why = format!("{images} images, {classes} classes");
            let (got, expected) = (predictions.len(), images * classes);
            return Err(Error::Length { what: "the array of predictions", got, expected, why });
        }
        let mut sums = predictions.to_vec();
        for row in sums.chunks_exact_mut(classes) {
            let wrong = row.iter().find(|probability| !(0.0..=1.0).contains(*probability)).copied();
            for class in 1..classes {
                row[class] += row[class - 1];
            }
            let none = Some(row[classes - 1]).filter(|sum| *sum == 0.0);
            if let Some(value) = wrong.or(none) {
                let (value, expected) = (value.to_string(), "from 0 to 1, and not 0 for all classes");
                return Err(Error::OutOfRange { what: "a prediction", value, expected });
            }
        }
        let point = Params::zeros(gaussian.mean().layout());
        Ok(Self { gaussian: gaussian.clone(), sums, classes, weight, seed, point })
    }

    /// Draws the labels of the images of a step.
    pub(super) fn label(&self, step: u64, images: &[u32], labels: &mut [u32]) {
        let mut generator = Stream::new(self.seed, "taught/label", step).generator();
        for (image, label) in images.iter().zip(labels) {
            let row = &self.sums[*image as usize * self.classes..][..self.classes];
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

    /// A Gaussian given in units of the one known before.
    pub(super) fn gaussian(&self, mean: &[f32], std: &[f32]) -> Gaussian {
        let layout = self.gaussian.mean().layout();
        let (mut means, mut stds) = (Params::zeros(layout), Params::zeros(layout));
        for at in 0..layout.len() {
            let (centre, width) = (self.gaussian.mean().values()[at], self.gaussian.std().values()[at]);
            means.values_mut()[at] = centre + width * mean[at];
            stds.values_mut()[at] = width * std[at];
        }
        Gaussian::new(means, stds).expect("no width is negative")
    }
}
