//! Walks through the nodes of a graph of the file, and translates each.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Call, Given, Operand, Output};
use super::operators::{self, Known};
use super::schema::{Argument, Graph, Named, Node, OptionalTensor, SymInt, SymIntArgument, TensorMeta};
use super::scope::{Held, Scope};
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
}

impl Translation {
    pub(super) fn new(file: &str) -> Self {
        let (builder, scope) = (Builder::default(), Scope::default());
        let (sizes, untranslated) = (BTreeMap::new(), Vec::new());
        Self { builder, scope, sizes, untranslated, file: file.to_owned(), regions: 0, entries: 0 }
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
                        format!("axis {axis} has the size {}; export with an example that gives it", expression.expr_str),
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
            let entries = call.outputs.iter().map(|output| output.shape.iter().fold(1usize, |all, size| all.saturating_mul(*size)));
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
                        !wanted(output) || values.get(at).is_some_and(|value| self.builder.shape(*value) == output.shape)
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

    /// Names the outputs of a call, and notes what it wrote into the memory of others.
    fn memory(
        &mut self,
        node: &Node,
        call: &Call,
        prefix: &str,
        known: Option<Known>,
        overwrites: bool,
        values: &[Option<ValueId>],
    ) -> Result<()> {
        let mut names = Vec::new();
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
        let names: Vec<String> = names.into_iter().map(|name| format!("{prefix}{name}")).collect();
        match (overwrites, known) {
            (true, _) => {
                if let Some(first) = names.first() {
                    // A result that nobody reads was still written.
                    let written = match (values.first(), self.scope.get(first)) {
                        (Some(None), Some(held)) if held.value.is_some() => self.written(call, known)?,
                        (value, _) => value.copied().flatten(),
                    };
                    let shape = call.outputs.first().map_or(&[][..], |output| &output.shape);
                    self.scope.write(first, written.map(|value| (value, shape)));
                }
                if known.is_none() {
                    names.iter().skip(1).for_each(|name| self.scope.write(name, None));
                }
            }
            (false, Some(_)) => {}
            (false, None) => {
                // An operator that nothing is known of may write into whatever it reads, unless ATen says that it does not.
                if !node.target.starts_with("torch.ops.aten.") || call.given("out").is_some() {
                    names.iter().for_each(|name| self.scope.write(name, None));
                }
            }
        }
        let shares = overwrites || known.is_none_or(|known| known.view);
        let mut memories: BTreeSet<usize> = BTreeSet::new();
        if shares {
            memories.extend(names.iter().filter_map(|name| self.scope.get(name)).flat_map(|held| held.memories.iter()));
        }
        let tensor = match (shares, &names[..]) {
            (true, [name]) => self.scope.get(name).and_then(|held| held.tensor.clone()),
            _ => None,
        };
        for (output, value) in call.outputs.iter().zip(values) {
            let memories = if shares { memories.iter().copied().collect() } else { vec![self.scope.fresh()] };
            let held = Held {
                value: *value,
                shape: output.shape.clone(),
                dtype: output.dtype,
                memories,
                tensor: tensor.clone(),
                seen: self.scope.writes(),
            };
            if !self.scope.define(format!("{prefix}{}", output.name), held) {
                return Err(self.fault(&output.name, "the tensor is computed twice"));
            }
        }
        Ok(())
    }

    /// What an operator wrote whose result has no reader.
    fn written(&mut self, call: &Call, known: Option<Known>) -> Result<Option<ValueId>> {
        let mut call = call.clone();
        call.outputs.iter_mut().for_each(|output| output.read = true);
        Ok(self.translate(&call, known)?.first().copied().flatten())
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
                Argument::AsTensor(Named { name }) => push(name)?,
                Argument::AsTensors(names) => names.iter().try_for_each(|Named { name }| push(name))?,
                Argument::AsOptionalTensor(OptionalTensor::AsTensor(Named { name })) => push(name)?,
                Argument::AsOptionalTensors(_) | Argument::AsNestedTensors(_) => {
                    return Err(self.fault(&node.target, "its outputs are lists of lists"));
                }
                _ => {}
            }
        }
        Ok(outputs)
    }

    /// An argument; `values` grows by the tensors in it.
    fn given(&mut self, argument: &Argument, prefix: &str, values: &mut Vec<ValueId>) -> Result<Given> {
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

    /// Puts the nodes of a region in the place of the operator that runs it.
    fn region(&mut self, outer: &Graph, node: &Node, prefix: &str, read: &BTreeSet<&str>) -> Result<()> {
        let graph = |argument: &Argument| matches!(argument, Argument::AsGraph(_));
        let at = node.inputs.iter().position(|input| graph(&input.arg));
        let Some((at, Argument::AsGraph(region))) = at.map(|at| (at, &node.inputs[at].arg)) else {
            return Err(self.fault(&node.target, "it has no region"));
        };
        self.regions += 1;
        let inner = format!("{prefix}{}#{}/", region.name, self.regions);
        let mut names = Vec::new();
        node.inputs[at + 1..].iter().for_each(|input| tensors(&input.arg, &mut names));
        let mut own = Vec::new();
        region.graph.inputs.iter().for_each(|input| tensors(input, &mut own));
        if names.len() != own.len() {
            return Err(self.fault(&region.name, format!("it has {} inputs and reads {}", names.len(), own.len())));
        }
        for (name, own) in names.iter().zip(own) {
            let name = format!("{prefix}{name}");
            if self.scope.read(&mut self.builder, &name)?.is_none() {
                return Err(self.fault(&name, "the tensor is read before it is computed"));
            }
            let held = self.scope.get(&name).expect("it was read").clone();
            if !self.scope.define(format!("{inner}{own}"), held) {
                return Err(self.fault(own, "the tensor is an input twice"));
            }
        }
        self.graph(&region.graph, &inner)?;
        let mut results = Vec::new();
        region.graph.outputs.iter().for_each(|output| tensors(output, &mut results));
        let outputs = self.outputs(outer, node, read)?;
        if results.len() != outputs.len() {
            return Err(self.fault(&region.name, format!("it has {} outputs of {}", results.len(), outputs.len())));
        }
        for (output, result) in outputs.iter().zip(results) {
            let name = format!("{inner}{result}");
            if self.scope.read(&mut self.builder, &name)?.is_none() {
                return Err(self.fault(&name, "the tensor is returned before it is computed"));
            }
            let held = self.scope.get(&name).expect("it was read").clone();
            if held.shape != output.shape {
                return Err(self.fault(&output.name, format!("its shape is {:?}, not {:?}", held.shape, output.shape)));
            }
            if !self.scope.define(format!("{prefix}{}", output.name), held) {
                return Err(self.fault(&output.name, "the tensor is computed twice"));
            }
        }
        Ok(())
    }

    /// What a person calls a node: its operator with the tensor that it reads, else with the module that it is in.
    fn place(&self, operator: &str, node: &Node, prefix: &str) -> String {
        let mut names = Vec::new();
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
        let held = names.iter().filter_map(|name| self.scope.get(&format!("{prefix}{name}")));
        // The weight has more axes than the bias.
        let most = held.filter(|held| held.tensor.is_some()).reduce(|most, held| {
            if held.shape.len() > most.shape.len() { held } else { most }
        });
        if let Some(tensor) = most.and_then(|held| held.tensor.as_ref()) {
            return format!("{operator} of {tensor}");
        }
        let stack = node.metadata.nn_module_stack.as_deref().unwrap_or("");
        let module = stack.rsplit(';').next().and_then(|entry| entry.split(',').nth(1)).unwrap_or("");
        if module.is_empty() || module.starts_with('_') { operator.to_owned() } else { format!("{operator} in {module}") }
    }
}

/// Names of the tensors of an argument, including nested ones.
pub(super) fn tensors<'a>(argument: &'a Argument, names: &mut Vec<&'a str>) {
    match argument {
        Argument::AsTensor(tensor) | Argument::AsOptionalTensor(OptionalTensor::AsTensor(tensor)) => names.push(&tensor.name),
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
pub(super) fn read(graph: &Graph) -> BTreeSet<&str> {
    let mut names = Vec::new();
    for node in &graph.nodes {
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
    }
    graph.outputs.iter().for_each(|output| tensors(output, &mut names));
    names.into_iter().collect()
}
