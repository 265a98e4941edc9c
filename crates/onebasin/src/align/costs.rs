//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour changes the costs by twice as many outer products, so late sweeps, in which few units
//! still move, cost next to nothing.

use super::marginals::Marginals;
use super::objective::Objective;
use super::objective::View;
use super::products::Factors;
use super::products::Products;
use super::rounded::Rounded;
use crate::kernels::Aligned;
use crate::kernels::Team;
use crate::kernels::bytes::Scratch;
use crate::kernels::geometry::blocks;
use crate::kernels::lanes::BLOCK;
use crate::symmetry::Patch;
use crate::symmetry::Permutation;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    objective: &'a Objective<'a>,
    team: &'a Team,
    /// (units that stay, units that move)
    matrices: Vec<Vec<f32>>,
    /// For each group, the permutation of each of its neighbours that its matrix counts with; none is the barycentre.
    counted: Vec<Vec<Option<Permutation>>>,
    /// Of every patch with two axes, by its index; none if there are no features.
    seen: Arc<[Option<Seen>]>,
    /// Of each group.
    errors: Vec<f64>,
    products: Products<'a>,
    /// Of each group, what each of its neighbours contributes to its matrix, beyond the barycentre.
    parts: Vec<Vec<Vec<f32>>>,
    /// Room for what changes in one of them.
    room: Aligned,
    /// For each thread.
    scratch: Vec<Mutex<Scratch>>,
}

/// What a patch with two axes contributes to the matrices of its groups.
#[derive(Debug)]
struct Seen {
    marginals: Marginals,
    rounded: Rounded,
}

impl<'a> Costs<'a> {
    /// The costs if nothing is known of any permutation: all neighbours at the barycentre.
    pub(super) fn new(objective: &'a Objective<'a>, team: &'a Team) -> Self {
        let groups = 0..objective.groups();
        let features = !objective.features().is_empty();
        // One after the other, so that what is read for one of both is still near for the other.
        let seen = objective.spec().patches().iter().map(|patch| {
            (patch.axes.len() == 2 && features).then(|| {
                let marginals = Marginals::new(objective, patch, team);
                let rounded = Rounded::new(objective, patch, &marginals, team);
                Seen { marginals, rounded }
            })
        });
        let seen: Arc<[Option<Seen>]> = seen.collect();
        let error = |group| {
            let views = objective.views(group).iter();
            let variances = views.filter_map(|view| Some(seen[view.patch].as_ref()?.rounded.variance(view.axis)));
            variances.sum::<f64>().sqrt()
        };
        let errors = groups.clone().map(error).collect();
        let mut costs = Self {
            objective,
            team,
            matrices: groups.clone().map(|group| vec![0.0; objective.size(group).pow(2)]).collect(),
            counted: groups.clone().map(|group| vec![None; objective.neighbours(group).len()]).collect(),
            seen,
            errors,
            products: Products::new(team),
            parts: groups.clone().map(|group| vec![Vec::new(); objective.neighbours(group).len()]).collect(),
            room: Aligned::default(),
            scratch: (0..team.threads()).map(|_| Mutex::default()).collect(),
        };
        for group in groups {
            costs.begin(group);
        }
        costs
    }

    /// The same problem and its present state, for another solver.
    pub(super) fn fork(&self) -> Self {
        Self {
            objective: self.objective,
            team: self.team,
            matrices: self.matrices.clone(),
            counted: self.counted.clone(),
            products: Products::new(self.team),
            seen: Arc::clone(&self.seen),
            errors: self.errors.clone(),
            parts: self.parts.clone(),
            room: Aligned::default(),
            scratch: self.scratch.iter().map(|_| Mutex::default()).collect(),
        }
    }

