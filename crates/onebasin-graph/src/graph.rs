//! A network as a graph of values and nodes, of which only how axes are related is kept.
//!
//! Readers of every format translate into the few kinds of [`Op`]. That keeps the proof short that permutations leave the
//! function as it is: each kind needs one argument, whatever layer it came from.

/// Index of a value in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(crate) usize);

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The user gives it when the network runs; the order of its entries means something.
    Input,
    /// A tensor of the checkpoint, whose name the value has.
    Tensor,
    /// A constant of the graph, with its entries, row-major, if they are known.
    Constant(Option<Vec<f64>>),
    /// A node computes it.
    Computed,
}

/// An array that flows through the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its name; that of a tensor is its name in the checkpoint.
    pub name: String,
    /// Its shape, row-major.
    pub shape: Vec<usize>,
    /// Where it comes from.
    pub kind: Kind,
}

/// What an axis of an operand of an [`Op::Indexed`] runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The index of this number. Axes with the same number run together. The operation does not care in which order.
    Any(usize),
    /// Positions whose order the operation depends on, such as those of an image.
    Fixed,
    /// A single entry that stands for all.
    One,
}

/// How the axes of the inputs and outputs of a node are related.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Whoever reorders an index, in all operands that have it, reorders it in the outputs and changes nothing else.
    /// Holds the indices of the axes of all inputs, then of all outputs.
    ///
    /// Elementwise operations, products of matrices, convolutions, normalisations, softmax and reductions are of this kind.
    Indexed(Vec<Vec<Index>>),
    /// The same entries in the same row-major order, in another shape.
    Reshape,
    /// The inputs, one behind the other along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// A part of the input: as many entries as the output has, along an axis.
    Slice {
        /// The axis.
        axis: usize,
        /// The first entry.
        start: usize,
    },
    /// The input with equal entries before and behind it, along an axis.
    Pad {
        /// The axis.
        axis: usize,
        /// Number of entries before it.
        before: usize,
    },
    /// Nothing is known of it.
    Opaque,
}

/// An operation of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What a person calls it, such as `Conv of layer1.0.conv1.weight`.
    pub name: String,
    /// How its axes are related.
    pub op: Op,
    /// What it reads.
    pub inputs: Vec<ValueId>,
    /// What it computes.
    pub outputs: Vec<ValueId>,
    /// The indices of an [`Op::Indexed`] at each entry of which it works alone: one entry says nothing of the others.
    pub separate: Vec<usize>,
}

/// A network: nodes in an order in which each comes after those it reads from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<ValueId>,
    pub(crate) statistics: Vec<String>,
}

impl Graph {
    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
    /// The value of this index.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }
    /// All nodes, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// What the network returns.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }
    /// Name and shape of the tensors of the checkpoint that the network reads, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(|value| value.kind == Kind::Tensor)
    }
    /// Names of the tensors that hold running statistics of batch normalisations: means and variances of activations, not parameters.
    pub fn statistics(&self) -> &[String] {
        &self.statistics
    }
    /// What the user gives when the network runs.
    pub fn inputs(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(|value| value.kind == Kind::Input)
    }
}
