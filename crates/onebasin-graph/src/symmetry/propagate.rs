//! Follows the axes of all values through the nodes of a graph, and joins, cuts or fixes their classes.

use super::Tie;
use super::classes::{ClassId, Classes};
use crate::graph::{Graph, Index, Kind, Node, Op, Value, ValueId};

/// The classes of all axes of all values.
#[derive(Debug)]
pub(super) struct Axes {
    pub(super) classes: Classes,
    /// (value, axis)
    pub(super) of: Vec<Vec<ClassId>>,
}

impl Axes {
    /// The classes of a graph in which some tensors are the same. What a permutation of free classes does to the tensors of the
    /// checkpoint leaves the outputs as they are.
    pub(super) fn of(graph: &Graph, ties: &[Tie]) -> Self {
        let mut axes = Self { classes: Classes::default(), of: vec![Vec::new(); graph.values().len()] };
        for (index, value) in graph.values().iter().enumerate() {
            if value.kind != Kind::Computed {
                axes.of[index] = axes.given(value);
            }
        }
        graph.nodes().iter().for_each(|node| axes.node(graph, node));
        axes.tie(graph, ties);
        let reason = axes.classes.reason("the order of outputs is given".to_owned());
        for output in graph.outputs() {
            axes.of[output.0].clone().into_iter().for_each(|class| axes.classes.fix(class, reason));
        }
        axes
    }

    /// Of a value that no node computes.
    fn given(&mut self, value: &Value) -> Vec<ClassId> {
        let own: Vec<ClassId> = value.shape.iter().map(|size| self.classes.leaf(*size)).collect();
        let (reason, fixed): (String, Vec<bool>) = match &value.kind {
            Kind::Tensor | Kind::Computed => return own,
            Kind::Input => ("the order of inputs is given".to_owned(), vec![true; own.len()]),
            Kind::Constant(entries) => {
                let varies = |axis| entries.as_ref().is_none_or(|entries| varies(entries, &value.shape, axis));
                (format!("constant `{}` differs along it", value.name), (0..own.len()).map(varies).collect())
            }
        };
        let reason = self.classes.reason(reason);
        for (class, _) in own.iter().zip(fixed).filter(|(_, fixed)| *fixed) {
            self.classes.fix(*class, reason);
        }
        own
    }

    fn tie(&mut self, graph: &Graph, ties: &[Tie]) {
        let find =
            |name: &str| graph.values().iter().position(|value| value.kind == Kind::Tensor && value.name == name);
        for Tie { first, second, transposed } in ties {
            let (Some(own), Some(other)) = (find(first), find(second)) else { continue };
            let reason = self.classes.reason(format!("`{first}` is the same tensor as `{second}`"));
            let (own, mut other) = (self.of[own].clone(), self.of[other].clone());
            if *transposed {
                other.reverse();
            }
            for (own, other) in own.into_iter().zip(other) {
                if self.classes.size(own) == self.classes.size(other) {
                    self.classes.join(own, other, reason);
                }
            }
        }
    }

    fn node(&mut self, graph: &Graph, node: &Node) {
        let shape = |value: &ValueId| &graph.value(*value).shape[..];
        let reason = self.classes.reason(format!("{} depends on its order", node.name));
        match &node.op {
            Op::Indexed(indices) => self.indexed(graph, node, indices),
            Op::Reshape => {
                let [input, output] = [node.inputs[0], node.outputs[0]];
                self.of[output.0] = self.reshape(input, shape(&output), &node.name);
            }
            Op::Concat { axis } => {
                let first = self.of[node.inputs[0].0].clone();
                for input in &node.inputs[1..] {
                    let own = self.of[input.0].clone();
                    for (_, (class, other)) in first.iter().zip(own).enumerate().filter(|(at, _)| at != axis) {
                        self.classes.join(*class, other, reason);
                    }
                }
                let parts: Vec<ClassId> = node.inputs.iter().map(|input| self.of[input.0][*axis]).collect();
                let mut result = first;
                result[*axis] = self.classes.split(&parts);
                self.of[node.outputs[0].0] = result;
            }
            Op::Slice { axis, start } => {
                let mut result = self.of[node.inputs[0].0].clone();
                let (all, len) = (shape(&node.inputs[0])[*axis], shape(&node.outputs[0])[*axis]);
                let sizes: Vec<usize> = [*start, len, all - start - len].into_iter().filter(|size| *size > 0).collect();
                let parts = self.classes.cut(result[*axis], &sizes, reason);
                result[*axis] = parts[usize::from(*start > 0)];
                self.of[node.outputs[0].0] = result;
            }
            Op::Pad { axis, before } => {
                let mut result = self.of[node.inputs[0].0].clone();
                let (own, all) = (shape(&node.inputs[0])[*axis], shape(&node.outputs[0])[*axis]);
                let mut parts = vec![result[*axis]];
                // Padding is equal everywhere, so it may be in any order.
                if *before > 0 {
                    parts.insert(0, self.classes.leaf(*before));
                }
                if all > before + own {
                    parts.push(self.classes.leaf(all - before - own));
                }
                result[*axis] = self.classes.split(&parts);
                self.of[node.outputs[0].0] = result;
            }
            Op::Opaque => {
                let reason = self.classes.reason(format!("{} may depend on its order", node.name));
                for class in node.inputs.iter().flat_map(|input| self.of[input.0].clone()).collect::<Vec<_>>() {
                    self.classes.fix(class, reason);
                }
                for output in &node.outputs {
                    self.of[output.0] = shape(output).iter().map(|size| self.classes.leaf(*size)).collect();
                    self.of[output.0].clone().into_iter().for_each(|class| self.classes.fix(class, reason));
                }
            }
        }
    }

