//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour changes the costs by as many outer products, so late sweeps, in which few units
//! still move, cost next to nothing.

use super::marginals::Marginals;
use super::objective::Feature;
use super::objective::Objective;
use super::objective::View;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::geometry::Geometry;
use crate::kernels::geometry::Plane;
use crate::kernels::geometry::blocks;
use crate::kernels::geometry::depth;
use crate::kernels::lanes::BLOCK;
use crate::kernels::outer::WeightGradient;
use crate::kernels::pack::Gather;
use crate::symmetry::Patch;
use crate::symmetry::Permutation;
use std::sync::Arc;

/// Columns that are packed and multiplied at a time.
const COLUMNS: usize = 1024;

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    objective: &'a Objective<'a>,
    team: &'a Team,
    isa: Isa,
    /// (units that stay, units that move)
    matrices: Vec<Vec<f32>>,
    /// For each group, the permutation of each of its neighbours that its matrix counts with; none is the barycentre.
    counted: Vec<Vec<Option<Permutation>>>,
    marginals: Arc<Marginals>,
    packed: [Aligned; 2],
}

/// The factors of a product: of each column, where its units begin on either side, `stride` apart; what begins at the places
/// of `less` is subtracted from the side that moves.
struct Factors<'b> {
    fixed: &'b [f32],
    moved: &'b [f32],
    stride: usize,
    weight: f32,
    columns: &'b Columns,
}

#[derive(Default)]
struct Columns {
    fixed: Vec<usize>,
    moved: Vec<usize>,
    /// Empty, or as long as the others.
    less: Vec<usize>,
}

impl Columns {
    /// The same places on both sides.
    fn same(places: impl Iterator<Item = usize>) -> Self {
        let fixed: Vec<usize> = places.collect();
        Self { moved: fixed.clone(), fixed, less: Vec::new() }
    }
}

