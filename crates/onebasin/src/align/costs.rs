//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour takes twice as many outer products: late sweeps, which move few, cost little. What is kept from one
//! update to the next depends on the memory that it takes beside the features.

use super::coordinates::Coordinate;
use super::objective::{Objective, View};
use super::products::{Factors, Products};
use super::quantised::Quantised;
use crate::symmetry::Permutation;
use onebasin_kernels::geometry::blocks;
use onebasin_kernels::int8::Scratch;
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::{Aligned, ThreadPool};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Bytes of matrices and of what neighbours contribute that are kept, however small the features are; of matrices alone, twice as many.
const SMALL: u128 = 64 << 20;
/// Of larger features, one part in so many.
const SHARE: u128 = 8;

/// What is kept of the matrices from one update to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    /// Nothing: the matrix of a group is made when it is needed.
    Nothing,
    /// The matrix of each group that was updated.
    Matrices,
    /// The matrices of all groups, those at the centre of the Birkhoff polytope, and what each neighbour contributes.
    Parts,
}

/// The memory of the matrices of an objective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// What is kept of them.
    pub(super) kept: Kept,
    /// Bytes of all that are in memory at once.
    pub(super) bytes: u128,
    /// Bytes of one matrix for each group.
    pub(super) matrices: u128,
    /// Bytes of the matrices of several groups that are made at once, if nothing is kept.
    portion: u128,
}

impl Room {
    /// Beside features of so many bytes.
    pub(super) fn of(objective: &Objective<'_>, features: u128) -> Self {
        let sum = |of: &dyn Fn(usize) -> u128| (0..objective.groups()).map(of).sum::<u128>();
        let matrices = sum(&|group| bytes(objective, group));
        let parts = sum(&|group| objective.neighbours[group].len() as u128 * bytes(objective, group));
        let portion = SMALL.max(features / SHARE);
        let largest = objective.coordinates.iter().map(|own| coordinate_bytes(objective, own)).max().unwrap_or(0);
        let (kept, bytes) = if matrices + parts <= portion {
            (Kept::Parts, 2 * matrices + parts)
        } else if matrices <= 2 * portion {
            (Kept::Matrices, matrices)
        } else {
            (Kept::Nothing, portion.max(largest))
        };
        Self { kept, bytes, matrices, portion }
    }
}

/// Bytes of the matrix of a group.
fn bytes(objective: &Objective<'_>, group: usize) -> u128 {
    (objective.size(group) as u128).pow(2) * size_of::<f32>() as u128
}

fn coordinate_bytes(objective: &Objective<'_>, coordinate: &Coordinate) -> u128 {
    coordinate.groups().map(|group| bytes(objective, group)).sum()
}

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    pub(super) objective: &'a Objective<'a>,
    pub(super) pool: &'a ThreadPool,
    /// As of the last update of each group: (units that stay, units that move). Without an update since they were released they are empty.
    pub(super) matrices: Vec<Vec<f32>>,
    /// What is kept of them.
    pub(super) kept: Kept,
    /// Bytes of the matrices of several groups that are made at once, if nothing is kept.
    portion: u128,
    /// For each group, the permutation of each of its neighbours that its matrix counts with; none is the centre of the Birkhoff polytope.
    counted: Vec<Vec<Option<Permutation>>>,
    /// What every patch with two axes contributes, by its index; none if there are no features.
    patches: Arc<[Option<Quantised>]>,
    /// About how far an entry of each group's matrix may be off for rounding: the standard deviation.
    pub(super) errors: Vec<f64>,
    products: Products<'a>,
    /// Of each group, what each of its neighbours contributes to its matrix, beyond the centre of the Birkhoff polytope.
    parts: Vec<Vec<Vec<f32>>>,
    changes: Aligned,
    scratch: Vec<Mutex<Scratch>>,
}

impl<'a> Costs<'a> {
    /// The costs with all neighbours at the centre of the Birkhoff polytope, where every unit is matched with all alike.
    pub(super) fn new(objective: &'a Objective<'a>, pool: &'a ThreadPool) -> Self {
        let sides = objective.features.iter().flat_map(|feature| [&feature.fixed, &feature.moved]);
        let mut room = Room::of(objective, sides.map(|side| side.bytes() as u128).sum());
        if objective.features.is_empty() {
            // Then nothing depends on neighbours.
            room.kept = Kept::Parts;
        }
        Self::with(objective, pool, room)
    }

