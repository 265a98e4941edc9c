//! The Gaussian prior: its precision for each tensor, its logarithm, and the pieces a pass over the parameters is cut into.

use crate::arch::{Arch, Role};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::rng::BLOCK_LEN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Values in one piece of a pass, at most: eight arrays of them stay in the second level of the cache.
const PIECE: usize = 4 * BLOCK_LEN;

/// Independent normal distributions around zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// The variance of every parameter or, scaled, of every weight times its layer's fan-in.
    pub variance: f64,
    /// How the variance depends on the layer.
    #[serde(default)]
    pub scaling: Scaling,
}

named_enum! {
    /// How the variance depends on the layer.
    #[derive(Default)]
    pub enum Scaling {
        /// Not at all.
        #[default]
        One = "one",
        /// Weights have the variance divided by the number of inputs of a unit; all else has it undivided.
        FanIn = "fan-in",
    }
}

impl Prior {
    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        Error::unless_positive("variance", self.variance)
    }

    /// The variance of each tensor, in the order of the layout.
    pub fn variances(&self, arch: &Arch) -> Vec<f64> {
        let variance = |role: &Role| match (self.scaling, role) {
            (Scaling::FanIn, Role::Weight { fan_in }) => self.variance / *fan_in as f64,
            _ => self.variance,
        };
        arch.roles().iter().map(variance).collect()
    }

    /// The logarithm of the density at a point, in f64.
    pub fn log_density(&self, arch: &Arch, point: &Params) -> f64 {
        let tensors = arch.layout().tensors().iter().zip(self.variances(arch));
        tensors
            .map(|(tensor, variance)| {
                let squares: f64 = point.values()[tensor.range()].iter().map(|value| f64::from(*value).powi(2)).sum();
                -0.5 * (squares / variance + tensor.range().len() as f64 * (std::f64::consts::TAU * variance).ln())
            })
            .sum()
    }

    /// The parameters cut into pieces of one precision, for passes that many threads share.
    pub(super) fn pieces(&self, arch: &Arch) -> Pieces {
        let mut pieces = Pieces::default();
        for (index, (tensor, variance)) in arch.layout().tensors().iter().zip(self.variances(arch)).enumerate() {
            let range = tensor.range();
            for start in range.clone().step_by(PIECE) {
                pieces.ranges.push(start..(start + PIECE).min(range.end));
                pieces.precisions.push((1.0 / variance) as f32);
                pieces.places.push(Place { tensor: index, block: (start - range.start) / BLOCK_LEN });
            }
        }
        pieces
    }
}

/// Ranges that cover the parameters, each inside one tensor, and the precision of the prior in each.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) precisions: Vec<f32>,
    pub(super) places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) tensor: usize,
    /// Blocks of random numbers before it in the tensor.
    pub(super) block: usize,
}
