//! Checkpoints of any network and the user's own examples, opened for a measurement.

use super::align_network::{Gaussians, Loaded, check_criteria};
use crate::align::{self, Criterion, Members as _, Objective, Solver};
use crate::data::{Dataset, Examples, Scaling, Standardisation};
use crate::error::{Error, Result};
use crate::experiment::Context;
use crate::foreign::{Array, Member, Network, NetworkModel, ReadOptions, Wanted};
use crate::model::Model;
use crate::net::Likelihood;
use crate::posterior::{Gaussian, Predictor};
use crate::symmetry::{Permutations, Spec};
use serde::Serialize;
use std::path::PathBuf;

/// What is read of a network of another library.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkInputs {
    /// How the network is read.
    pub options: ReadOptions,
    /// How checkpoints store a posterior; found out if none is named.
    pub format: Option<String>,
    /// Beginnings of the names of tensors that are no part of the network.
    pub keep: Vec<String>,
    /// The network, an ONNX file.
    #[serde(skip)]
    pub network: PathBuf,
    /// The checkpoints; of a pair, the one that stays and the one whose units are permuted.
    #[serde(skip)]
    pub checkpoints: Vec<PathBuf>,
    /// Examples (example, ...) as the network reads them: a `NumPy` file.
    #[serde(skip)]
    pub inputs: PathBuf,
    /// The class of each example, or the numbers to be predicted: a `NumPy` file.
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
        let wanted = Wanted { format: self.format.as_deref(), keep: &self.keep };
        let (network, members) = Network::open(&self.network, &self.options)?.bind(&self.checkpoints, wanted)?;
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
        let inputs = Array::read(&self.inputs, &["x", "inputs", "images", "data"])?;
        let labels = Array::read(&self.labels, &["y", "labels", "targets", "target"])?;
        let (count, features) = (inputs.shape.first().copied().unwrap_or(0), model.input().len());
        if inputs.values.len() != count * features || count == 0 {
            let shape = inputs.shape.get(1..).unwrap_or_default();
            let reason = format!("an example has the shape {shape:?}, and the network reads {features} values");
            return Err(Error::File { path: self.inputs.clone(), reason });
        }
        let (input, outputs) = (model.input(), model.outputs());
        let each = if self.regression { outputs } else { 1 };
        if labels.values.len() != count * each {
            let (entries, examples) = (labels.values.len(), format!("{count} examples, each of which needs {each}"));
            let reason = format!("it has {entries} entries, and there are {examples}");
            return Err(Error::File { path: self.labels.clone(), reason });
        }
        let most = most.unwrap_or(count).min(count);
        let (name, values) = (self.inputs.display().to_string(), inputs.values[..most * features].to_vec());
        let dataset = if self.regression {
            Dataset::of_regression(name, input, outputs, values, most)?
        } else {
            let classes = labels.labels(&self.labels)?[..most].to_vec();
            let dataset = Dataset::of_numbers(name, input, outputs, values, classes);
            dataset.map_err(|error| error.at(self.labels.display()))?
        };
        let (scale, shift) = (vec![1.0; features], vec![0.0; features]);
        let examples = Examples::new(dataset, Standardisation { scaling: Scaling::Unit, scale, shift })?;
        if self.regression { examples.with_targets(labels.values[..most * each].to_vec()) } else { Ok(examples) }
    }
}

impl Opened {
    /// The posterior of a checkpoint; a point has standard deviations of zero.
    pub(super) fn gaussian(&self, index: usize) -> Result<Gaussian> {
        Ok(Gaussians { members: &self.members, spec: &self.spec }.read(index)?.into_owned())
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
        let [fixed, moved] = [0, 1].map(|index: usize| Loaded::new(&self.members[index], &self.spec));
        let (fixed, moved) = (fixed?, moved?);
        let method = align::Settings { criterion, solver, seed, ..align::Settings::default() };
        let (found, _) = context.measured(&format!("aligning by {criterion}"), |monitor| {
            let objective = Objective::new(&self.spec, fixed.features(&moved, criterion)?, None)?;
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
