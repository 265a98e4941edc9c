//! A network of an ONNX file as a model that can be measured.

use super::network::Network;
use super::run::Runner;
use crate::arch::Shape;
use crate::error::{Error, Result};
use crate::model::{Inputs, Model};
use crate::params::{Layout, Params};
use std::sync::Arc;

/// Examples that are run at a time, if the network takes any number.
const BATCH: usize = 128;

/// A network of an ONNX file; an example is a vector of all its entries, in the order in which the network reads them.
#[derive(Debug)]
pub struct NetworkModel {
    runner: Runner,
    layout: Arc<Layout>,
    features: usize,
    /// Examples that must be run at a time; any number if none.
    batch: Option<usize>,
    outputs: usize,
}

impl NetworkModel {
    /// Prepares a network with one input and, first, an output (example, class).
    pub fn new(network: &Network, layout: &Arc<Layout>) -> Result<Self> {
        let refuse = |reason: String| Error::File { path: network.path().to_owned(), reason };
        let runner = Runner::new(network)?.map_err(|reason| refuse(format!("it cannot be measured: {reason}")))?;
        let (shape, batch) = runner.example()?;
        let graph = &network.onnx().expect("only an ONNX file can be run").graph;
        let output = graph.outputs().first().map(|output| graph.value(*output).shape.clone()).unwrap_or_default();
        let [_, outputs] = output[..] else {
            return Err(refuse(format!("its first output has the shape {output:?}; (example, class) can be measured")));
        };
        Ok(Self { runner, layout: Arc::clone(layout), features: shape.iter().product(), batch, outputs })
    }
}

impl Model for NetworkModel {
    fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn input(&self) -> Shape {
        Shape { height: 1, width: 1, channels: self.features }
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn logits(&mut self, point: &Params, inputs: &Inputs, logits: &mut [f32]) -> Result<()> {
        let values: &Vec<f32> = inputs.form();
        let batch = self.batch.unwrap_or(BATCH);
        let parts = values.chunks(batch * self.features).zip(logits.chunks_mut(batch * self.outputs));
        for (values, logits) in parts {
            let count = values.len() / self.features;
            let input = if self.batch.is_some() && count < batch {
                // A network of a fixed number of examples is given the last one again.
                let last = &values[(count - 1) * self.features..];
                let filled: Vec<f32> =
                    values.iter().chain(last.iter().cycle().take((batch - count) * last.len())).copied().collect();
                self.runner.input(batch, &filled)
            } else {
                self.runner.input(count, values)
            };
            let outputs = self.runner.outputs(point, &[input])?;
            logits.copy_from_slice(&outputs[0][..logits.len()]);
        }
        Ok(())
    }
}
