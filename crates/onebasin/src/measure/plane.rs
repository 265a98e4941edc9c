//! Loss, error and log posterior on the plane through three posteriors.

use super::quality::Score;
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::infer::Prior;
use crate::keys::null_is_nan;
use crate::params::{Layout, Params};
use crate::path::between;
use crate::posterior::{Draws, Gaussian, Predictor, SampleProbabilities};
use crate::progress::Monitor;
use crate::rng::Stream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a plane is looked at, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaneSettings {
    /// Number of points along each axis.
    pub points: usize,
    /// How far the grid goes beyond the three posteriors, as a part of the longer side of the rectangle around them.
    pub margin: f64,
    /// Number of Monte Carlo samples for the predictive distribution at each point; with 0 only the networks at the means are measured.
    pub samples: usize,
    /// Seed of the samples.
    pub seed: u64,
}

impl Default for PlaneSettings {
    fn default() -> Self {
        Self { points: 21, margin: 0.25, samples: 0, seed: 0 }
    }
}

impl PlaneSettings {
    /// Refuses what cannot be measured.
    pub fn check(&self) -> Result<()> {
        let Self { points, margin, .. } = *self;
        Error::unless((2..=1000).contains(&points), "points", points, "from 2 to 1000")?;
        Error::unless(margin >= 0.0 && margin.is_finite(), "margin", margin, "0 or a positive number")
    }
}

/// What makes a log posterior of the log-likelihood of training images.
#[derive(Clone, Copy, Debug)]
pub struct Density<'a> {
    /// The network.
    pub arch: &'a Arch,
    /// What is known of its parameters before.
    pub prior: Prior,
    /// Divides the log posterior.
    pub temperature: f64,
    /// Number of training examples, of which those that are measured may be a part: their log-likelihood is scaled up.
    pub examples: usize,
}

/// What was measured on a plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// Number of examples it was measured on.
    pub examples: usize,
    /// Number of Monte Carlo samples at each point; 0 where all standard deviations are zero.
    pub samples: usize,
    /// At the three posteriors.
    pub corners: [PlanePoint; 3],
    /// The grid, row by row: x grows first, then y.
    pub points: Vec<PlanePoint>,
}

/// One place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanePoint {
    /// Along the side from the first to the second posterior.
    pub x: f64,
    /// Away from that side, towards the third.
    pub y: f64,
    /// Of the network at the mean: minus the mean logarithm of the probability of the label.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// Of the network at the mean: the part of the examples whose most probable class is not their label.
    pub error: f64,
    /// Of the predictive distribution, if there are draws.
    pub marginal: Option<Marginal>,
    /// Of the network at the mean, if it is known what makes it.
    pub log_posterior: Option<f64>,
}

/// Loss and error of a predictive distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marginal {
    /// Minus the mean logarithm of the predictive probability of the label.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// The part of the examples whose most probable class is not their label.
    pub error: f64,
}

