//! The solvers: coordinate descent, hardening in forward order, Frank-Wolfe, and the best of all.

use super::Progress;
use super::assigners::Assigners;
use super::assigners::Duals;
use super::costs::Costs;
use super::objective::Objective;
use super::objective::Value;
use super::objective::chosen;
use crate::assign::Assignment;
use crate::error::Result;
use crate::kernels::Team;
use crate::rng::Stream;
use crate::symmetry::Permutation;
use serde::Deserialize;
use serde::Serialize;
use std::borrow::Cow;

/// A gain that is a smaller part of the sum than this may be rounding, and is looked at in f64.
const CLEAR: f64 = 1e-5;
/// And so is one within so many standard deviations of the rounding of costs.
const SURE: f64 = 6.0;
/// Sweeps after which no gain is clear: errors that are not independent could make a search go round in circles.
const TRUSTED: u64 = 10;
/// Steps of Frank-Wolfe, at most.
const STEPS: usize = 40;
/// Frank-Wolfe ends when all that a step can still gain is this part of the objective.
const GAP: f64 = 1e-4;

/// How permutations are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Assignment after assignment, in random order, until none gains.
    Descent,
    /// From no knowledge at all, layer after layer from the input on; then descent.
    Forward,
    /// Frank-Wolfe from no knowledge at all; rounded, then descent.
    FrankWolfe,
    /// Forward, Frank-Wolfe, backward and descent from the identity; the one with the highest objective.
    #[default]
    Best,
}

/// Where descent begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Nothing is permuted.
    #[default]
    Identity,
    /// Random permutations.
    Random,
}

/// What one solver found.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its name.
    pub solver: &'static str,
    /// Its permutations, in the order of the groups.
    pub permutations: Vec<Permutation>,
    /// The objective there.
    pub value: Value,
    /// How many assignment problems it solved.
    pub assignments: usize,
}

/// The state of a search that solvers share.
pub(super) struct Search<'a, 'w> {
    /// At the barycentre, where every solver begins.
    costs: Costs<'a>,
    assigners: Assigners,
    seed: u64,
    watch: &'w mut dyn FnMut(Progress),
    /// The solver at work.
    solver: &'static str,
    /// Assignment problems it has solved.
    assignments: usize,
}

impl<'a, 'w> Search<'a, 'w> {
    pub(super) fn new(
        objective: &'a Objective<'a>,
        team: &'a Team,
        seed: u64,
        watch: &'w mut dyn FnMut(Progress),
    ) -> Self {
        let assigners = Assigners::new(objective.groups());
        Self { costs: Costs::new(objective, team), assigners, seed, watch, solver: "", assignments: 0 }
    }

