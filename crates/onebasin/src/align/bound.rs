//! An upper bound of the objective, whatever the permutations: one assignment problem for each group.

use super::objective::Feature;
use super::objective::Objective;
use super::solve::Search;
use crate::error::Result;
use crate::symmetry::Patch;

/// No permutations reach more than this, but for rounding in single precision.
pub(super) fn bound(search: &mut Search<'_, '_>) -> Result<f64> {
    let mut costs = search.costs().fork();
    costs.relax();
    let groups: Vec<usize> = (0..costs.objective().groups()).collect();
    let assignments = search.assign(&costs, &groups, &mut vec![None; groups.len()])?;
    let total: f64 = assignments.iter().map(|assignment| assignment.value).sum();
    Ok(total + constant(costs.objective()))
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
