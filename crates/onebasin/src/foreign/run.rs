//! Runs the network of an ONNX file, with tensors that come from anywhere.

use super::fault;
use super::network::Network;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::rng::Stream;
use onebasin_graph::{Graph, Index, Kind, Op, onnx};
use rten::{DataType, Dimension, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueType, ValueView};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A network that can be run.
pub struct Runner {
    model: Model,
    pool: Arc<ThreadPool>,
    inputs: Vec<Input>,
    weights: Vec<Weight>,
    outputs: Vec<NodeId>,
    path: String,
}

/// What the user gives.
#[derive(Debug)]
struct Input {
    node: NodeId,
    shape: Vec<usize>,
    /// Whether any number of examples can be given at a time.
    any_batch: bool,
    /// One more than the largest integer that makes sense; none for floating-point numbers.
    below: Option<usize>,
}

/// A tensor of the graph, and where its values are.
#[derive(Debug)]
struct Weight {
    node: NodeId,
    shape: Vec<usize>,
    range: Range<usize>,
    transposed: bool,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Runner {
    /// Prepares a network; the reason, if it cannot be run.
    pub fn new(network: &Network) -> Result<std::result::Result<Self, String>> {
        Self::with(network, |bytes, _| Ok((bytes, None)))
    }

    /// Prepares a network whose batch normalisations use the statistics of the batch, which are the outputs; with the tensors that they
    /// belong to.
    pub(super) fn of_statistics(
        network: &Network,
    ) -> Result<std::result::Result<(Self, Vec<onnx::BatchStatistics>), String>> {
        let mut found = Vec::new();
        let runner = Self::with(network, |bytes, graph| {
            let (bytes, statistics) = onnx::with_batch_statistics(&bytes, graph).map_err(fault)?;
            let outputs = statistics.iter().flat_map(|own| [own.mean_output.clone(), own.variance_output.clone()]);
            let outputs = outputs.collect();
            found = statistics;
            Ok((bytes, Some(outputs)))
        })?;
        Ok(runner.map(|runner| (runner, found)))
    }

    fn with(
        network: &Network,
        change: impl FnOnce(Vec<u8>, &Graph) -> Result<(Vec<u8>, Option<Vec<String>>)>,
    ) -> Result<std::result::Result<Self, String>> {
        let Some(graph) = network.onnx().map(|network| &network.graph) else {
            return Ok(Err("only an ONNX file can be run".to_owned()));
        };
        let path = network.path();
        let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
        let names: BTreeSet<String> = network.feeds().iter().map(|feed| feed.name.clone()).collect();
        let bytes = onnx::weights_as_inputs(&bytes, &names).map_err(fault)?;
        let (bytes, wanted) = change(bytes, graph)?;
        let model = match ModelOptions::with_all_ops().load(bytes) {
            Ok(model) => model,
            Err(error) => return Ok(Err(format!("rten cannot load it: {error}"))),
        };
        let outputs = match wanted {
            None => model.output_ids().to_vec(),
            Some(names) => names.iter().filter_map(|name| model.find_node(name)).collect(),
        };
        let mut offsets = vec![0];
        for tensor in &network.symmetry().tensors {
            offsets.push(offsets[offsets.len() - 1] + tensor.shape.iter().product::<usize>());
        }
        let mut weights = Vec::new();
        for feed in network.feeds() {
            let Some(node) = model.find_node(&feed.name) else { continue };
            let tensor = graph.tensors().find(|tensor| tensor.name == feed.name).expect("feeds are of the graph");
            let range = offsets[feed.tensor]..offsets[feed.tensor + 1];
            weights.push(Weight { node, shape: tensor.shape.clone(), range, transposed: feed.transposed });
        }
        let mut inputs = Vec::new();
        for value in graph.inputs() {
            let Some(node) = model.find_node(&value.name) else { continue };
            let info = model.node_info(node);
            let float = match info.as_ref().and_then(rten::NodeInfo::dtype) {
                Some(ValueType::Tensor(DataType::Float)) | None => true,
                Some(ValueType::Tensor(_)) => false,
                Some(other) => return Ok(Err(format!("input `{}` is a {other:?}", value.name))),
            };
            let dims = info.and_then(|info| info.shape()).unwrap_or_default();
            let any_batch = matches!(dims.first(), Some(Dimension::Symbolic(_)));
            let below = (!float).then(|| rows_of_tables(graph, &value.name));
            inputs.push(Input { node, shape: value.shape.clone(), any_batch, below });
        }
        // One thread: the caller runs as many networks at a time as there are threads.
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        Ok(Ok(Self { model, pool, inputs, weights, outputs, path: path.display().to_string() }))
    }

    /// Number of examples of the inputs.
    pub fn examples(&self) -> usize {
        self.inputs.first().and_then(|input| input.shape.first()).copied().unwrap_or(1)
    }

    /// The shape of an example of the only input, and how many are given at a time, if that is fixed; an error if there are several inputs.
    pub(super) fn example(&self) -> Result<(Vec<usize>, Option<usize>)> {
        let [Input { shape, any_batch, .. }] = &self.inputs[..] else {
            let fault = format!("{}: it has {} inputs, and one can be measured", self.path, self.inputs.len());
            return Err(Error::Checkpoint { fault });
        };
        let batch = shape.first().copied().unwrap_or(1);
        Ok((shape.get(1..).unwrap_or_default().to_vec(), (!any_batch).then_some(batch)))
    }

    /// Examples of the only input, (example, ...) as the network reads them.
    pub(super) fn input(&self, count: usize, values: &[f32]) -> Value {
        let Input { shape, below, .. } = &self.inputs[0];
        let shape = [&[count], shape.get(1..).unwrap_or_default()].concat();
        let value = match below {
            Some(_) => Value::from_shape(&shape, values.iter().map(|value| *value as i32).collect::<Vec<i32>>()).ok(),
            None => Value::from_shape(&shape, values.to_vec()).ok(),
        };
        value.expect("there is a number for each entry")
    }

    /// Normal numbers, and integers that tables have rows for.
    pub fn random_inputs(&self, seed: u64) -> Vec<Value> {
        let input = |(index, input): (usize, &Input)| {
            let mut values = vec![0.0; input.shape.iter().product()];
            let stream = Stream::new(seed, "foreign/inputs", index as u64);
            let value = if let Some(below) = input.below {
                let mut order: Vec<u32> = vec![0; values.len().max(1)];
                stream.fill_permutation(&mut order);
                let below = below.clamp(1, i32::MAX as usize) as u32;
                Value::from_shape(&input.shape, order.iter().map(|own| (own % below) as i32).collect::<Vec<i32>>()).ok()
            } else {
                stream.fill_normal(&mut values);
                Value::from_shape(&input.shape, values).ok()
            };
            value.expect("there is a number for each entry")
        };
        self.inputs.iter().enumerate().map(input).collect()
    }

    /// What the network computes with the tensors of a point, one array for each output of floating-point numbers.
    pub fn outputs(&self, point: &Params, inputs: &[Value]) -> Result<Vec<Vec<f32>>> {
        let mut given: Vec<(NodeId, rten::ValueOrView<'_>)> = Vec::new();
        for (input, value) in self.inputs.iter().zip(inputs) {
            given.push((input.node, value.into()));
        }
        for weight in &self.weights {
            let values = &point.values()[weight.range.clone()];
            if weight.transposed {
                let [rows, columns] = weight.shape[..] else { unreachable!("only matrices are transposed") };
                let flipped: Vec<f32> =
                    (0..rows).flat_map(|row| (0..columns).map(move |column| values[column * rows + row])).collect();
                let value = Value::from_shape(&weight.shape, flipped).expect("there is a number for each entry");
                given.push((weight.node, value.into()));
            } else {
                let view = ValueView::from_shape(&weight.shape, values).expect("there is a number for each entry");
                given.push((weight.node, view.into()));
            }
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let outputs = self.model.run(given, &self.outputs, Some(options));
        let outputs = outputs.map_err(|error| Error::Checkpoint { fault: format!("{}: {error}", self.path) })?;
        let floats = |value: Value| match value {
            Value::FloatTensor(tensor) => Some(tensor.into_data()),
            _ => None,
        };
        Ok(outputs.into_iter().filter_map(floats).collect())
    }
}

/// The number of rows of the smallest table that an input of indices is looked up in; 2 if there is none.
fn rows_of_tables(graph: &Graph, input: &str) -> usize {
    let mut rows = usize::MAX;
    for node in graph.nodes() {
        let Op::Indexed(indices) = &node.op else { continue };
        let reads = node.inputs.iter().any(|own| graph.value(*own).name == input);
        for (value, indices) in node.inputs.iter().zip(indices).filter(|_| reads) {
            let value = graph.value(*value);
            if value.kind == Kind::Tensor && indices.first() == Some(&Index::Fixed) {
                rows = rows.min(value.shape[0]);
            }
        }
    }
    if rows == usize::MAX { 2 } else { rows }
}
