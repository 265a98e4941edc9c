//! Draws that are permuted or rescaled one by one, when they are read.

use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::posterior::Draws;
use crate::symmetry::{Permutations, Scales, Spec};
use std::fmt;
use std::sync::Arc;

/// Changes the point of a number.
type Change<'a> = dyn Fn(usize, &mut Params) -> Result<()> + Sync + 'a;

/// All points of a posterior, each changed in a way of its own.
pub struct Transformed<'a> {
    draws: &'a dyn Draws,
    count: usize,
    change: Box<Change<'a>>,
}

impl<'a> Transformed<'a> {
    /// The samples of a posterior after relabelling: `permutations` has those of each point that `draws` has.
    pub fn relabelled(draws: &'a dyn Draws, spec: &'a Spec, permutations: &'a [Permutations]) -> Result<Self> {
        let count = draws.draws(usize::MAX);
        if permutations.len() != count {
            let why = "one for each sample".to_owned();
            let (what, got) = ("the array of permutations", permutations.len());
            return Err(Error::Length { what, got, expected: count, why });
        }
        let change = |chosen: usize, point: &mut Params| {
            *point = spec.apply(&permutations[chosen], point)?;
            Ok(())
        };
        Ok(Self { draws, count, change: Box::new(change) })
    }

    /// Each point at the scales of its units where the sum of its squares is smallest.
    pub fn balanced(draws: &'a dyn Draws, scales: &'a Scales) -> Result<Self> {
        let count = draws.draws(usize::MAX);
        let mut point = Params::zeros(draws.layout());
        let mut factors = Vec::with_capacity(count);
        for index in 0..count {
            draws.draw(0, index, count, &mut point)?;
            point.values_mut().iter_mut().for_each(|value| *value *= *value);
            factors.push(scales.balance(&point)?);
        }
        let change = move |chosen: usize, point: &mut Params| scales.apply(&factors[chosen], point);
        Ok(Self { draws, count, change: Box::new(change) })
    }
}

impl Draws for Transformed<'_> {
    fn layout(&self) -> &Arc<Layout> {
        self.draws.layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.count)
    }

    fn draw(&self, seed: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        let chosen = index * self.count / count;
        self.draws.draw(seed, chosen, self.count, out)?;
        (self.change)(chosen, out)
    }
}

impl fmt::Debug for Transformed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformed").field("points", &self.count).finish_non_exhaustive()
    }
}
