//! Barriers: by how much loss and error rise on the way between two posteriors.

use super::bootstrap::Scores;
use super::quality::Score;
use super::quality::null_is_nan;
use crate::path::between;
use serde::Deserialize;
use serde::Serialize;

/// Loss and error along a way, with what they rise by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// From one end to the other.
    pub points: Vec<Point>,
    /// What the loss rises by.
    pub loss: Barriers,
    /// What the error rises by.
    pub error: Barriers,
}

/// One place on the way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// From 0 to 1.
    pub tau: f64,
    /// Minus the mean logarithm of the predictive probability of the label.
    pub loss: Estimate,
    /// Part of the images whose most probable class is not their label.
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
    /// The largest L(τ) − ((1 − τ) L₀ + τ L₁): never negative, since it is zero at the ends.
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
    /// From the scores at each τ of `grid`, which has one half in the middle; sums over `images`.
    pub(super) fn new(grid: &[f64], scores: &[Scores], images: usize) -> Self {
        let (loss, losses) = Self::quantity(grid, scores, |score| score.nll / images as f64);
        let (error, errors) = Self::quantity(grid, scores, |score| score.errors / images as f64);
        let points = grid.iter().zip(losses).zip(errors);
        Self { points: points.map(|((tau, loss), error)| Point { tau: *tau, loss, error }).collect(), loss, error }
    }

    /// The loss or the error: its barriers, and itself at each τ.
    fn quantity(grid: &[f64], scores: &[Scores], of: impl Fn(&Score) -> f64) -> (Barriers, Vec<Estimate>) {
        let whole: Vec<f64> = scores.iter().map(|scores| of(&scores.whole)).collect();
        let curves: Vec<Vec<f64>> = (0..scores[0].replicates.len())
            .map(|replicate| scores.iter().map(|scores| of(&scores.replicates[replicate])).collect())
            .collect();
        let spread: Vec<[Rise; 3]> = curves.iter().map(|curve| rises(grid, curve)).collect();
        let [barrier, midpoint, instability] = [0, 1, 2].map(|which| {
            let Rise { value, at } = rises(grid, &whole)[which];
            Barrier { value, at, standard_error: deviation(spread.iter().map(|rises| rises[which].value)) }
        });
        let estimate = |(index, value): (usize, &f64)| Estimate {
            value: *value,
            standard_error: deviation(curves.iter().map(|curve| curve[index])),
        };
        (Barriers { barrier, midpoint, instability }, whole.iter().enumerate().map(estimate).collect())
    }
}

#[derive(Clone, Copy)]
struct Rise {
    value: f64,
    at: f64,
}

/// The barrier, the midpoint and the instability of one curve.
fn rises(grid: &[f64], curve: &[f64]) -> [Rise; 3] {
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    let over =
        |base: &dyn Fn(f64) -> f64| {
            let rises = grid.iter().zip(curve).map(|(tau, value)| Rise { value: value - base(*tau), at: *tau });
            // A curve that is not a number somewhere has no largest value.
            rises.reduce(|best, next| {
                if next.value > best.value || next.value.is_nan() && !best.value.is_nan() { next } else { best }
            })
        };
    let mean = between(first, last, 0.5);
    let middle = Rise { value: curve[curve.len() / 2] - mean, at: grid[grid.len() / 2] };
    let [barrier, instability] =
        [over(&|tau| between(first, last, tau)), over(&|_| mean)].map(|rise| rise.expect("a grid has points"));
    [barrier, middle, instability]
}

/// The standard deviation of some numbers, if there are two or more.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
}