impl Plane {
    /// Measures the plane of `triangle` on `examples`; the log posterior, too, if these are training images and `density` is there.
    pub fn through(
        triangle: &Triangle<'_>,
        predictor: &mut Predictor,
        examples: &Examples,
        settings: PlaneSettings,
        density: Option<Density<'_>>,
        monitor: &mut Monitor<'_>,
    ) -> Result<Self> {
        settings.check()?;
        let drawn = triangle.corners.iter().any(|corner| corner.std().values().iter().any(|std| *std != 0.0));
        let samples = if drawn { settings.samples } else { 0 };
        let (places, weights) = places(triangle, settings);
        let means = Cloud { triangle, weights: &weights, each: 1 };
        let cloud = Cloud { each: 1 + samples, ..means };
        let first = cloud.len() * examples.len();
        let total = first + density.map_or(0, |_| means.len() * examples.len());

        let mut scores = vec![[Score::default(); 2]; places.len()];
        let mut sums = Vec::new();
        let labels = examples.dataset().labels();
        let add = |part: SampleProbabilities<'_>| {
            let labels = &labels[part.first..][..part.probabilities.len() / examples.classes()];
            let [mean, marginal] = &mut scores[part.sample / cloud.each];
            match part.sample % cloud.each {
                0 => {
                    *mean = mean.with_rows(part.probabilities, labels);
                    sums.clear();
                    sums.resize(part.probabilities.len(), 0.0);
                }
                draw => {
                    for (sum, probability) in sums.iter_mut().zip(part.probabilities) {
                        *sum += f64::from(*probability);
                    }
                    if draw == samples {
                        for sum in &mut sums {
                            *sum /= samples as f64;
                        }
                        *marginal = marginal.with_rows(&sums, labels);
                    }
                }
            }
        };
        monitor
            .part(0, total, |monitor| predictor.visit(&cloud, examples, cloud.len(), settings.seed, add, monitor))?;
        let log_posteriors = match density {
            None => vec![None; places.len()],
            Some(density) => {
                let found = monitor.part(first, total, |monitor| {
                    predictor.log_likelihoods(&means, examples, means.len(), settings.seed, monitor)
                })?;
                let scale = density.examples as f64 / examples.len() as f64;
                let log_posterior = |(log_likelihood, weights): (&f64, &[f64; 3])| {
                    let log_prior = density.prior.log_density(density.arch, &triangle.mean(*weights));
                    Some((scale * log_likelihood + log_prior) / density.temperature)
                };
                found.iter().zip(&weights).map(log_posterior).collect()
            }
        };

        let count = examples.len() as f64;
        let measured = places.into_iter().zip(scores).zip(log_posteriors);
        let mut points: Vec<PlanePoint> = measured
            .map(|(([x, y], [mean, marginal]), log_posterior)| {
                let [mean, marginal] =
                    [mean, marginal].map(|score| Marginal { loss: score.nll / count, error: score.errors / count });
                let Marginal { loss, error } = mean;
                PlanePoint { x, y, loss, error, marginal: (samples > 0).then_some(marginal), log_posterior }
            })
            .collect();
        let grid = points.split_off(CORNERS.len());
        let corners = points.try_into().expect("the corners are in front");
        Ok(Self { examples: examples.len(), samples, corners, points: grid })
    }
}

/// The barycentric coordinates of the corners.
const CORNERS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The places, (x, y), and their barycentric coordinates: the corners, whose weights are exact, then the grid.
fn places(triangle: &Triangle<'_>, settings: PlaneSettings) -> (Vec<[f64; 2]>, Vec<[f64; 3]>) {
    let PlaneSettings { points, margin, .. } = settings;
    let corners = triangle.coordinates();
    let ranges = [0, 1].map(|axis: usize| {
        let along = corners.map(|corner| corner[axis]);
        [along.into_iter().fold(f64::INFINITY, f64::min), along.into_iter().fold(f64::NEG_INFINITY, f64::max)]
    });
    let beyond = margin * ranges.map(|[low, high]| high - low).into_iter().fold(0.0, f64::max);
    let along = |axis: usize, index: usize| {
        let [low, high] = ranges[axis];
        between(low - beyond, high + beyond, index as f64 / (points - 1) as f64)
    };
    let grid = (0..points * points).map(|index| {
        let at = [along(0, index % points), along(1, index / points)];
        (at, triangle.weights(at))
    });
    corners.into_iter().zip(CORNERS).chain(grid).unzip()
}

/// Networks all over the plane: at each place that of the mean, then draws with the same noise everywhere.
#[derive(Clone, Copy)]
struct Cloud<'a> {
    triangle: &'a Triangle<'a>,
    weights: &'a [[f64; 3]],
    /// Networks at each place.
    each: usize,
}

impl Cloud<'_> {
    fn len(&self) -> usize {
        self.weights.len() * self.each
    }
}