    fn indexed(&mut self, graph: &Graph, node: &Node, indices: &[Vec<Index>]) {
        let reason = self.classes.reason(format!("{} depends on its order", node.name));
        let mut known: Vec<(usize, ClassId)> = Vec::new();
        for (input, indices) in node.inputs.iter().zip(indices) {
            for (class, index) in self.of[input.0].clone().into_iter().zip(indices) {
                match index {
                    Index::Any(number) => match known.iter().find(|(own, _)| own == number) {
                        Some((_, other)) => self.classes.join(*other, class, reason),
                        None => known.push((*number, class)),
                    },
                    Index::Fixed => self.classes.fix(class, reason),
                    Index::One => {}
                }
            }
        }
        for (output, indices) in node.outputs.iter().zip(&indices[node.inputs.len()..]) {
            let mut own = Vec::with_capacity(indices.len());
            for (size, index) in graph.value(*output).shape.iter().zip(indices) {
                let found = known.iter().find(|(number, _)| *index == Index::Any(*number));
                let class = found.map_or_else(|| self.classes.leaf(*size), |(_, class)| *class);
                match (index, found) {
                    // Copies of one entry, in any order.
                    (Index::Any(number), None) => known.push((*number, class)),
                    (Index::Fixed, _) => self.classes.fix(class, reason),
                    _ => {}
                }
                own.push(class);
            }
            self.of[output.0] = own;
        }
    }

    /// The classes of another shape with the same entries.
    fn reshape(&mut self, input: ValueId, shape: &[usize], name: &str) -> Vec<ClassId> {
        let reason = self.classes.reason(format!("{name} reshapes it in another way"));
        let from = self.of[input.0].clone();
        let mut from = from.into_iter().filter(|class| self.classes.size(*class) > 1).collect::<Vec<_>>().into_iter();
        let mut result = Vec::with_capacity(shape.len());
        let mut to = shape.iter().copied().peekable();
        // Runs of axes on both sides that have the same number of entries.
        while to.peek().is_some() {
            let (mut inputs, mut outputs, mut have, mut want) = (Vec::new(), Vec::new(), 1, 1);
            loop {
                let more_outputs = outputs.is_empty() || want < have;
                if more_outputs {
                    let Some(size) = to.next() else { break };
                    want *= size;
                    outputs.push(self.classes.leaf(size));
                } else if have < want {
                    let Some(class) = from.next() else { break };
                    have *= self.classes.size(class);
                    inputs.push(class);
                } else {
                    break;
                }
            }
            assert_eq!(have, want, "a reshape keeps the number of entries");
            if let ([own], [_]) = (&inputs[..], &outputs[..]) {
                result.push(*own);
                continue;
            }
            let (whole, new) = (self.classes.product(&inputs), self.classes.product(&outputs));
            self.classes.join(whole, new, reason);
            result.extend(outputs);
        }
        result
    }
}

/// Whether entries, row-major, differ along an axis; NaN differs from everything.
fn varies(entries: &[f64], shape: &[usize], axis: usize) -> bool {
    let inner: usize = shape[axis + 1..].iter().product();
    entries.chunks_exact(inner * shape[axis]).any(|block| {
        let first = &block[..inner];
        block.chunks_exact(inner).any(|own| own.iter().zip(first).any(|(own, first)| own.to_bits() != first.to_bits()))
    })
}

#[cfg(test)]
mod tests {
    use super::varies;

    #[test]
    fn constants_vary_along_some_axes() {
        let entries = [1.0, 1.0, 2.0, 2.0];
        assert!(varies(&entries, &[2, 2], 0) && !varies(&entries, &[2, 2], 1));
        assert!(!varies(&[3.0; 8], &[2, 4], 0) && !varies(&[3.0; 8], &[2, 4], 1));
    }
}
