//! A network that is not ours is measured like ours: one implementor of `Model` is all it takes.

use onebasin::arch::{Arch, Mlp, Shape, TensorIndex};
use onebasin::data::{Examples, Scaling, Split, Standardisation, Subset};
use onebasin::error::{Error, Result};
use onebasin::measure::{BarrierSettings, Curves};
use onebasin::model::{Hidden, Inputs, LayerValues, Model};
use onebasin::net::{Likelihood, Net, Precision};
use onebasin::params::{Layout, Params};
use onebasin::path::{DataStatistics, Geodesic, Path, Rescale, Rescaled, Source};
use onebasin::posterior::{Gaussian, Posterior, Predictor};
use onebasin::progress::Monitor;
use onebasin::threads::pool;
use std::sync::Arc;

/// relu(x W₁ + b₁) W₂ + b₂ in f64 loops.
#[derive(Debug)]
struct TwoLayers {
    layout: Arc<Layout>,
    input: Shape,
    hidden: usize,
    outputs: usize,
    shows_hidden: bool,
}

/// x W + b, where `at` is the index of W in the layout and b follows it.
fn dense(point: &Params, at: usize, x: &[f64]) -> Vec<f64> {
    let tensors = point.layout().tensors();
    let [weights, bias] = [at, at + 1].map(|tensor| &point.values()[tensors[tensor].range()]);
    let mut out: Vec<f64> = bias.iter().map(|value| f64::from(*value)).collect();
    for (value, row) in x.iter().zip(weights.chunks_exact(bias.len())) {
        out.iter_mut().zip(row).for_each(|(out, weight)| *out += value * f64::from(*weight));
    }
    out
}

fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|value| value.max(0.0)).collect()
}

fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|value| *value as f32).collect()
}

impl TwoLayers {
    /// The pre-activations of the hidden layer, one row for each example.
    fn hidden(&self, point: &Params, inputs: &Inputs) -> Vec<Vec<f64>> {
        let rows = inputs.form::<Vec<f32>>().chunks_exact(self.input.len());
        rows.map(|row| dense(point, 0, &row.iter().map(|value| f64::from(*value)).collect::<Vec<_>>())).collect()
    }
}

impl Model for TwoLayers {
    fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    fn input(&self) -> Shape {
        self.input
    }
    fn outputs(&self) -> usize {
        self.outputs
    }

    fn logits(&mut self, point: &Params, inputs: &Inputs, logits: &mut [f32]) -> Result<()> {
        for (hidden, logits) in self.hidden(point, inputs).iter().zip(logits.chunks_exact_mut(self.outputs)) {
            logits.copy_from_slice(&single(&dense(point, 2, &relu(hidden))));
        }
        Ok(())
    }

    fn activations(&mut self, point: &Params, inputs: &Inputs, visit: &mut dyn FnMut(Hidden<'_>)) -> Result<()> {
        if !self.shows_hidden {
            return Err(Error::NoActivations);
        }
        let shape = Shape::vector(self.hidden);
        for (first, before) in self.hidden(point, inputs).iter().enumerate() {
            let (before, after) = (single(before), single(&relu(before)));
            visit(Hidden { index: 0, name: "hidden", shape, first, before: &before, after: &after });
        }
        Ok(())
    }

    fn layer_by_layer(
        &mut self,
        points: &mut [Params],
        inputs: &Inputs,
        layers: &[TensorIndex],
        visit: &mut dyn FnMut(LayerValues<'_>, &mut [Params]) -> Result<()>,
    ) -> Result<()> {
        if !self.shows_hidden {
            return Err(Error::NoActivations);
        }
        for tensor in layers {
            let of = |point: &Params| {
                let rows = self.hidden(point, inputs);
                let rows = rows
                    .iter()
                    .map(|hidden| if *tensor == 0 { hidden.clone() } else { dense(point, 2, &relu(hidden)) });
                rows.flat_map(|row| single(&row)).collect::<Vec<f32>>()
            };
            let values: Vec<f32> = points.iter().flat_map(of).collect();
            visit(LayerValues { tensor: *tensor, values: &values }, points)?;
        }
        Ok(())
    }
}

fn arch() -> Arch {
    let input = Shape { height: 6, width: 6, channels: 1 };
    Arch::new(Mlp { input, classes: 4, hidden: vec![9], activation: onebasin::arch::Activation::Relu }).unwrap()
}

fn foreign(shows_hidden: bool) -> Box<dyn Model> {
    let arch = arch();
    let (layout, input) = (Arc::clone(arch.layout()), arch.input());
    Box::new(TwoLayers { layout, input, hidden: 9, outputs: arch.classes(), shows_hidden })
}

fn examples() -> Examples {
    let dataset = onebasin::data::load("synthetic", Split::Train, std::path::Path::new("")).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(Subset::First(150).apply(&dataset).unwrap(), standardisation).unwrap()
}

fn gaussian(seed: u64) -> Gaussian {
    let arch = arch();
    let std = Params::from_values(arch.layout(), vec![0.2; arch.layout().len()]).unwrap();
    Gaussian::new(arch.initialise(seed), std).unwrap()
}

fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 2e-5 * (1.0 + ours.abs()), "{ours} and {theirs}");
}