impl Draws for Cloud<'_> {
    fn layout(&self) -> &Arc<Layout> {
        self.triangle.layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.len())
    }

    fn draw(&self, seed: u64, index: usize, _: usize, out: &mut Params) -> Result<()> {
        let weights = self.weights[index / self.each];
        match index % self.each {
            0 => *out = self.triangle.mean(weights),
            draw => self.triangle.at(weights)?.draw(Stream::new(seed, "draw", draw as u64 - 1), out),
        }
        Ok(())
    }
}

/// A triangle that is flatter than this, as a part of its longest side from the first corner, is a line.
const FLAT: f64 = 1e-6;

/// Three Gaussians whose means do not lie on one line.
///
/// The first mean is the origin, the second lies on the x axis, and the third has a positive y: what Gram and Schmidt make of
/// the two sides from the first corner. Lengths are those of parameter space.
#[derive(Clone, Copy, Debug)]
pub struct Triangle<'a> {
    corners: [&'a Gaussian; 3],
    coordinates: [[f64; 2]; 3],
}

impl<'a> Triangle<'a> {
    /// Through the means of three Gaussians of one layout.
    pub fn new(corners: [&'a Gaussian; 3]) -> Result<Self> {
        let [origin, first, second] = corners.map(Gaussian::mean);
        origin.layout().check_same(first.layout())?;
        origin.layout().check_same(second.layout())?;
        let sides = || {
            let values = origin.values().iter().zip(first.values()).zip(second.values());
            values.map(|((origin, first), second)| [first, second].map(|to| f64::from(*to) - f64::from(*origin)))
        };
        let [mut squares, mut products, mut others] = [0.0; 3];
        for [u, v] in sides() {
            squares += u * u;
            products += u * v;
            others += v * v;
        }
        let part = products / squares;
        // From the difference itself: that of two squares would be mostly rounding.
        let height = sides().map(|[u, v]| (v - part * u).powi(2)).sum::<f64>().sqrt();
        let (base, side) = (squares.sqrt(), others.sqrt());
        // Written so that a NaN is refused, too.
        if !(base > 0.0 && height > FLAT * base.max(side)) {
            return Err(Error::NoPlane { sides: format!("{base} and {side}") });
        }
        Ok(Self { corners, coordinates: [[0.0, 0.0], [base, 0.0], [part * base, height]] })
    }

    /// Where the corners are, (x, y).
    pub fn coordinates(&self) -> [[f64; 2]; 3] {
        self.coordinates
    }

    /// The barycentric coordinates of a place: their sum is one, outside of the triangle some are negative.
    pub fn weights(&self, [x, y]: [f64; 2]) -> [f64; 3] {
        let [_, [base, _], [foot, height]] = self.coordinates;
        let third = y / height;
        let second = (x - third * foot) / base;
        [1.0 - second - third, second, third]
    }

    /// The mean at barycentric coordinates.
    pub fn mean(&self, weights: [f64; 3]) -> Params {
        self.sum(weights, Gaussian::mean)
    }

    /// The Gaussian at barycentric coordinates; standard deviations have those inside of the triangle, which are never negative.
    pub fn at(&self, weights: [f64; 3]) -> Result<Gaussian> {
        let inside = weights.map(|weight| weight.max(0.0));
        let total: f64 = inside.iter().sum();
        Gaussian::new(self.mean(weights), self.sum(inside.map(|weight| weight / total), Gaussian::std))
    }

    fn layout(&self) -> &Arc<Layout> {
        self.corners[0].mean().layout()
    }

    fn sum(&self, weights: [f64; 3], part: fn(&Gaussian) -> &Params) -> Params {
        let [a, b, c] = self.corners.map(|corner| part(corner).values());
        let values = a.iter().zip(b).zip(c).map(|((a, b), c)| {
            let terms = [*a, *b, *c].map(f64::from);
            (weights[0] * terms[0] + weights[1] * terms[1] + weights[2] * terms[2]) as f32
        });
        Params::from_values(self.layout(), values.collect()).expect("the layouts were compared")
    }
}