    fn with(objective: &'a Objective<'a>, pool: &'a ThreadPool, room: Room) -> Self {
        let groups = 0..objective.groups();
        let features = !objective.features.is_empty();
        // One after the other, so that what is read for one of both is still near for the other.
        let patches = objective
            .spec()
            .patches()
            .iter()
            .map(|patch| (patch.axes.len() == 2 && features).then(|| Quantised::new(objective, patch, pool)));
        let patches: Arc<[Option<Quantised>]> = patches.collect();
        let error = |group: usize| {
            let views = objective.views[group].iter();
            let variances = views.filter_map(|view| Some(patches[view.patch].as_ref()?.variance(view.axis)));
            variances.sum::<f64>().sqrt()
        };
        let errors = groups.clone().map(error).collect();
        let mut costs = Self {
            objective,
            pool,
            matrices: vec![Vec::new(); objective.groups()],
            kept: room.kept,
            portion: room.portion,
            counted: groups.clone().map(|group| vec![None; objective.neighbours[group].len()]).collect(),
            patches,
            errors,
            products: Products::new(pool),
            parts: groups.clone().map(|group| vec![Vec::new(); objective.neighbours[group].len()]).collect(),
            changes: Aligned::default(),
            scratch: (0..pool.threads()).map(|_| Mutex::default()).collect(),
        };
        if costs.kept == Kept::Parts {
            groups.for_each(|group| costs.begin(group));
        }
        costs
    }

