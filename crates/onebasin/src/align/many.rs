//! What aligning many posteriors results in, and the plainest way to it: all with one of them.

use super::Channel;
use super::Members;
use super::Progress;
use super::Settings;
use super::members::check_count;
use super::members::read;
use super::pair;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::posterior::Gaussian;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;

/// The permutations that bring many posteriors together.
#[derive(Clone, Debug)]
pub struct Many {
    /// Of each member, those that bring it to where all others are brought.
    pub permutations: Vec<Permutations>,
    /// The objective without any permutation and after each round; it never decreases.
    pub history: Vec<f64>,
    /// Which method found them.
    pub method: &'static str,
    /// How many assignment problems were solved.
    pub assignments: usize,
}

impl Many {
    /// The objective with these permutations.
    pub fn objective(&self) -> f64 {
        *self.history.last().expect("there is one without any permutation")
    }

    /// The permutations that bring one member to where another is; those of a round trip through any members undo
    /// each other.
    pub fn between(&self, fixed: usize, moved: usize) -> Permutations {
        self.permutations[fixed].inverse().after(&self.permutations[moved])
    }
}

/// Aligns every member with one of them, which stays as it is, by [`pair`]; the objective is the sum of those of the pairs.
pub fn to_reference(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    reference: usize,
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Many> {
    let count = check_count(members)?;
    if reference >= count {
        return Err(Error::OutOfRange {
            what: "the posterior that stays",
            value: format!("{reference} of {count}"),
            expected: "less than their number",
        });
    }
    let fixed = read(spec, members, reference)?;
    let mut permutations = Vec::with_capacity(count);
    let (mut before, mut after, mut assignments) = (0.0, 0.0, 0);
    for member in 0..count {
        if member == reference {
            permutations.push(Permutations::identity(spec));
            continue;
        }
        let moved = read(spec, members, member)?;
        let watch = &mut |progress| watch(Progress { member, ..progress });
        let alignment = pair(spec, &fixed, &moved, settings, team, watch)?;
        before += alignment.before.total;
        assignments += alignment.assignments();
        // A solver that does not begin at the identity may end below it.
        if alignment.after.total > alignment.before.total {
            after += alignment.after.total;
            permutations.push(alignment.permutations);
        } else {
            after += alignment.before.total;
            permutations.push(Permutations::identity(spec));
        }
    }
    Ok(Many { permutations, history: vec![before, after], method: "reference", assignments })
}

/// The features whose products with those of others a channel sums; those that treat both sides differently have none.
pub(super) fn sides(channel: Channel, gaussian: &Gaussian) -> Result<Vec<&[f32]>> {
    match channel {
        Channel::Mean => Ok(vec![gaussian.mean().values()]),
        Channel::W2 => Ok(vec![gaussian.mean().values(), gaussian.std().values()]),
        Channel::Kl | Channel::Jeffreys | Channel::Activation => Err(Error::OutOfRange {
            what: "the channel for more than two posteriors",
            value: format!("{channel:?}").to_lowercase(),
            expected: "mean or w2",
        }),
    }
}

/// A posterior with its units reordered.
pub(super) fn permuted(spec: &Spec, permutations: &Permutations, gaussian: &Gaussian) -> Result<Gaussian> {
    Gaussian::new(spec.apply(permutations, gaussian.mean())?, spec.apply(permutations, gaussian.std())?)
}

/// The same permutations, seen from the first member: it stays as it is.
pub(super) fn from_the_first(permutations: &[Permutations]) -> Vec<Permutations> {
    let back = permutations[0].inverse();
    permutations.iter().map(|own| back.after(own)).collect()
}
