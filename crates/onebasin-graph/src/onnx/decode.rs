//! Decodes the messages of an ONNX file; numbers of fields are those of `onnx.proto`.

use std::io::{BufRead, Seek};
use std::ops::Range;

use super::proto::{Attribute, Dim, Function, Graph, Model, Node, Opset, ValueInfo};
use super::tensor::{Pieces, RawTensor};
use super::wire::{Content, Field, Wire};
use crate::error::Result;

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
