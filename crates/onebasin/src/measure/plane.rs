//! Loss, error and log posterior on the plane through three posteriors.

use super::quality::Score;
use super::quality::null_is_nan;
use super::triangle::Triangle;
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::infer::Prior;
use crate::params::Layout;
use crate::params::Params;
use crate::path::between;
use crate::posterior::Draws;
use crate::posterior::Predictor;
use crate::rng::Stream;
use serde::Deserialize;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Where a plane is looked at, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaneSettings {
    /// Points along each axis.
    pub points: usize,
    /// How far the grid goes beyond the three posteriors, as a part of the longer side of the rectangle around them.
    pub margin: f64,
    /// Draws for the predictive distribution at each point; with 0 only the networks at the means are looked at.
    pub samples: usize,
    /// Of the draws.
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
        if !(2..=1000).contains(&self.points) {
            let value = self.points.to_string();
            return Err(Error::OutOfRange { what: "the number of points", value, expected: "from 2 to 1000" });
        }
        if !(self.margin >= 0.0 && self.margin.is_finite()) {
            let value = self.margin.to_string();
            return Err(Error::OutOfRange { what: "the margin", value, expected: "0 or a positive number" });
        }
        Ok(())
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
    /// Images that it was trained on, of which those that are looked at may be a part: their log-likelihood is scaled up.
    pub images: usize,
}

/// What was measured on a plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// Images it was measured on.
    pub images: usize,
    /// Draws at each point; 0 where nothing has width.
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
    /// Of the network at the mean: the part of the images whose most probable class is not their label.
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
    /// The part of the images whose most probable class is not their label.
    pub error: f64,
}

impl Plane {
    /// Measures the plane of `triangle` on `examples`; the log posterior, too, if these are training images and `density` is there.
    ///
    /// `progress` is told how much of how much is done, and may break off: then the result is `None`.
    pub fn through(
        triangle: &Triangle<'_>,
        predictor: &mut Predictor,
        examples: &Examples,
        settings: PlaneSettings,
        density: Option<Density<'_>>,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        settings.check()?;
        let samples = if triangle.has_width() { settings.samples } else { 0 };
        let places = places(triangle, settings);
        let weights: Vec<[f64; 3]> = places.iter().map(|place| place.weights).collect();
        let means = Cloud { triangle, weights: &weights, each: 1 };
        let cloud = Cloud { each: 1 + samples, ..means };
        let first = cloud.len() * examples.len();
        let total = first + density.map_or(0, |_| means.len() * examples.len());

        let mut scores = vec![[Score::default(); 2]; places.len()];
        let mut sums = Vec::new();
        let labels = examples.dataset().labels();
        let mut watch = |done, _| progress(done, total);
        let whole = predictor.visit(&cloud, examples, cloud.len(), settings.seed, &mut watch, |part| {
            let labels = &labels[part.first_image..][..part.probabilities.len() / examples.classes()];
            let [mean, marginal] = &mut scores[part.sample / cloud.each];
            match part.sample % cloud.each {
                0 => {
                    mean.add_rows(part.probabilities, labels);
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
                        marginal.add_rows(&sums, labels);
                    }
                }
            }
        })?;
        if whole.is_break() {
            return Ok(None);
        }
        let log_posteriors = match density {
            None => vec![None; places.len()],
            Some(density) => {
                let mut watch = |done, _| progress(first + done, total);
                let found = predictor.log_likelihoods(&means, examples, means.len(), settings.seed, &mut watch)?;
                let Some(found) = found else { return Ok(None) };
                let scale = density.images as f64 / examples.len() as f64;
                let log_posterior = |(log_likelihood, weights): (&f64, &[f64; 3])| {
                    let log_prior = density.prior.log_density(density.arch, &triangle.mean(*weights));
                    Some((scale * log_likelihood + log_prior) / density.temperature)
                };
                found.iter().zip(&weights).map(log_posterior).collect()
            }
        };

        let count = examples.len() as f64;
        let mut points: Vec<PlanePoint> = Vec::with_capacity(places.len());
        for ((place, [mean, marginal]), log_posterior) in places.iter().zip(scores).zip(log_posteriors) {
            let marginal = Marginal { loss: marginal.nll / count, error: marginal.errors / count };
            points.push(PlanePoint {
                x: place.at[0],
                y: place.at[1],
                loss: mean.nll / count,
                error: mean.errors / count,
                marginal: (samples > 0).then_some(marginal),
                log_posterior,
            });
        }
        let grid = points.split_off(CORNERS.len());
        let corners = points.try_into().expect("the corners are in front");
        Ok(Some(Self { images: examples.len(), samples, corners, points: grid }))
    }
}

/// The barycentric coordinates of the corners.
const CORNERS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A place, (x, y), and its barycentric coordinates.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: [f64; 2],
    weights: [f64; 3],
}

/// The corners, whose weights are exact, then the grid.
fn places(triangle: &Triangle<'_>, PlaneSettings { points, margin, .. }: PlaneSettings) -> Vec<Place> {
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
    let corners = corners.into_iter().zip(CORNERS).map(|(at, weights)| Place { at, weights });
    let grid = (0..points * points).map(|index| {
        let at = [along(0, index % points), along(1, index / points)];
        Place { at, weights: triangle.weights(at) }
    });
    corners.chain(grid).collect()
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