impl<'a> Costs<'a> {
    /// The costs if nothing is known of any permutation: all neighbours at the barycentre.
    pub(super) fn new(objective: &'a Objective<'a>, team: &'a Team) -> Self {
        let groups = 0..objective.groups();
        let largest = groups.clone().map(|group| objective.size(group)).max().unwrap_or(0);
        let packed = || Aligned::zeros(blocks(largest) * BLOCK * COLUMNS);
        let mut costs = Self {
            objective,
            team,
            isa: Isa::detect(),
            matrices: groups.clone().map(|group| vec![0.0; objective.size(group).pow(2)]).collect(),
            counted: groups.clone().map(|group| vec![None; objective.neighbours(group).len()]).collect(),
            marginals: Arc::new(Marginals::new(objective, team)),
            packed: [packed(), packed()],
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
            isa: self.isa,
            matrices: self.matrices.clone(),
            counted: self.counted.clone(),
            marginals: Arc::clone(&self.marginals),
            packed: self.packed.clone(),
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
                    let columns = &Columns::same(rest.iter().map(|at| base + at));
                    for Feature { fixed, moved } in objective.features() {
                        self.add(group, &Factors { fixed, moved, stride: view.stride, weight: 1.0, columns });
                    }
                }
                Some(_) => self.add_means(group, *view, 1.0),
            }
        }
    }

    /// Adds what the neighbour of a view contributes at the barycentre, some times.
    fn add_means(&mut self, group: usize, view: View, times: f32) {
        let units = self.objective.size(group);
        let (other, _) = view.other.expect("only views with another axis have means");
        let marginals = Arc::clone(&self.marginals);
        let [fixed, moved] = marginals.of(view.patch, view.axis).map(|marginal| &marginal.means[..]);
        let columns = &Columns::same((0..fixed.len()).step_by(units));
        let weight = times * self.objective.size(other) as f32;
        self.add(group, &Factors { fixed, moved, stride: 1, weight, columns });
    }

    /// Turns the costs with nothing known into those of an upper bound.
    ///
    /// Of a tensor with two groups, each has half: what the means over the units of the other contribute, and the
    /// product of the norms of what is left, which by Cauchy and Schwarz is not exceeded whatever the other does.
    pub(super) fn relax(&mut self) {
        for group in 0..self.objective.groups() {
            for &view in self.objective.views(group).iter().filter(|view| view.other.is_some()) {
                self.add_means(group, view, -0.5);
                let [fixed, moved] = self.marginals.of(view.patch, view.axis).map(|marginal| &marginal.norms);
                let moved: Vec<f32> = moved.iter().map(|norm| norm.sqrt() as f32).collect();
                for (row, norm) in self.matrices[group].chunks_exact_mut(moved.len()).zip(fixed) {
                    let half = 0.5 * norm.sqrt() as f32;
                    row.iter_mut().zip(&moved).for_each(|(entry, norm)| *entry += half * norm);
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
            if self.counted[group][slot].as_ref() == Some(new) {
                continue;
            }
            let old = self.counted[group][slot].replace(new.clone());
            for view in objective.views(group) {
                let Some((other, stride)) = view.other.filter(|(other, _)| *other == neighbour) else { continue };
                debug_assert_eq!(objective.size(other), new.len());
                let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
                let mut columns = Columns::default();
                for at in rest {
                    for (unit, &new) in new.as_slice().iter().enumerate() {
                        let place = |unit: usize| base + at + unit * stride;
                        let less = old.as_ref().map(|old| old.as_slice()[unit]);
                        if less != Some(new) {
                            columns.fixed.push(place(unit));
                            columns.moved.push(place(new as usize));
                            columns.less.extend(less.map(|less| place(less as usize)));
                        }
                    }
                }
                let columns = &columns;
                for Feature { fixed, moved } in objective.features() {
                    self.add(group, &Factors { fixed, moved, stride: view.stride, weight: 1.0, columns });
                }
                if old.is_none() {
                    self.add_means(group, *view, -1.0);
                }
            }
        }
    }

    /// Adds the sum over columns of the outer products of the two sides.
    fn add(&mut self, group: usize, factors: &Factors<'_>) {
        let Factors { stride, weight, columns, .. } = *factors;
        let units = self.objective.size(group);
        let (team, isa) = (self.team, self.isa);
        for first in (0..columns.fixed.len()).step_by(COLUMNS) {
            let count = COLUMNS.min(columns.fixed.len() - first);
            let plane = Plane::vectors(count);
            let geometry = Geometry { kernel: 1, stride: 1, inputs: units, units, from: plane, to: plane };
            let len = blocks(units) * plane.block();
            let [fixed, moved] = &mut self.packed;
            let (fixed, moved) = (&mut fixed[..len], &mut moved[..len]);
            team.chunk_pairs((fixed, plane.block()), (moved, plane.block()), |block, fixed, moved| {
                let gather = |from: &[f32], places: &[usize], factor, accumulate, blocked: &mut [f32]| {
                    let from = &from[block * BLOCK * stride..];
                    let (places, units) = (&places[first..first + count], depth(units, block));
                    isa.run(Gather { from, places, stride, units, factor, accumulate, blocked });
                };
                gather(factors.fixed, &columns.fixed, weight, false, fixed);
                gather(factors.moved, &columns.moved, 1.0, false, moved);
                if !columns.less.is_empty() {
                    gather(factors.moved, &columns.less, -1.0, true, moved);
                }
            });
            let share = team.share(blocks(units));
            let (fixed, moved) = (&*fixed, &*moved);
            team.chunks(&mut self.matrices[group], share * BLOCK * units, |part, matrix| {
                isa.run(WeightGradient {
                    geometry: &geometry,
                    columns: count,
                    images: 1,
                    x: fixed,
                    dy: moved,
                    input_blocks: part * share..((part + 1) * share).min(blocks(units)),
                    gradient: matrix,
                    accumulate: true,
                });
            });
        }
    }
}
