//! Which part of a step of coordinate descent is taken: all of it, or the parts that gain in f64.

use super::assigners::{Step, order};
use super::change::Change;
use super::coordinates::Coordinate;
use super::costs::Costs;
use super::swaps::{promising_swaps, swap};
use crate::symmetry::Permutation;

/// A gain that is a smaller part of the sum than this may be rounding, and is looked at in f64.
const CLEAR: f64 = 1e-5;
/// And so is one within so many standard deviations of the rounding of costs.
const SURE: f64 = 6.0;

/// Takes as much of a step as truly gains, not by rounding only; returns the groups whose permutations changed.
///
/// What is `trusted` is taken for what the costs say of it, if that is clear and the costs are linear in the coordinate.
pub(super) fn take(
    costs: &Costs<'_>,
    coordinate: &Coordinate,
    step: Step,
    permutations: &mut [Permutation],
    trusted: bool,
) -> Vec<usize> {
    let Coordinate { outer, children, coupled, .. } = coordinate;
    let groups: Vec<usize> = coordinate.groups().collect();
    if trusted && !coupled && is_clear(costs, &groups, &step, permutations) {
        let mut changed = Vec::new();
        for (group, new) in groups.into_iter().zip(step.permutations) {
            if permutations[group] != new {
                permutations[group] = new;
                changed.push(group);
            }
        }
        return changed;
    }
    if children.is_empty() && !coupled {
        let own = step.permutations.into_iter().next().expect("a step has a permutation of each group");
        let Some(new) = gaining_cycles(costs, *outer, &own, permutations) else { return Vec::new() };
        permutations[*outer] = new;
        return vec![*outer];
    }
    let mut taken = Taken { costs, permutations, changed: Vec::new() };
    let whole = groups.iter().zip(&step.permutations);
    let whole = whole.map(|(group, new)| Change::between(*group, &taken.permutations[*group], new)).collect();
    // Without coupling the gain is the sum of those of the parts.
    if !coupled || !taken.offer(whole) {
        taken.offer_parts(coordinate, &step);
        if *coupled && taken.changed.is_empty() {
            taken.offer_swaps(coordinate);
        }
    }
    taken.changed.sort_unstable();
    taken.changed.dedup();
    taken.changed
}

/// Whether the costs say that a step gains more than their rounding.
fn is_clear(costs: &Costs<'_>, groups: &[usize], step: &Step, permutations: &[Permutation]) -> bool {
    let (mut gain, mut size, mut squares) = (0.0, 0.0, 0.0);
    for (&group, new) in groups.iter().zip(&step.permutations) {
        let (old, own) = (permutations[group].as_slice(), new.as_slice());
        let mut count = 0.0;
        for (row, (new, old)) in costs.matrices[group].chunks_exact(old.len()).zip(own.iter().zip(old)) {
            if new != old {
                let (new, old) = (f64::from(row[*new as usize]), f64::from(row[*old as usize]));
                gain += new - old;
                size += new.abs() + old.abs();
                count += 1.0;
            }
        }
        let rounding = SURE * costs.errors[group] * f64::sqrt(2.0 * count);
        squares += rounding * rounding;
    }
    gain > CLEAR * size + f64::sqrt(squares)
}

/// The permutation of a group alone with those cycles of a new one that gain; none if none does.
///
/// With the others as they are, what is gained is the sum over the cycles in which units exchange their partners, so each is taken or left.
fn gaining_cycles(
    costs: &Costs<'_>,
    group: usize,
    new: &Permutation,
    permutations: &[Permutation],
) -> Option<Permutation> {
    let (old, own) = (permutations[group].as_slice(), new.as_slice());
    let mut kept = old.to_vec();
    for cycle in cycles(old, own) {
        let changes: Vec<_> = cycle.iter().map(|&unit| (unit, own[unit], old[unit])).collect();
        if costs.objective.gain(group, &changes, permutations) > 0.0 {
            for unit in cycle {
                kept[unit] = own[unit];
            }
        }
    }
    (kept != old).then(|| Permutation::new(kept).expect("whole cycles of a permutation"))
}

