//! What measuring and inference need of a network, whoever computes it.

use crate::arch::{Shape, TensorIndex};
use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A network that can be evaluated at any point of its parameter space: all that measuring needs.
pub trait Model: fmt::Debug + Send {
    /// The layout of its parameters.
    fn layout(&self) -> &Arc<Layout>;

    /// Shape of one example.
    fn input(&self) -> Shape;

    /// Number of outputs, one for each class.
    fn outputs(&self) -> usize;

    /// Prepares examples that will be evaluated at many points, also by other models of the same kind and layout.
    ///
    /// `inputs`: (examples, height, width, channels). Unless a model says otherwise they stay as they are, a `Vec<f32>`.
    fn load(&mut self, inputs: Vec<f32>) -> Result<Inputs> {
        Ok(Inputs::new(count(self.input(), &inputs)?, inputs))
    }

    /// Writes the outputs at a point, (examples, outputs).
    fn logits(&mut self, point: &Params, inputs: &Inputs, logits: &mut [f32]) -> Result<()>;

    /// Calls `visit` with the activations of every hidden layer at a point, some examples at a time: all layers of the first
    /// examples, then all of the next, in order.
    fn activations(&mut self, _point: &Params, _inputs: &Inputs, _visit: &mut dyn FnMut(Hidden<'_>)) -> Result<()> {
        Err(Error::NoActivations)
    }

    /// Takes several points through the network side by side, layer after layer.
    ///
    /// `visit` is called in order with each layer whose first tensor is in `layers`. It may change the parameters of that
    /// layer at the points; the next layers see what it computes with them.
    fn layer_by_layer(
        &mut self,
        _points: &mut [Params],
        _inputs: &Inputs,
        _layers: &[TensorIndex],
        _visit: &mut dyn FnMut(LayerValues<'_>, &mut [Params]) -> Result<()>,
    ) -> Result<()> {
        Err(Error::NoActivations)
    }
}

/// A network whose log-likelihood has a gradient: what inference needs on top.
pub trait DifferentiableModel: Model {
    /// Writes the gradient of the log-likelihood summed over the batch, and returns that log-likelihood.
    fn gradient(&mut self, point: &Params, batch: Batch<'_>, gradient: &mut Params) -> Result<f64>;
}

/// Examples and their labels.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// (examples, height, width, channels)
    pub inputs: &'a [f32],
    /// One class for each example.
    pub labels: &'a [u32],
}

/// A hidden layer's activations on some examples, see [`Model::activations`].
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'a> {
    /// Which of the hidden layers.
    pub index: usize,
    /// Its name.
    pub name: &'a str,
    /// Its shape; a unit is a channel.
    pub shape: Shape,
    /// Number of the first example.
    pub first: usize,
    /// Before the non-linearity, (examples, height, width, channels).
    pub before: &'a [f32],
    /// Behind the non-linearity, (examples, height, width, channels).
    pub after: &'a [f32],
}

/// What a layer computes at several points, see [`Model::layer_by_layer`].
#[derive(Clone, Copy, Debug)]
pub struct LayerValues<'a> {
    /// The first tensor of its parameters in the layout.
    pub tensor: TensorIndex,
    /// Before any threshold, residual sum or non-linearity, (points, examples, height, width, channels).
    pub values: &'a [f32],
}

/// Examples in the form that one kind of model reads; threads may share them.
pub struct Inputs {
    count: usize,
    data: Box<dyn Any + Send + Sync>,
}

impl Inputs {
    /// `count` examples in a form of the model's own.
    pub fn new(count: usize, data: impl Any + Send + Sync) -> Self {
        Self { count, data: Box::new(data) }
    }

    /// Number of examples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The form that a model gave them.
    ///
    /// # Panics
    /// If a model of another kind loaded them.
    pub fn form<T: Any>(&self) -> &T {
        self.data.downcast_ref().expect("the same kind of model loads and reads inputs")
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The number of examples in `inputs`: (examples, height, width, channels); an error if there is none, or a part of one.
pub(crate) fn count(input: Shape, inputs: &[f32]) -> Result<usize> {
    if inputs.is_empty() {
        return Err(Error::EmptyBatch);
    }
    let expected = inputs.len().next_multiple_of(input.len());
    Error::unless_length("the array of inputs", inputs.len(), expected, format_args!("whole examples of {input}"))?;
    Ok(inputs.len() / input.len())
}
