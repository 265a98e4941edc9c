//! Samples as an alignment sees or leaves them: rescaled or permuted when they are drawn, one by one.

use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use crate::posterior::Draws;
use crate::symmetry::Permutations;
use crate::symmetry::Scales;
use crate::symmetry::Spec;
use std::fmt;
use std::sync::Arc;

/// All points of a posterior, each with permutations of its own.
#[derive(Clone, Copy)]
pub struct Relabelled<'a> {
    draws: &'a dyn Draws,
    spec: &'a Spec,
    permutations: &'a [Permutations],
}

impl<'a> Relabelled<'a> {
    /// `permutations` has those of each point that `draws` has.
    pub fn new(draws: &'a dyn Draws, spec: &'a Spec, permutations: &'a [Permutations]) -> Result<Self> {
        let count = draws.draws(usize::MAX);
        if permutations.len() != count {
            let why = "one for each sample".to_owned();
            let (what, got) = ("the array of permutations", permutations.len());
            return Err(Error::Length { what, got, expected: count, why });
        }
        Ok(Self { draws, spec, permutations })
    }
}

impl Draws for Relabelled<'_> {
    fn layout(&self) -> &Arc<Layout> {
        self.draws.layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.permutations.len())
    }

    fn draw(&self, seed: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        let all = self.permutations.len();
        let chosen = index * all / count;
        self.draws.draw(seed, chosen, all, out)?;
        *out = self.spec.apply(&self.permutations[chosen], out)?;
        Ok(())
    }
}

/// All points of a posterior, each at the scales of its units where the sum of its squares is smallest.
pub struct Balanced<'a> {
    draws: &'a dyn Draws,
    scales: &'a Scales,
    /// (point, group, unit)
    factors: Vec<Vec<Vec<f32>>>,
}

impl<'a> Balanced<'a> {
    /// Finds the scales of each point.
    pub fn new(draws: &'a dyn Draws, scales: &'a Scales) -> Result<Self> {
        let count = draws.draws(usize::MAX);
        let mut point = Params::zeros(draws.layout());
        let mut factors = Vec::with_capacity(count);
        for index in 0..count {
            draws.draw(0, index, count, &mut point)?;
            point.values_mut().iter_mut().for_each(|value| *value *= *value);
            factors.push(scales.balance(&point)?);
        }
        Ok(Self { draws, scales, factors })
    }
}

impl Draws for Balanced<'_> {
    fn layout(&self) -> &Arc<Layout> {
        self.draws.layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.factors.len())
    }

    fn draw(&self, seed: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        let all = self.factors.len();
        let chosen = index * all / count;
        self.draws.draw(seed, chosen, all, out)?;
        self.scales.apply(&self.factors[chosen], out)
    }
}

impl fmt::Debug for Relabelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relabelled").field("permutations", &self.permutations.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Balanced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balanced").field("points", &self.factors.len()).finish_non_exhaustive()
    }
}
