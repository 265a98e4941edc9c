//! Translates the nodes of an ONNX graph one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::call::Call;
use super::data::{Initializer, Source};
use super::dims::{Dims, Options};
use super::fold;
use super::inline::inline;
use super::names::looks_like_parameter;
use super::ops;
use super::proto::{Dim, Function, Graph, Model, Node, Opset};
use super::scope::{Known, Scope};
use crate::error::{Error, Result};

/// More nodes than a network has, with all calls of functions replaced.
const MOST_NODES: usize = 1 << 20;
/// Deeper nesting of calls and branches than networks have.
const MOST_NESTED: usize = 32;

/// Operators whose output is a view of a tensor, so that what reads it is named after the tensor.
const VIEWS: [&str; 8] = ["Cast", "Concat", "Flatten", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"];

/// A graph that is being translated.
struct Translation<'a> {
    scope: Scope,
    dims: Dims,
    stated: BTreeMap<&'a str, &'a [Dim]>,
    functions: BTreeMap<[&'a str; 3], &'a Function>,
    separate: &'a BTreeSet<String>,
    copies: Vec<Copied>,
    nodes: usize,
    nested: usize,
}

/// A name of a module for a tensor that the file has under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The name.
    pub name: String,
    /// The tensor of the file.
    pub of: String,
}

/// What a model became.
pub(super) struct Translated {
    /// Its graph.
    pub graph: crate::graph::Graph,
    /// All its tensors.
    pub initializers: Vec<Initializer>,
    /// Tensors with several names.
    pub copies: Vec<Copied>,
}

/// The graph of a model, with its initializers.
pub(super) fn translate(model: &Model, source: &Source, options: &Options) -> Result<Translated> {
    let Model { graph, opsets, functions } = model;
    let infos = graph.values.iter().chain(&graph.outputs);
    let stated = infos.filter_map(|info| Some((info.name.as_str(), info.shape.as_deref()?)));
    let functions =
        functions.iter().map(|function| (key(&function.domain, &function.name, &function.overload), function));
    let mut translation = Translation {
        scope: Scope::new(source.clone(), options.constants.clone()),
        dims: Dims::new(options),
        stated: stated.collect(),
        functions: functions.collect(),
        separate: &options.separate,
        copies: Vec::new(),
        nodes: 0,
        nested: 0,
    };
    translation.graph(graph, opsets)?;
    let Translation { mut scope, copies, .. } = translation;
    let outputs = graph.outputs.iter().map(|output| scope.id(&output.name)).collect::<Result<Vec<_>>>()?;
    if outputs.is_empty() {
        return Err(Error::new("the graph", "it has no outputs; the file is no ONNX model, or is damaged"));
    }
    Ok(Translated { graph: scope.builder.finish(outputs), initializers: scope.initializers, copies })
}

fn key<'a>(domain: &'a str, name: &'a str, overload: &'a str) -> [&'a str; 3] {
    [domain, name, overload]
}

/// Whether a set of operators is that of ONNX itself.
fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

impl<'a> Translation<'a> {
    fn graph(&mut self, graph: &'a Graph, opsets: &[Opset]) -> Result<()> {
        for tensor in &graph.initializers {
            self.scope.add_initializer(Initializer::new(tensor.clone(), &self.scope.source)?)?;
        }
        // Old files list initializers among the inputs.
        let tensors: BTreeSet<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        for input in graph.inputs.iter().filter(|input| !tensors.contains(input.name.as_str())) {
            let shape = self.dims.input(input)?;
            let id = self.scope.builder.input(&input.name, &shape)?;
            self.scope.define(&input.name, Known::Computed(id, None))?;
        }
        self.nodes(&graph.nodes, opsets)
    }

    fn nodes(&mut self, nodes: &[Node], opsets: &[Opset]) -> Result<()> {
        self.nested += 1;
        self.nodes = self.nodes.saturating_add(nodes.len());
        if self.nodes > MOST_NODES || self.nested > MOST_NESTED {
            return Err(Error::new("the graph", "it has too many nodes, or functions call themselves"));
        }
        for node in nodes {
            self.node(node, opsets)?;
        }
        self.nested -= 1;
        Ok(())
    }