/// A predictor of our network and one of the other, which has fewer models than there are threads.
fn predictors(likelihood: Likelihood) -> [Predictor; 2] {
    let pool = pool(3).unwrap();
    let models = vec![foreign(true), foreign(true)];
    [
        Predictor::new(&arch(), likelihood, Precision::F32, &pool).unwrap(),
        Predictor::of(models, likelihood, &pool).unwrap(),
    ]
}

#[test]
fn the_predictive_distribution_and_the_log_likelihood_are_those_of_our_network() {
    for likelihood in [Likelihood::Softmax, Likelihood::Gaussian { variance: 0.5 }] {
        let posterior = Posterior::Gaussian(gaussian(1));
        let [ours, theirs] = predictors(likelihood).map(|mut predictor| {
            let mean = predictor.mean(&posterior, &examples(), 20, 7, &mut Monitor::silent()).unwrap();
            let each = predictor.log_likelihoods(&posterior, &examples(), 20, 7, &mut Monitor::silent()).unwrap();
            mean.into_iter().chain(each).collect::<Vec<_>>()
        });
        assert_eq!(ours.len(), 150 * 4 + 20);
        ours.iter().zip(theirs).for_each(|(ours, theirs)| close(*ours, theirs));
    }
}

#[test]
fn the_barrier_is_that_of_our_network() {
    let (from, to) = (gaussian(1), gaussian(2));
    let path = Geodesic::new(&from, &to).unwrap();
    let settings = BarrierSettings { points: 5, samples: 10, replicates: 20, seed: 3 };
    let [ours, theirs] = predictors(Likelihood::Softmax).map(|mut predictor| {
        Curves::along(&path, &mut predictor, &examples(), false, settings, &mut Monitor::silent()).unwrap()
    });
    let rises = |curves: &Curves| {
        let loss = curves.path.loss;
        [loss.barrier, loss.midpoint, loss.instability].map(|rise| rise.value)
    };
    rises(&ours).into_iter().zip(rises(&theirs)).for_each(|(ours, theirs)| close(ours, theirs));
    assert!(rises(&ours)[1].abs() > 0.01, "{:?}", rises(&ours));
    for (ours, theirs) in ours.path.points.iter().zip(&theirs.path.points) {
        close(ours.loss.value, theirs.loss.value);
    }
}

#[test]
fn hidden_units_are_rescaled_as_those_of_our_network_if_they_are_shown() {
    let (arch, from, to) = (arch(), gaussian(1), gaussian(2));
    let middle = |seen: DataStatistics| {
        let source = Source::Data(Box::new(seen));
        let path = Rescaled::new(Geodesic::new(&from, &to).unwrap(), &arch, &source, Rescale::ScaleAndMean)?;
        path.at(0.5)
    };
    let net = Net::new(&arch, &pool(2).unwrap()).unwrap();
    let seen_by = |model: Box<dyn Model>| DataStatistics::new(model, &examples(), 3, 5, &pool(2).unwrap()).unwrap();
    let [ours, theirs] = [Box::new(net), foreign(true)].map(|model| middle(seen_by(model)).unwrap());
    for (ours, theirs) in ours.mean().values().iter().zip(theirs.mean().values()) {
        close(f64::from(*ours), f64::from(*theirs));
    }
    let error = middle(seen_by(foreign(false))).unwrap_err();
    assert_eq!(error, Error::NoActivations);
    assert!(error.to_string().contains("does not show the activations of its hidden layers"), "{error}");
}

#[test]
fn models_of_different_layouts_and_none_at_all_are_refused() {
    let pool = pool(1).unwrap();
    assert!(Predictor::of(Vec::new(), Likelihood::Softmax, &pool).is_err());
    let layout = Arc::new(Layout::new([("only", &[1][..])]).unwrap());
    let other = TwoLayers { layout, input: arch().input(), hidden: 9, outputs: 4, shows_hidden: true };
    assert!(Predictor::of(vec![foreign(true), Box::new(other)], Likelihood::Softmax, &pool).is_err());
}
