//! REPAIR-style paths: averages of networks lose activation variance layer by layer, and rescaling gives it back.

use super::statistics::{DataStatistics, Layer, Moments, UnitStatistics, factors, layers, shifts};
use super::{Path, between};
use crate::arch::Arch;
use crate::error::Result;
use crate::posterior::Gaussian;

/// Where the statistics of activations come from.
#[derive(Debug)]
pub enum Source {
    /// The norms of the weights of each unit.
    Weights,
    /// Means and variances, propagated through the posterior of a network of dense layers.
    Moments(Moments),
    /// Activations on data, over draws.
    Data(Box<DataStatistics>),
}

/// Which statistic of a unit is rescaled to that of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescale {
    /// The standard deviation over examples of its mean over draws: means are scaled.
    Signal,
    /// Its standard deviation over examples and draws: means and standard deviations are scaled.
    Scale,
    /// The same, and its mean is shifted: REPAIR (Jordan et al. 2023) for posteriors.
    ScaleAndMean,
}

/// A path whose units are rescaled: from the input on, the statistics of each layer become the interpolation of those at the ends.
/// The ends stay as they are.
#[derive(Debug)]
pub struct Rescaled<'a, P> {
    path: P,
    arch: &'a Arch,
    layers: Vec<Layer>,
    source: &'a Source,
    rescale: Rescale,
    /// Of each layer, at both ends.
    ends: [Vec<UnitStatistics>; 2],
}

impl<'a, P: Path> Rescaled<'a, P> {
    /// Of `path`, for networks of this architecture.
    pub fn new(path: P, arch: &'a Arch, source: &'a Source, rescale: Rescale) -> Result<Self> {
        let ends = [path.at(0.0)?, path.at(1.0)?];
        arch.layout().check_same(ends[0].mean().layout())?;
        let mut rescaled = Self { path, arch, layers: layers(arch), source, rescale, ends: Default::default() };
        for (side, end) in ends.into_iter().enumerate() {
            let mut all = Vec::new();
            rescaled.pass(end, |_, statistics, _| {
                all.push(statistics);
                Ok(None)
            })?;
            rescaled.ends[side] = all;
        }
        Ok(rescaled)
    }

    /// Calls `change` with the statistics of layer after layer; it returns the Gaussian to go on with, if that is another.
    fn pass(
        &self,
        mut gaussian: Gaussian,
        mut change: impl FnMut(usize, UnitStatistics, &Gaussian) -> Result<Option<Gaussian>>,
    ) -> Result<Gaussian> {
        if let Source::Data(data) = self.source {
            return data.pass(gaussian, &self.layers, change);
        }
        for (index, layer) in self.layers.iter().enumerate() {
            let statistics = match self.source {
                Source::Moments(moments) => moments.statistics(self.arch, &gaussian, index),
                _ => layer.norms(&gaussian),
            };
            gaussian = change(index, statistics, &gaussian)?.unwrap_or(gaussian);
        }
        Ok(gaussian)
    }
}

impl<P: Path> Path for Rescaled<'_, P> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        let here = self.path.at(tau)?;
        if tau == 0.0 || tau == 1.0 {
            return Ok(here);
        }
        self.pass(here, |index, now, here| {
            let (layer, [from, to]) = (&self.layers[index], self.ends.each_ref().map(|end| &end[index]));
            let which: for<'s> fn(&'s UnitStatistics) -> &'s [f64] = match self.rescale {
                Rescale::Signal => |statistics| &statistics.signal,
                Rescale::Scale | Rescale::ScaleAndMean => |statistics| &statistics.scale,
            };
            let target = |of: for<'s> fn(&'s UnitStatistics) -> &'s [f64]| {
                of(from).iter().zip(of(to)).map(|(from, to)| between(*from, *to, tau))
            };
            let factors = factors(which(&now), target(which));
            let (mut mean, mut std) = here.clone().into_parts();
            // Statistics on data are those before a threshold, which lies between those of the ends already.
            let with_threshold = !matches!(self.source, Source::Data(_));
            layer.scale(&factors, with_threshold, &mut mean);
            if self.rescale != Rescale::Signal {
                layer.scale(&factors, with_threshold, &mut std);
            }
            if self.rescale == Rescale::ScaleAndMean {
                layer.shift(&shifts(&now.mean, &factors, target(|statistics| &statistics.mean)), &mut mean);
            }
            Gaussian::new(mean, std).map(Some)
        })
    }
}
