//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour changes the costs by as many outer products, so late sweeps, in which few units
//! still move, cost next to nothing.

use super::marginals::Marginals;
use super::objective::Objective;
use super::objective::View;
use super::products::Columns;
use super::products::Factors;
use super::products::Products;
use crate::kernels::Team;
use crate::symmetry::Patch;
use crate::symmetry::Permutation;
use std::sync::Arc;

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    objective: &'a Objective<'a>,
    team: &'a Team,
    /// (units that stay, units that move)
    matrices: Vec<Vec<f32>>,
    /// For each group, the permutation of each of its neighbours that its matrix counts with; none is the barycentre.
    counted: Vec<Vec<Option<Permutation>>>,
    marginals: Arc<Marginals>,
    products: Products<'a>,
}

impl<'a> Costs<'a> {
    /// The costs if nothing is known of any permutation: all neighbours at the barycentre.
    pub(super) fn new(objective: &'a Objective<'a>, team: &'a Team) -> Self {
        let groups = 0..objective.groups();
        let mut costs = Self {
            objective,
            team,
            matrices: groups.clone().map(|group| vec![0.0; objective.size(group).pow(2)]).collect(),
            counted: groups.clone().map(|group| vec![None; objective.neighbours(group).len()]).collect(),
            marginals: Arc::new(Marginals::new(objective, team)),
            products: Products::new(objective.spec(), team),
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
            marginals: Arc::clone(&self.marginals),
            products: self.products.clone(),
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
        let marginals = Arc::clone(&self.marginals);
        let [fixed, moved] = marginals.of(view.patch, view.axis).map(|marginal| &marginal.means[..]);
        let columns = &Columns::same((0..fixed.len()).step_by(units));
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
                let [fixed, moved] = self.marginals.of(view.patch, view.axis).map(|side| side.norms.chunks_exact(size));
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
                let (sides, columns) = (&objective.sides(), &columns);
                self.add(group, &Factors { sides, stride: view.stride, weight: 1.0, columns });
                if old.is_none() {
                    self.add_means(group, *view, -1.0);
                }
            }
        }
    }

    fn add(&mut self, group: usize, factors: &Factors<'_>) {
        self.products.add(self.objective.size(group), factors, &mut self.matrices[group]);
    }
}
