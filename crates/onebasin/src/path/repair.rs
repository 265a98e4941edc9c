//! REPAIR of points between two posteriors, one of which is permuted again and again.

use super::between;
use super::statistics::{DataStatistics, Layer, UnitStatistics, factors, layers, shifts};
use crate::arch::Arch;
use crate::error::Result;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::symmetry::{Permutations, Spec};

/// Statistics of all layers at both ends, which are collected once.
#[derive(Debug)]
pub struct Repair {
    layers: Vec<Layer>,
    data: DataStatistics,
    /// Means and standard deviations of each end, each unit's at the place of what is added to it.
    ends: [[Params; 2]; 2],
}

impl Repair {
    /// Collects the statistics of two posteriors.
    pub fn new(arch: &Arch, data: DataStatistics, ends: [&Gaussian; 2]) -> Result<Self> {
        let layers = layers(arch);
        let zeros = || [Params::zeros(arch.layout()), Params::zeros(arch.layout())];
        let mut collected = [zeros(), zeros()];
        for (end, [means, scales]) in ends.into_iter().zip(&mut collected) {
            data.pass(end.clone(), &layers, |index, UnitStatistics { mean, scale, .. }, _| {
                for (values, params) in [(mean, &mut *means), (scale, &mut *scales)] {
                    layers[index].shift(&values, params);
                }
                Ok(None)
            })?;
        }
        Ok(Self { layers, data, ends: collected })
    }

    /// A point between the first end and the permuted second one, with the mean and the standard deviation of each unit
    /// set between those of the ends; and the factor of each parameter, which a gradient there is multiplied by.
    pub fn restore(&self, spec: &Spec, permutations: &Permutations, tau: f64, point: &Params) -> Result<[Params; 2]> {
        let [from, to] = &self.ends;
        let to = [spec.apply(permutations, &to[0])?, spec.apply(permutations, &to[1])?];
        let layout = point.layout();
        let mut slope = Params::from_values(layout, vec![1.0; layout.len()])?;
        let here = Gaussian::new(point.clone(), Params::zeros(layout))?;
        let restored = self.data.pass(here, &self.layers, |index, now, here| {
            let layer = &self.layers[index];
            let target = |which: usize| {
                let ends = layer.offsets(&from[which]).zip(layer.offsets(&to[which]));
                ends.map(|(from, to)| between(from, to, tau))
            };
            let factors = factors(&now.scale, target(1));
            let shift = shifts(&now.mean, &factors, target(0));
            let (mut mean, std) = here.clone().into_parts();
            layer.scale(&factors, false, &mut mean);
            layer.scale(&factors, false, &mut slope);
            layer.shift(&shift, &mut mean);
            Gaussian::new(mean, std).map(Some)
        })?;
        Ok([restored.into_parts().0, slope])
    }
}