    /// The costs with nothing known.
    pub(super) fn costs(&self) -> &Costs<'a> {
        &self.costs
    }

    /// Runs a solver; `Best` returns all it tried, the best first.
    pub(super) fn run(&mut self, solver: Solver, start: Start) -> Result<Vec<Attempt>> {
        let groups = self.objective().groups();
        Ok(match solver {
            Solver::Descent => vec![self.descent(start)?],
            Solver::Forward => vec![self.harden("forward", 0..groups)?],
            Solver::FrankWolfe => vec![self.frank_wolfe()?],
            Solver::Best => {
                let mut attempts = vec![
                    self.harden("forward", 0..groups)?,
                    self.frank_wolfe()?,
                    self.harden("backward", (0..groups).rev())?,
                    self.descent(start)?,
                ];
                // Stable: of equals the first.
                attempts.sort_by(|a, b| b.value.total.total_cmp(&a.value.total));
                attempts
            }
        })
    }

    fn objective(&self) -> &'a Objective<'a> {
        self.costs.objective()
    }

    /// What a solver found, from where it ended.
    fn attempt(&mut self, permutations: Vec<Permutation>) -> Attempt {
        let value = self.objective().value(self.costs.team(), &permutations);
        Attempt { solver: self.solver, permutations, value, assignments: std::mem::take(&mut self.assignments) }
    }

    fn descent(&mut self, start: Start) -> Result<Attempt> {
        self.solver = "descent";
        let objective = self.objective();
        let sizes = (0..objective.groups()).map(|group| objective.size(group));
        let permutations = match start {
            Start::Identity => sizes.map(Permutation::identity).collect(),
            Start::Random => sizes
                .enumerate()
                .map(|(group, size)| Permutation::random(size, &Stream::new(self.seed, "align/start", group as u64)))
                .collect(),
        };
        let costs = self.costs.fork();
        let duals = vec![None; objective.groups()];
        self.descend(costs, permutations, duals)
    }

    /// Assigns group after group, those not yet assigned being unknown to the others; then descends.
    fn harden(&mut self, name: &'static str, order: impl Iterator<Item = usize>) -> Result<Attempt> {
        self.solver = name;
        let objective = self.objective();
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; objective.groups()];
        let mut known: Vec<Option<Permutation>> = vec![None; objective.groups()];
        for batch in independent(objective, order) {
            for &group in &batch {
                costs.update(group, |other| known[other].as_ref());
            }
            for (group, assignment) in batch.iter().zip(self.assign(&costs, &batch, &mut duals)?) {
                known[*group] = Some(permutation(assignment));
            }
        }
        let permutations = known.into_iter().map(|known| known.expect("every group was assigned")).collect();
        self.descend(costs, permutations, duals)
    }

    /// Coordinate ascent of the objective: assigns groups in random order until none gains.
    fn descend(
        &mut self,
        mut costs: Costs<'a>,
        mut permutations: Vec<Permutation>,
        mut duals: Duals,
    ) -> Result<Attempt> {
        let objective = self.objective();
        let mut settled = vec![false; objective.groups()];
        for sweep in 0.. {
            let order = Permutation::random(objective.groups(), &Stream::new(self.seed, "align/order", sweep));
            let order = order.as_slice().iter().map(|group| *group as usize);
            for batch in independent(objective, order) {
                let batch: Vec<usize> = batch.into_iter().filter(|group| !settled[*group]).collect();
                for &group in &batch {
                    costs.update(group, |other| Some(&permutations[other]));
                    settled[group] = true;
                }
                for (&group, assignment) in batch.iter().zip(self.assign(&costs, &batch, &mut duals)?) {
                    let trusted = sweep < TRUSTED;
                    if let Some(new) = better(&costs, group, permutation(assignment), &permutations, trusted) {
                        permutations[group] = new;
                        for &other in objective.neighbours(group) {
                            settled[other] = false;
                        }
                    }
                }
            }
            if settled.iter().all(|settled| *settled) {
                break;
            }
        }
        Ok(self.attempt(permutations))
    }

    /// Frank-Wolfe over doubly stochastic matrices from the barycentre, with the exact step.
    ///
    /// The gradient is linear in the matrices, so that of an average is the average of those at permutations: the costs are
    /// only ever needed at permutations, and those of successive steps differ little.
    fn frank_wolfe(&mut self) -> Result<Attempt> {
        self.solver = "frank-wolfe";
        let objective = self.objective();
        let groups: Vec<usize> = (0..objective.groups()).collect();
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; groups.len()];
        let mut points: Vec<Vec<f32>> = groups
            .iter()
            .map(|group| vec![1.0 / objective.size(*group) as f32; objective.size(*group).pow(2)])
            .collect();
        let mut gradients: Vec<Vec<f32>> = groups.iter().map(|group| costs.matrix(*group).to_vec()).collect();
        for _ in 0..STEPS {
            let found = self.solve(&groups, |group| &gradients[group], &mut duals)?;
            let corners: Vec<Permutation> = found.into_iter().map(permutation).collect();
            for &group in &groups {
                costs.update(group, |other| Some(&corners[other]));
            }
            let (mut slope, mut curvature, mut size) = (0.0, 0.0, 0.0);
            for &group in &groups {
                let (gradient, corner, point) = (&gradients[group], corners[group].as_slice(), &points[group]);
                let ahead = chosen(gradient, corner);
                let here = inner(gradient, point);
                slope += ahead - here;
                size += here.abs();
                curvature +=
                    0.5 * (chosen(costs.matrix(group), corner) - inner(costs.matrix(group), point) - ahead + here);
            }
            if slope <= GAP * size {
                break;
            }
            let step = if curvature >= 0.0 { 1.0 } else { (-0.5 * slope / curvature).min(1.0) } as f32;
            for &group in &groups {
                for (gradient, corner) in gradients[group].iter_mut().zip(costs.matrix(group)) {
                    *gradient += step * (corner - *gradient);
                }
                let rows = points[group].chunks_exact_mut(objective.size(group));
                for (row, column) in rows.zip(corners[group].as_slice()) {
                    for value in &mut *row {
                        *value *= 1.0 - step;
                    }
                    row[*column as usize] += step;
                }
            }
        }
        let rounded = self.solve(&groups, |group| &points[group], &mut vec![None; groups.len()])?;
        let permutations = rounded.into_iter().map(permutation).collect();
        self.descend(costs, permutations, duals)
    }

    /// Solves the problems of some groups, side by side, at their present costs.
    fn assign(&mut self, costs: &Costs<'_>, groups: &[usize], duals: &mut Duals) -> Result<Vec<Assignment>> {
        self.solve(groups, |group| costs.matrix(group), duals)
    }

    fn solve<'m>(
        &mut self,
        groups: &[usize],
        matrix: impl Fn(usize) -> &'m [f32] + Sync,
        duals: &mut Duals,
    ) -> Result<Vec<Assignment>>
    where
        'a: 'm,
    {
        let objective = self.objective();
        let problem = |group| (matrix(group), objective.size(group));
        let found = self.assigners.solve(self.costs.team(), groups, problem, duals)?;
        self.solved(groups.len());
        Ok(found)
    }

    /// Solves the problems of all groups, each from column duals that are made of its matrix and the number of its units.
    pub(super) fn assign_from(
        &mut self,
        costs: &Costs<'_>,
        start: impl Fn(&[f32], usize) -> Option<Vec<f64>> + Sync,
    ) -> Result<Vec<Assignment>> {
        let objective = self.objective();
        let groups: Vec<usize> = (0..objective.groups()).collect();
        let problem = |group| (costs.matrix(group), objective.size(group));
        let start = |_, gains: &[f32], units| start(gains, units).map(Cow::from);
        let found = self.assigners.solve_from(self.costs.team(), &groups, problem, start)?;
        self.solved(groups.len());
        Ok(found)
    }

    fn solved(&mut self, count: usize) {
        self.assignments += count;
        (self.watch)(Progress { solver: self.solver, assignments: self.assignments, ..Progress::default() });
    }
}

