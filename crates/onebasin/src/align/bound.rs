//! An upper bound of the objective, whatever the permutations: one assignment problem for each group or family.

use super::coordinates::Coordinate;
use super::objective::{Feature, Objective, product};
use super::quantised::sums;
use super::solve::Workspace;
use crate::error::Result;
use crate::symmetry::Patch;
use onebasin_kernels::Isa;
use onebasin_kernels::marginals::{Marginals, TimesColumn, TimesRow};

/// Rounds of power iteration; what they leave out is noise.
const POWERS: usize = 3;

/// No permutations reach more than this, but for rounding in single precision.
pub(super) fn bound(workspace: &mut Workspace<'_, '_, '_>) -> Result<f64> {
    workspace.begin("upper bound");
    let mut costs = workspace.costs.fork();
    let coordinates: Vec<&Coordinate> = costs.objective.coordinates.iter().collect();
    let mut bound = constant(costs.objective);
    for portion in costs.portions(&coordinates) {
        portion.iter().flat_map(|coordinate| coordinate.groups()).for_each(|group| costs.relax(group));
        bound += workspace.assign_from(&costs, &portion, start)?.iter().map(|step| step.value).sum::<f64>();
        costs.release(&portion);
    }
    if !bound.is_finite() {
        costs.objective.check_finite()?;
    }
    Ok(bound)
}

/// Column duals to start from for gains that are mostly a product of something of the row and something of the column, as
/// those of norms are. Without, the assignments of trained networks take three to five times as long.
///
/// Without the means of rows and columns, which no assignment changes, the gains are nearly `a bᵀ`, found by power iteration. The best
/// assignment for such pairs the largest `a` with the largest `b`, and so on; with both sorted, vₖ₊₁ − vₖ = (bₖ₊₁ − bₖ)(aₖ + aₖ₊₁)/2 proves it.
fn start(gains: &[f32], units: usize) -> Option<Vec<f64>> {
    let isa = Isa::detect();
    let [mut rows, mut columns] = [0, 1].map(|_| sums(units));
    let pivot = gains[0];
    let [of_rows, of_columns] = [&mut rows, &mut columns].map(|sums| sums.each_mut().map(|sums| &mut sums[..]));
    isa.run(Marginals { from: gains, stride: units, pivot, rows: of_rows, columns: of_columns });
    let means: Vec<f32> = columns[0].iter().map(|sum| sum / units as f32 + pivot).collect();
    let centre = |values: &mut [f32]| {
        let mean = values.iter().sum::<f32>() / units as f32;
        for value in values {
            *value -= mean;
        }
    };
    // A row that is likely to have some of it. Of vectors without a mean, the products with the gains without theirs are those with the gains, less a mean.
    let spreads = rows[0].iter().zip(&rows[1]).map(|(sum, square)| square - sum * sum / units as f32).enumerate();
    let (widest, _) = spreads.max_by(|a, b| a.1.total_cmp(&b.1)).expect("a group has units");
    let mut b: Vec<f32> = gains[widest * units..].iter().zip(&means).map(|(gain, mean)| gain - mean).collect();
    let mut a = vec![0.0; units];
    for _ in 0..POWERS {
        centre(&mut b);
        let norm = b.iter().map(|b| b * b).sum::<f32>().max(f32::MIN_POSITIVE);
        isa.run(TimesColumn { matrix: gains, columns: &b, rows: &mut a });
        centre(&mut a);
        for a in &mut a {
            *a /= norm;
        }
        let norm = a.iter().map(|a| a * a).sum::<f32>().max(f32::MIN_POSITIVE);
        isa.run(TimesRow { matrix: gains, rows: &a, columns: &mut b });
        for b in &mut b {
            *b /= norm;
        }
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

/// What no permutation changes.
fn constant(objective: &Objective<'_>) -> f64 {
    let mut total = 0.0;
    for Patch { base, rest, .. } in objective.spec().patches().iter().filter(|patch| patch.axes.is_empty()) {
        for Feature { fixed, moved } in &objective.features {
            total += rest.iter().map(|at| product(fixed.at(base + at), moved.at(base + at))).sum::<f64>();
        }
    }
    total
}
