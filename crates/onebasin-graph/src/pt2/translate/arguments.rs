//! Looks up the arguments of nodes.

use std::collections::BTreeSet;

use super::Translation;
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::{Given, Operand};
use crate::pt2::schema::{Argument, Graph, Named, OptionalTensor, SymIntArgument};

impl Translation {
    /// An argument; `values` grows by the tensors in it.
    pub(super) fn given(&mut self, argument: &Argument, prefix: &str, values: &mut Vec<ValueId>) -> Result<Given> {
        Ok(match argument {
            Argument::AsNone(_) | Argument::AsOptionalTensor(OptionalTensor::AsNone(_)) => Given::Nothing,
            Argument::AsTensor(tensor) | Argument::AsOptionalTensor(OptionalTensor::AsTensor(tensor)) => {
                Given::Tensor(self.operand(tensor, prefix, values)?)
            }
            Argument::AsTensors(tensors) => {
                let operand = |tensor| self.operand(tensor, prefix, values).map(Some);
                Given::Tensors(tensors.iter().map(operand).collect::<Result<_>>()?)
            }
            Argument::AsOptionalTensors(tensors) => {
                let operand = |tensor: &OptionalTensor| match tensor {
                    OptionalTensor::AsTensor(tensor) => self.operand(tensor, prefix, values).map(Some),
                    OptionalTensor::AsNone(_) => Ok(None),
                };
                Given::Tensors(tensors.iter().map(operand).collect::<Result<_>>()?)
            }
            Argument::AsNestedTensors(lists) => {
                for tensor in lists.iter().flatten() {
                    self.operand(tensor, prefix, values)?;
                }
                Given::Other
            }
            Argument::AsStringToArgument(arguments) => {
                for argument in arguments.values() {
                    self.given(argument, prefix, values)?;
                }
                Given::Other
            }
            Argument::AsInt(number) => Given::Integer(*number),
            Argument::AsInts(numbers) => Given::Integers(numbers.clone()),
            Argument::AsFloat(number) => Given::Number(number.0),
            Argument::AsFloats(numbers) => Given::Numbers(numbers.iter().map(|number| number.0).collect()),
            Argument::AsBool(truth) => Given::Truth(*truth),
            Argument::AsString(text) => Given::Text(text.clone()),
            Argument::AsSymInt(number) => self.size(number, prefix).map_or(Given::Other, Given::Integer),
            Argument::AsSymInts(numbers) => {
                let numbers: Option<Vec<i64>> = numbers.iter().map(|number| self.size(number, prefix)).collect();
                numbers.map_or(Given::Other, Given::Integers)
            }
            _ => Given::Other,
        })
    }

    fn size(&self, number: &SymIntArgument, prefix: &str) -> Option<i64> {
        match number {
            SymIntArgument::AsInt(number) => Some(*number),
            SymIntArgument::AsName(name) => self.sizes.get(&format!("{prefix}{name}")).copied(),
        }
    }

    fn operand(&mut self, tensor: &Named, prefix: &str, values: &mut Vec<ValueId>) -> Result<Operand> {
        let Some(operand) = self.scope.read(&mut self.builder, &format!("{prefix}{}", tensor.name))? else {
            return Err(self.fault(&tensor.name, "the tensor is read before it is computed"));
        };
        values.extend(operand.value);
        Ok(operand)
    }
}

/// Names of the tensors of an argument, including nested ones.
pub(in crate::pt2) fn tensors<'a>(argument: &'a Argument, names: &mut Vec<&'a str>) {
    match argument {
        Argument::AsTensor(tensor) | Argument::AsOptionalTensor(OptionalTensor::AsTensor(tensor)) => {
            names.push(&tensor.name);
        }
        Argument::AsTensors(tensors) => names.extend(tensors.iter().map(|tensor| tensor.name.as_str())),
        Argument::AsNestedTensors(lists) => names.extend(lists.iter().flatten().map(|tensor| tensor.name.as_str())),
        Argument::AsOptionalTensors(own) => {
            let name = |tensor: &'a OptionalTensor| match tensor {
                OptionalTensor::AsTensor(tensor) => Some(tensor.name.as_str()),
                OptionalTensor::AsNone(_) => None,
            };
            names.extend(own.iter().filter_map(name));
        }
        Argument::AsStringToArgument(arguments) => arguments.values().for_each(|argument| tensors(argument, names)),
        _ => {}
    }
}

/// Names of all tensors that a graph reads or returns.
pub(in crate::pt2) fn read(graph: &Graph) -> BTreeSet<&str> {
    let mut names = Vec::new();
    for node in &graph.nodes {
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
    }
    graph.outputs.iter().for_each(|output| tensors(output, &mut names));
    names.into_iter().collect()
}
