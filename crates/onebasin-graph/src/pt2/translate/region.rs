//! Regions: graphs that an operator runs.

use std::collections::BTreeSet;

use super::{Translation, tensors};
use crate::error::Result;
use crate::pt2::schema::{Argument, Graph, Node};

impl Translation {
    /// Puts the nodes of a region in the place of the operator that runs it.
    pub(super) fn region(&mut self, outer: &Graph, node: &Node, prefix: &str, read: &BTreeSet<&str>) -> Result<()> {
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
}
