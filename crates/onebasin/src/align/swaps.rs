//! Swaps of units of a group that a tensor has on both axes: what may still gain where no assignment does.

use super::change::Change;
use super::coordinates::Coordinate;
use super::costs::Costs;
use super::objective::{Feature, Objective};
use super::values::Values;
use crate::symmetry::{Patch, Permutation};

/// The groups and pairs of units whose swap should gain, those that promise most first; at most as many as there are units.
///
/// With P the present permutation and D what a swap of the partners of i and j adds to it, a quadratic tensor gains
/// `<gradient, D> + <A, D B Dᵀ>`. As `D = (eᵢ − eⱼ)(e_{p[j]} − e_{p[i]})ᵀ`, the last is a product of four entries of A and four
/// of B. The costs are the gradient at P.
pub(super) fn promising_swaps(
    costs: &Costs<'_>,
    coordinate: &Coordinate,
    permutations: &[Permutation],
) -> Vec<(usize, [usize; 2])> {
    let objective = costs.objective;
    let mut promising = Vec::new();
    let mut most = 0;
    for group in coordinate.groups().filter(|group| objective.neighbours[*group].contains(group)) {
        let units = objective.size(group);
        // Those of a family stay in their blocks, and a parent moves with its blocks only.
        let block = match coordinate.children.is_empty() {
            true => units,
            false if group == coordinate.outer => 1,
            false => units / objective.size(coordinate.outer),
        };
        let (own, matrix) = (permutations[group].as_slice(), &costs.matrices[group]);
        let entry = |unit: usize, partner: u32| f64::from(matrix[unit * units + partner as usize]);
        most += units;
        for first in 0..units {
            for second in first + 1..(first / block + 1) * block {
                let (one, other) = (own[first], own[second]);
                let linear = entry(first, other) + entry(second, one) - entry(first, one) - entry(second, other);
                let gain = linear + bend(objective, group, [first, second], [one as usize, other as usize]);
                if gain > 0.0 {
                    promising.push((gain, (group, [first, second])));
                }
            }
        }
    }
    // Stable: of equals the first.
    promising.sort_by(|a, b| b.0.total_cmp(&a.0));
    promising.into_iter().take(most).map(|(_, swap)| swap).collect()
}

/// `<A, D B Dᵀ>` of all tensors that have a group on both axes.
fn bend(objective: &Objective<'_>, group: usize, units: [usize; 2], partners: [usize; 2]) -> f64 {
    let mut sum = 0.0;
    for view in objective.views[group].iter().filter(|view| view.axis == 0) {
        let Some((_, stride)) = view.other.filter(|(other, _)| *other == group) else { continue };
        let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
        for Feature { fixed, moved } in &objective.features {
            for at in rest {
                let form = |values: &Values<'_>, [one, other]: [usize; 2]| {
                    let entry = |row: usize, column: usize| {
                        f64::from(values.at(base + at + row * view.stride + column * stride))
                    };
                    entry(one, one) - entry(one, other) - entry(other, one) + entry(other, other)
                };
                sum += form(fixed, units) * form(moved, partners);
            }
        }
    }
    sum
}

/// Two blocks of `len` units exchange their partners, which keep their order.
pub(super) fn swap(group: usize, [first, second]: [usize; 2], len: usize, permutation: &Permutation) -> Change {
    let own = permutation.as_slice();
    let exchange = |to: usize, from: usize| (0..len).map(move |unit| (to * len + unit, own[from * len + unit]));
    Change { group, units: exchange(first, second).chain(exchange(second, first)).collect() }
}
