//! Paths on which each unit keeps its strength: averages of networks are weaker than the networks, layer by layer.

use super::Path;
use super::between;
use super::layers::Layer;
use super::layers::Place;
use super::layers::layers;
use super::moments::Moments;
use super::seen::Seen;
use crate::arch::Arch;
use crate::error::Result;
use crate::posterior::Gaussian;

/// What tells how strong units are.
#[derive(Debug)]
pub enum Source {
    /// The norms of their weights.
    Weights,
    /// Means and variances, propagated through the posterior of a network of dense layers.
    Moments(Moments),
    /// What they do on images, over draws.
    Seen(Box<Seen>),
}

/// What is restored of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// How much what it does on average over draws differs between images: its means are scaled.
    Signal,
    /// How much it varies over images and draws: means and standard deviations are scaled.
    Scale,
    /// The same, and its mean is shifted: REPAIR (Jordan et al. 2023) for posteriors.
    ScaleAndMean,
}

/// What is known of the units of a layer, each.
#[derive(Clone, Debug)]
pub(super) struct Strength {
    /// The mean.
    pub(super) mean: Vec<f64>,
    /// The standard deviation over images, of the mean over draws.
    pub(super) signal: Vec<f64>,
    /// The standard deviation over images and draws.
    pub(super) scale: Vec<f64>,
}

/// A path with its units restored: from the input on, each layer to what lies as far between the ends. The ends stay as they are.
#[derive(Debug)]
pub struct Restored<'a, P> {
    path: P,
    arch: &'a Arch,
    layers: Vec<Layer>,
    source: &'a Source,
    restore: Restore,
    /// Of each layer, at both ends.
    ends: Vec<Option<[Strength; 2]>>,
}

impl<'a, P: Path> Restored<'a, P> {
    /// Of `path`, for networks of this architecture.
    pub fn new(path: P, arch: &'a Arch, source: &'a Source, restore: Restore) -> Result<Self> {
        let ends = [path.at(0.0)?, path.at(1.0)?];
        arch.layout().check_same(ends[0].mean().layout())?;
        let layers = layers(arch);
        let mut restored = Self { path, arch, layers, source, restore, ends: Vec::new() };
        for index in 0..restored.layers.len() {
            let [from, to] = [restored.strength(&ends[0], index)?, restored.strength(&ends[1], index)?];
            restored.ends.push(from.zip(to).map(|(from, to)| [from, to]));
        }
        Ok(restored)
    }

    /// None where nobody can see the layer.
    fn strength(&self, gaussian: &Gaussian, index: usize) -> Result<Option<Strength>> {
        let layer = &self.layers[index];
        Ok(match self.source {
            Source::Weights => {
                let (mean, std) = (layer.squares(gaussian.mean()), layer.squares(gaussian.std()));
                let scale = mean.iter().zip(&std).map(|(mean, std)| (mean + std).sqrt()).collect();
                let signal = mean.into_iter().map(f64::sqrt).collect();
                Some(Strength { mean: vec![0.0; layer.units], signal, scale })
            }
            Source::Moments(moments) => Some(moments.strength(self.arch, gaussian, index)),
            Source::Seen(_) if layer.place == Place::Nowhere => None,
            Source::Seen(seen) => Some(seen.strength(gaussian, layer)?),
        })
    }
}

impl<P: Path> Path for Restored<'_, P> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        let mut here = self.path.at(tau)?;
        if tau == 0.0 || tau == 1.0 {
            return Ok(here);
        }
        for (index, (layer, ends)) in self.layers.iter().zip(&self.ends).enumerate() {
            let (Some([from, to]), Some(now)) = (ends, self.strength(&here, index)?) else { continue };
            let which = |strength: &Strength| match self.restore {
                Restore::Signal => strength.signal.clone(),
                Restore::Scale | Restore::ScaleAndMean => strength.scale.clone(),
            };
            let between = |from: Vec<f64>, to: Vec<f64>| -> Vec<f64> {
                from.into_iter().zip(to).map(|(from, to)| between(from, to, tau)).collect()
            };
            let target = between(which(from), which(to));
            // A unit that does nothing is left alone.
            let factor = |(target, now): (&f64, &f64)| if *now > 0.0 && *target > 0.0 { target / now } else { 1.0 };
            let factors: Vec<f64> = target.iter().zip(&which(&now)).map(factor).collect();
            let (mut mean, mut std) = here.into_parts();
            layer.scale(&factors, &mut mean);
            if self.restore != Restore::Signal {
                layer.scale(&factors, &mut std);
            }
            if self.restore == Restore::ScaleAndMean {
                let target = between(from.mean.clone(), to.mean.clone());
                let shift: Vec<f64> = target
                    .iter()
                    .zip(&now.mean)
                    .zip(&factors)
                    .map(|((target, now), factor)| target - factor * now)
                    .collect();
                layer.shift(&shift, &mut mean);
            }
            here = Gaussian::new(mean, std)?;
        }
        Ok(here)
    }
}
