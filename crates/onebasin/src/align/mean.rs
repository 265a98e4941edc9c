//! Aligns many posteriors with one of them or with their mean, member after member.

use super::members::{check_count, from_the_first, permuted, read};
use super::solve::{Attempt, Workspace};
use super::{Criterion, Many, Members, Objective, Settings, Solver, Start, subtask};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::progress::Monitor;
use crate::rng::Stream;
use crate::symmetry::{Permutation, Permutations, Spec};
use onebasin_kernels::ThreadPool;

/// Rounds in which every member is aligned with the mean of all others, at most.
const ROUNDS: usize = 100;

/// Aligns every member with one of them, which stays as it is, as [`super::pair`] does; the objective is the sum of those of the pairs.
pub fn to_reference(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    reference: usize,
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Many> {
    let count = check_count(members)?;
    if reference >= count {
        let value = format_args!("{reference} of {count}");
        return Err(Error::out_of_range("the posterior that stays", value, "less than their number"));
    }
    let fixed = read(spec, members, reference)?;
    let identity = Permutations::identity(spec);
    let mut work = Work { spec, members, settings, pool, monitor, assignments: 0 };
    let mut permutations = Vec::with_capacity(count);
    let (mut before, mut after) = (0.0, 0.0);
    for member in 0..count {
        if member == reference {
            permutations.push(identity.clone());
            continue;
        }
        let moved = read(spec, members, member)?;
        let objective = Objective::new(spec, settings.criterion.features(&fixed, &moved)?, None)?;
        let found = work.solve(&objective, (settings.solver, settings.start), (1, member))?;
        let unpermuted = objective.value(pool, identity.as_slice()).total;
        before += unpermuted;
        // A solver that does not start at the identity may end below it.
        if found.value.total > unpermuted {
            after += found.value.total;
            permutations.push(Permutations::new(spec, found.permutations)?);
        } else {
            after += unpermuted;
            permutations.push(identity.clone());
        }
    }
    Ok(Many { permutations, history: vec![before, after], method: "reference", assignments: work.assignments })
}

/// Aligns every member with the mean of all others, again and again, until nothing changes.
///
/// The first round places them one after the other, each at the mean of those already placed, by the solver of the
/// settings; in all later ones coordinate descent starts from the present permutations. The permutations of the first member are the identity.
pub fn to_mean(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Many> {
    let count = check_count(members)?;
    let mut work = Work { spec, members, settings, pool, monitor, assignments: 0 };
    let mut here = work.gathered(vec![Permutations::identity(spec); count])?;
    let before = here.objective;
    let placed = work.place()?;
    let placed = work.gathered(placed)?;
    if placed.objective > before {
        here = placed;
    }
    let mut history = vec![before, here.objective];
    work.settle(&mut here, &mut history)?;
    let permutations = from_the_first(&here.permutations);
    Ok(Many { permutations, history, method: "mean", assignments: work.assignments })
}

pub(super) struct Work<'a, 'w, 'm, M: ?Sized> {
    pub(super) spec: &'a Spec,
    pub(super) members: &'a M,
    pub(super) settings: Settings,
    pub(super) pool: &'a ThreadPool,
    pub(super) monitor: &'w mut Monitor<'m>,
    /// Problems solved so far.
    pub(super) assignments: usize,
}

/// All members at some permutations.
pub(super) struct Gathered {
    pub(super) permutations: Vec<Permutations>,
    /// Σ over pairs of the products of features.
    pub(super) objective: f64,
    sum: Sum,
}

impl<M: Members + ?Sized> Work<'_, '_, '_, M> {
    /// Puts all members where these permutations bring them.
    pub(super) fn gathered(&mut self, permutations: Vec<Permutations>) -> Result<Gathered> {
        let mut sum = Sum::default();
        // Σ over pairs = (|Σ|² - Σ | |²) / 2
        let mut squares = 0.0;
        for (index, own) in permutations.iter().enumerate() {
            let member = self.permuted(index, own)?;
            let sides = self.settings.criterion.side(&member)?;
            squares +=
                sides.iter().map(|side| side.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>()).sum::<f64>();
            sum.add(1.0, &sides);
        }
        Ok(Gathered { permutations, objective: 0.5 * (sum.square() - squares), sum })
    }

    /// Reads a member and permutes its units; an opportunity to stop.
    pub(super) fn permuted(&mut self, index: usize, permutations: &Permutations) -> Result<Gaussian> {
        self.monitor.at(self.assignments, 0)?;
        permuted(self.spec, permutations, &*read(self.spec, self.members, index)?)
    }

    /// Places members one after the other, the first as it is and the others in random order.
    pub(super) fn place(&mut self) -> Result<Vec<Permutations>> {
        let Settings { criterion, solver, start, .. } = self.settings;
        let count = self.members.count();
        let mut permutations = vec![Permutations::identity(self.spec); count];
        let mut sum = Sum::default();
        sum.add(1.0, &criterion.side(&*read(self.spec, self.members, 0)?)?);
        for (placed, index) in self.order(count - 1, 0).into_iter().map(|index| index + 1).enumerate() {
            let member = read(self.spec, self.members, index)?;
            let target = sum.mean(self.spec, placed + 1)?;
            let found = self.align(criterion, &target, &member, (solver, start), (0, index))?;
            let moved = permuted(self.spec, &found, &member)?;
            let (old, new) = (criterion.side(&member)?, criterion.side(&moved)?);
            if sum.gain(&old, &new) > 0.0 {
                sum.add(1.0, &new);
                permutations[index] = found;
            } else {
                sum.add(1.0, &old);
            }
        }
        Ok(permutations)
    }

    /// Aligns members with the mean of all others until a round changes nothing.
    pub(super) fn settle(&mut self, here: &mut Gathered, history: &mut Vec<f64>) -> Result<()> {
        let criterion = self.settings.criterion;
        let count = here.permutations.len();
        for round in 1..=ROUNDS {
            let mut changed = false;
            for index in self.order(count, round) {
                let own = &mut here.permutations[index];
                let member = self.permuted(index, own)?;
                let old = criterion.side(&member)?;
                here.sum.add(-1.0, &old);
                let target = here.sum.mean(self.spec, count - 1)?;
                let descent = (Solver::CoordinateDescent, Start::Identity);
                let found = self.align(criterion, &target, &member, descent, (round, index))?;
                if found.transpositions() == 0 {
                    here.sum.add(1.0, &old);
                    continue;
                }
                let moved = permuted(self.spec, &found, &member)?;
                let new = criterion.side(&moved)?;
                let gain = here.sum.gain(&old, &new);
                if gain > 0.0 {
                    here.sum.add(1.0, &new);
                    here.objective += gain;
                    *own = found.after(own);
                    changed = true;
                } else {
                    here.sum.add(1.0, &old);
                }
            }
            history.push(here.objective);
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// The permutations of `moved` that one solver finds.
    pub(super) fn align(
        &mut self,
        criterion: Criterion,
        fixed: &Gaussian,
        moved: &Gaussian,
        method: (Solver, Start),
        place: (usize, usize),
    ) -> Result<Permutations> {
        let objective = Objective::new(self.spec, criterion.features(fixed, moved)?, None)?;
        Permutations::new(self.spec, self.solve(&objective, method, place)?.permutations)
    }

    /// The best of what one solver finds for a member in a round.
    pub(super) fn solve(
        &mut self,
        objective: &Objective<'_>,
        (solver, start): (Solver, Start),
        (round, member): (usize, usize),
    ) -> Result<Attempt> {
        let (pool, seed) = (self.pool, self.settings.seed);
        let part = format!("round {round}, member {} of {}", member + 1, self.members.count());
        let attempts = self.monitor.part(self.assignments, 0, |monitor| {
            monitor.set_task(subtask(monitor.task(), &part));
            Workspace::new(objective, pool, seed, monitor).run(solver, start)
        })?;
        self.assignments += attempts.iter().map(|attempt| attempt.assignments).sum::<usize>();
        Ok(attempts.into_iter().next().expect("a solver finds something"))
    }

    fn order(&self, count: usize, round: usize) -> Vec<usize> {
        let order = Permutation::random(count, &Stream::new(self.settings.seed, "align/members", round as u64));
        order.as_slice().iter().map(|index| *index as usize).collect()
    }
}

/// The sum of the features of members, (feature, parameter); in f64, so that what is taken away leaves nothing behind.
#[derive(Clone, Debug, Default)]
struct Sum(Vec<Vec<f64>>);

impl Sum {
    /// Adds the features of a member, or takes them away if `sign` is −1.
    fn add(&mut self, sign: f64, sides: &[&[f32]]) {
        self.0.resize(sides.len(), Vec::new());
        for (sum, side) in self.0.iter_mut().zip(sides) {
            sum.resize(side.len(), 0.0);
            sum.iter_mut().zip(*side).for_each(|(sum, value)| *sum += sign * f64::from(*value));
        }
    }

    fn square(&self) -> f64 {
        self.0.iter().flatten().map(|sum| sum * sum).sum()
    }

    fn mean(&self, spec: &Spec, count: usize) -> Result<Gaussian> {
        let mut gaussian = [Params::zeros(spec.layout()), Params::zeros(spec.layout())];
        for (params, sum) in gaussian.iter_mut().zip(&self.0) {
            params.values_mut().iter_mut().zip(sum).for_each(|(mean, sum)| *mean = (sum / count as f64) as f32);
        }
        let [mean, mut std] = gaussian;
        // Rounding may leave negative numbers of standard deviations that are all zero.
        std.values_mut().iter_mut().for_each(|std| *std = std.max(0.0));
        Gaussian::new(mean, std)
    }

    /// Σ sum · (new - old): what a member gains by moving, if it is not in the sum.
    fn gain(&self, old: &[&[f32]], new: &[&[f32]]) -> f64 {
        let mut gain = 0.0;
        for ((sum, old), new) in self.0.iter().zip(old).zip(new) {
            for ((sum, old), new) in sum.iter().zip(*old).zip(*new) {
                gain += sum * (f64::from(*new) - f64::from(*old));
            }
        }
        gain
    }
}