pub(super) fn permutation(assignment: Assignment) -> Permutation {
    Permutation::new(assignment.columns).expect("an assignment is a permutation")
}

/// The new permutation of a group as far as it is truly better than the present one, not by rounding only; none if it is not at all.
///
/// With the others as they are, what is gained is the sum over the cycles in which units exchange their partners, so each is taken or left.
fn better(
    costs: &Costs<'_>,
    group: usize,
    new: Permutation,
    permutations: &[Permutation],
    trusted: bool,
) -> Option<Permutation> {
    let (old, own) = (permutations[group].as_slice(), new.as_slice());
    let (mut gain, mut size, mut count) = (0.0, 0.0, 0.0);
    for (row, (new, old)) in costs.matrix(group).chunks_exact(old.len()).zip(own.iter().zip(old)) {
        if new != old {
            let (new, old) = (f64::from(row[*new as usize]), f64::from(row[*old as usize]));
            gain += new - old;
            size += new.abs() + old.abs();
            count += 1.0;
        }
    }
    let rounding = SURE * costs.error(group) * f64::sqrt(2.0 * count);
    if trusted && gain > CLEAR * size + rounding {
        return Some(new);
    }
    let holder = permutations[group].inverse();
    let (mut kept, mut seen) = (old.to_vec(), vec![false; old.len()]);
    for start in 0..old.len() {
        let (mut cycle, mut unit) = (Vec::new(), start);
        while !seen[unit] {
            seen[unit] = true;
            cycle.push((unit, own[unit], old[unit]));
            unit = holder.as_slice()[own[unit] as usize] as usize;
        }
        if cycle.len() > 1 && costs.objective().gain(group, &cycle, permutations) > 0.0 {
            for (unit, new, _) in cycle {
                kept[unit] = new;
            }
        }
    }
    (kept != old).then(|| Permutation::new(kept).expect("whole cycles of a permutation"))
}

/// Sum of the products of two matrices, entry by entry.
pub(super) fn inner(a: &[f32], b: &[f32]) -> f64 {
    let mut total = 0.0;
    // Short sums in f32 lanes would be faster, but this is far from being the longest part of a step.
    for (a, b) in a.iter().zip(b) {
        total += f64::from(*a) * f64::from(*b);
    }
    total
}

/// The order as batches of groups that share no tensor, whose problems do not depend on each other. Groups that do keep their order, so
/// the result is that of one after the other.
fn independent(objective: &Objective<'_>, order: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for group in order {
        let meets = |batch: &Vec<usize>| batch.iter().any(|other| objective.neighbours(group).contains(other));
        match batches.iter().rposition(meets).map_or(0, |last| last + 1) {
            at if at < batches.len() => batches[at].push(group),
            _ => batches.push(vec![group]),
        }
    }
    batches
}
