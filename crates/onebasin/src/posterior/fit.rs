//! One Gaussian in the place of many points, which are read a few times and never all in memory.

use super::{Draws, Gaussian, LowRank, Posterior};
use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use nalgebra::DMatrix;
use onebasin_kernels::ThreadPool;
use std::sync::Arc;

/// Values of points that are in memory at a time, while the products of all pairs of points are computed: 256 MiB.
const VALUES: usize = 1 << 26;
/// A direction with less than this part of the variance of the first is rounding.
const LEAST: f64 = 1e-10;

/// What Gaussians of any rank up to some largest one are made of.
#[derive(Clone, Debug)]
pub struct Fit {
    layout: Arc<Layout>,
    means: Vec<f64>,
    /// Unbiased.
    variances: Vec<f64>,
    /// The principal directions, each times the standard deviation along it, the largest first.
    directions: Vec<Params>,
}

impl Fit {
    /// Fits all points of `source`, and finds up to `rank` directions; points have one fewer directions than their number.
    pub fn new(source: &dyn Draws, rank: usize, pool: &ThreadPool) -> Result<Self> {
        let count = source.draws(usize::MAX);
        if count < 2 || u32::try_from(count).is_err() {
            let what = "the number of points that a Gaussian is fitted to";
            return Err(Error::out_of_range(what, count, "at least 2 and less than 2^32"));
        }
        let layout = Arc::clone(source.layout());
        let mut points = Points { source, count, point: Params::zeros(&layout) };
        let mut fit =
            Self { means: vec![0.0; layout.len()], variances: vec![0.0; layout.len()], directions: vec![], layout };
        for index in 0..count {
            let point = points.read(index)?;
            fit.means.iter_mut().zip(point).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        fit.means.iter_mut().for_each(|mean| *mean /= count as f64);
        for index in 0..count {
            let away = fit.means.iter().zip(points.read(index)?).map(|(mean, value)| f64::from(*value) - mean);
            fit.variances.iter_mut().zip(away).for_each(|(sum, away)| *sum += away * away);
        }
        fit.variances.iter_mut().for_each(|variance| *variance /= (count - 1) as f64);
        let rank = rank.min(count - 1);
        if rank > 0 {
            let gram = points.gram(&fit.means, pool)?;
            fit.directions = points.directions(&fit.means, &leading(&gram, count, rank))?;
        }
        Ok(fit)
    }

    /// The Gaussian whose covariance is that of the points in its `rank` directions of largest variance, and which has the variance of
    /// the points in each parameter; of rank 0 a diagonal one. If there are fewer directions, all are used.
    pub fn posterior(&self, rank: usize) -> Result<Posterior> {
        let directions = &self.directions[..rank.min(self.directions.len())];
        let (mut mean, mut std) = (Params::zeros(&self.layout), Params::zeros(&self.layout));
        for at in 0..self.layout.len() {
            let explained: f64 = directions.iter().map(|direction| f64::from(direction.values()[at]).powi(2)).sum();
            mean.values_mut()[at] = self.means[at] as f32;
            // Where all of it is explained, rounding may leave less than nothing.
            std.values_mut()[at] = (self.variances[at] - explained).max(0.0).sqrt() as f32;
        }
        let rest = Gaussian::new(mean, std)?;
        if directions.is_empty() {
            return Ok(Posterior::Gaussian(rest));
        }
        LowRank::new(rest, directions.to_vec()).map(Posterior::LowRank)
    }
}

struct Points<'a> {
    source: &'a dyn Draws,
    count: usize,
    /// The one that was read last.
    point: Params,
}

