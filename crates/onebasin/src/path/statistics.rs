//! The layers of a network, and means and variances of their units: measured on data, or propagated through dense layers.

use crate::arch::{Activation, Arch, Node, Op, TensorIndex};
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::{Inputs, LayerValues, Model};
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use onebasin_kernels::ThreadPool;
use std::sync::Mutex;

/// The units of one layer, which the last axis of each of its tensors counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Indices in the layout of what multiplies and what is added to each unit.
    pub(super) tensors: Vec<usize>,
    /// What is added to each unit, if anything is.
    pub(super) offset: Option<usize>,
    /// The threshold of each unit, if it has one.
    pub(super) threshold: Option<usize>,
    pub(super) units: usize,
}

/// All layers whose scale matters: one before a normalisation has none.
pub(super) fn layers(arch: &Arch) -> Vec<Layer> {
    let nodes = arch.nodes();
    let normalised = |index: usize| {
        nodes.iter().any(|node| node.input == index && matches!(node.op, Op::LayerNorm { .. } | Op::Frn { .. }))
    };
    let layer = |node: &Node| {
        let (tensors, offset, threshold) = match node.op {
            Op::Dense { weight, bias } => (vec![weight, bias], Some(bias), None),
            Op::Conv { weight, bias, .. } => ([weight].into_iter().chain(bias).collect(), bias, None),
            Op::LayerNorm { gamma, beta } => (vec![gamma, beta], Some(beta), None),
            Op::Frn { gamma, beta, tau } => (vec![gamma, beta], Some(beta), Some(tau)),
            _ => return None,
        };
        Some(Layer { tensors, offset, threshold, units: node.shape.channels })
    };
    let all = nodes.iter().enumerate().filter(|(index, _)| !normalised(*index));
    all.filter_map(|(_, node)| layer(node)).collect()
}

impl Layer {
    /// Of each unit, the sum of the squares of its parameters.
    fn squares(&self, params: &Params) -> Vec<f64> {
        let mut squares = vec![0.0; self.units];
        for tensor in self.tensors.iter().chain(&self.threshold) {
            for row in params.values()[params.layout().tensors()[*tensor].range()].chunks_exact(self.units) {
                for (square, value) in squares.iter_mut().zip(row) {
                    *square += f64::from(*value).powi(2);
                }
            }
        }
        squares
    }

    /// Statistics of its units, told by the norms of their parameters.
    pub(super) fn norms(&self, gaussian: &Gaussian) -> UnitStatistics {
        let (mean, std) = (self.squares(gaussian.mean()), self.squares(gaussian.std()));
        let scale = mean.iter().zip(&std).map(|(mean, std)| (mean + std).sqrt()).collect();
        UnitStatistics { mean: vec![0.0; self.units], signal: mean.into_iter().map(f64::sqrt).collect(), scale }
    }

    /// Multiplies what each unit computes; its threshold, too, if `with_threshold`.
    pub(super) fn scale(&self, factors: &[f64], with_threshold: bool, params: &mut Params) {
        let layout = params.layout().clone();
        for tensor in self.tensors.iter().chain(self.threshold.iter().filter(|_| with_threshold)) {
            for row in params.values_mut()[layout.tensors()[*tensor].range()].chunks_exact_mut(self.units) {
                for (value, factor) in row.iter_mut().zip(factors) {
                    *value = (f64::from(*value) * factor) as f32;
                }
            }
        }
    }

