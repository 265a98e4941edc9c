//! What the objective gains, exactly, if the permutations of several groups change at once.

use super::objective::{Feature, Objective, View, product};
use crate::symmetry::{Patch, Permutation};
use onebasin_kernels::marginals::Indices;

/// A gain that is a smaller part of what was added up than this may be rounding of sums in f64.
const ROUNDING: f64 = 1e-12;

/// Units of a group that change their partners: of each the unit that stays, and its new partner.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) group: usize,
    pub(super) units: Vec<(usize, u32)>,
}

impl Change {
    /// All units that have another partner in `new` than in `old`.
    pub(super) fn between(group: usize, old: &Permutation, new: &Permutation) -> Self {
        let pairs = old.as_slice().iter().zip(new.as_slice()).enumerate();
        let units = pairs.filter(|(_, (old, new))| old != new).map(|(unit, (_, new))| (unit, *new)).collect();
        Self { group, units }
    }

    /// The indices of the group's permutation after the change.
    pub(super) fn apply(&self, permutation: &Permutation) -> Vec<u32> {
        let mut indices = permutation.as_slice().to_vec();
        for &(unit, new) in &self.units {
            indices[unit] = new;
        }
        indices
    }
}

/// What is gained, and the magnitudes of what was added up for it.
#[derive(Clone, Copy, Debug, Default)]
struct Gain {
    total: f64,
    size: f64,
}

impl Gain {
    fn add(&mut self, sign: f64, new: f64, old: f64) {
        self.total += sign * (new - old);
        self.size += new.abs() + old.abs();
    }
}