impl Points<'_> {
    fn read(&mut self, index: usize) -> Result<&[f32]> {
        self.source.draw(0, index, self.count, &mut self.point)?;
        Ok(self.point.values())
    }

    fn centred(&mut self, index: usize, means: &[f64]) -> Result<Vec<f32>> {
        let point = self.read(index)?.iter().zip(means);
        Ok(point.map(|(value, mean)| (f64::from(*value) - mean) as f32).collect())
    }

    /// The inner products of all pairs of centred points, (point, point).
    fn gram(&mut self, means: &[f64], pool: &ThreadPool) -> Result<Vec<f64>> {
        let (count, len) = (self.count, means.len());
        let block = (VALUES / len.max(1)).clamp(1, count);
        let mut gram = vec![0.0; count * count];
        for first in (0..count).step_by(block) {
            let held = first..count.min(first + block);
            let held: Vec<_> = held.map(|index| self.centred(index, means)).collect::<Result<_>>()?;
            for index in first..count {
                let centred =
                    held.get(index - first).map_or_else(|| self.centred(index, means), |held| Ok(held.clone()))?;
                let below = held.len().min(index - first + 1);
                pool.chunks(&mut gram[index * count + first..][..below], 1, |at, product| {
                    product[0] = dot(&held[at], &centred);
                });
            }
        }
        for row in 0..count {
            for column in 0..row {
                gram[column * count + row] = gram[row * count + column];
            }
        }
        Ok(gram)
    }

    /// With G u = λ u, the direction is the sum of u (θ − m) / √(n − 1) over all points; its length is √(λ/(n − 1)).
    fn directions(&mut self, means: &[f64], leading: &[Eigen]) -> Result<Vec<Params>> {
        let least = LEAST * leading.first().map_or(0.0, |(value, _)| *value);
        let leading: Vec<&Eigen> = leading.iter().take_while(|(value, _)| *value > least).collect();
        let mut sums = vec![vec![0.0; means.len()]; leading.len()];
        let root = ((self.count - 1) as f64).sqrt();
        for index in 0..self.count {
            let point = self.read(index)?;
            for (sum, (_, vector)) in sums.iter_mut().zip(&leading) {
                let factor = vector[index] / root;
                for ((sum, value), mean) in sum.iter_mut().zip(point).zip(means) {
                    *sum += factor * (f64::from(*value) - mean);
                }
            }
        }
        let layout = self.point.layout();
        sums.into_iter()
            .map(|sum| Params::from_values(layout, sum.into_iter().map(|value| value as f32).collect()))
            .collect()
    }
}

/// The inner product in f64, in eight sums so that it runs on vectors.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.0.iter().zip(b.0) {
        for lane in 0..8 {
            sums[lane] += f64::from(a[lane]) * f64::from(b[lane]);
        }
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    sums.iter().sum::<f64>() + rest
}

/// An eigenvalue and its vector, of length 1.
type Eigen = (f64, Vec<f64>);

/// The `count` largest eigenvalues of `matrix`, (size, size), symmetric, the largest first; none, if a value is not finite.
fn leading(matrix: &[f64], size: usize, count: usize) -> Vec<Eigen> {
    if matrix.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let found = DMatrix::from_row_slice(size, size, matrix).symmetric_eigen();
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| found.eigenvalues[b].total_cmp(&found.eigenvalues[a]));
    let eigen = |at: usize| (found.eigenvalues[at], found.eigenvectors.column(at).iter().copied().collect());
    order.into_iter().take(count).map(eigen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_with_their_vectors() {
        // diag(1, 2, 3), turned by 45 degrees in the plane of the last two.
        let found = leading(&[1.0, 0.0, 0.0, 0.0, 2.5, 0.5, 0.0, 0.5, 2.5], 3, 2);
        let half = 0.5f64.sqrt();
        for ((value, vector), (expected, axis)) in
            found.iter().zip([(3.0, [0.0, half, half]), (2.0, [0.0, half, -half])])
        {
            assert!((value - expected).abs() < 1e-14);
            let along: f64 = vector.iter().zip(axis).map(|(a, b)| a * b).sum();
            assert!((along.abs() - 1.0).abs() < 1e-14);
        }
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_matrix_of_lower_rank_has_zeros_behind_its_rank() {
        let matrix: Vec<f64> = (0..3600).map(|at| f64::from(at / 60 + 1) * f64::from(at % 60 + 1)).collect();
        let found = leading(&matrix, 60, 4);
        assert!((found[0].0 / 73_810.0 - 1.0).abs() < 1e-12);
        assert!(found[1..].iter().all(|(value, _)| value.abs() < 1e-8));
    }

    #[test]
    fn what_is_not_finite_has_none() {
        assert!(leading(&[1.0, f64::NAN, f64::NAN, 1.0], 2, 2).is_empty());
    }
}