    /// The same problem and its present state, for another solver.
    pub(super) fn fork(&self) -> Self {
        Self {
            objective: self.objective,
            pool: self.pool,
            matrices: self.matrices.clone(),
            kept: self.kept,
            portion: self.portion,
            counted: self.counted.clone(),
            products: Products::new(self.pool),
            patches: Arc::clone(&self.patches),
            errors: self.errors.clone(),
            parts: self.parts.clone(),
            changes: Aligned::default(),
            scratch: self.scratch.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// Cuts coordinates into parts, in order, of which the matrices of one are in memory at a time.
    pub(super) fn portions<'c>(&self, coordinates: &[&'c Coordinate]) -> Vec<Vec<&'c Coordinate>> {
        if self.kept > Kept::Nothing {
            return vec![coordinates.to_vec()];
        }
        let (mut portions, mut left) = (Vec::new(), 0);
        for coordinate in coordinates {
            let own = coordinate_bytes(self.objective, coordinate);
            if own > left || portions.is_empty() {
                portions.push(Vec::new());
                left = self.portion;
            }
            left = left.saturating_sub(own);
            portions.last_mut().expect("there is one").push(*coordinate);
        }
        portions
    }

    /// Gives back the memory of the matrices of some coordinates, if they are not kept.
    pub(super) fn release(&mut self, coordinates: &[&Coordinate]) {
        if self.kept == Kept::Nothing {
            coordinates.iter().flat_map(|own| own.groups()).for_each(|group| self.matrices[group] = Vec::new());
        }
    }

    /// Counts what depends on this group alone, and the means of what depends on neighbours too.
    pub(super) fn begin(&mut self, group: usize) {
        let objective = self.objective;
        let linear = &objective.linear[group];
        let matrix = &mut self.matrices[group];
        matrix.clear();
        matrix.extend_from_slice(linear);
        matrix.resize(objective.size(group).pow(2), 0.0);
        for view in &objective.views[group] {
            let patch = &objective.spec().patches()[view.patch];
            match view.other {
                None => {
                    let local = objective.local(patch);
                    let columns = &patch.rest.iter().map(|at| local.base + at).collect::<Vec<usize>>();
                    let sides: Vec<_> = local.sides.iter().map(|sides| sides.each_ref().map(|side| &**side)).collect();
                    self.add(group, &Factors { sides: &sides, stride: view.stride, weight: 1.0, columns });
                }
                Some(_) => self.add_means(group, *view, 1.0),
            }
        }
    }

    /// Adds what the neighbour of a view contributes at the centre of the Birkhoff polytope, some times.
    fn add_means(&mut self, group: usize, view: View, times: f32) {
        let units = self.objective.size(group);
        let (other, _) = view.other.expect("only views with another axis have means");
        let patches = Arc::clone(&self.patches);
        let Some(patch) = &patches[view.patch] else { return };
        let [fixed, moved] = patch.marginals.along(view.axis).map(|marginal| &marginal.means[..]);
        let columns = &(0..fixed.len()).step_by(units).collect::<Vec<usize>>();
        let weight = times * self.objective.size(other) as f32;
        self.add(group, &Factors { sides: &[[fixed, moved]], stride: 1, weight, columns });
    }

    /// Makes the matrix of a group that of an upper bound, from that at the centre of the Birkhoff polytope.
    ///
    /// Of a tensor with two groups, each has half: what the means over the units of the other contribute, and the
    /// product of the norms of what is left, feature by feature, which by Cauchy and Schwarz is not exceeded whatever the other does.
    pub(super) fn relax(&mut self, group: usize) {
        if self.kept < Kept::Parts {
            self.begin(group);
        }
        for &view in self.objective.views[group].iter().filter(|view| view.other.is_some()) {
            self.add_means(group, view, -0.5);
            let size = self.objective.size(group);
            let Some(patch) = &self.patches[view.patch] else { continue };
            let [fixed, moved] = patch.marginals.along(view.axis).map(|side| side.norms.chunks_exact(size));
            for (fixed, moved) in fixed.zip(moved) {
                let moved: Vec<f32> = moved.iter().map(|norm| norm.sqrt() as f32).collect();
                for (row, norm) in self.matrices[group].chunks_exact_mut(size).zip(fixed) {
                    let half = 0.5 * norm.sqrt() as f32;
                    row.iter_mut().zip(&moved).for_each(|(entry, norm)| *entry += half * norm);
                }
            }
        }
    }

    /// Brings the matrix of a group up to date with the permutations of its neighbours, but for those not yet known.
    pub(super) fn update<'p>(&mut self, group: usize, permutation: impl Fn(usize) -> Option<&'p Permutation>) {
        let objective = self.objective;
        if self.kept == Kept::Nothing || self.matrices[group].is_empty() {
            self.begin(group);
            self.counted[group].fill(None);
        }
        for (slot, &neighbour) in objective.neighbours[group].iter().enumerate() {
            let Some(new) = permutation(neighbour) else {
                assert!(self.counted[group][slot].is_none(), "a permutation that was known cannot become unknown");
                continue;
            };
            if objective.features.is_empty() || self.counted[group][slot].as_ref() == Some(new) {
                continue;
            }
            let old = self.counted[group][slot].replace(new.clone());
            if self.kept == Kept::Parts {
                self.change(group, slot, &Change::new(old.as_ref(), new));
            } else {
                self.count(group, neighbour, &Change::of_pairs(old.as_ref(), new));
            }
        }
    }

    /// Brings the part of a matrix that a neighbour contributes up to date.
    fn change(&mut self, group: usize, slot: usize, change: &Change) {
        let (units, neighbour) = (self.objective.size(group), self.objective.neighbours[group][slot]);
        if self.changes.len() < units * units {
            self.changes = Aligned::zeros(units * units);
        }
        let adding = Adding::new(self.objective, &self.patches, &self.scratch, (group, neighbour));
        let (matrix, part, changes) = (&mut self.matrices[group], &mut self.parts[group][slot], &mut self.changes);
        part.resize(units * units, 0.0);
        let arrays = [matrix, part, &mut changes[..units * units]];
        self.pool.pieces(&adding.entries(), arrays, |index, [matrix, part, sums]| {
            sums.fill(0.0);
            adding.add(index, change, sums);
            for ((entry, part), sum) in matrix.iter_mut().zip(part).zip(sums) {
                let new = if change.complete { *sum } else { *part + *sum };
                *entry += new - *part;
                *part = new;
            }
        });
    }

    /// Adds what a change of a neighbour contributes to a matrix, of which no parts are kept.
    fn count(&mut self, group: usize, neighbour: usize, change: &Change) {
        let adding = Adding::new(self.objective, &self.patches, &self.scratch, (group, neighbour));
        let matrix = &mut self.matrices[group];
        self.pool.pieces(&adding.entries(), [matrix], |index, [sums]| adding.add(index, change, sums));
    }

    fn add(&mut self, group: usize, factors: &Factors<'_>) {
        self.products.add(self.objective.size(group), factors, &mut self.matrices[group]);
    }
}

