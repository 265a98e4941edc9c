//! Finds the permutations that bring one posterior closest to another, or many together.

mod activation;
mod assigners;
mod bound;
mod change;
mod coordinates;
mod criteria;
mod costs;
mod learned;
mod mean;
mod members;
mod moves;
mod objective;
mod products;
mod quantised;
mod relabel;
mod relaxed;
mod solve;
mod swaps;
mod transformed;
mod universe;
mod values;

pub use activation::by_activation;
pub use criteria::Criterion;
pub use learned::{Between, Candidate, Learning, Session, Tau, learn};
pub use mean::{to_mean, to_reference};
pub use members::{Many, Members, Points};
pub use objective::{Feature, Objective, Value};
pub use relabel::{Relabelling, relabel};
pub use solve::{Attempt, Solver, Start};
pub use transformed::Transformed;
pub use universe::to_universe;
pub use values::Values;

use crate::error::Result;
use crate::net::Precision;
use crate::posterior::Gaussian;
use crate::progress::Monitor;
use crate::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;
use solve::Workspace;

/// How to align.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// What makes two units similar.
    pub criterion: Criterion,
    /// How the permutations are found.
    pub solver: Solver,
    /// Where coordinate descent starts.
    pub start: Start,
    /// Seed of the order of the groups and of random starts.
    pub seed: u64,
    /// Precision of products where networks are evaluated.
    pub precision: Precision,
}

/// The permutations found, and the values of the objective.
#[derive(Clone, Debug)]
#[must_use]
pub struct Alignment {
    /// The permutations that align the permuted posterior with the fixed one.
    pub permutations: Permutations,
    /// The objective without any permutation.
    pub before: Value,
    /// The objective with these permutations.
    pub after: Value,
    /// An upper bound of the objective over all permutations.
    pub bound: f64,
    /// What each solver found, the best first.
    pub attempts: Vec<Attempt>,
}

impl Alignment {
    /// Number of assignment problems solved.
    pub fn assignments(&self) -> usize {
        self.attempts.iter().map(|attempt| attempt.assignments).sum()
    }
}

/// Aligns `moved` with `fixed` by one of the criteria that compare weights.
pub fn pair(
    spec: &Spec,
    fixed: &Gaussian,
    moved: &Gaussian,
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    pair_masked(spec, fixed, moved, [&[], &[]], settings, pool, monitor)
}

/// [`pair`] with excluded units: `masks` are those of `fixed` and of `moved`, (group, unit), true where a unit is excluded. An
/// empty mask excludes none.
///
/// The parameters of excluded units do not contribute to the objective. Excluded units are assigned too, to whatever is left.
pub fn pair_masked(
    spec: &Spec,
    fixed: &Gaussian,
    moved: &Gaussian,
    masks: [&[Vec<bool>]; 2],
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    spec.layout().check_same(fixed.mean().layout())?;
    spec.layout().check_same(moved.mean().layout())?;
    let mut features = settings.criterion.features(fixed, moved)?;
    exclude(spec, &mut features, masks);
    maximise(&Objective::new(spec, features, None)?, settings, pool, monitor)
}

/// Zeroes all features of excluded units; `masks` are those of the fixed and of the permuted side, (group, unit).
fn exclude(spec: &Spec, features: &mut [Feature<'_>], masks: [&[Vec<bool>]; 2]) {
    for (side, mask) in masks.into_iter().enumerate().filter(|(_, mask)| !mask.is_empty()) {
        let sizes = mask.iter().map(Vec::len);
        assert!(sizes.eq(spec.groups().iter().map(|group| group.size)), "a mask has each unit of each group");
        let mut places = Vec::new();
        for patch in spec.patches() {
            patch.for_each(spec.groups(), |place, units| {
                if patch.axes.iter().zip(units).any(|((group, _), unit)| mask[*group][*unit]) {
                    places.push(place);
                }
            });
        }
        if places.is_empty() {
            continue;
        }
        for feature in &mut *features {
            let values = if side == 0 { feature.fixed.to_mut() } else { feature.moved.to_mut() };
            for place in &places {
                values[*place] = 0.0;
            }
        }
    }
}

/// Finds the permutations with the largest objective.
///
/// Reports assignment problems solved, of an unknown number.
pub fn maximise(
    objective: &Objective<'_>,
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    let spec = objective.spec();
    let (attempts, bound) = monitor.part(0, 0, |monitor| {
        let mut workspace = Workspace::new(objective, pool, settings.seed, monitor);
        Ok((workspace.run(settings.solver, settings.start)?, bound::bound(&mut workspace)?))
    })?;
    let best = &attempts[0];
    let after = best.value.clone();
    Ok(Alignment {
        permutations: Permutations::new(spec, best.permutations.clone())?,
        before: objective.value(pool, Permutations::identity(spec).as_slice()),
        // Where the bound is reached, rounding may put it a little below.
        bound: bound.max(after.total),
        after,
        attempts,
    })
}

fn subtask(task: &str, part: &str) -> String {
    if task.is_empty() { part.to_owned() } else { format!("{task}: {part}") }
}