    pub(super) fn objective(&self) -> &'a Objective<'a> {
        self.objective
    }
    pub(super) fn team(&self) -> &'a Team {
        self.team
    }
    /// The matrix of a group as of its last update.
    pub(super) fn matrix(&self, group: usize) -> &[f32] {
        &self.matrices[group]
    }

    /// Counts what depends on this group alone, and the means of what depends on neighbours too.
    fn begin(&mut self, group: usize) {
        let objective = self.objective;
        let linear = objective.linear(group);
        self.matrices[group][..linear.len()].copy_from_slice(linear);
        for view in objective.views(group) {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            match view.other {
                None => {
                    let columns = &rest.iter().map(|at| base + at).collect::<Vec<usize>>();
                    let sides = &objective.sides();
                    self.add(group, &Factors { sides, stride: view.stride, weight: 1.0, columns });
                }
                Some(_) => self.add_means(group, *view, 1.0),
            }
        }
    }

    /// Adds what the neighbour of a view contributes at the barycentre, some times.
    fn add_means(&mut self, group: usize, view: View, times: f32) {
        let units = self.objective.size(group);
        let (other, _) = view.other.expect("only views with another axis have means");
        let seen = Arc::clone(&self.seen);
        let Some(Seen { marginals, .. }) = &seen[view.patch] else { return };
        let [fixed, moved] = marginals.seen(view.axis).map(|marginal| &marginal.means[..]);
        let columns = &(0..fixed.len()).step_by(units).collect::<Vec<usize>>();
        let weight = times * self.objective.size(other) as f32;
        self.add(group, &Factors { sides: &[[fixed, moved]], stride: 1, weight, columns });
    }

    /// Turns the costs with nothing known into those of an upper bound.
    ///
    /// Of a tensor with two groups, each has half: what the means over the units of the other contribute, and the
    /// product of the norms of what is left, feature by feature, which by Cauchy and Schwarz is not exceeded whatever the other does.
    pub(super) fn relax(&mut self) {
        for group in 0..self.objective.groups() {
            for &view in self.objective.views(group).iter().filter(|view| view.other.is_some()) {
                self.add_means(group, view, -0.5);
                let size = self.objective.size(group);
                let Some(Seen { marginals, .. }) = &self.seen[view.patch] else { continue };
                let [fixed, moved] = marginals.seen(view.axis).map(|side| side.norms.chunks_exact(size));
                for (fixed, moved) in fixed.zip(moved) {
                    let moved: Vec<f32> = moved.iter().map(|norm| norm.sqrt() as f32).collect();
                    for (row, norm) in self.matrices[group].chunks_exact_mut(size).zip(fixed) {
                        let half = 0.5 * norm.sqrt() as f32;
                        row.iter_mut().zip(&moved).for_each(|(entry, norm)| *entry += half * norm);
                    }
                }
            }
        }
    }

    /// Brings the matrix of a group up to date with the permutations of its neighbours; those that are not known stay at
    /// the barycentre.
    pub(super) fn update<'p>(&mut self, group: usize, permutation: impl Fn(usize) -> Option<&'p Permutation>) {
        let objective = self.objective;
        for (slot, &neighbour) in objective.neighbours(group).iter().enumerate() {
            let Some(new) = permutation(neighbour) else {
                assert!(self.counted[group][slot].is_none(), "a permutation that was known cannot become unknown");
                continue;
            };
            if objective.features().is_empty() || self.counted[group][slot].as_ref() == Some(new) {
                continue;
            }
            let old = self.counted[group][slot].replace(new.clone());
            self.change(group, slot, &Change::new(old.as_ref(), new));
        }
    }

    /// Brings the part of a matrix that a neighbour contributes up to date.
    fn change(&mut self, group: usize, slot: usize, change: &Change) {
        let (objective, seen, scratch) = (self.objective, &self.seen, &self.scratch);
        let (units, neighbour) = (objective.size(group), objective.neighbours(group)[slot]);
        if self.room.len() < units * units {
            self.room = Aligned::zeros(units * units);
        }
        let (matrix, part, room) = (&mut self.matrices[group], &mut self.parts[group][slot], &mut self.room);
        part.resize(units * units, 0.0);
        // A part of the rows for each thread.
        let share = blocks(units).div_ceil(scratch.len());
        let rows: Vec<Range<usize>> =
            (0..blocks(units)).step_by(share).map(|first| first..(first + share).min(blocks(units))).collect();
        let entries: Vec<Range<usize>> =
            rows.iter().map(|rows| rows.start * BLOCK * units..(rows.end * BLOCK).min(units) * units).collect();
        self.team.pieces(&entries, [matrix, part, &mut room[..units * units]], |index, [matrix, part, sums]| {
            let mut scratch = scratch[index].lock().expect("nobody panics while holding memory to work in");
            sums.fill(0.0);
            for view in
                objective.views(group).iter().filter(|view| view.other.is_some_and(|(other, _)| other == neighbour))
            {
                let Some(Seen { rounded, .. }) = &seen[view.patch] else { continue };
                for (times, pairs) in [(1.0, &change.added), (-1.0, &change.removed)] {
                    rounded.add(view.axis, (times, pairs), rows[index].clone(), &mut scratch, sums);
                }
            }
            for ((entry, part), sum) in matrix.iter_mut().zip(part).zip(sums) {
                let new = if change.anew { *sum } else { *part + *sum };
                *entry += new - *part;
                *part = new;
            }
        });
    }

    /// About how far an entry of a group's matrix may be off for rounding: the standard deviation.
    pub(super) fn error(&self, group: usize) -> f64 {
        self.errors[group]
    }

    fn add(&mut self, group: usize, factors: &Factors<'_>) {
        self.products.add(self.objective.size(group), factors, &mut self.matrices[group]);
    }
}

