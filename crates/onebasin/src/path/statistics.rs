//! The layers of a network, and means and variances of their units: measured on data, or propagated through dense layers.

use crate::arch::{Activation, Arch, Op};
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::{Inputs, Model};
use crate::net::Net;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use onebasin_kernels::ThreadPool;
use std::sync::Mutex;

/// The units of one layer, which the last axis of each of its tensors counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Indices in the layout; the last but a threshold is what is added to each unit.
    pub(super) tensors: Vec<usize>,
    /// What is added to each unit, if anything is.
    pub(super) offset: Option<usize>,
    pub(super) units: usize,
    /// Where a model shows its units.
    pub(super) place: Place,
}

/// Where a model shows the units of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the non-linearity of a hidden layer.
    Hidden(usize),
    Logits,
    /// They are added to something else at once.
    Nowhere,
}

/// All layers whose scale matters: one before a normalisation has none.
pub(super) fn layers(arch: &Arch) -> Vec<Layer> {
    let nodes = arch.nodes();
    let normalised = |index: usize| {
        nodes.iter().any(|node| node.input == index && matches!(node.op, Op::LayerNorm { .. } | Op::Frn { .. }))
    };
    let mut layers = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let (tensors, offset) = match node.op {
            Op::Dense { weight, bias } => (vec![weight, bias], Some(bias)),
            Op::Conv { weight, bias, .. } => ([weight].into_iter().chain(bias).collect(), bias),
            Op::LayerNorm { gamma, beta } => (vec![gamma, beta], Some(beta)),
            Op::Frn { gamma, beta, tau } => (vec![gamma, beta, tau], Some(beta)),
            _ => continue,
        };
        if normalised(index) {
            continue;
        }
        let place = match arch.hidden().position(|(_, hidden)| hidden.input == index) {
            Some(hidden) => Place::Hidden(hidden),
            None if index + 1 == nodes.len() => Place::Logits,
            None => Place::Nowhere,
        };
        layers.push(Layer { tensors, offset, units: node.shape.channels, place });
    }
    layers
}

impl Layer {
    /// Of each unit, the sum of the squares of its parameters.
    pub(super) fn squares(&self, params: &Params) -> Vec<f64> {
        let mut squares = vec![0.0; self.units];
        for tensor in &self.tensors {
            for row in params.values()[params.layout().tensors()[*tensor].range()].chunks_exact(self.units) {
                for (square, value) in squares.iter_mut().zip(row) {
                    *square += f64::from(*value).powi(2);
                }
            }
        }
        squares
    }

    pub(super) fn scale(&self, factors: &[f64], params: &mut Params) {
        let layout = params.layout().clone();
        for tensor in &self.tensors {
            for row in params.values_mut()[layout.tensors()[*tensor].range()].chunks_exact_mut(self.units) {
                for (value, factor) in row.iter_mut().zip(factors) {
                    *value = (f64::from(*value) * factor) as f32;
                }
            }
        }
    }

    pub(super) fn shift(&self, by: &[f64], params: &mut Params) {
        let Some(offset) = self.offset else { return };
        let range = params.layout().tensors()[offset].range();
        for (value, by) in params.values_mut()[range].iter_mut().zip(by) {
            *value = (f64::from(*value) + by) as f32;
        }
    }
}

/// Statistics of the pre-activations of each unit of a layer.
#[derive(Clone, Debug)]
pub(super) struct UnitStatistics {
    pub(super) mean: Vec<f64>,
    /// The standard deviation over examples, of the mean over draws.
    pub(super) signal: Vec<f64>,
    /// The standard deviation over examples and draws.
    pub(super) scale: Vec<f64>,
}

/// Examples, and a model that is evaluated on them.
#[derive(Debug)]
pub struct DataStatistics {
    model: Mutex<Box<dyn Model>>,
    inputs: Inputs,
    draws: usize,
    seed: u64,
}

impl DataStatistics {
    /// `draws` points of each posterior are evaluated on all of `examples`, on the threads of `pool`.
    pub fn new(arch: &Arch, examples: &Examples, draws: usize, seed: u64, pool: &ThreadPool) -> Result<Self> {
        Self::of(Box::new(Net::new(arch, pool)?), examples, draws, seed)
    }

    /// The same for any model that shows its hidden units.
    pub fn of(mut model: Box<dyn Model>, examples: &Examples, draws: usize, seed: u64) -> Result<Self> {
        examples.check_shape(model.input(), model.outputs())?;
        let inputs = model.load(examples.all().0)?;
        Ok(Self { model: Mutex::new(model), inputs, draws: draws.max(1), seed })
    }

