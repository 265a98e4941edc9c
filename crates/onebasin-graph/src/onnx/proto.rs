//! The messages of an ONNX file, as far as a graph needs them; numbers of fields are those of `onnx.proto`.

use std::io::{BufRead, Seek};
use std::ops::Range;

use super::tensor::{Pieces, RawTensor};
use super::wire::{Content, Field, Wire};
use crate::error::Result;

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

impl<R: BufRead + Seek> Wire<R> {
    /// The model in a range.
    pub(super) fn model(&mut self, range: Range<u64>) -> Result<Model> {
        let mut model = Model::default();
        self.message(range, |wire, field| {
            match field.number {
                7 => model.graph = wire.graph(&field)?,
                8 => model.opsets.push(wire.opset(&field)?),
                25 => model.functions.push(wire.function(&field)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(model)
    }

    fn opset(&mut self, field: &Field) -> Result<Opset> {
        let mut opset = Opset::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => opset.domain = wire.text(&field)?,
                2 => opset.version = wire.integer(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(opset)
    }

    fn graph(&mut self, field: &Field) -> Result<Graph> {
        let mut graph = Graph::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => graph.nodes.push(wire.node(&field)?),
                5 => graph.initializers.push(wire.tensor(&field)?),
                11 => graph.inputs.push(wire.value_info(&field)?),
                12 => graph.outputs.push(wire.value_info(&field)?),
                13 => graph.values.push(wire.value_info(&field)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(graph)
    }

    fn node(&mut self, field: &Field) -> Result<Node> {
        let mut node = Node::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => node.inputs.push(wire.text(&field)?),
                2 => node.outputs.push(wire.text(&field)?),
                3 => node.name = wire.text(&field)?,
                4 => node.operator = wire.text(&field)?,
                5 => node.attributes.push(wire.attribute(&field)?),
                7 => node.domain = wire.text(&field)?,
                8 => node.overload = wire.text(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(node)
    }

    fn attribute(&mut self, field: &Field) -> Result<Attribute> {
        let mut attribute = Attribute::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => attribute.name = wire.text(&field)?,
                2 => attribute.float = wire.float(&field)?,
                3 => attribute.integer = wire.integer(&field)?,
                4 => attribute.text = wire.text(&field)?,
                5 => attribute.tensor = Some(Box::new(wire.tensor(&field)?)),
                6 => attribute.graph = Some(Box::new(wire.graph(&field)?)),
                7 => wire.floats(&field, &mut attribute.floats)?,
                8 => wire.integers(&field, &mut attribute.integers)?,
                21 => attribute.reference = wire.text(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(attribute)
    }

    fn function(&mut self, field: &Field) -> Result<Function> {
        let mut function = Function::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => function.name = wire.text(&field)?,
                4 => function.inputs.push(wire.text(&field)?),
                5 => function.outputs.push(wire.text(&field)?),
                7 => function.nodes.push(wire.node(&field)?),
                9 => function.opsets.push(wire.opset(&field)?),
                10 => function.domain = wire.text(&field)?,
                11 => function.defaults.push(wire.attribute(&field)?),
                13 => function.overload = wire.text(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(function)
    }

    fn value_info(&mut self, field: &Field) -> Result<ValueInfo> {
        let mut info = ValueInfo::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => info.name = wire.text(&field)?,
                2 => info.shape = wire.type_of(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(info)
    }

    fn type_of(&mut self, field: &Field) -> Result<Option<Vec<Dim>>> {
        let mut shape = None;
        // The type, within it that of a tensor, within it the shape.
        self.message(self.range(field)?, |wire, field| match field.number {
            1 => wire.message(wire.range(&field)?, |wire, field| match field.number {
                2 => wire
                    .message(wire.range(&field)?, |wire, field| {
                        let dims = shape.get_or_insert_with(Vec::new);
                        if field.number == 1 {
                            dims.push(wire.dim(&field)?);
                        }
                        Ok(())
                    })
                    .map(|()| {
                        shape.get_or_insert_with(Vec::new);
                    }),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })?;
        Ok(shape)
    }

    fn dim(&mut self, field: &Field) -> Result<Dim> {
        let mut dim = Dim::Unknown;
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => dim = Dim::Size(wire.integer(&field)?),
                2 => dim = Dim::Named(wire.text(&field)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(dim)
    }

    fn tensor(&mut self, field: &Field) -> Result<RawTensor> {
        let mut tensor = RawTensor::default();
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => wire.integers(&field, &mut tensor.dims)?,
                2 => tensor.data_type = wire.integer(&field)?,
                4 | 5 | 7 | 10 | 11 => {
                    let piece = match &field.content {
                        Content::Bytes(range) => range.clone(),
                        _ => field.start..wire.position(),
                    };
                    if !tensor.typed.add(piece) {
                        return Err(wire.error("a tensor is stored in too many pieces"));
                    }
                }
                8 => tensor.name = wire.text(&field)?,
                9 => tensor.raw = Some(Pieces::from(wire.range(&field)?)),
                13 => {
                    let entry = wire.entry(&field)?;
                    tensor.external.push(entry);
                }
                14 => tensor.is_external = wire.integer(&field)? == 1,
                _ => {}
            }
            Ok(())
        })?;
        Ok(tensor)
    }

    fn entry(&mut self, field: &Field) -> Result<(String, String)> {
        let mut entry = (String::new(), String::new());
        self.message(self.range(field)?, |wire, field| {
            match field.number {
                1 => entry.0 = wire.text(&field)?,
                2 => entry.1 = wire.text(&field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(entry)
    }
}
