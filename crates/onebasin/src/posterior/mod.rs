//! What inference leaves behind: a point, samples, or a Gaussian; what they predict, and a Gaussian in the place of samples.

mod fit;
mod predict;

pub use fit::Fit;
pub use predict::{Predictor, SampleProbabilities};

use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::rng::{BLOCK_LEN, Stream};
use crate::symmetry::Scales;
use onebasin_kernels::Isa;
use onebasin_kernels::gaussian::Shift;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Something that points can be drawn from, whether it is in memory or not.
pub trait Draws: Sync {
    /// The layout of its points.
    fn layout(&self) -> &Arc<Layout>;

    /// How many different points up to `wanted` it can give.
    fn draws(&self, wanted: usize) -> usize;

    /// Writes point `index` of `count`, a number that [`Self::draws`] returned.
    fn draw(&self, seed: u64, index: usize, count: usize, out: &mut Params) -> Result<()>;
}

/// A distribution over the parameters of a network.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Posterior {
    /// All weight on one point.
    Point(Params),
    /// Equal weight on each of some points.
    Samples(Samples),
    /// Independent normal distributions.
    Gaussian(Gaussian),
    /// A normal distribution whose covariance is of low rank plus a diagonal.
    LowRank(LowRank),
}

impl Posterior {
    /// The diagonal Gaussian with its means and standard deviations: zero for a point, unbiased for samples, marginal for a
    /// Gaussian of low rank.
    pub fn gaussian(&self) -> Cow<'_, Gaussian> {
        match self {
            Self::Gaussian(gaussian) => Cow::Borrowed(gaussian),
            Self::Point(point) => Cow::Owned(Gaussian { mean: point.clone(), std: Params::zeros(point.layout()) }),
            Self::Samples(samples) => Cow::Owned(samples.gaussian()),
            Self::LowRank(low_rank) => Cow::Owned(low_rank.marginals()),
        }
    }

    /// The same distribution in other coordinates: `change` is applied to each point, and to means, standard deviations and
    /// factors alike, which is right for permutations and positive scales.
    pub fn map(&self, mut change: impl FnMut(&Params) -> Result<Params>) -> Result<Self> {
        Ok(match self {
            Self::Point(point) => Self::Point(change(point)?),
            Self::Samples(Samples { points, chains }) => {
                Self::Samples(Samples::new(points.iter().map(change).collect::<Result<_>>()?, *chains)?)
            }
            Self::Gaussian(Gaussian { mean, std }) => Self::Gaussian(Gaussian::new(change(mean)?, change(std)?)?),
            Self::LowRank(LowRank { rest: Gaussian { mean, std }, factor }) => {
                let rest = Gaussian::new(change(mean)?, change(std)?)?;
                Self::LowRank(LowRank::new(rest, factor.iter().map(change).collect::<Result<_>>()?)?)
            }
        })
    }

    /// The same distribution at the scales of units at which the sum of m² + s² over all parameters is smallest.
    pub fn balanced(&self, scales: &Scales) -> Result<Self> {
        let gaussian = self.gaussian();
        let mut energy = Params::zeros(gaussian.mean().layout());
        let moments = gaussian.mean().values().iter().zip(gaussian.std().values());
        for (energy, (mean, std)) in energy.values_mut().iter_mut().zip(moments) {
            *energy = mean * mean + std * std;
        }
        let factors = scales.balance(&energy)?;
        self.map(|params| {
            let mut params = params.clone();
            scales.apply(&factors, &mut params)?;
            Ok(params)
        })
    }
}

/// Points of equal weight; at least one, all of one layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    points: Vec<Params>,
    chains: usize,
}

impl Samples {
    /// The samples of `chains` chains of equal length, one chain after the other; members of an ensemble are chains of one.
    pub fn new(points: Vec<Params>, chains: usize) -> Result<Self> {
        let first = points.first().ok_or_else(|| Error::setting("samples", 0, "at least 1"))?;
        points.iter().try_for_each(|point| first.layout().check_same(point.layout()))?;
        if chains == 0 || !points.len().is_multiple_of(chains) {
            return Err(Error::Length {
                what: "the array of samples",
                got: points.len(),
                expected: points.len().next_multiple_of(chains.max(1)),
                why: format!("{chains} chains of equal length"),
            });
        }
        Ok(Self { points, chains })
    }

    /// The points, one chain after the other.
    pub fn points(&self) -> &[Params] {
        &self.points
    }
    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains
    }

    fn gaussian(&self) -> Gaussian {
        let layout = self.points[0].layout();
        let (mut mean, mut std) = (Params::zeros(layout), Params::zeros(layout));
        let count = self.points.len() as f64;
        for at in 0..layout.len() {
            let values = || self.points.iter().map(|point| f64::from(point.values()[at]));
            let centre = values().sum::<f64>() / count;
            let squares: f64 = values().map(|value| (value - centre).powi(2)).sum();
            mean.values_mut()[at] = centre as f32;
            std.values_mut()[at] = (squares / (count - 1.0).max(1.0)).sqrt() as f32;
        }
        Gaussian { mean, std }
    }
}

/// A diagonal Gaussian.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    mean: Params,
    std: Params,
}

impl Gaussian {
    /// N(mean, diag(std²)). A standard deviation below zero is an error; a NaN is the result of a run that diverged.
    pub fn new(mean: Params, std: Params) -> Result<Self> {
        mean.layout().check_same(std.layout())?;
        let fault = ("standard deviation", "; it must not be negative");
        std.layout().refuse(std.values(), fault, |std| std < 0.0)?;
        Ok(Self { mean, std })
    }

    /// The means.
    pub fn mean(&self) -> &Params {
        &self.mean
    }
    /// The standard deviations σ.
    pub fn std(&self) -> &Params {
        &self.std
    }