impl Objective<'_> {
    /// Whether the objective gains by changes of different groups, made together, more than rounding.
    ///
    /// So steps that are accepted for it come to an end.
    pub(super) fn gains(&self, changes: &[Change], permutations: &[Permutation]) -> bool {
        let Gain { total, size } = self.gain_of(changes, permutations);
        total > ROUNDING * size
    }

    /// The sum over the rows and columns that change. A tensor that changes along both axes has its rows and its columns summed, less
    /// the entries where they cross: they are in both.
    fn gain_of(&self, changes: &[Change], permutations: &[Permutation]) -> Gain {
        let new: Vec<Vec<u32>> = changes.iter().map(|change| change.apply(&permutations[change.group])).collect();
        let position = |group: usize| changes.iter().position(|change| change.group == group);
        let mut gain = Gain::default();
        for change in changes {
            let old = permutations[change.group].as_slice();
            for view in &self.views[change.group] {
                let partner = view.other.map(|(group, _)| {
                    let own = Indices::new(permutations[group].as_slice());
                    [position(group).map_or(own, |at| Indices::new(&new[at])), own]
                });
                self.add_rows(view, change, old, partner, &mut gain);
                // From the first axis only, else they would be taken away twice.
                let other = view.other.filter(|_| view.axis == 0).and_then(|(group, _)| position(group));
                if let Some(other) = other {
                    let olds = [old, permutations[changes[other].group].as_slice()];
                    self.subtract_crossings(view, [change, &changes[other]], olds, &mut gain);
                }
            }
            let linear = &self.linear[change.group];
            if !linear.is_empty() {
                for &(unit, new) in &change.units {
                    let row = &linear[unit * old.len()..];
                    gain.add(1.0, f64::from(row[new as usize]), f64::from(row[old[unit] as usize]));
                }
            }
        }
        gain
    }

    /// The rows of a view's units that change; `partner` are the indices of the other axis, new and old.
    fn add_rows(&self, view: &View, change: &Change, old: &[u32], partner: Option<[Indices<'_>; 2]>, gain: &mut Gain) {
        let Patch { base, rest, .. } = &self.spec().patches()[view.patch];
        for &(unit, new) in &change.units {
            for Feature { fixed, moved } in &self.features {
                for at in rest {
                    let places = [unit, new as usize, old[unit] as usize].map(|unit| base + at + unit * view.stride);
                    let [at, new, old] = places;
                    if let (Some((_, stride)), Some(partner)) = (view.other, partner) {
                        let row = |from: usize, indices| fixed.gathered(at, moved, from, stride, indices);
                        gain.add(1.0, row(new, partner[0]), row(old, partner[1]));
                    } else {
                        let at = fixed.at(at);
                        gain.add(1.0, product(at, moved.at(new)), product(at, moved.at(old)));
                    }
                }
            }
        }
    }

    /// The entries whose row and column both change; `changes` and `olds` are those of the view's own axis and of the other.
    fn subtract_crossings(&self, view: &View, changes: [&Change; 2], olds: [&[u32]; 2], gain: &mut Gain) {
        let Patch { base, rest, .. } = &self.spec().patches()[view.patch];
        let (_, stride) = view.other.expect("a crossing has two axes");
        for Feature { fixed, moved } in &self.features {
            for at in rest {
                for &(row, new_row) in &changes[0].units {
                    for &(column, new_column) in &changes[1].units {
                        let place = |row: usize, column: usize| base + at + row * view.stride + column * stride;
                        let here = fixed.at(place(row, column));
                        let old = moved.at(place(olds[0][row] as usize, olds[1][column] as usize));
                        let new = moved.at(place(new_row as usize, new_column as usize));
                        gain.add(-1.0, product(here, new), product(here, old));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::symmetry::{Permutations, Spec};
    use onebasin_kernels::ThreadPool;

    /// Tensors with one group twice, with two of the changed groups, with one, and with none.
    const SPEC: &str = r#"{"groups":[{"name":"a","units":5},{"name":"b","units":4},{"name":"c","units":3}],"tensors":[
        {"name":"r","shape":[10,5],"axes":[[{"group":"a","blocks":2}],[{"group":"a"}]]},
        {"name":"w","shape":[4,5],"axes":[[{"group":"b"}],[{"group":"a"}]]},
        {"name":"s","shape":[4,2,4],"axes":[[{"group":"b"}],[{"free":2}],[{"group":"b"}]]},
        {"name":"u","shape":[3,4],"axes":[[{"group":"c"}],[{"group":"b"}]]},
        {"name":"o","shape":[2,5],"axes":[[{"fixed":2}],[{"group":"a"}]]},
        {"name":"f","shape":[2],"axes":[[{"fixed":2}]]}]}"#;

    #[test]
    fn a_gain_is_the_difference_of_two_values() {
        let spec: Spec = serde_json::from_str(SPEC).unwrap();
        let pool = ThreadPool::alone();
        for seed in 0..50 {
            let side = |label: &str, len: usize| {
                let mut values = vec![0.0; len];
                Stream::new(seed, label, 0).fill_normal(&mut values);
                values
            };
            let feature = |labels: [&str; 2]| {
                let [fixed, moved] = labels.map(|label| side(label, spec.layout().len()).into());
                Feature { fixed, moved }
            };
            let linear = vec![side("linear", 25), Vec::new(), side("more", 9)];
            let objective =
                Objective::new(&spec, vec![feature(["a", "b"]), feature(["c", "d"])], Some(linear)).unwrap();
            let old = Permutations::random(&spec, seed).as_slice().to_vec();
            let mut new = Permutations::random(&spec, seed + 1000).as_slice().to_vec();
            // Some groups stay, and some change in two units only.
            let stays = seed as usize % 3;
            new[stays] = old[stays].clone();
            if seed % 2 == 0 {
                let mut swapped = old[1].as_slice().to_vec();
                swapped.swap(0, 2);
                new[1] = Permutation::new(swapped).unwrap();
            }
            let changes: Vec<Change> = (0..3).map(|group| Change::between(group, &old[group], &new[group])).collect();
            let found = objective.gain_of(&changes, &old).total;
            let expected = objective.value(&pool, &new).total - objective.value(&pool, &old).total;
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
            assert_eq!(objective.gains(&changes, &old), expected > 0.0);
        }
    }
}
