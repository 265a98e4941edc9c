//! The messages of an ONNX file, as far as a graph needs them.

use super::tensor::RawTensor;

/// A model.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// The network.
    pub graph: Graph,
    /// Versions of the sets of operators.
    pub opsets: Vec<Opset>,
    /// Operators that the file itself defines by others.
    pub functions: Vec<Function>,
}

/// A version of a set of operators.
#[derive(Clone, Debug, Default)]
pub(super) struct Opset {
    /// The set; that of ONNX itself has no name.
    pub domain: String,
    /// Its version.
    pub version: i64,
}

/// A graph: the network, or a branch of one of its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its tensors.
    pub initializers: Vec<RawTensor>,
    /// What it takes; may include initializers.
    pub inputs: Vec<ValueInfo>,
    /// What it returns.
    pub outputs: Vec<ValueInfo>,
    /// Shapes of values in between.
    pub values: Vec<ValueInfo>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Names of the values that it reads; empty where an optional one is missing.
    pub inputs: Vec<String>,
    /// Names of the values that it computes; empty where nobody needs one.
    pub outputs: Vec<String>,
    /// Its own name, if it has one.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The set that the operator is from.
    pub domain: String,
    /// Which of several functions of the same name it calls.
    pub overload: String,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}

/// An attribute of a node. Which of its fields counts follows from its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribute {
    /// Its name.
    pub name: String,
    /// A number.
    pub float: f32,
    /// An integer.
    pub integer: i64,
    /// A text.
    pub text: String,
    /// Numbers.
    pub floats: Vec<f32>,
    /// Integers.
    pub integers: Vec<i64>,
    /// A tensor.
    pub tensor: Option<Box<RawTensor>>,
    /// A graph.
    pub graph: Option<Box<Graph>>,
    /// Within a function: the attribute of the call that it stands for.
    pub reference: String,
}

/// The name and shape of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueInfo {
    /// Its name.
    pub name: String,
    /// Its shape, if it is a tensor and the shape is stated.
    pub shape: Option<Vec<Dim>>,
}

/// Size of an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Dim {
    /// This number of entries.
    Size(i64),
    /// A size with a name, which differs from run to run.
    Named(String),
    /// Any size.
    #[default]
    Unknown,
}

/// An operator that the file defines.
#[derive(Clone, Debug, Default)]
pub(super) struct Function {
    /// Its name.
    pub name: String,
    /// The set that it belongs to.
    pub domain: String,
    /// Which of several functions of the same name it is.
    pub overload: String,
    /// What its nodes call its inputs.
    pub inputs: Vec<String>,
    /// What its nodes call its outputs.
    pub outputs: Vec<String>,
    /// Attributes with their default values.
    pub defaults: Vec<Attribute>,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Versions of the sets of operators of its nodes.
    pub opsets: Vec<Opset>,
}