    /// What is added to each unit.
    pub(super) fn offsets(&self, params: &Params) -> impl Iterator<Item = f64> {
        let range = self.offset.map_or(0..0, |offset| params.layout().tensors()[offset].range());
        params.values()[range].iter().copied().map(f64::from)
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

/// What each unit is multiplied by so that a statistic becomes its target; a unit that does nothing is left alone.
pub(super) fn factors(now: &[f64], target: impl Iterator<Item = f64>) -> Vec<f64> {
    let factor = |(now, target): (&f64, f64)| if *now > 0.0 && target > 0.0 { target / now } else { 1.0 };
    now.iter().zip(target).map(factor).collect()
}

/// What is added to each unit behind its factor, so that its mean becomes its target.
pub(super) fn shifts(now: &[f64], factors: &[f64], target: impl Iterator<Item = f64>) -> Vec<f64> {
    now.iter().zip(factors).zip(target).map(|((now, factor), target)| target - factor * now).collect()
}

/// Examples, and a model that is evaluated on them.
#[derive(Debug)]
pub struct DataStatistics {
    model: Mutex<Box<dyn Model>>,
    inputs: Inputs,
    draws: usize,
    seed: u64,
    pool: ThreadPool,
}

/// Rows of values that are summed together: the borders of these pieces fix the order of the additions.
const ROWS: usize = 1 << 12;
/// Share of a mean square that may be rounding.
const ROUNDING: f64 = 1e-12;

impl DataStatistics {
    /// `draws` points of each posterior are evaluated on all of `examples` by a model that shows its layers; sums are taken on the
    /// threads of `pool`.
    pub fn new(
        mut model: Box<dyn Model>,
        examples: &Examples,
        draws: usize,
        seed: u64,
        pool: &ThreadPool,
    ) -> Result<Self> {
        examples.check_shape(model.input(), model.outputs())?;
        let inputs = model.load(examples.all().0)?;
        Ok(Self { model: Mutex::new(model), inputs, draws: draws.max(1), seed, pool: pool.clone() })
    }

    /// Takes draws of a Gaussian through the network once. `change` sees the statistics of each layer, given by its number, and
    /// returns the Gaussian to go on with, if that is another one: it may differ in the parameters of this layer.
    pub(super) fn pass(
        &self,
        mut gaussian: Gaussian,
        layers: &[Layer],
        mut change: impl FnMut(usize, UnitStatistics, &Gaussian) -> Result<Option<Gaussian>>,
    ) -> Result<Gaussian> {
        let mut model = self.model.lock().expect("nobody panics while holding the model");
        let layout = gaussian.mean().layout().clone();
        // All draws of a point are the same.
        let draws = if gaussian.std().values().iter().all(|std| *std == 0.0) { 1 } else { self.draws };
        let stream = |draw: usize| Stream::new(self.seed, "path/seen", draw as u64);
        let mut points: Vec<Params> = (0..draws).map(|_| Params::zeros(&layout)).collect();
        for (draw, point) in points.iter_mut().enumerate() {
            gaussian.draw(stream(draw), point);
        }
        let first = |layer: &Layer| layer.tensors[0];
        let tensors: Vec<TensorIndex> = layers.iter().map(first).collect();
        model.layer_by_layer(&mut points, &self.inputs, &tensors, &mut |LayerValues { tensor, values }, points| {
            let index = tensors.iter().position(|own| *own == tensor).expect("only these layers are shown");
            let layer = &layers[index];
            if let Some(new) = change(index, self.statistics(values, draws, layer.units), &gaussian)? {
                gaussian = new;
                for (tensor, draw) in layer.tensors.iter().flat_map(|tensor| (0..draws).map(move |draw| (tensor, draw)))
                {
                    gaussian.draw_again(stream(draw), layout.tensors()[*tensor].range(), &mut points[draw]);
                }
            }
            Ok(())
        })?;
        Ok(gaussian)
    }

    /// Of values (draws, examples and positions, units).
    fn statistics(&self, values: &[f32], draws: usize, units: usize) -> UnitStatistics {
        let rows = values.len() / draws / units;
        // Of each unit: the sums of values, of their squares, and of the squares of the means over draws.
        let mut pieces: Vec<Vec<[f64; 3]>> = vec![Vec::new(); rows.div_ceil(ROWS)];
        self.pool.chunks(&mut pieces, 1, |piece, out| {
            let mut sums = vec![[0.0; 3]; units];
            for row in piece * ROWS..rows.min((piece + 1) * ROWS) {
                for (unit, sums) in sums.iter_mut().enumerate() {
                    let mut total = 0.0;
                    for draw in 0..draws {
                        let value = f64::from(values[(draw * rows + row) * units + unit]);
                        total += value;
                        sums[1] += value * value;
                    }
                    sums[0] += total;
                    sums[2] += (total / draws as f64).powi(2);
                }
            }
            out[0] = sums;
        });
        let mut statistics = UnitStatistics { mean: Vec::new(), signal: Vec::new(), scale: Vec::new() };
        let (all, rows) = ((rows * draws) as f64, rows as f64);
        for unit in 0..units {
            let sum = |which: usize| pieces.iter().map(|piece| piece[unit][which]).sum::<f64>();
            let mean = sum(0) / all;
            let deviation = |square: f64| {
                let variance = square - mean.powi(2);
                // Below this it is rounding, and the unit is constant.
                if variance > ROUNDING * square { variance.sqrt() } else { 0.0 }
            };
            statistics.mean.push(mean);
            statistics.scale.push(deviation(sum(1) / all));
            statistics.signal.push(deviation(sum(2) / rows));
        }
        statistics
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
