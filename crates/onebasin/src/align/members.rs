//! Many posteriors that are read one at a time, from memory or from disk.

use super::objective::check_finite;
use crate::error::Error;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Draws;
use crate::posterior::Gaussian;
use crate::symmetry::Spec;
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

/// Points of a posterior as members without width; each is drawn when it is read, so that few are in memory.
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

/// Reads a member that must be of the network of a spec, and all numbers.
pub(super) fn read<'a>(spec: &Spec, members: &'a (impl Members + ?Sized), index: usize) -> Result<Cow<'a, Gaussian>> {
    let member = members.read(index)?;
    spec.layout().check_same(member.mean().layout())?;
    for params in [member.mean(), member.std()] {
        check_finite(spec.layout(), params.values())?;
    }
    Ok(member)
}

/// One posterior cannot be aligned with itself, nor can endlessly many draws of a Gaussian.
pub(super) fn check_count(members: &(impl Members + ?Sized)) -> Result<usize> {
    let count = members.count();
    if count < 2 || u32::try_from(count).is_err() {
        return Err(Error::OutOfRange {
            what: "the number of posteriors to align",
            value: count.to_string(),
            expected: "at least 2 and less than 2^32",
        });
    }
    Ok(count)
}
