//! Walks through the nodes of a graph of the file, and translates each.

mod arguments;
mod memory;
mod region;

pub(super) use arguments::{read, tensors};

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Call, Output};
use super::operators::{self, Known};
use super::schema::{Argument, Graph, Named, Node, OptionalTensor, SymInt, TensorMeta};
use super::scope::Scope;
use super::{Untranslated, scalars};
use crate::build::Builder;
use crate::error::{Error, Result};
use crate::graph::ValueId;

/// Most entries of all constants that operators make.
const MOST_ENTRIES: usize = 1 << 22;

/// Operators that run a region as it is, whatever the arguments before it say.
const REGIONS: &[&str] = &[
    "torch.ops.higher_order.checkpoint",
    "torch.ops.higher_order.hints_wrapper",
    "torch.ops.higher_order.invoke_subgraph",
    "torch.ops.higher_order.strict_mode",
    "torch.ops.higher_order.tag_activation_checkpoint",
    "torch.ops.higher_order.wrap",
    "torch.ops.higher_order.wrap_activation_checkpoint",
    "torch.ops.higher_order.wrap_with_autocast",
    "torch.ops.higher_order.wrap_with_set_grad_enabled",
];

/// A translation under way.
pub(super) struct Translation {
    pub(super) builder: Builder,
    pub(super) scope: Scope,
    /// Sizes that are known, by name.
    sizes: BTreeMap<String, i64>,
    pub(super) untranslated: Vec<Untranslated>,
    file: String,
    regions: usize,
    entries: usize,
    /// Whether an operator changed the shape of a tensor in place, so that parts of it are elsewhere.
    relaid: bool,
}

impl Translation {
    pub(super) fn new(file: &str) -> Self {
        let (builder, scope) = (Builder::default(), Scope::default());
        let (sizes, untranslated) = (BTreeMap::new(), Vec::new());
        Self { builder, scope, sizes, untranslated, file: file.to_owned(), regions: 0, entries: 0, relaid: false }
    }

    fn fault(&self, place: &str, fault: impl Into<String>) -> Error {
        Error::new(format!("{}: {place}", self.file), fault)
    }

    /// The shape that the file declares for a tensor.
    pub(super) fn shape(&self, name: &str, meta: &TensorMeta) -> Result<Vec<usize>> {
        let size = |(axis, size): (usize, &SymInt)| {
            let known = match (size.hint(), size) {
                (None, SymInt::AsExpr(expression)) if axis > 0 => {
                    return Err(self.fault(
                        name,
                        format!(
                            "axis {axis} has the size {}; export with an example that gives it",
                            expression.expr_str
                        ),
                    ));
                }
                (hint, _) => hint.unwrap_or(1),
            };
            usize::try_from(known).map_err(|_| self.fault(name, format!("axis {axis} has the size {known}")))
        };
        meta.sizes.iter().enumerate().map(size).collect()
    }

    /// Translates all nodes of a graph, whose tensors have names that begin with `prefix`.
    pub(super) fn graph(&mut self, graph: &Graph, prefix: &str) -> Result<()> {
        let read = read(graph);
        for (name, size) in &graph.sym_int_values {
            if let Some(size) = size.hint() {
                self.sizes.insert(format!("{prefix}{name}"), size);
            }
        }
        graph.nodes.iter().try_for_each(|node| self.node(graph, node, prefix, &read))
    }

    fn node(&mut self, graph: &Graph, node: &Node, prefix: &str, read: &BTreeSet<&str>) -> Result<()> {
        let short = node.target.rsplit("::").next().unwrap_or(&node.target);
        let aten = short.strip_prefix("torch.ops.aten.");
        let full = aten.unwrap_or(short.strip_prefix("torch.ops.").unwrap_or(short));
        let (name, overload) = match aten.and_then(|aten| aten.rsplit_once('.')) {
            Some((name, overload)) => (name, overload),
            None => (full, ""),
        };
        self.builder.at(self.place(name, node, prefix));
        if REGIONS.contains(&node.target.as_str()) {
            return self.region(graph, node, prefix, read);
        }
        let outputs = self.outputs(graph, node, read)?;
        let mut call = Call {
            operator: name.to_owned(),
            overload: overload.to_owned(),
            arguments: Vec::with_capacity(node.inputs.len()),
            values: Vec::new(),
            outputs,
            room: MOST_ENTRIES - self.entries,
        };
        for input in &node.inputs {
            let given = self.given(&input.arg, prefix, &mut call.values)?;
            call.arguments.push((input.name.clone(), given));
        }
        scalars::evaluate(node, &call, &self.builder, prefix, &mut self.sizes);
        if aten.is_some() && operators::is_idle(name) {
            return Ok(());
        }
        let overwrites = aten.is_some() && name.ends_with('_') && !name.ends_with("__");
        if overwrites {
            call.operator.pop();
        }
        let known = aten.and_then(|_| operators::find(&call.operator)).filter(|_| call.given("out").is_none());
        let values = self.translate(&call, known)?;
        if call.operator == "arange" {
            let entries = call
                .outputs
                .iter()
                .map(|output| output.shape.iter().fold(1usize, |all, size| all.saturating_mul(*size)));
            self.entries += entries.sum::<usize>().min(call.room);
        }
        self.memory(node, &call, prefix, known, overwrites, &values)
    }