    /// The means and the standard deviations.
    pub fn into_parts(self) -> (Params, Params) {
        (self.mean, self.std)
    }

    /// The Wasserstein distance W₂, of which the square is |m₀ - m₁|² + |s₀ - s₁|², summed in f64.
    pub fn distance(&self, other: &Self) -> Result<f64> {
        self.mean.layout().check_same(other.mean.layout())?;
        let squares = |a: &Params, b: &Params| -> f64 {
            a.values().iter().zip(b.values()).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
        };
        Ok((squares(&self.mean, &other.mean) + squares(&self.std, &other.std)).sqrt())
    }

    /// The Kullback-Leibler divergence KL[self ‖ other] in nats, summed in f64; infinite or NaN where a standard deviation is zero.
    pub fn divergence(&self, other: &Self) -> Result<f64> {
        self.mean.layout().check_same(other.mean.layout())?;
        let each = |at: usize| {
            let of = |params: &Params| f64::from(params.values()[at]);
            let (variance, ratio) = (of(&other.std).powi(2), of(&self.std).powi(2) / of(&other.std).powi(2));
            0.5 * (ratio - 1.0 - ratio.ln() + (of(&self.mean) - of(&other.mean)).powi(2) / variance)
        };
        Ok((0..self.mean.layout().len()).map(each).sum())
    }

    /// Writes mean + std · ε, ε the normal numbers of `stream`.
    pub fn draw(&self, stream: Stream, out: &mut Params) {
        let all = 0..out.values().len();
        self.draw_again(stream, all, out);
    }

    /// The same for parameters in a range, and some around it.
    pub(crate) fn draw_again(&self, stream: Stream, range: Range<usize>, out: &mut Params) {
        let isa = Isa::detect();
        let blocks = range.start / BLOCK_LEN..range.end.div_ceil(BLOCK_LEN);
        let values = out.values_mut().chunks_mut(BLOCK_LEN).enumerate();
        for (block, values) in values.take(blocks.end).skip(blocks.start) {
            stream.fill_normal_on(isa, block, values);
            let range = block * BLOCK_LEN..block * BLOCK_LEN + values.len();
            isa.run(Shift { values, mean: &self.mean.values()[range.clone()], std: &self.std.values()[range] });
        }
    }
}

/// θ = m + B z + d ∘ ε with z and ε normal: the covariance is B Bᵀ + diag(d²).
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// m and d.
    rest: Gaussian,
    /// The columns of B; at least one.
    factor: Vec<Params>,
}

impl LowRank {
    /// `rest` is N(m, diag(d²)), what is left if z = 0; `factor` has a point for each element of z.
    pub fn new(rest: Gaussian, factor: Vec<Params>) -> Result<Self> {
        Error::unless_zero("the rank of a Gaussian of low rank", factor.len())?;
        factor.iter().try_for_each(|direction| rest.mean().layout().check_same(direction.layout()))?;
        Ok(Self { rest, factor })
    }

    /// The mean m and the standard deviations d of what the factor does not explain.
    pub fn rest(&self) -> &Gaussian {
        &self.rest
    }
    /// The columns of B.
    pub fn factor(&self) -> &[Params] {
        &self.factor
    }

    /// The diagonal Gaussian with the same means and the same variance of each parameter.
    pub fn marginals(&self) -> Gaussian {
        let mut std = self.rest.std().clone();
        for (at, std) in std.values_mut().iter_mut().enumerate() {
            let explained: f64 = self.factor.iter().map(|direction| f64::from(direction.values()[at]).powi(2)).sum();
            *std = (f64::from(*std).powi(2) + explained).sqrt() as f32;
        }
        Gaussian { mean: self.rest.mean().clone(), std }
    }

    /// Writes m + B z + d ∘ ε, with ε the normals of the stream (`seed`, "draw", `index`), as for a Gaussian without a
    /// factor, and z those of (`seed`, "draw/factor", `index`).
    pub fn draw(&self, seed: u64, index: u64, out: &mut Params) -> Result<()> {
        self.rest.draw(Stream::new(seed, "draw", index), out);
        let mut coordinates = vec![0.0; self.factor.len()];
        Stream::new(seed, "draw/factor", index).fill_normal(&mut coordinates);
        for (coordinate, direction) in coordinates.iter().zip(&self.factor) {
            out.add_scaled(*coordinate, direction)?;
        }
        Ok(())
    }
}

impl Draws for Posterior {
    fn layout(&self) -> &Arc<Layout> {
        match self {
            Self::Point(point) => point.layout(),
            Self::Samples(samples) => samples.points[0].layout(),
            Self::Gaussian(gaussian) => gaussian.mean.layout(),
            Self::LowRank(low_rank) => low_rank.rest().mean.layout(),
        }
    }

    /// One, its samples, or as many as wanted.
    fn draws(&self, wanted: usize) -> usize {
        match self {
            Self::Point(_) => wanted.min(1),
            Self::Samples(samples) => wanted.min(samples.points.len()),
            Self::Gaussian(_) | Self::LowRank(_) => wanted,
        }
    }

    /// Samples are taken at equal distances, a Gaussian draws from the stream (`seed`, "draw", `index`).
    fn draw(&self, seed: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        self.layout().check_same(out.layout())?;
        match self {
            Self::Point(point) => out.values_mut().copy_from_slice(point.values()),
            Self::Samples(samples) => {
                let chosen = index * samples.points.len() / count;
                out.values_mut().copy_from_slice(samples.points[chosen].values());
            }
            Self::Gaussian(gaussian) => gaussian.draw(Stream::new(seed, "draw", index as u64), out),
            Self::LowRank(low_rank) => low_rank.draw(seed, index as u64, out)?,
        }
        Ok(())
    }
}
