//! Checkpoints of any network and the user's own examples, opened for a measurement.

use super::align_network::{Gaussians, Loaded, check_criteria};
use crate::align::{self, Criterion, Members as _, Objective, Solver};
use crate::data::arrays::{self, Arrays, Targets};
use crate::data::{Dataset, Examples, Scaling, Standardisation, Values};
use crate::error::{Error, Result};
use crate::experiment::Context;
use crate::foreign::{Member, Network, NetworkModel, Reading};
use crate::model::Model;
use crate::net::Likelihood;
use crate::posterior::{Gaussian, Predictor};
use crate::symmetry::{Permutations, Spec};
use serde::Serialize;
use std::path::PathBuf;

/// What is read of a network of another library.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkInputs {
    /// How the network and the checkpoints are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// The network, an ONNX file.
    #[serde(skip)]
    pub network: PathBuf,
    /// The checkpoints; of a pair, the one that stays and the one whose units are permuted.
    #[serde(skip)]
    pub checkpoints: Vec<PathBuf>,
    /// Examples (example, ...) as the network reads them: a file of `NumPy`, or of separated values.
    #[serde(skip)]
    pub inputs: PathBuf,
    /// The class of each example, or the numbers to be predicted: a file of `NumPy`, or of separated values.
    #[serde(skip)]
    pub labels: PathBuf,
    /// Whether numbers are to be predicted.
    pub regression: bool,
}

/// A network, its checkpoints and the examples, ready to be measured.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) network: Network,
    pub(super) members: Vec<Member>,
    pub(super) spec: Spec,
    pub(super) predictor: Predictor,
    pub(super) examples: Examples,
}

impl NetworkInputs {
    /// Refuses a regression, where classes are needed.
    pub(super) fn check_classes(&self) -> Result<()> {
        Error::unless(!self.regression, "targets", "given", "left out: only barriers of a regression can be measured")
    }

    /// All files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let Self { network, checkpoints, inputs, labels, .. } = self;
        [network].into_iter().chain(checkpoints).chain([inputs, labels]).cloned().collect()
    }

    /// Reads everything but the values of the checkpoints; `most` examples at most.
    pub(super) fn open(&self, most: Option<usize>, context: &Context<'_>) -> Result<Opened> {
        let (network, members) = Network::open(&self.network, &self.reading)?.open_all(&self.checkpoints)?;
        let spec = Spec::of_network(network.symmetry())?;
        let models = (0..context.pool.threads())
            .map(|_| Ok(Box::new(NetworkModel::new(&network, spec.layout())?) as Box<dyn Model>))
            .collect::<Result<Vec<_>>>()?;
        let examples = self.examples(&*models[0], most)?;
        let predictor = if self.regression {
            Predictor::of_outputs(models, &context.pool)?
        } else {
            Predictor::of(models, Likelihood::Softmax, &context.pool)?
        };
        Ok(Opened { network, members, spec, predictor, examples })
    }

    /// The examples, in the order in which the network reads them.
    fn examples(&self, model: &dyn Model, most: Option<usize>) -> Result<Examples> {
        let labels = Some(&*self.labels).filter(|labels| *labels != self.inputs);
        let Arrays { inputs, targets } = arrays::read(&self.inputs, labels)?;
        let (count, features, outputs) = (inputs.examples, model.input().len(), model.outputs());
        if inputs.shape.iter().product::<usize>() != features {
            let shape = &inputs.shape;
            let reason = format!("an example has the shape {shape:?}, and the network reads {features} values");
            return Err(Error::File { path: self.inputs.clone(), reason });
        }
        let most = most.unwrap_or(count).min(count);
        let values = match inputs.values {
            Values::Pixels(pixels) => pixels[..most * features].iter().map(|pixel| f32::from(*pixel)).collect(),
            Values::Numbers(numbers) => numbers[..most * features].to_vec(),
        };
        let name = self.inputs.display().to_string();
        let (dataset, numbers) = match (targets, self.regression) {
            (Targets::Classes { labels, .. }, false) => {
                let dataset = Dataset::of_numbers(name, model.input(), outputs, values, labels[..most].to_vec());
                (dataset.map_err(|error| error.at(self.labels.display()))?, None)
            }
            (Targets::Numbers { .. }, false) => {
                let reason = "it has other numbers than classes; `--targets` names those of a regression".to_owned();
                return Err(Error::File { path: self.labels.clone(), reason });
            }
            (targets, true) => {
                let (numbers, each) = match targets {
                    Targets::Classes { labels, .. } => (labels.iter().map(|label| *label as f32).collect(), 1),
                    Targets::Numbers { values, each } => (values, each),
                };
                if each != outputs {
                    let reason = format!("it has {each} numbers for each example, and the network {outputs} outputs");
                    return Err(Error::File { path: self.labels.clone(), reason });
                }
                let numbers: Vec<f32> = numbers;
                let dataset = Dataset::of_regression(name, model.input(), outputs, values, most)?;
                (dataset, Some(numbers[..most * each].to_vec()))
            }
        };
        let (scale, shift) = (vec![1.0; features], vec![0.0; features]);
        let examples = Examples::new(dataset, Standardisation { scaling: Scaling::Unit, scale, shift })?;
        match numbers {
            Some(numbers) => examples.with_targets(numbers),
            None => Ok(examples),
        }
    }
}

impl Opened {
    /// The posterior of a checkpoint; a point has standard deviations of zero.
    pub(super) fn gaussian(&self, index: usize) -> Result<Gaussian> {
        Ok(Gaussians { members: &self.members, spec: &self.spec, statistics: &[] }.read(index)?.into_owned())
    }

    /// The permutations that align the second checkpoint with the first.
    pub(super) fn align(
        &self,
        criterion: Criterion,
        solver: Solver,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Permutations> {
        check_criteria(&[criterion])?;
        let statistics = self.network.statistics();
        let [fixed, moved] = [0, 1].map(|index: usize| Loaded::new(&self.members[index], &self.spec, &statistics));
        let (fixed, moved) = (fixed?, moved?);
        let method = align::Settings { criterion, solver, seed, ..align::Settings::default() };
        let (found, _) = context.measured(&format!("aligning by {criterion}"), |monitor| {
            let objective = Objective::new(&self.spec, fixed.features(&moved, criterion, self.spec.layout())?, None)?;
            align::maximise(&objective, method, &context.pool, monitor)
        })?;
        Ok(found.permutations)
    }

    /// A posterior with its units permuted.
    pub(super) fn permute(&self, gaussian: &Gaussian, permutations: &Permutations) -> Result<Gaussian> {
        let apply = |params| self.spec.apply(permutations, params);
        Gaussian::new(apply(gaussian.mean())?, apply(gaussian.std())?)
    }
}
