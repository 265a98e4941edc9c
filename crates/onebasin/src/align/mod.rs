//! Finds the permutations that bring one posterior closest to another, or many together.

mod activation;
mod assigners;
mod bound;
mod channels;
mod costs;
mod labels;
mod many;
mod marginals;
mod mean;
mod members;
mod objective;
mod products;
mod quartic;
mod relabel;
mod rounded;
mod soft;
mod silence;
mod solve;
mod universe;

pub use activation::by_activation;
pub use channels::Channel;
pub use labels::Balanced;
pub use labels::Relabelled;
pub use many::Many;
pub use many::to_reference;
pub use mean::to_mean;
pub use members::Members;
pub use members::Points;
pub use objective::Feature;
pub use objective::Objective;
pub use objective::Value;
pub use relabel::Relabelling;
pub use relabel::relabel;
pub use solve::Attempt;
pub use solve::Solver;
pub use solve::Start;
pub use universe::to_universe;

use crate::error::Result;
use crate::kernels::Team;
use crate::posterior::Gaussian;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;

/// How to align.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// What makes two units alike.
    pub channel: Channel,
    /// How the permutations are sought.
    pub solver: Solver,
    /// Where descent begins.
    pub start: Start,
    /// Decides the order of the groups and random starts.
    pub seed: u64,
}

/// The permutations found, and what is known of them.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// To be applied to the posterior that was permuted.
    pub permutations: Permutations,
    /// The objective without any permutation.
    pub before: Value,
    /// The objective with these.
    pub after: Value,
    /// What no permutations exceed.
    pub bound: f64,
    /// All that was tried, the best first.
    pub attempts: Vec<Attempt>,
}

impl Alignment {
    /// How many assignment problems were solved.
    pub fn assignments(&self) -> usize {
        self.attempts.iter().map(|attempt| attempt.assignments).sum()
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The solver at work.
    pub solver: &'static str,
    /// How many assignment problems it has solved.
    pub assignments: usize,
    /// Which of many posteriors it aligns, from 0; of a pair there is one.
    pub member: usize,
    /// How often all of them have been aligned.
    pub round: usize,
}

/// Aligns `moved` with `fixed` by one of the channels that look at weights.
pub fn pair(
    spec: &Spec,
    fixed: &Gaussian,
    moved: &Gaussian,
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Alignment> {
    let features = features(spec, fixed, moved, settings.channel)?;
    maximise(&Objective::new(spec, features, None)?, settings, team, watch)
}

/// [`pair`], with units that have no vote: `silent` are those of `fixed` and those of `moved`, (group, unit).
///
/// A parameter that touches such a unit counts nothing. Silent units are assigned too, to whatever is left.
pub fn pair_without(
    spec: &Spec,
    fixed: &Gaussian,
    moved: &Gaussian,
    silent: [&[Vec<bool>]; 2],
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Alignment> {
    let mut features = features(spec, fixed, moved, settings.channel)?;
    silence::silence(spec, &mut features, silent);
    maximise(&Objective::new(spec, features, None)?, settings, team, watch)
}

fn features<'a>(spec: &Spec, fixed: &'a Gaussian, moved: &'a Gaussian, channel: Channel) -> Result<Vec<Feature<'a>>> {
    spec.layout().check_same(fixed.mean().layout())?;
    spec.layout().check_same(moved.mean().layout())?;
    channel.features(fixed, moved)
}

/// Seeks the permutations with the largest objective.
pub fn maximise(
    objective: &Objective<'_>,
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Alignment> {
    let spec = objective.spec();
    let identity = Permutations::identity(spec);
    let mut search = solve::Search::new(objective, team, settings.seed, watch);
    let found = search.run(settings.solver, settings.start);
    let bound = bound::bound(&mut search);
    if !bound.as_ref().is_ok_and(|bound| bound.is_finite()) {
        // Usually a value that is not finite, and then its name says more than a sum that is not.
        objective.check_finite()?;
    }
    let (attempts, bound) = (found?, bound?);
    let best = &attempts[0];
    let after = best.value.clone();
    Ok(Alignment {
        permutations: Permutations::new(spec, best.permutations.clone())?,
        before: objective.value(team, identity.as_slice()),
        // Where the bound is reached, rounding may put it a little below.
        bound: bound.max(after.total),
        after,
        attempts,
    })
}
