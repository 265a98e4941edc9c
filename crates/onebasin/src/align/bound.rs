//! An upper bound of the objective, whatever the permutations: one assignment problem for each group.

use super::objective::Feature;
use super::objective::Objective;
use super::solve::Search;
use crate::error::Result;
use crate::kernels::lanes::BLOCK;
use crate::symmetry::Patch;
use std::sync::Mutex;

/// Rounds of power iteration; what they leave out is noise.
const POWERS: usize = 3;
const NO_PANIC: &str = "nobody panics while holding a start";

/// No permutations reach more than this, but for rounding in single precision.
pub(super) fn bound(search: &mut Search<'_, '_>) -> Result<f64> {
    let mut costs = search.costs().fork();
    costs.relax();
    let groups: Vec<usize> = (0..costs.objective().groups()).collect();
    let starts: Vec<Mutex<Option<Vec<f64>>>> = groups.iter().map(|_| Mutex::default()).collect();
    costs.team().for_each(groups.len(), |group| {
        *starts[group].lock().expect(NO_PANIC) = start(costs.matrix(group), costs.objective().size(group));
    });
    let mut starts = starts.into_iter().map(|start| start.into_inner().expect(NO_PANIC)).collect();
    let assignments = search.assign(&costs, &groups, &mut starts)?;
    let total: f64 = assignments.iter().map(|assignment| assignment.value).sum();
    Ok(total + constant(costs.objective()))
}

/// Column duals to start from for gains that are mostly a product of something of the row and something of the column, as
/// those of norms are. Without, the assignments of trained networks take three to five times as long.
///
/// Without the means of rows and columns, which no assignment changes, the gains are nearly `a bᵀ`, found by power iteration. The best
/// assignment for such pairs the largest `a` with the largest `b`, and so on; with both sorted, vₖ₊₁ − vₖ = (bₖ₊₁ − bₖ)(aₖ + aₖ₊₁)/2 proves it.
fn start(gains: &[f32], units: usize) -> Option<Vec<f64>> {
    let rows = || gains.chunks_exact(units);
    let mut means = vec![0.0; units];
    rows().for_each(|row| add(&mut means, row, 1.0 / units as f32));
    let centre = |values: &mut [f32]| {
        let mean = values.iter().sum::<f32>() / units as f32;
        for value in values {
            *value -= mean;
        }
    };
    // Of vectors without a mean, the products with the gains without theirs are those with the gains, less a mean.
    let spread = |row: &&[f32]| row.iter().zip(&means).map(|(gain, mean)| (gain - mean).powi(2)).sum::<f32>();
    let widest = rows().max_by(|a, b| spread(a).total_cmp(&spread(b))).expect("a group has units");
    let mut b: Vec<f32> = widest.iter().zip(&means).map(|(gain, mean)| gain - mean).collect();
    let mut a = vec![0.0; units];
    for _ in 0..POWERS {
        centre(&mut b);
        let norm = b.iter().map(|b| b * b).sum::<f32>().max(f32::MIN_POSITIVE);
        for (a, row) in a.iter_mut().zip(rows()) {
            *a = dot(row, &b) / norm;
        }
        centre(&mut a);
        let norm = a.iter().map(|a| a * a).sum::<f32>().max(f32::MIN_POSITIVE);
        b.fill(0.0);
        rows().zip(&a).for_each(|(row, a)| add(&mut b, row, a / norm));
    }
    a.sort_by(f32::total_cmp);
    let mut order: Vec<usize> = (0..units).collect();
    order.sort_by(|x, y| b[*x].total_cmp(&b[*y]));
    let mut duals: Vec<f64> = means.iter().copied().map(f64::from).collect();
    let mut dual = 0.0;
    for (columns, a) in order.windows(2).zip(a.windows(2)) {
        dual += f64::from(b[columns[1]] - b[columns[0]]) * f64::from(0.5 * (a[0] + a[1]));
        duals[columns[1]] += dual;
    }
    // Squares of gains may be too large for a number; then there is no start.
    duals.iter().all(|dual| dual.is_finite()).then_some(duals)
}

/// `sums += factor · row`
fn add(sums: &mut [f32], row: &[f32], factor: f32) {
    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
}

/// In sixteen sums, which the compiler can make side by side.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<BLOCK>(), b.as_chunks::<BLOCK>());
    let mut sums = [0.0; BLOCK];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..BLOCK {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// What no permutation changes.
fn constant(objective: &Objective<'_>) -> f64 {
    let mut total = 0.0;
    for Patch { base, rest, .. } in objective.spec().patches().iter().filter(|patch| patch.axes.is_empty()) {
        for Feature { fixed, moved } in objective.features() {
            total += rest.iter().map(|at| f64::from(fixed[base + at]) * f64::from(moved[base + at])).sum::<f64>();
        }
    }
    total
}
