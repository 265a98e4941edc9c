//! How strong the units of a posterior are, seen on images over draws.

use super::layers::Layer;
use super::layers::Place;
use super::restored::Strength;
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Result;
use crate::net::Net;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use std::sync::Mutex;

/// Images, and a network to show them to.
#[derive(Debug)]
pub struct Seen {
    net: Mutex<Net>,
    /// (images, height, width, channels)
    images: Vec<f32>,
    draws: usize,
    seed: u64,
}

impl Seen {
    /// `draws` points of each posterior are looked at on all of `examples`, on `threads` threads.
    pub fn new(arch: &Arch, examples: &Examples, draws: usize, seed: u64, threads: usize) -> Result<Self> {
        examples.check_fits(arch)?;
        Ok(Self { net: Mutex::new(Net::new(arch, threads)?), images: examples.all().0, draws: draws.max(1), seed })
    }

    pub(super) fn strength(&self, gaussian: &Gaussian, layer: &Layer) -> Result<Strength> {
        let mut net = self.net.lock().expect("nobody panics while holding the network");
        let mut point = Params::zeros(gaussian.mean().layout());
        // (image and position, unit), summed over draws
        let mut sums: Vec<f32> = Vec::new();
        let (mut means, mut squares) = (vec![0.0; layer.units], vec![0.0; layer.units]);
        let mut values = Vec::new();
        for draw in 0..self.draws {
            gaussian.draw(Stream::new(self.seed, "path/seen", draw as u64), &mut point);
            values.clear();
            match layer.place {
                Place::Hidden(index) => net.activations(&point, &self.images, |hidden| {
                    if hidden.index == index {
                        values.extend_from_slice(hidden.before);
                    }
                })?,
                Place::Logits => {
                    values.resize(self.images.len() / net.arch().input().len() * layer.units, 0.0);
                    net.logits(&point, &self.images, &mut values)?;
                }
                Place::Nowhere => unreachable!("nobody asks for what cannot be seen"),
            }
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
            for row in values.chunks_exact(layer.units) {
                for ((mean, square), value) in means.iter_mut().zip(&mut squares).zip(row) {
                    *mean += f64::from(*value);
                    *square += f64::from(*value).powi(2);
                }
            }
        }
        let (rows, draws) = ((sums.len() / layer.units) as f64, self.draws as f64);
        for (mean, square) in means.iter_mut().zip(&mut squares) {
            *mean /= rows * draws;
            *square /= rows * draws;
        }
        let mut signal = vec![0.0; layer.units];
        for row in sums.chunks_exact(layer.units) {
            for ((signal, sum), mean) in signal.iter_mut().zip(row).zip(&means) {
                *signal += (f64::from(*sum) / draws - mean).powi(2) / rows;
            }
        }
        let scale = means.iter().zip(&squares).map(|(mean, square)| (square - mean.powi(2)).max(0.0).sqrt()).collect();
        Ok(Strength { mean: means, signal: signal.into_iter().map(f64::sqrt).collect(), scale })
    }
}
