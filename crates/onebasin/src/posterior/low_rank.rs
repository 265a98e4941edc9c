//! A Gaussian whose covariance is of low rank plus a diagonal.

use super::Gaussian;
use crate::error::Error;
use crate::error::Result;
use crate::params::Params;
use crate::rng::Stream;

/// θ = m + B z + d ∘ ε with z and ε normal: the covariance is B Bᵀ + diag(d²).
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// m and d.
    rest: Gaussian,
    /// The columns of B; at least one.
    factor: Vec<Params>,
}

impl LowRank {
    /// `rest` is N(m, diag(d²)), what is left if z = 0; `factor` has a point for each element of z.
    pub fn new(rest: Gaussian, factor: Vec<Params>) -> Result<Self> {
        if factor.is_empty() {
            return Err(Error::Zero { what: "the rank of a Gaussian of low rank".to_owned() });
        }
        for direction in &factor {
            rest.mean().layout().check_same(direction.layout())?;
        }
        Ok(Self { rest, factor })
    }

    /// The mean m and the standard deviations d of what the factor does not explain.
    pub fn rest(&self) -> &Gaussian {
        &self.rest
    }
    /// The columns of B.
    pub fn factor(&self) -> &[Params] {
        &self.factor
    }

    /// The diagonal Gaussian with the same means and the same variance of each parameter.
    pub fn marginals(&self) -> Gaussian {
        let mut std = self.rest.std().clone();
        for (at, std) in std.values_mut().iter_mut().enumerate() {
            let explained: f64 = self.factor.iter().map(|direction| f64::from(direction.values()[at]).powi(2)).sum();
            *std = (f64::from(*std).powi(2) + explained).sqrt() as f32;
        }
        Gaussian { mean: self.rest.mean().clone(), std }
    }

    /// Writes m + B z + d ∘ ε, with ε the normals of the stream (`seed`, "draw", `index`), as for a Gaussian without a
    /// factor, and z those of (`seed`, "draw/factor", `index`).
    pub fn draw(&self, seed: u64, index: u64, out: &mut Params) -> Result<()> {
        self.rest.draw(Stream::new(seed, "draw", index), out);
        let mut coordinates = vec![0.0; self.factor.len()];
        Stream::new(seed, "draw/factor", index).fill_normal(&mut coordinates);
        for (coordinate, direction) in coordinates.iter().zip(&self.factor) {
            out.add_scaled(*coordinate, direction)?;
        }
        Ok(())
    }

    /// In other coordinates, as for [`super::Posterior::map`].
    pub(super) fn map(&self, change: &mut impl FnMut(&Params) -> Result<Params>) -> Result<Self> {
        let rest = Gaussian::new(change(self.rest.mean())?, change(self.rest.std())?)?;
        Self::new(rest, self.factor.iter().map(change).collect::<Result<_>>()?)
    }
}
