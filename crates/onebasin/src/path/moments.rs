//! How strong the units of a posterior are, by means and variances propagated through a network of dense layers.
//!
//! Everything is taken as independent and normal: what a unit reads, and what it yields over images and over draws.

use super::restored::Strength;
use crate::arch::Activation;
use crate::arch::Arch;
use crate::arch::Op;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::posterior::Gaussian;

/// What units are fed with.
#[derive(Clone, Debug)]
pub struct Moments {
    input: Vec<Moment>,
}

/// Of one value: its mean, and its variances over images and over draws.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    mean: f64,
    images: f64,
    draws: f64,
}

impl Moments {
    /// The means and variances of each pixel of some images; an error for an architecture that is more than dense layers with relu.
    pub fn of(arch: &Arch, examples: &Examples) -> Result<Self> {
        examples.check_fits(arch)?;
        let dense = |op: &Op| matches!(op, Op::Input | Op::Flatten | Op::Dense { .. } | Op::Activate(Activation::Relu));
        if let Some(node) = arch.nodes().iter().find(|node| !dense(&node.op)) {
            return Err(Error::NoMoments { layer: node.name.clone() });
        }
        let (images, len) = (examples.all().0, examples.shape().len());
        let count = examples.len() as f64;
        let mut input = vec![Moment::default(); len];
        for image in images.chunks_exact(len) {
            for (pixel, value) in input.iter_mut().zip(image) {
                pixel.mean += f64::from(*value) / count;
                pixel.images += f64::from(*value).powi(2) / count;
            }
        }
        for pixel in &mut input {
            pixel.images = (pixel.images - pixel.mean.powi(2)).max(0.0);
        }
        Ok(Self { input })
    }

    /// Of the units of the dense layer number `index`, before their non-linearity.
    pub(super) fn strength(&self, arch: &Arch, gaussian: &Gaussian, index: usize) -> Strength {
        let dense = arch.nodes().iter().filter_map(|node| match node.op {
            Op::Dense { weight, bias } => Some((weight, bias)),
            _ => None,
        });
        let mut values = self.input.clone();
        for (number, (weight, bias)) in dense.enumerate() {
            let units = through(gaussian, weight, bias, &values);
            if number == index {
                return Strength {
                    mean: units.iter().map(|unit| unit.mean).collect(),
                    signal: units.iter().map(|unit| unit.images.sqrt()).collect(),
                    scale: units.iter().map(|unit| (unit.images + unit.draws).sqrt()).collect(),
                };
            }
            values = units.into_iter().map(relu).collect();
        }
        unreachable!("there are as many layers as dense nodes")
    }
}

/// A dense layer.
fn through(gaussian: &Gaussian, weight: usize, bias: usize, inputs: &[Moment]) -> Vec<Moment> {
    let tensors = gaussian.mean().layout().tensors();
    let [weights, biases] = [weight, bias].map(|tensor| tensors[tensor].range());
    let of = |range: &std::ops::Range<usize>| {
        gaussian.mean().values()[range.clone()].iter().zip(&gaussian.std().values()[range.clone()])
    };
    let mut units: Vec<Moment> = of(&biases)
        .map(|(mean, std)| Moment { mean: f64::from(*mean), images: 0.0, draws: f64::from(*std).powi(2) })
        .collect();
    let count = units.len();
    let mut pairs = of(&weights);
    for input in inputs {
        let second = input.images + input.draws + input.mean.powi(2);
        for (unit, (mean, std)) in units.iter_mut().zip(pairs.by_ref().take(count)) {
            let (mean, variance) = (f64::from(*mean), f64::from(*std).powi(2));
            unit.mean += mean * input.mean;
            unit.images += mean * mean * input.images;
            unit.draws += mean * mean * input.draws + variance * second;
        }
    }
    units
}

/// max(x, 0) of a normal x; what differs between images is taken as linear.
fn relu(x: Moment) -> Moment {
    let std = (x.images + x.draws).sqrt();
    if std == 0.0 {
        return Moment { mean: x.mean.max(0.0), ..Moment::default() };
    }
    let ratio = x.mean / std;
    let density = (-0.5 * ratio * ratio).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let open = normal_below(ratio);
    let mean = x.mean * open + std * density;
    let square = (x.mean.powi(2) + std * std) * open + x.mean * std * density;
    let images = open * open * x.images;
    Moment { mean, images, draws: (square - mean * mean - images).max(0.0) }
}

/// Φ
fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relu_of_a_normal_number() {
        // Of a standard normal number: mean 1/√(2π), second moment ½.
        let yielded = relu(Moment { mean: 0.0, images: 0.5, draws: 0.5 });
        assert!((yielded.mean - 0.398_942_280_401_432_7).abs() < 1e-12);
        assert!((yielded.images + yielded.draws - (0.5 - 0.398_942_280_401_432_7_f64.powi(2))).abs() < 1e-12);
        let far = relu(Moment { mean: 10.0, images: 0.3, draws: 0.7 });
        assert!((far.mean - 10.0).abs() < 1e-6 && (far.images - 0.3).abs() < 1e-6 && (far.draws - 0.7).abs() < 1e-5);
    }
}
