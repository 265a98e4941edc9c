//! Relabelling of samples: each is aligned with a Gaussian fitted to all of them, which is then fitted again.

use super::mean::Work;
use super::members::{check_count, from_the_first, permuted};
use super::{Criterion, Many, Members, Settings, Solver, Start};
use crate::error::Result;
use crate::params::{Layout, Params};
use crate::posterior::Gaussian;
use crate::progress::Monitor;
use crate::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Rounds of relabelling and fitting, at most.
const ROUNDS: usize = 100;
/// No variance is below this part of the mean square of its tensor, which no permutation changes.
const LEAST_VARIANCE: f64 = 1e-6;
/// Nor below this, where a tensor is zero in all samples.
const LEAST: f64 = 1e-30;

/// The relabelled samples: their permutations, and the Gaussian that fits them.
#[derive(Clone, Debug)]
#[must_use]
pub struct Relabelling {
    /// The permutations; the objective is the sum over samples of log q, q the Gaussian fitted to all.
    pub many: Many,
    /// Means and standard deviations of the relabelled samples; the latter unbiased.
    pub gaussian: Gaussian,
}

/// Permutes samples until they are as probable as possible under one Gaussian, fitted to them (after Stephens 2000).
///
/// A member with standard deviations counts as the many samples that it stands for. The criterion of the settings, and their solver,
/// place the samples at first, as [`super::to_mean`] does, unless they are better as they are; after that coordinate descent starts
/// from their present permutations. Samples are read once in each round, and only permutations are kept, of the first the identity.
pub fn relabel(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Relabelling> {
    let count = check_count(members)?;
    let mut work = Work { spec, members, settings, pool, monitor, assignments: 0 };
    let mut permutations = vec![Permutations::identity(spec); count];
    let mut moments = gathered(&mut work, &permutations)?;
    let least = moments.least_variances();
    let mut fit = moments.fit(&least);
    let mut history = vec![fit.log_likelihood];
    let placed = work.place()?;
    let placed_moments = gathered(&mut work, &placed)?;
    let placed_fit = placed_moments.fit(&least);
    if placed_fit.log_likelihood > fit.log_likelihood {
        (permutations, moments, fit) = (placed, placed_moments, placed_fit);
    }
    history.push(fit.log_likelihood);
    for round in 1..=ROUNDS {
        let target = fit.gaussian(spec.layout())?;
        let mut changed = false;
        let mut next = Moments::new(spec.layout());
        for (index, own) in permutations.iter_mut().enumerate() {
            let member = work.permuted(index, own)?;
            let descent = (Solver::CoordinateDescent, Start::Identity);
            // What the divergence from q has of a sample is its log q.
            let found = work.align(Criterion::Kl, &target, &member, descent, (round, index))?;
            let moved = permuted(spec, &found, &member)?;
            if fit.gain(&member, &moved) > 0.0 {
                next.add(&moved);
                *own = found.after(own);
                changed = true;
            } else {
                next.add(&member);
            }
        }
        if !changed {
            break;
        }
        let before = fit.log_likelihood;
        moments = next;
        fit = moments.fit(&least);
        history.push(fit.log_likelihood.max(before));
        // What is left to gain is lost in rounding.
        if fit.log_likelihood <= before {
            break;
        }
    }
    let gaussian = permuted(spec, &permutations[0].inverse(), &moments.gaussian()?)?;
    let permutations = from_the_first(&permutations);
    let many = Many { permutations, history, method: "relabel", assignments: work.assignments };
    Ok(Relabelling { many, gaussian })
}

/// The moments of all members where these permutations bring them.
fn gathered(work: &mut Work<'_, '_, '_, impl Members + ?Sized>, permutations: &[Permutations]) -> Result<Moments> {
    let mut moments = Moments::new(work.spec.layout());
    for (index, own) in permutations.iter().enumerate() {
        moments.add(&work.permuted(index, own)?);
    }
    Ok(moments)
}

/// Sums over samples of each parameter and of its square.
struct Moments {
    layout: Arc<Layout>,
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn new(layout: &Arc<Layout>) -> Self {
        let zeros = vec![0.0; layout.len()];
        Self { layout: Arc::clone(layout), count: 0.0, sums: zeros.clone(), squares: zeros }
    }

    fn add(&mut self, member: &Gaussian) {
        self.count += 1.0;
        let values = member.mean().values().iter().zip(member.std().values());
        for ((sum, square), (mean, std)) in self.sums.iter_mut().zip(&mut self.squares).zip(values) {
            *sum += f64::from(*mean);
            *square += f64::from(*mean).powi(2) + f64::from(*std).powi(2);
        }
    }

    /// Mean and variance of each parameter, the latter divided by the number of samples.
    fn each(&self) -> impl Iterator<Item = (f64, f64)> {
        self.sums.iter().zip(&self.squares).map(|(sum, square)| {
            let mean = sum / self.count;
            (mean, (square / self.count - mean * mean).max(0.0))
        })
    }

    fn least_variances(&self) -> Vec<f64> {
        let mut least = vec![0.0; self.layout.len()];
        for tensor in self.layout.tensors() {
            let squares: f64 = self.squares[tensor.range()].iter().sum();
            let values = (tensor.range().len() as f64 * self.count).max(1.0);
            least[tensor.range()].fill((LEAST_VARIANCE * squares / values).max(LEAST));
        }
        least
    }

    /// The maximum-likelihood Gaussian whose variances are not below the least ones.
    fn fit(&self, least: &[f64]) -> Fit {
        let mut fit = Fit { means: Vec::new(), variances: Vec::new(), log_likelihood: 0.0 };
        for ((mean, variance), least) in self.each().zip(least) {
            let wide = variance.max(*least);
            fit.log_likelihood -= 0.5 * self.count * ((TAU * wide).ln() + variance / wide);
            fit.means.push(mean);
            fit.variances.push(wide);
        }
        fit
    }

    fn gaussian(&self) -> Result<Gaussian> {
        let (mut mean, mut std) = (Params::zeros(&self.layout), Params::zeros(&self.layout));
        let unbiased = self.count / (self.count - 1.0);
        let values = mean.values_mut().iter_mut().zip(std.values_mut());
        for ((mean, std), (centre, variance)) in values.zip(self.each()) {
            *mean = centre as f32;
            *std = (variance * unbiased).sqrt() as f32;
        }
        Gaussian::new(mean, std)
    }
}

/// The Gaussian q of one round, in f64.
struct Fit {
    means: Vec<f64>,
    variances: Vec<f64>,
    /// Σ over samples of log q.
    log_likelihood: f64,
}

impl Fit {
    fn gaussian(&self, layout: &Arc<Layout>) -> Result<Gaussian> {
        let means = self.means.iter().map(|mean| *mean as f32).collect();
        let stds = self.variances.iter().map(|variance| variance.sqrt() as f32).collect();
        Gaussian::new(Params::from_values(layout, means)?, Params::from_values(layout, stds)?)
    }

    /// log q at `new` less log q at `old`, which is `new` permuted.
    fn gain(&self, old: &Gaussian, new: &Gaussian) -> f64 {
        let away = |member: &Gaussian| -> f64 {
            let values = member.mean().values().iter().zip(member.std().values());
            let fit = self.means.iter().zip(&self.variances);
            let each = values.zip(fit).map(|((mean, std), (centre, variance))| {
                ((f64::from(*mean) - centre).powi(2) + f64::from(*std).powi(2)) / variance
            });
            each.sum()
        };
        0.5 * (away(old) - away(new))
    }
}