    /// The values of all outputs of a call; none of those that nobody reads or that have no entries.
    fn translate(&mut self, call: &Call, known: Option<Known>) -> Result<Vec<Option<ValueId>>> {
        let wanted = |output: &Output| output.read && !output.shape.contains(&0);
        // An operator without outputs may still decide by what it reads.
        let any = call.outputs.iter().any(wanted);
        let fault = match known {
            Some(_) if !any && !call.outputs.is_empty() => return Ok(vec![None; call.outputs.len()]),
            Some(known) => match (known.translate)(&mut self.builder, call) {
                Ok(values) => {
                    let fits = |(at, output): (usize, &Output)| {
                        !wanted(output)
                            || values.get(at).is_some_and(|value| self.builder.shape(*value) == output.shape)
                    };
                    if call.outputs.iter().enumerate().all(fits) {
                        let value = |(at, output)| wanted(output).then(|| values[at]);
                        return Ok(call.outputs.iter().enumerate().map(value).collect());
                    }
                    let found: Vec<&[usize]> = values.iter().map(|value| self.builder.shape(*value)).collect();
                    let declared: Vec<&[usize]> = call.outputs.iter().map(|output| &output.shape[..]).collect();
                    format!("its outputs are {found:?}, and the file declares {declared:?}")
                }
                Err(error) => error.fault,
            },
            None => "the operator is not known".to_owned(),
        };
        // Sizes are computed from shapes only; nothing else without tensors needs a node.
        if !any && call.values.is_empty() {
            return Ok(vec![None; call.outputs.len()]);
        }
        self.untranslated.push(Untranslated { place: self.builder.place().to_owned(), reason: fault });
        let shapes: Vec<Vec<usize>> =
            call.outputs.iter().filter(|output| wanted(output)).map(|output| output.shape.clone()).collect();
        let mut values = self.builder.opaque(&call.values, &shapes)?.into_iter();
        Ok(call.outputs.iter().map(|output| if wanted(output) { values.next() } else { None }).collect())
    }

    /// The tensors that a node computes.
    fn outputs(&self, graph: &Graph, node: &Node, read: &BTreeSet<&str>) -> Result<Vec<Output>> {
        let mut outputs = Vec::new();
        let mut push = |name: &str| -> Result<()> {
            let Some(meta) = graph.tensor_values.get(name) else {
                return Err(self.fault(name, "tensor_values does not have the tensor"));
            };
            let read = read.contains(name);
            let shape = match self.shape(name, meta) {
                Err(_) if !read => vec![0],
                shape => shape?,
            };
            outputs.push(Output { name: name.to_owned(), shape, dtype: meta.dtype, read });
            Ok(())
        };
        for output in &node.outputs {
            match output {
                Argument::AsTensor(Named { name })
                | Argument::AsOptionalTensor(OptionalTensor::AsTensor(Named { name })) => push(name)?,
                Argument::AsTensors(names) => names.iter().try_for_each(|Named { name }| push(name))?,
                Argument::AsOptionalTensors(_) | Argument::AsNestedTensors(_) => {
                    return Err(self.fault(&node.target, "its outputs are lists of lists"));
                }
                _ => {}
            }
        }
        Ok(outputs)
    }

    /// What a person calls a node: its operator with the tensor that it reads, else with the module that it is in.
    fn place(&self, operator: &str, node: &Node, prefix: &str) -> String {
        let mut names = Vec::new();
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
        let held = names.iter().filter_map(|name| self.scope.get(&format!("{prefix}{name}")));
        // The weight has more axes than the bias.
        let most = held
            .filter(|held| held.tensor.is_some())
            .reduce(|most, held| if held.shape.len() > most.shape.len() { held } else { most });
        if let Some(tensor) = most.and_then(|held| held.tensor.as_ref()) {
            return format!("{operator} of {tensor}");
        }
        let stack = node.metadata.nn_module_stack.as_deref().unwrap_or("");
        let module = stack.rsplit(';').next().and_then(|entry| entry.split(',').nth(1)).unwrap_or("");
        if module.is_empty() || module.starts_with('_') {
            operator.to_owned()
        } else {
            format!("{operator} in {module}")
        }
    }
}