    pub(super) fn statistics(&self, gaussian: &Gaussian, layer: &Layer) -> Result<UnitStatistics> {
        let mut model = self.model.lock().expect("nobody panics while holding the model");
        let mut point = Params::zeros(gaussian.mean().layout());
        // (example and position, unit), summed over draws
        let mut sums: Vec<f32> = Vec::new();
        let (mut means, mut squares) = (vec![0.0; layer.units], vec![0.0; layer.units]);
        let mut values = Vec::new();
        for draw in 0..self.draws {
            gaussian.draw(Stream::new(self.seed, "path/seen", draw as u64), &mut point);
            values.clear();
            match layer.place {
                Place::Hidden(index) => model.activations(&point, &self.inputs, &mut |hidden| {
                    if hidden.index == index {
                        values.extend_from_slice(hidden.before);
                    }
                })?,
                Place::Logits => {
                    values.resize(self.inputs.count() * layer.units, 0.0);
                    model.logits(&point, &self.inputs, &mut values)?;
                }
                Place::Nowhere => unreachable!("nobody asks for what no model shows"),
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
        Ok(UnitStatistics { mean: means, signal: signal.into_iter().map(f64::sqrt).collect(), scale })
    }
}

/// Means and variances of the inputs, to be propagated through a network of dense layers.
///
/// Everything is taken as independent and normal: what a unit reads, and what it yields over examples and over draws.
#[derive(Clone, Debug)]
pub struct Moments {
    input: Vec<Moment>,
}

/// Of one value: its mean, and its variances over examples and over draws.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    mean: f64,
    examples: f64,
    draws: f64,
}

impl Moments {
    /// The means and variances of each input over some examples; an error for an architecture that is more than dense layers with relu.
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
                pixel.examples += f64::from(*value).powi(2) / count;
            }
        }
        for pixel in &mut input {
            pixel.examples = (pixel.examples - pixel.mean.powi(2)).max(0.0);
        }
        Ok(Self { input })
    }

    /// Of the units of the dense layer number `index`, before their non-linearity.
    pub(super) fn statistics(&self, arch: &Arch, gaussian: &Gaussian, index: usize) -> UnitStatistics {
        let dense = arch.nodes().iter().filter_map(|node| match node.op {
            Op::Dense { weight, bias } => Some((weight, bias)),
            _ => None,
        });
        let mut values = self.input.clone();
        for (number, (weight, bias)) in dense.enumerate() {
            let units = through(gaussian, weight, bias, &values);
            if number == index {
                return UnitStatistics {
                    mean: units.iter().map(|unit| unit.mean).collect(),
                    signal: units.iter().map(|unit| unit.examples.sqrt()).collect(),
                    scale: units.iter().map(|unit| (unit.examples + unit.draws).sqrt()).collect(),
                };
            }
            values = units.into_iter().map(relu).collect();
        }
        unreachable!("there are as many layers as dense nodes")
    }
}

fn through(gaussian: &Gaussian, weight: usize, bias: usize, inputs: &[Moment]) -> Vec<Moment> {
    let tensors = gaussian.mean().layout().tensors();
    let [weights, biases] = [weight, bias].map(|tensor| tensors[tensor].range());
    let of = |range: &std::ops::Range<usize>| {
        gaussian.mean().values()[range.clone()].iter().zip(&gaussian.std().values()[range.clone()])
    };
    let mut units: Vec<Moment> = of(&biases)
        .map(|(mean, std)| Moment { mean: f64::from(*mean), examples: 0.0, draws: f64::from(*std).powi(2) })
        .collect();
    let count = units.len();
    let mut pairs = of(&weights);
    for input in inputs {
        let second = input.examples + input.draws + input.mean.powi(2);
        for (unit, (mean, std)) in units.iter_mut().zip(pairs.by_ref().take(count)) {
            let (mean, variance) = (f64::from(*mean), f64::from(*std).powi(2));
            unit.mean += mean * input.mean;
            unit.examples += mean * mean * input.examples;
            unit.draws += mean * mean * input.draws + variance * second;
        }
    }
    units
}

/// max(x, 0) of a normal x; what differs between examples is taken as linear.
fn relu(x: Moment) -> Moment {
    let std = (x.examples + x.draws).sqrt();
    if std == 0.0 {
        return Moment { mean: x.mean.max(0.0), ..Moment::default() };
    }
    let ratio = x.mean / std;
    let density = (-0.5 * ratio * ratio).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // Φ
    let open = 0.5 * libm::erfc(-ratio / std::f64::consts::SQRT_2);
    let mean = x.mean * open + std * density;
    let square = (x.mean.powi(2) + std * std) * open + x.mean * std * density;
    let examples = open * open * x.examples;
    Moment { mean, examples, draws: (square - mean * mean - examples).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relu_of_a_normal_number() {
        // Of a standard normal number: mean 1/√(2π), second moment ½.
        let yielded = relu(Moment { mean: 0.0, examples: 0.5, draws: 0.5 });
        assert!((yielded.mean - 0.398_942_280_401_432_7).abs() < 1e-12);
        assert!((yielded.examples + yielded.draws - (0.5 - 0.398_942_280_401_432_7_f64.powi(2))).abs() < 1e-12);
        let far = relu(Moment { mean: 10.0, examples: 0.3, draws: 0.7 });
        assert!((far.mean - 10.0).abs() < 1e-6 && (far.examples - 0.3).abs() < 1e-6 && (far.draws - 0.7).abs() < 1e-5);
    }
}
