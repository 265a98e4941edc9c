//! A network that Python evaluates, by whatever library and on whatever device, as a model of the library.

use crate::calls::Caller;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::arch::Shape;
use onebasin::data::{Dataset, Examples, Scaling, Standardisation};
use onebasin::error::{Error, Result};
use onebasin::model::{Inputs, Model};
use onebasin::net::Likelihood;
use onebasin::params::{Layout, Params};
use onebasin::posterior::{Gaussian, Predictor};
use onebasin::threads::ThreadPool;
use pyo3::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Names and shapes of tensors.
pub(crate) type Shapes = Vec<(String, Vec<usize>)>;

/// The layout of tensors.
pub(crate) fn layout(shapes: &Shapes) -> Result<Arc<Layout>> {
    Layout::new(shapes.iter().map(|(name, shape)| (&**name, &shape[..]))).map(Arc::new)
}

/// A Gaussian of Python: means and standard deviations, flat.
#[derive(FromPyObject)]
pub(crate) struct Flat<'py>(PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>);

impl Flat<'_> {
    /// Its values.
    pub(crate) fn values(&self) -> PyResult<[Vec<f32>; 2]> {
        Ok([self.0.as_slice()?.to_vec(), self.1.as_slice()?.to_vec()])
    }
}

/// A Gaussian of a layout.
pub(crate) fn gaussian(layout: &Arc<Layout>, values: [Vec<f32>; 2]) -> Result<Gaussian> {
    let [mean, std] = values.map(|values| Params::from_values(layout, values));
    Gaussian::new(mean?, std?)
}

/// What is to be predicted: a class for each example, or numbers.
#[derive(FromPyObject)]
pub(crate) struct Labels {
    /// Called with all parameters, flat, the number of the first example and the number of examples; returns (examples, outputs), flat.
    predict: Py<PyAny>,
    /// Number of outputs.
    outputs: usize,
    /// Class of each example.
    classes: Option<Vec<u32>>,
    /// Numbers to be predicted for each example, flat.
    numbers: Option<Vec<f32>>,
}

impl Labels {
    /// What evaluates the network, and its examples: each is its own number.
    pub(crate) fn open(
        self,
        layout: &Arc<Layout>,
        caller: &Caller,
        pool: &ThreadPool,
    ) -> Result<(Predictor, Examples)> {
        let Self { predict, outputs, classes, numbers } = self;
        let model =
            Evaluated { layout: Arc::clone(layout), outputs, predict: Arc::new(predict), caller: caller.clone() };
        let models: Vec<Box<dyn Model>> = vec![Box::new(model)];
        let input = Shape::vector(1);
        let indices = |count: usize| (0..count).map(|index| index as f32).collect::<Vec<f32>>();
        let unit = Standardisation { scaling: Scaling::Unit, scale: vec![1.0], shift: vec![0.0] };
        let name = "the examples".to_owned();
        match (classes, numbers) {
            (Some(classes), _) => {
                let dataset = Dataset::of_numbers(name, input, outputs, indices(classes.len()), classes)?;
                Ok((Predictor::of(models, Likelihood::Softmax, pool)?, Examples::new(dataset, unit)?))
            }
            (None, numbers) => {
                let numbers = numbers.unwrap_or_default();
                let count = numbers.len() / outputs.max(1);
                let dataset = Dataset::of_regression(name, input, outputs, indices(count), count)?;
                let examples = Examples::new(dataset, unit)?.with_targets(numbers)?;
                Ok((Predictor::of_outputs(models, pool)?, examples))
            }
        }
    }
}

/// A network that a function of Python evaluates.
struct Evaluated {
    layout: Arc<Layout>,
    outputs: usize,
    predict: Arc<Py<PyAny>>,
    caller: Caller,
}

impl fmt::Debug for Evaluated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluated").field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

impl Model for Evaluated {
    fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn input(&self) -> Shape {
        Shape::vector(1)
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn logits(&mut self, point: &Params, inputs: &Inputs, logits: &mut [f32]) -> Result<()> {
        let numbers = inputs.form::<Vec<f32>>();
        let (first, count) = (numbers.first().map_or(0, |first| *first as usize), numbers.len());
        let (values, predict) = (point.values().to_vec(), Arc::clone(&self.predict));
        let found = self.caller.call(move |py| {
            let found = predict.bind(py).call1((PyArray1::from_vec(py, values), first, count))?;
            Ok(found.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice()?.to_vec())
        })?;
        if found.len() != logits.len() {
            let why = format!("{count} examples of {} outputs", self.outputs);
            return Err(Error::Length {
                what: "what `predict` returned",
                got: found.len(),
                expected: logits.len(),
                why,
            });
        }
        logits.copy_from_slice(&found);
        Ok(())
    }
}