/// The cycles in which units exchange their partners: the units of each, in the order of the exchange.
fn cycles(old: &[u32], new: &[u32]) -> Vec<Vec<usize>> {
    let mut holder = vec![0; old.len()];
    old.iter().enumerate().for_each(|(unit, partner)| holder[*partner as usize] = unit);
    let (mut cycles, mut seen) = (Vec::new(), vec![false; old.len()]);
    for start in 0..old.len() {
        let (mut cycle, mut unit) = (Vec::new(), start);
        while !seen[unit] {
            seen[unit] = true;
            cycle.push(unit);
            unit = holder[new[unit] as usize];
        }
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles
}

/// The permutations, with all changes taken so far, and the groups that changed.
struct Taken<'t, 'c> {
    costs: &'t Costs<'c>,
    permutations: &'t mut [Permutation],
    changed: Vec<usize>,
}

impl Taken<'_, '_> {
    /// Makes changes if they gain together.
    fn offer(&mut self, mut changes: Vec<Change>) -> bool {
        changes.retain(|change| !change.units.is_empty());
        if changes.is_empty() || !self.costs.objective.gains(&changes, self.permutations) {
            return false;
        }
        for change in changes {
            let new = change.apply(&self.permutations[change.group]);
            self.permutations[change.group] = Permutation::new(new).expect("whole cycles of a permutation");
            self.changed.push(change.group);
        }
        true
    }

    /// Offers swaps of units and of blocks, each of what is at hand when its turn comes.
    fn offer_swaps(&mut self, coordinate: &Coordinate) {
        for (group, pair) in promising_swaps(self.costs, coordinate, self.permutations) {
            self.offer(vec![swap(group, pair, 1, &self.permutations[group])]);
        }
        if coordinate.children.is_empty() {
            return;
        }
        let blocks = self.permutations[coordinate.outer].len();
        for first in 0..blocks {
            for second in first + 1..blocks {
                let permutations = &self.permutations;
                let each = coordinate.groups().map(|group| {
                    let own = &permutations[group];
                    swap(group, [first, second], own.len() / blocks, own)
                });
                let changes = each.collect();
                self.offer(changes);
            }
        }
    }

    /// Offers the parts of a step one by one: cycles of blocks, or of the units of a group alone, each with all that is inside; then, in
    /// blocks that keep their partner, the cycles of the best order inside. So no part breaks a block.
    fn offer_parts(&mut self, coordinate: &Coordinate, step: &Step) {
        let Coordinate { outer, children, .. } = coordinate;
        let new = step.permutations[0].as_slice();
        for cycle in cycles(self.permutations[*outer].as_slice(), new) {
            let mut changes =
                vec![Change { group: *outer, units: cycle.iter().map(|&unit| (unit, new[unit])).collect() }];
            for (&child, new) in children.iter().zip(&step.permutations[1..]) {
                let len = new.len() / step.permutations[0].len();
                let units = cycle.iter().flat_map(|block| block * len..(block + 1) * len);
                changes.push(Change { group: child, units: units.map(|unit| (unit, new.as_slice()[unit])).collect() });
            }
            self.offer(changes);
        }
        for (&child, orders) in children.iter().zip(&step.inner) {
            for block in 0..new.len() {
                let blocks = self.permutations[*outer].clone();
                let best = order(orders, &blocks, block);
                let (first, from) = (block * best.len(), blocks.as_slice()[block] * best.len() as u32);
                let present = &self.permutations[child].as_slice()[first..][..best.len()];
                let present: Vec<u32> = present.iter().map(|unit| unit - from).collect();
                for cycle in cycles(&present, best) {
                    let units = cycle.iter().map(|&unit| (first + unit, from + best[unit])).collect();
                    self.offer(vec![Change { group: child, units }]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::align::solve::Workspace;
    use crate::align::{Feature, Objective};
    use crate::progress::Monitor;
    use crate::rng::Stream;
    use crate::symmetry::{Permutations, Spec};
    use onebasin_kernels::ThreadPool;

    /// A family with a recurrent tensor, one of two children and one of a child and its parent, beside a recurrent layer.
    const SPEC: &str = r#"{"groups":[{"name":"heads","units":4},{"name":"q","units":12,"within":"heads"},
        {"name":"v","units":8,"within":"heads"},{"name":"cell","units":9}],"tensors":[
        {"name":"r","shape":[36,9],"axes":[[{"group":"cell","blocks":4}],[{"group":"cell"}]]},
        {"name":"w","shape":[12,9],"axes":[[{"group":"q"}],[{"group":"cell"}]]},
        {"name":"mix","shape":[12,8],"axes":[[{"group":"q"}],[{"group":"v"}]]},
        {"name":"s","shape":[8,8],"axes":[[{"group":"v"}],[{"group":"v"}]]},
        {"name":"gate","shape":[4,12],"axes":[[{"group":"heads"}],[{"group":"q"}]]}]}"#;

    /// Without any step that is only trusted, since these are coordinates in which the objective is quadratic.
    #[test]
    fn sweeps_never_lower_the_objective_and_come_to_an_end() {
        let spec: Spec = serde_json::from_str(SPEC).unwrap();
        let pool = ThreadPool::alone();
        for seed in 0..40 {
            let side = |label: &str| {
                let mut values = vec![0.0; spec.layout().len()];
                Stream::new(seed, label, 0).fill_normal(&mut values);
                // Equal values, so that many steps gain nothing at all.
                if seed % 2 == 1 {
                    for value in &mut values {
                        *value = value.round();
                    }
                }
                values.into()
            };
            let feature = Feature { fixed: side("a"), moved: side("b") };
            let objective = Objective::new(&spec, vec![feature], None).unwrap();
            let mut monitor = Monitor::silent();
            let mut workspace = Workspace::new(&objective, &pool, seed, &mut monitor);
            let mut permutations = Permutations::random(&spec, seed).as_slice().to_vec();
            let mut duals = vec![None; 4];
            let mut value = objective.value(&pool, &permutations).total;
            for sweep in 0.. {
                let before = permutations.clone();
                workspace.improve(&mut permutations, &mut duals, 1).unwrap();
                Permutations::new(&spec, permutations.clone()).unwrap();
                let new = objective.value(&pool, &permutations).total;
                if permutations == before {
                    break;
                }
                assert!(new > value, "sweep {sweep}: {new} is below {value}");
                assert!(sweep < 100, "{sweep} sweeps");
                value = new;
            }
        }
    }
}
