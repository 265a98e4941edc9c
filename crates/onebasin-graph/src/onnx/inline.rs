//! Replaces calls of functions that the file defines by the nodes of the function.

use std::collections::BTreeMap;

use super::proto::{Attribute, Function, Graph, Node};

/// A function with the names of a call in place of its own.
pub(super) struct Inlined {
    /// The nodes, in order.
    pub nodes: Vec<Node>,
    /// Outputs of the function that are inputs of it, too: the names of the caller for output and input.
    pub copies: Vec<(String, String)>,
}

/// The nodes that a call of a function stands for. `prefix` tells values of this call from those of others.
pub(super) fn inline(function: &Function, call: &Node, prefix: &str) -> Inlined {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for (at, own) in function.inputs.iter().enumerate() {
        names.insert(own, call.inputs.get(at).cloned().unwrap_or_default());
    }
    let mut copies = Vec::new();
    for (own, output) in function.outputs.iter().zip(&call.outputs).filter(|(_, output)| !output.is_empty()) {
        match names.get(own.as_str()) {
            Some(same) => copies.push((output.clone(), same.clone())),
            None => {
                names.insert(own, output.clone());
            }
        }
    }
    let renaming = Renaming { names: &names, prefix, call, defaults: &function.defaults };
    Inlined { nodes: function.nodes.iter().map(|node| renaming.node(node)).collect(), copies }
}

struct Renaming<'a> {
    names: &'a BTreeMap<&'a str, String>,
    prefix: &'a str,
    call: &'a Node,
    defaults: &'a [Attribute],
}

impl Renaming<'_> {
    fn name(&self, own: &str) -> String {
        match self.names.get(own) {
            _ if own.is_empty() => String::new(),
            Some(name) => name.clone(),
            None => format!("{}{own}", self.prefix),
        }
    }

    fn node(&self, node: &Node) -> Node {
        let mut renamed = Node {
            inputs: node.inputs.iter().map(|name| self.name(name)).collect(),
            outputs: node.outputs.iter().map(|name| self.name(name)).collect(),
            name: format!("{}{}", self.prefix, node.name),
            attributes: Vec::new(),
            ..Node { attributes: Vec::new(), ..node.clone() }
        };
        renamed.attributes = node.attributes.iter().filter_map(|attribute| self.attribute(attribute)).collect();
        renamed
    }

    /// The attribute with what the call gives for it; none if it stands for one that is given nowhere.
    fn attribute(&self, attribute: &Attribute) -> Option<Attribute> {
        let mut renamed = if attribute.reference.is_empty() {
            attribute.clone()
        } else {
            let wanted = |given: &&Attribute| given.name == attribute.reference;
            let given = self.call.attributes.iter().find(wanted).or_else(|| self.defaults.iter().find(wanted))?;
            Attribute { name: attribute.name.clone(), ..given.clone() }
        };
        if let Some(graph) = &mut renamed.graph {
            **graph = self.graph(graph);
        }
        Some(renamed)
    }

    fn graph(&self, graph: &Graph) -> Graph {
        let mut renamed = graph.clone();
        renamed.nodes = graph.nodes.iter().map(|node| self.node(node)).collect();
        for tensor in &mut renamed.initializers {
            tensor.name = self.name(&tensor.name);
        }
        for info in renamed.inputs.iter_mut().chain(&mut renamed.outputs).chain(&mut renamed.values) {
            info.name = self.name(&info.name);
        }
        renamed
    }
}
