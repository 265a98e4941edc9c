//! Three Gaussians and the plane through their means: coordinates, and the Gaussian at each place.

use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use crate::posterior::Gaussian;
use std::sync::Arc;

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

    /// The layout of all corners.
    pub(super) fn layout(&self) -> &Arc<Layout> {
        self.corners[0].mean().layout()
    }

    /// Whether any corner has width.
    pub(super) fn has_width(&self) -> bool {
        self.corners.iter().any(|corner| corner.std().values().iter().any(|std| *std != 0.0))
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