    fn node(&mut self, node: &Node, opsets: &[Opset]) -> Result<()> {
        self.scope.builder.at(self.place(node));
        let function = self.functions.get(&key(&node.domain, &node.operator, &node.overload)).copied();
        if let Some(function) = function {
            return self.call(function, node);
        }
        match node.operator.as_str() {
            "Identity" if is_standard(&node.domain) => return self.copy(node.inputs.first(), node.outputs.first()),
            "If" if is_standard(&node.domain) => {
                if let Some(branch) = self.branch(node)? {
                    return self.take_branch(branch, node, opsets);
                }
            }
            _ if is_standard(&node.domain) && self.scope.list(node)? => return self.outputs_are_defined(node),
            _ => {}
        }
        let version = opsets.iter().find(|opset| is_standard(&opset.domain)).map_or(1, |opset| opset.version);
        let stated: Vec<Option<Vec<usize>>> = node.outputs.iter().map(|name| self.stated(name)).collect();
        let mut call = Call { scope: &mut self.scope, node, version, stated };
        let standard = is_standard(&node.domain);
        if standard && let Some(folded) = fold::evaluate(&mut call)? {
            for (name, entries) in node.outputs.iter().zip(folded).filter(|(name, _)| !name.is_empty()) {
                let constant = self.scope.add_constant(name, entries)?;
                self.scope.define(name, constant)?;
            }
            return self.outputs_are_defined(node);
        }
        let results = match ops::find(&node.operator).filter(|_| standard) {
            Some(operator) => operator(&mut call)?,
            None => None,
        };
        let Some(results) = results else {
            let stated: Vec<Option<Vec<usize>>> = node.outputs.iter().map(|name| self.stated(name)).collect();
            return self.scope.opaque(node, &stated);
        };
        let tensor = VIEWS.contains(&node.operator.as_str()).then(|| self.tensor(node)).flatten().map(str::to_owned);
        for (name, id) in node.outputs.iter().zip(results).filter(|(name, _)| !name.is_empty()) {
            self.check(name, id)?;
            self.scope.define(name, Known::Computed(id, tensor.clone()))?;
        }
        self.outputs_are_defined(node)
    }

    /// What a person calls a node.
    fn place(&self, node: &Node) -> String {
        match self.tensor(node) {
            Some(tensor) => format!("{} of {tensor}", node.operator),
            None if node.name.is_empty() => {
                format!("{} {}", node.operator, node.outputs.first().map_or("", String::as_str))
            }
            None => format!("{} {}", node.operator, node.name),
        }
    }

    /// The first tensor that a node reads.
    fn tensor(&self, node: &Node) -> Option<&str> {
        node.inputs.iter().find_map(|input| self.scope.tensor(input))
    }

    /// The shape that the file states of a value, if all its sizes are known.
    fn stated(&self, name: &str) -> Option<Vec<usize>> {
        self.dims.sizes(self.stated.get(name)?).into_iter().collect()
    }

    /// Refuses a value that has not the shape that the file states, since then one of both is not understood.
    fn check(&self, name: &str, id: crate::graph::ValueId) -> Result<()> {
        let Some(stated) = self.stated.get(name).map(|dims| self.dims.sizes(dims)) else { return Ok(()) };
        let shape = self.scope.builder.shape(id);
        let agrees = stated.len() == shape.len()
            && stated.iter().zip(shape).all(|(stated, own)| stated.is_none_or(|stated| stated == *own));
        if agrees {
            return Ok(());
        }
        let fault = format!("the file states another shape of `{name}` than {shape:?}; run onnx.shape_inference again");
        Err(self.scope.builder.error(fault))
    }

    fn outputs_are_defined(&self, node: &Node) -> Result<()> {
        match node.outputs.iter().find(|name| !name.is_empty() && !self.scope.has(name)) {
            Some(name) => Err(self.scope.builder.error(format!("its output `{name}` is not understood"))),
            None => Ok(()),
        }
    }

    fn copy(&mut self, from: Option<&String>, to: Option<&String>) -> Result<()> {
        let (Some(from), Some(to)) = (from, to) else { return Err(self.scope.builder.error("it copies nothing")) };
        let known = self.scope.known(from)?.clone();
        if let Known::Initializer(index) = known
            && looks_like_parameter(to)
        {
            let initializer = &self.scope.initializers[index];
            if self.separate.contains(to) {
                return self.scope.add_initializer(initializer.named(to));
            }
            if initializer.data_type.is_float() {
                self.copies.push(Copied { name: to.clone(), of: initializer.name.clone() });
            }
        }
        self.scope.define(to, known)
    }

    fn call(&mut self, function: &Function, node: &Node) -> Result<()> {
        let inlined = inline(function, node, &format!("{}#{}/", node.operator, self.nodes));
        self.nodes(&inlined.nodes, &function.opsets)?;
        for (output, input) in &inlined.copies {
            self.copy(Some(input), Some(output))?;
        }
        self.outputs_are_defined(node)
    }

    /// The branch that a condition takes, if it is known before the network runs.
    fn branch<'n>(&mut self, node: &'n Node) -> Result<Option<&'n Graph>> {
        let Some(condition) = node.inputs.first() else { return Ok(None) };
        let Some(condition) = self.scope.entries(condition)?.and_then(|entries| entries.single()) else {
            return Ok(None);
        };
        let name = if condition == 0.0 { "else_branch" } else { "then_branch" };
        Ok(node
            .attributes
            .iter()
            .find(|attribute| attribute.name == name)
            .and_then(|attribute| attribute.graph.as_deref()))
    }

    fn take_branch(&mut self, branch: &Graph, node: &Node, opsets: &[Opset]) -> Result<()> {
        for tensor in &branch.initializers {
            self.scope.add_initializer(Initializer::new(tensor.clone(), &self.scope.source)?)?;
        }
        self.nodes(&branch.nodes, opsets)?;
        for (from, to) in branch.outputs.iter().zip(&node.outputs).filter(|(_, to)| !to.is_empty()) {
            self.copy(Some(&from.name), Some(to))?;
        }
        self.outputs_are_defined(node)
    }
}