/// How the pairs of units change from one permutation to the next: the one that stays, and the one that moves to it.
struct Change {
    added: Vec<[u32; 2]>,
    removed: Vec<[u32; 2]>,
    /// Whether `added` are all there are.
    anew: bool,
}

impl Change {
    /// Whichever takes less.
    fn new(old: Option<&Permutation>, new: &Permutation) -> Self {
        let pairs = |own: &Permutation| own.as_slice().iter().zip(0..).map(|(moved, fixed)| [fixed, *moved]).collect();
        let all: Vec<[u32; 2]> = pairs(new);
        let old: Vec<[u32; 2]> = old.map(pairs).unwrap_or_default();
        let changed = || all.iter().zip(&old).filter(|(new, old)| new != old);
        if old.is_empty() || 2 * changed().count() >= all.len() {
            return Self { added: all, removed: Vec::new(), anew: true };
        }
        let (added, removed) = changed().map(|(new, old)| (*new, *old)).unzip();
        Self { added, removed, anew: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::Feature;
    use crate::arch::Activation;
    use crate::arch::Arch;
    use crate::arch::Mlp;
    use crate::arch::Shape;
    use crate::rng::Stream;
    use crate::symmetry::Spec;
    use std::borrow::Cow;

    type Kind = fn(f32, usize) -> f32;

    fn normals(label: &str, len: usize) -> Vec<f32> {
        let mut values = vec![0.0; len];
        Stream::new(7, label, 0).fill_normal(&mut values);
        values
    }

    /// What the entry of a matrix is, without any rounding.
    fn exact(objective: &Objective<'_>, group: usize, [unit, partner]: [usize; 2], all: &[Permutation]) -> f64 {
        let mut sum = 0.0;
        for view in objective.views(group) {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            for feature in objective.features() {
                for at in rest {
                    let product = |other: usize, moved: usize| {
                        f64::from(feature.fixed[base + at + unit * view.stride + other])
                            * f64::from(feature.moved[base + at + partner * view.stride + moved])
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
        let arch = Arch::new(mlp).unwrap();
        let spec = Spec::of(&arch);
        let len = arch.layout().len();
        let team = Team::new(3).unwrap();
        let kinds: [(&str, Kind); 5] = [
            ("normal", |value, _| value),
            ("far from zero", |value, _| 100.0 + 0.1 * value),
            ("with outliers, one of them the first", |value, at| if at % 97 == 4 { 100.0 } else { value }),
            ("of two values", |value, _| value.signum()),
            ("nearly of rank one", |value, at| (at % 40) as f32 * (at / 40) as f32 + 0.1 * value),
        ];
        for (kind, change) in kinds {
            let side = |label: &str, scale: f32| -> Cow<'_, [f32]> {
                normals(label, len).into_iter().enumerate().map(|(at, value)| scale * change(value, at)).collect()
            };
            // The second is large on one side and small on the other.
            let features = vec![
                Feature { fixed: side("a", 1.0), moved: side("b", 1.0) },
                Feature { fixed: side("c", 1e4), moved: side("d", 1e-4) },
            ];
            let objective = Objective::new(&spec, features, None).unwrap();
            let mut costs = Costs::new(&objective, &team);
            for round in 0..6 {
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
                    let size: f64 = f64::from(costs.matrix(group).iter().fold(0.0f32, |all, own| all.max(own.abs())));
                    let (mut square, mut largest) = (0.0, 0.0);
                    for unit in 0..units {
                        for partner in 0..units {
                            let found = f64::from(costs.matrix(group)[unit * units + partner]);
                            let off = (found - exact(&objective, group, [unit, partner], &permutations)).abs();
                            square += off * off / (units * units) as f64;
                            largest = f64::max(largest, off);
                        }
                    }
                    let (error, float) = (costs.error(group), 1e-6 * size);
                    assert!(largest <= 6.0 * error + float, "{kind}: off by {largest}, about {error} expected");
                    assert!(f64::sqrt(square) <= 1.5 * error + float, "{kind}: off by √{square}, {error} expected");
                    assert!(error <= 0.01 * size, "{kind}: {error} is not a small part of {size}");
                }
            }
        }
    }
}
