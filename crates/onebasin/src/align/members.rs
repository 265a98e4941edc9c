//! Many posteriors that are read one at a time, from memory or from disk, and the result of aligning them.

use crate::error::{Error, Result};
use crate::params::Params;
use crate::posterior::{Draws, Gaussian};
use crate::symmetry::{Permutations, Spec};
use std::borrow::Cow;
use std::fmt;

/// The posteriors that are to be aligned, each as a diagonal Gaussian.
pub trait Members: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Member `index`, from 0; the same each time.
    fn read(&self, index: usize) -> Result<Cow<'_, Gaussian>>;
}

impl Members for [Gaussian] {
    fn count(&self) -> usize {
        self.len()
    }

    fn read(&self, index: usize) -> Result<Cow<'_, Gaussian>> {
        Ok(Cow::Borrowed(&self[index]))
    }
}

/// Points of a posterior as members of zero standard deviation; each is drawn when it is read, so that few are in memory.
#[derive(Clone, Copy)]
pub struct Points<'a> {
    draws: &'a dyn Draws,
    seed: u64,
    count: usize,
}

impl fmt::Debug for Points<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Points").field("seed", &self.seed).field("count", &self.count).finish_non_exhaustive()
    }
}

impl<'a> Points<'a> {
    /// All points that there are, but at most `wanted`; only a Gaussian, which has as many as are wanted, uses the seed.
    pub fn new(draws: &'a dyn Draws, seed: u64, wanted: usize) -> Self {
        Self { draws, seed, count: draws.draws(wanted) }
    }
}

impl Members for Points<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Cow<'_, Gaussian>> {
        let layout = self.draws.layout();
        let mut point = Params::zeros(layout);
        self.draws.draw(self.seed, index, self.count, &mut point)?;
        Gaussian::new(point, Params::zeros(layout)).map(Cow::Owned)
    }
}

/// The permutations that align many posteriors with each other.
#[derive(Clone, Debug)]
#[must_use]
pub struct Many {
    /// The permutations of each member, which align it with all others.
    pub permutations: Vec<Permutations>,
    /// The objective without any permutation and after each round; it never decreases.
    pub history: Vec<f64>,
    /// Name of the method that found them.
    pub method: &'static str,
    /// Number of assignment problems solved.
    pub assignments: usize,
}

impl Many {
    /// The objective with these permutations.
    pub fn objective(&self) -> f64 {
        *self.history.last().expect("there is one without any permutation")
    }

    /// The permutations that align member `moved` with member `fixed`; those of a cycle through any members compose to the identity.
    pub fn between(&self, fixed: usize, moved: usize) -> Permutations {
        self.permutations[fixed].inverse().after(&self.permutations[moved])
    }
}

/// Reads a member that must be of the network of a spec, and all numbers.
pub(super) fn read<'a>(spec: &Spec, members: &'a (impl Members + ?Sized), index: usize) -> Result<Cow<'a, Gaussian>> {
    let member = members.read(index)?;
    spec.layout().check_same(member.mean().layout())?;
    for params in [member.mean(), member.std()] {
        spec.layout().check_finite(params.values())?;
    }
    Ok(member)
}

/// One posterior cannot be aligned with itself, nor can endlessly many draws of a Gaussian.
pub(super) fn check_count(members: &(impl Members + ?Sized)) -> Result<usize> {
    let count = members.count();
    if count < 2 || u32::try_from(count).is_err() {
        let expected = "at least 2 and less than 2^32";
        return Err(Error::out_of_range("the number of posteriors to align", count, expected));
    }
    Ok(count)
}

pub(super) fn permuted(spec: &Spec, permutations: &Permutations, gaussian: &Gaussian) -> Result<Gaussian> {
    Gaussian::new(spec.apply(permutations, gaussian.mean())?, spec.apply(permutations, gaussian.std())?)
}

/// The same permutations, seen from the first member: it stays as it is.
pub(super) fn from_the_first(permutations: &[Permutations]) -> Vec<Permutations> {
    let back = permutations[0].inverse();
    permutations.iter().map(|own| back.after(own)).collect()
}
