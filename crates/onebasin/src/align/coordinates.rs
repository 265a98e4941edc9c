//! The coordinates of coordinate descent: a group alone, or a family, whose permutations are assigned together.

use crate::symmetry::{Family, Spec};

/// Groups whose permutations one step assigns together.
#[derive(Clone, Debug)]
pub(super) struct Coordinate {
    /// The group alone, or the parent of a family.
    pub(super) outer: usize,
    /// The groups within the parent; none if the group is alone.
    pub(super) children: Vec<usize>,
    /// The coordinates that share a tensor with it, in order, without itself.
    pub(super) neighbours: Vec<usize>,
    /// Whether both axes of some tensor are its own. Then the objective is quadratic in it, and an assignment only maximises the
    /// linear part.
    pub(super) coupled: bool,
}

impl Coordinate {
    /// All coordinates of a spec, in the order of their first groups; `neighbours` are those of each group.
    pub(super) fn all(spec: &Spec, neighbours: &[Vec<usize>]) -> Vec<Self> {
        let mut families = spec.families();
        let mut all: Vec<Self> = Vec::new();
        let mut index_of = vec![None; spec.groups().len()];
        for group in 0..index_of.len() {
            if index_of[group].is_some() {
                continue;
            }
            let holds = |family: &Family| family.parent == group || family.children.contains(&group);
            let found = families.iter().position(holds).map(|at| families.swap_remove(at));
            let Family { parent: outer, children } = found.unwrap_or(Family { parent: group, children: Vec::new() });
            let coordinate = Self { outer, children, neighbours: Vec::new(), coupled: false };
            coordinate.groups().for_each(|own| index_of[own] = Some(all.len()));
            all.push(coordinate);
        }
        let index_of = |group: usize| index_of[group].expect("every group is in a coordinate");
        for (index, own) in all.iter_mut().enumerate() {
            let mut met: Vec<usize> =
                own.groups().flat_map(|group| neighbours[group].iter().map(|other| index_of(*other))).collect();
            met.sort_unstable();
            met.dedup();
            own.coupled = met.contains(&index);
            own.neighbours = met.into_iter().filter(|other| *other != index).collect();
        }
        all
    }

    /// Its groups: the one alone or the parent first, then the children.
    pub(super) fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        [self.outer].into_iter().chain(self.children.iter().copied())
    }
}
