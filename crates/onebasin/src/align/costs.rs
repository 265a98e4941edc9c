//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour takes twice as many outer products: late sweeps, which move few, cost little.

use super::objective::{Objective, View};
use super::products::{Factors, Products};
use super::quantised::Quantised;
use crate::symmetry::{Patch, Permutation};
use onebasin_kernels::geometry::blocks;
use onebasin_kernels::int8::Scratch;
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::{Aligned, ThreadPool};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    pub(super) objective: &'a Objective<'a>,
    pub(super) pool: &'a ThreadPool,
    /// As of the last update of each group: (units that stay, units that move).
    pub(super) matrices: Vec<Vec<f32>>,
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
            matrices: groups.clone().map(|group| vec![0.0; objective.size(group).pow(2)]).collect(),
            counted: groups.clone().map(|group| vec![None; objective.neighbours[group].len()]).collect(),
            patches,
            errors,
            products: Products::new(pool),
            parts: groups.clone().map(|group| vec![Vec::new(); objective.neighbours[group].len()]).collect(),
            changes: Aligned::default(),
            scratch: (0..pool.threads()).map(|_| Mutex::default()).collect(),
        };
        groups.for_each(|group| costs.begin(group));
        costs
    }

    /// The same problem and its present state, for another solver.
    pub(super) fn fork(&self) -> Self {
        Self {
            objective: self.objective,
            pool: self.pool,
            matrices: self.matrices.clone(),
            counted: self.counted.clone(),
            products: Products::new(self.pool),
            patches: Arc::clone(&self.patches),
            errors: self.errors.clone(),
            parts: self.parts.clone(),
            changes: Aligned::default(),
            scratch: self.scratch.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// Counts what depends on this group alone, and the means of what depends on neighbours too.
    fn begin(&mut self, group: usize) {
        let objective = self.objective;
        let linear = &objective.linear[group];
        self.matrices[group][..linear.len()].copy_from_slice(linear);
        for view in &objective.views[group] {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            match view.other {
                None => {
                    let columns = &rest.iter().map(|at| base + at).collect::<Vec<usize>>();
                    let sides: Vec<_> =
                        objective.features.iter().map(|feature| [&*feature.fixed, &*feature.moved]).collect();
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

    /// Turns the costs at the centre of the Birkhoff polytope into those of an upper bound.
    ///
    /// Of a tensor with two groups, each has half: what the means over the units of the other contribute, and the
    /// product of the norms of what is left, feature by feature, which by Cauchy and Schwarz is not exceeded whatever the other does.
    pub(super) fn relax(&mut self) {
        for group in 0..self.objective.groups() {
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
    }

    /// Brings the matrix of a group up to date with the permutations of its neighbours, but for those not yet known.
    pub(super) fn update<'p>(&mut self, group: usize, permutation: impl Fn(usize) -> Option<&'p Permutation>) {
        let objective = self.objective;
        for (slot, &neighbour) in objective.neighbours[group].iter().enumerate() {
            let Some(new) = permutation(neighbour) else {
                assert!(self.counted[group][slot].is_none(), "a permutation that was known cannot become unknown");
                continue;
            };
            if objective.features.is_empty() || self.counted[group][slot].as_ref() == Some(new) {
                continue;
            }
            let old = self.counted[group][slot].replace(new.clone());
            self.change(group, slot, &Change::new(old.as_ref(), new));
        }
    }

    /// Brings the part of a matrix that a neighbour contributes up to date.
    fn change(&mut self, group: usize, slot: usize, change: &Change) {
        let (objective, patches, scratch) = (self.objective, &self.patches, &self.scratch);
        let (units, neighbour) = (objective.size(group), objective.neighbours[group][slot]);
        if self.changes.len() < units * units {
            self.changes = Aligned::zeros(units * units);
        }
        let (matrix, part, changes) = (&mut self.matrices[group], &mut self.parts[group][slot], &mut self.changes);
        part.resize(units * units, 0.0);
        // A part of the rows for each thread.
        let share = blocks(units).div_ceil(scratch.len());
        let rows: Vec<Range<usize>> =
            (0..blocks(units)).step_by(share).map(|first| first..(first + share).min(blocks(units))).collect();
        let entries: Vec<Range<usize>> =
            rows.iter().map(|rows| rows.start * BLOCK * units..(rows.end * BLOCK).min(units) * units).collect();
        self.pool.pieces(&entries, [matrix, part, &mut changes[..units * units]], |index, [matrix, part, sums]| {
            let mut scratch = scratch[index].lock().expect("nobody panics while holding memory to work in");
            sums.fill(0.0);
            for view in
                objective.views[group].iter().filter(|view| view.other.is_some_and(|(other, _)| other == neighbour))
            {
                let Some(patch) = &patches[view.patch] else { continue };
                for (times, pairs) in [(1.0, &change.added), (-1.0, &change.removed)] {
                    patch.add(view.axis, (times, pairs), rows[index].clone(), &mut scratch, sums);
                }
            }
            for ((entry, part), sum) in matrix.iter_mut().zip(part).zip(sums) {
                let new = if change.complete { *sum } else { *part + *sum };
                *entry += new - *part;
                *part = new;
            }
        });
    }

    fn add(&mut self, group: usize, factors: &Factors<'_>) {
        self.products.add(self.objective.size(group), factors, &mut self.matrices[group]);
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
        let pairs = |own: &Permutation| own.as_slice().iter().zip(0..).map(|(moved, fixed)| [fixed, *moved]).collect();
        let all: Vec<[u32; 2]> = pairs(new);
        let old: Vec<[u32; 2]> = old.map(pairs).unwrap_or_default();
        let changed = || all.iter().zip(&old).filter(|(new, old)| new != old);
        if old.is_empty() || 2 * changed().count() >= all.len() {
            return Self { added: all, removed: Vec::new(), complete: true };
        }
        let (added, removed) = changed().map(|(new, old)| (*new, *old)).unzip();
        Self { added, removed, complete: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::Feature;
    use crate::arch::{Activation, Arch, Mlp, Shape};
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
        for view in &objective.views[group] {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            for feature in &objective.features {
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
            let side = |label: &str, scale: f32| -> Cow<'_, [f32]> {
                normals(label, len).into_iter().enumerate().map(|(at, value)| scale * change(value, at)).collect()
            };
            // The second is large on one side and small on the other.
            let features = vec![
                Feature { fixed: side("a", 1.0), moved: side("b", 1.0) },
                Feature { fixed: side("c", 1e4), moved: side("d", 1e-4) },
            ];
            let objective = Objective::new(spec, features, None).unwrap();
            let mut costs = Costs::new(&objective, &pool);
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