/// Adds what pairs of units of a neighbour contribute to the matrix of a group, a part of the rows on each thread.
struct Adding<'c> {
    objective: &'c Objective<'c>,
    patches: &'c [Option<Quantised>],
    scratch: &'c [Mutex<Scratch>],
    group: usize,
    neighbour: usize,
    /// Blocks of rows of each thread.
    rows: Vec<Range<usize>>,
}

impl<'c> Adding<'c> {
    fn new(
        objective: &'c Objective<'c>,
        patches: &'c [Option<Quantised>],
        scratch: &'c [Mutex<Scratch>],
        (group, neighbour): (usize, usize),
    ) -> Self {
        let all = blocks(objective.size(group));
        let share = all.div_ceil(scratch.len());
        let rows = (0..all).step_by(share).map(|first| first..(first + share).min(all)).collect();
        Self { objective, patches, scratch, group, neighbour, rows }
    }

    /// The entries of the matrix that each thread has.
    fn entries(&self) -> Vec<Range<usize>> {
        let units = self.objective.size(self.group);
        let entries = |rows: &Range<usize>| rows.start * BLOCK * units..(rows.end * BLOCK).min(units) * units;
        self.rows.iter().map(entries).collect()
    }

    fn add(&self, index: usize, change: &Change, sums: &mut [f32]) {
        let mut scratch = self.scratch[index].lock().expect("nobody panics while holding memory to work in");
        let views = self.objective.views[self.group].iter();
        for view in views.filter(|view| view.other.is_some_and(|(other, _)| other == self.neighbour)) {
            let Some(patch) = &self.patches[view.patch] else { continue };
            for (times, pairs) in [(1.0, &change.added), (-1.0, &change.removed)] {
                patch.add(view.axis, (times, pairs), self.rows[index].clone(), &mut scratch, sums);
            }
        }
    }
}

/// How the pairs of units change from one permutation to the next: the one that stays, and the one that moves to it.
struct Change {
    added: Vec<[u32; 2]>,
    removed: Vec<[u32; 2]>,
    /// Whether `added` are all pairs, instead of those that changed.
    complete: bool,
}

impl Change {
    /// Whichever takes less.
    fn new(old: Option<&Permutation>, new: &Permutation) -> Self {
        let change = Self::of_pairs(old, new);
        if 2 * change.added.len() >= new.len() { Self::of_pairs(None, new) } else { change }
    }

    /// The pairs that change; all of them if no permutation was known.
    fn of_pairs(old: Option<&Permutation>, new: &Permutation) -> Self {
        let pairs = |own: &Permutation| own.as_slice().iter().zip(0..).map(|(moved, fixed)| [fixed, *moved]).collect();
        let all: Vec<[u32; 2]> = pairs(new);
        let Some(old) = old else { return Self { added: all, removed: Vec::new(), complete: true } };
        let old: Vec<[u32; 2]> = pairs(old);
        let changed = all.into_iter().zip(old).filter(|(new, old)| new != old);
        let (added, removed) = changed.unzip();
        Self { added, removed, complete: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::{Feature, Values};
    use crate::arch::{Activation, Arch, Mlp, Shape};
    use crate::rng::Stream;
    use crate::symmetry::{Patch, Spec};

    type Kind = fn(f32, usize) -> f32;

    fn normals(label: &str, len: usize) -> Vec<f32> {
        let mut values = vec![0.0; len];
        Stream::new(7, label, 0).fill_normal(&mut values);
        values
    }

    /// What the entry of a matrix is, without any rounding.
    fn exact(objective: &Objective<'_>, group: usize, [unit, partner]: [usize; 2], all: &[Permutation]) -> f64 {
        let mut sum = 0.0;
        for view in &objective.views[group] {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            for feature in &objective.features {
                for at in rest {
                    let product = |other: usize, moved: usize| {
                        f64::from(feature.fixed.at(base + at + unit * view.stride + other))
                            * f64::from(feature.moved.at(base + at + partner * view.stride + moved))
                    };
                    sum += match view.other {
                        None => product(0, 0),
                        Some((other, stride)) => {
                            let pairs = all[other].as_slice().iter().enumerate();
                            pairs.map(|(unit, moved)| product(unit * stride, *moved as usize * stride)).sum()
                        }
                    };
                }
            }
        }
        sum
    }

    #[test]
    fn costs_are_right_but_for_rounding_whatever_the_weights() {
        let input = Shape { height: 2, width: 2, channels: 1 };
        let mlp = Mlp { input, classes: 3, hidden: vec![40, 33], activation: Activation::Relu };
        costs_are_right(&Spec::of(&Arch::new(mlp).unwrap()));
    }

    /// Where a group is on both axes, the costs are the gradient.
    #[test]
    fn costs_of_recurrent_tensors_are_right_but_for_rounding_whatever_the_weights() {
        let text = r#"{"groups":[{"name":"g","units":40},{"name":"h","units":33}],"tensors":[
            {"name":"w","shape":[40,4],"axes":[[{"group":"g"}],[{"fixed":4}]]},
            {"name":"r","shape":[80,40],"axes":[[{"group":"g","blocks":2}],[{"group":"g"}]]},
            {"name":"u","shape":[66,40],"axes":[[{"group":"h","blocks":2}],[{"group":"g"}]]},
            {"name":"s","shape":[33,33],"axes":[[{"group":"h"}],[{"group":"h"}]]}]}"#;
        costs_are_right(&serde_json::from_str(text).unwrap());
    }

