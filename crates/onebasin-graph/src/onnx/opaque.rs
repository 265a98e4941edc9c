//! Nodes of which nothing is known, among them branches and loops: they fix all that they read.

use std::collections::BTreeSet;

use super::proto::{Graph, Node};
use super::scope::{Known, Scope};
use crate::error::Result;

impl Scope {
    /// Adds a node of which nothing is known but the shapes that the file states of its outputs.
    pub(super) fn opaque(&mut self, node: &Node, stated: &[Option<Vec<usize>>]) -> Result<()> {
        let mut read: BTreeSet<&str> = node.inputs.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        for graph in node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref()) {
            captured(graph, &mut read);
        }
        let mut ids = Vec::with_capacity(read.len());
        for name in read {
            // Names within branches are of values in them, or of values here.
            if !self.has(name) && !node.inputs.iter().any(|own| own == name) {
                continue;
            }
            // What has no entries says nothing.
            if !self.shape(name)?.contains(&0) {
                ids.push(self.id(name)?);
            }
        }
        let outputs: Vec<_> = node.outputs.iter().zip(stated).filter(|(name, _)| !name.is_empty()).collect();
        let mut shapes = Vec::with_capacity(outputs.len());
        for (name, stated) in &outputs {
            let fault = || {
                self.builder.error(format!(
                    "the operator {} is not understood here, and the file does not state the shape of `{name}`; export with \
                     dynamo=True, which stores shapes, or run onnx.shape_inference.infer_shapes on the model",
                    node.operator
                ))
            };
            shapes.push(stated.as_ref().ok_or_else(fault)?.clone());
        }
        let results = self.builder.opaque(&ids, &shapes)?;
        for ((name, _), id) in outputs.into_iter().zip(results) {
            self.define(name, Known::Computed(id, None))?;
        }
        Ok(())
    }
}

/// Adds all names that the nodes of a graph read.
fn captured<'n>(graph: &'n Graph, read: &mut BTreeSet<&'n str>) {
    read.extend(graph.outputs.iter().map(|output| output.name.as_str()));
    for node in &graph.nodes {
        read.extend(node.inputs.iter().map(String::as_str).filter(|name| !name.is_empty()));
        for graph in node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref()) {
            captured(graph, read);
        }
    }
}
