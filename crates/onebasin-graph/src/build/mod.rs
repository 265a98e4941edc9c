//! Puts a graph together node by node, and refuses shapes that do not fit.

mod attention;
mod layers;
mod recurrent;
mod shapes;
mod sliced;
mod unread;

pub use layers::Convolution;

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::graph::{Graph, Index, Kind, Node, Op, Value, ValueId};

/// More entries than an array that a network computes can have.
const MOST_ENTRIES: usize = 1 << 48;

/// A graph that grows.
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
    place: String,
    /// The number that all entries of a value are, of those for which it is known.
    uniform: BTreeMap<ValueId, f64>,
}

impl Builder {
    /// Names the operation that the next nodes belong to, for error messages and for reasons why units stay fixed.
    pub fn at(&mut self, place: impl Into<String>) {
        self.place = place.into();
    }

    /// The name of the present operation.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// An error of the present operation.
    pub fn error(&self, fault: impl Into<String>) -> Error {
        Error::new(self.place.clone(), fault)
    }

    /// What the user gives.
    pub fn input(&mut self, name: &str, shape: &[usize]) -> Result<ValueId> {
        self.value(name, shape, Kind::Input)
    }

    /// A tensor of the checkpoint.
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<ValueId> {
        self.value(name, shape, Kind::Tensor)
    }

    /// A constant of the graph, with its entries if they are known.
    pub fn constant(&mut self, name: &str, shape: &[usize], entries: Option<Vec<f64>>) -> Result<ValueId> {
        if let Some(entries) = entries.as_ref().filter(|entries| entries.len() != shape.iter().product::<usize>()) {
            return Err(self.error(format!("constant `{name}` {shape:?} has {} entries", entries.len())));
        }
        self.value(name, shape, Kind::Constant(entries))
    }

    /// An array of copies of one number.
    ///
    /// Parts of it are arrays of their own, so that units that begin with the same numbers need not be permuted together.
    pub fn uniform(&mut self, number: f64, shape: &[usize]) -> Result<ValueId> {
        let name = format!("{number}");
        let one = self.constant(&name, &[], Some(vec![number]))?;
        let value = self.broadcast(&[one], shape)?;
        self.uniform.insert(value, number);
        Ok(value)
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> &[usize] {
        &self.graph.value(value).shape
    }

    /// Where a value comes from.
    pub fn kind(&self, value: ValueId) -> &Kind {
        &self.graph.value(value).kind
    }

    /// The graph that returns these values. What it does not read at this size of its inputs stays fixed.
    pub fn finish(mut self, outputs: Vec<ValueId>) -> Graph {
        self.slice_early(&outputs);
        self.fix_unread(&outputs);
        self.graph.outputs = outputs;
        self.graph
    }

    /// An operation whose indices may each be reordered; `operands` are the inputs with the indices of their axes, `outputs` the
    /// shapes of the outputs with theirs.
    pub fn indexed(
        &mut self,
        operands: &[(ValueId, Vec<Index>)],
        outputs: &[(Vec<usize>, Vec<Index>)],
    ) -> Result<Vec<ValueId>> {
        let inputs = operands.iter().map(|(value, indices)| (self.shape(*value).to_vec(), indices.clone()));
        let all: Vec<(Vec<usize>, Vec<Index>)> = inputs.chain(outputs.iter().cloned()).collect();
        let mut sizes: Vec<(usize, usize)> = Vec::new();
        for (shape, indices) in &all {
            if shape.len() != indices.len() {
                return Err(self.error(format!("{} axes are expected where the shape is {shape:?}", indices.len())));
            }
            for (&size, index) in shape.iter().zip(indices) {
                match index {
                    Index::One if size != 1 => return Err(self.error(format!("an axis of {shape:?} should be 1"))),
                    Index::Any(number) => match sizes.iter().find(|(own, _)| own == number) {
                        Some((_, other)) if *other != size => {
                            return Err(self.error(format!("axes of {other} and {size} entries should be equal")));
                        }
                        Some(_) => {}
                        None => sizes.push((*number, size)),
                    },
                    Index::One | Index::Fixed => {}
                }
            }
        }
        let inputs = operands.iter().map(|(value, _)| *value).collect();
        let shapes = outputs.iter().map(|(shape, _)| shape.clone()).collect();
        self.node(Op::Indexed(all.into_iter().map(|(_, indices)| indices).collect()), inputs, shapes)
    }

    /// The same, with one output.
    pub fn indexed_one(
        &mut self,
        operands: &[(ValueId, Vec<Index>)],
        shape: &[usize],
        indices: Vec<Index>,
    ) -> Result<ValueId> {
        Ok(self.indexed(operands, &[(shape.to_vec(), indices)])?[0])
    }

    /// Notes that those of some values that are tensors hold running statistics of a batch normalisation.
    pub(crate) fn hold_statistics(&mut self, values: &[ValueId]) {
        let tensors = values.iter().map(|value| self.graph.value(*value)).filter(|value| value.kind == Kind::Tensor);
        let names: Vec<String> = tensors.map(|tensor| tensor.name.clone()).collect();
        self.graph.statistics.extend(names);
    }

    /// Says of the newest node at the entries of which indices it works alone.
    pub(crate) fn works_alone_at(&mut self, separate: impl IntoIterator<Item = usize>) {
        let node = self.graph.nodes.last_mut().expect("a node was just added");
        node.separate = separate.into_iter().collect();
    }

    /// An operation that nothing is known of: all units that it reads stay fixed.
    pub fn opaque(&mut self, inputs: &[ValueId], outputs: &[Vec<usize>]) -> Result<Vec<ValueId>> {
        self.node(Op::Opaque, inputs.to_vec(), outputs.to_vec())
    }

    fn node(&mut self, op: Op, inputs: Vec<ValueId>, shapes: Vec<Vec<usize>>) -> Result<Vec<ValueId>> {
        let place = self.place.clone();
        let output = |shape: Vec<usize>| self.value(&place, &shape, Kind::Computed);
        let outputs: Vec<ValueId> = shapes.into_iter().map(output).collect::<Result<_>>()?;
        self.graph.nodes.push(Node { name: place, op, inputs, outputs: outputs.clone(), separate: Vec::new() });
        Ok(outputs)
    }

    fn value(&mut self, name: &str, shape: &[usize], kind: Kind) -> Result<ValueId> {
        let entries = shape.iter().try_fold(1usize, |entries, axis| entries.checked_mul(*axis));
        if shape.len() > 16 || entries.is_none_or(|entries| entries > MOST_ENTRIES) {
            return Err(Error::new(name, format!("the shape {shape:?} is too large")));
        }
        if shape.contains(&0) {
            return Err(Error::new(name, format!("the shape {shape:?} has an axis of no entries")));
        }
        self.graph.values.push(Value { name: name.to_owned(), shape: shape.to_vec(), kind });
        Ok(ValueId(self.graph.values.len() - 1))
    }
}