    /// For a spec of 40 and 33 units.
    fn costs_are_right(spec: &Spec) {
        let len = spec.layout().len();
        let pool = ThreadPool::new(3).unwrap();
        let kinds: [(&str, Kind); 5] = [
            ("normal", |value, _| value),
            ("far from zero", |value, _| 100.0 + 0.1 * value),
            ("with outliers, one of them the first", |value, at| if at % 97 == 4 { 100.0 } else { value }),
            ("of two values", |value, _| value.signum()),
            ("nearly of rank one", |value, at| (at % 40) as f32 * (at / 40) as f32 + 0.1 * value),
        ];
        for (kind, change) in kinds {
            let side = |label: &str, scale: f32| -> Values<'_> {
                let values = normals(label, len).into_iter().enumerate();
                values.map(|(at, value)| scale * change(value, at)).collect::<Vec<f32>>().into()
            };
            // The second is large on one side and small on the other.
            let features = vec![
                Feature { fixed: side("a", 1.0), moved: side("b", 1.0) },
                Feature { fixed: side("c", 1e4), moved: side("d", 1e-4) },
            ];
            let objective = Objective::new(spec, features, None).unwrap();
            let room = Room::of(&objective, 0);
            let mut costs = Costs::with(&objective, &pool, room);
            let kinds = [Kept::Parts, Kept::Matrices, Kept::Nothing];
            for (kept, round) in (0..18).map(|round| (kinds[round / 6], round % 6)) {
                if costs.kept != kept {
                    costs = Costs::with(&objective, &pool, Room { kept, ..room });
                }
                // At first all units change, then two of them at a time.
                let permutations: Vec<Permutation> = [40, 33]
                    .map(|units| {
                        let mut indices = Permutation::random(units, &Stream::new(1, "first", 0)).as_slice().to_vec();
                        indices.swap(0, round);
                        Permutation::new(indices).unwrap()
                    })
                    .into();
                for group in 0..2 {
                    costs.update(group, |other| Some(&permutations[other]));
                    let units = objective.size(group);
                    let size: f64 = f64::from(costs.matrices[group].iter().fold(0.0f32, |all, own| all.max(own.abs())));
                    let (mut square, mut largest) = (0.0, 0.0);
                    for unit in 0..units {
                        for partner in 0..units {
                            let found = f64::from(costs.matrices[group][unit * units + partner]);
                            let off = (found - exact(&objective, group, [unit, partner], &permutations)).abs();
                            square += off * off / (units * units) as f64;
                            largest = f64::max(largest, off);
                        }
                    }
                    let (error, float) = (costs.errors[group], 1e-6 * size);
                    assert!(largest <= 6.0 * error + float, "{kind}: off by {largest}, about {error} expected");
                    assert!(f64::sqrt(square) <= 1.5 * error + float, "{kind}: off by √{square}, {error} expected");
                    assert!(error <= 0.01 * size, "{kind}: {error} is not a small part of {size}");
                }
            }
        }
    }
}
