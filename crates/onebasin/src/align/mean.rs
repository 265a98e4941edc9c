//! Brings many posteriors together at their mean, member after member.

use super::Channel;
use super::Many;
use super::Members;
use super::Objective;
use super::Progress;
use super::Settings;
use super::Solver;
use super::Start;
use super::many::from_the_first;
use super::many::permuted;
use super::many::sides;
use super::members::check_count;
use super::members::read;
use super::solve::Search;
use crate::error::Result;
use crate::kernels::Team;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use crate::symmetry::Permutation;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;

/// Rounds in which every member is aligned with the mean of all others, at most.
const ROUNDS: usize = 100;

/// Aligns every member with the mean of all others, again and again, until nothing changes.
///
/// The first round places them one after the other, each at the mean of those already placed, by the solver of the
/// settings; all later ones descend from where a member is. The first member ends as it began.
pub fn to_mean(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Many> {
    let count = check_count(members)?;
    let mut work = Work { spec, members, settings, team, watch, assignments: 0 };
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

/// What all rounds need.
pub(super) struct Work<'a, 'w, M: ?Sized> {
    pub(super) spec: &'a Spec,
    pub(super) members: &'a M,
    pub(super) settings: Settings,
    pub(super) team: &'a Team,
    pub(super) watch: &'w mut dyn FnMut(Progress),
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

impl<M: Members + ?Sized> Work<'_, '_, M> {
    /// Puts all members where these permutations bring them.
    pub(super) fn gathered(&self, permutations: Vec<Permutations>) -> Result<Gathered> {
        let mut sum = Sum::default();
        // Σ over pairs = (|Σ|² - Σ | |²) / 2
        let mut squares = 0.0;
        for (index, own) in permutations.iter().enumerate() {
            let member = permuted(self.spec, own, &*read(self.spec, self.members, index)?)?;
            let sides = sides(self.settings.channel, &member)?;
            squares +=
                sides.iter().map(|side| side.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>()).sum::<f64>();
            sum.add(&sides);
        }
        Ok(Gathered { permutations, objective: 0.5 * (sum.square() - squares), sum })
    }

    /// Places members one after the other, the first as it is and the others in random order.
    pub(super) fn place(&mut self) -> Result<Vec<Permutations>> {
        let Settings { channel, solver, start, .. } = self.settings;
        let count = self.members.count();
        let mut permutations = vec![Permutations::identity(self.spec); count];
        let mut sum = Sum::default();
        sum.add(&sides(channel, &*read(self.spec, self.members, 0)?)?);
        for (placed, index) in self.order(count - 1, 0).into_iter().map(|index| index + 1).enumerate() {
            let member = read(self.spec, self.members, index)?;
            let target = sum.mean(self.spec, placed + 1)?;
            let found = self.align(channel, &target, &member, (solver, start), (0, index))?;
            let moved = permuted(self.spec, &found, &member)?;
            let (old, new) = (sides(channel, &member)?, sides(channel, &moved)?);
            if sum.gain(&old, &new) > 0.0 {
                sum.add(&new);
                permutations[index] = found;
            } else {
                sum.add(&old);
            }
        }
        Ok(permutations)
    }

    /// Aligns members with the mean of all others until a round changes nothing.
    pub(super) fn settle(&mut self, here: &mut Gathered, history: &mut Vec<f64>) -> Result<()> {
        let channel = self.settings.channel;
        let count = here.permutations.len();
        for round in 1..=ROUNDS {
            let mut changed = false;
            for index in self.order(count, round) {
                let own = &mut here.permutations[index];
                let member = permuted(self.spec, own, &*read(self.spec, self.members, index)?)?;
                let old = sides(channel, &member)?;
                here.sum.subtract(&old);
                let target = here.sum.mean(self.spec, count - 1)?;
                let descent = (Solver::Descent, Start::Identity);
                let found = self.align(channel, &target, &member, descent, (round, index))?;
                if found.transpositions() == 0 {
                    here.sum.add(&old);
                    continue;
                }
                let moved = permuted(self.spec, &found, &member)?;
                let new = sides(channel, &moved)?;
                let gain = here.sum.gain(&old, &new);
                if gain > 0.0 {
                    here.sum.add(&new);
                    here.objective += gain;
                    *own = found.after(own);
                    changed = true;
                } else {
                    here.sum.add(&old);
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
        channel: Channel,
        fixed: &Gaussian,
        moved: &Gaussian,
        (solver, start): (Solver, Start),
        (round, member): (usize, usize),
    ) -> Result<Permutations> {
        let objective = Objective::new(self.spec, channel.features(fixed, moved)?, None)?;
        let mut watch = |progress| (self.watch)(Progress { member, round, ..progress });
        let attempts = Search::new(&objective, self.team, self.settings.seed, &mut watch).run(solver, start)?;
        self.assignments += attempts.iter().map(|attempt| attempt.assignments).sum::<usize>();
        let best = attempts.into_iter().next().expect("a solver finds something");
        Permutations::new(self.spec, best.permutations)
    }

    /// The order of a round.
    fn order(&self, count: usize, round: usize) -> Vec<usize> {
        let order = Permutation::random(count, &Stream::new(self.settings.seed, "align/members", round as u64));
        order.as_slice().iter().map(|index| *index as usize).collect()
    }
}

/// The sum of the features of members, (feature, parameter); in f64, so that what is taken away leaves nothing behind.
#[derive(Clone, Debug, Default)]
struct Sum(Vec<Vec<f64>>);

impl Sum {
    fn add(&mut self, sides: &[&[f32]]) {
        self.0.resize(sides.len(), Vec::new());
        for (sum, side) in self.0.iter_mut().zip(sides) {
            sum.resize(side.len(), 0.0);
            sum.iter_mut().zip(*side).for_each(|(sum, value)| *sum += f64::from(*value));
        }
    }

    fn subtract(&mut self, sides: &[&[f32]]) {
        for (sum, side) in self.0.iter_mut().zip(sides) {
            sum.iter_mut().zip(*side).for_each(|(sum, value)| *sum -= f64::from(*value));
        }
    }

    fn square(&self) -> f64 {
        self.0.iter().flatten().map(|sum| sum * sum).sum()
    }

    /// The mean, of `count` members.
    fn mean(&self, spec: &Spec, count: usize) -> Result<Gaussian> {
        let mut gaussian = [Params::zeros(spec.layout()), Params::zeros(spec.layout())];
        for (params, sum) in gaussian.iter_mut().zip(&self.0) {
            params.values_mut().iter_mut().zip(sum).for_each(|(mean, sum)| *mean = (sum / count as f64) as f32);
        }
        let [mean, mut std] = gaussian;
        // Rounding may leave less than nothing of widths that are all zero.
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
