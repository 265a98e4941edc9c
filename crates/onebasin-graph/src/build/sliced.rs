//! Cuts values before they are reshaped or transposed, where only parts of the result are read.
//!
//! Queries, keys and values of one layer are the example: (3 · heads · size) units become (3, heads, size) and are cut into three. Cut
//! first, the three have units of their own, so the dimensions of values need not be permuted as those of queries are.

use super::Builder;
use crate::graph::{Index, Kind, Node, Op, Value, ValueId};

/// Nodes from the last to the first, and who reads each value.
struct Reversed {
    nodes: Vec<Option<Node>>,
    /// (value)
    readers: Vec<Vec<usize>>,
}

impl Reversed {
    fn push(&mut self, node: Node) {
        for input in &node.inputs {
            if self.readers.len() <= input.0 {
                self.readers.resize_with(input.0 + 1, Vec::new);
            }
            self.readers[input.0].push(self.nodes.len());
        }
        self.nodes.push(Some(node));
    }

    /// The axis of the slices that are all that reads a value.
    fn sliced(&self, value: ValueId) -> Option<usize> {
        let axis = |reader: &usize| match self.nodes[*reader].as_ref()?.op {
            Op::Slice { axis, .. } => Some(axis),
            _ => None,
        };
        let mut axes = self.readers.get(value.0)?.iter().map(axis);
        let first = axes.next()??;
        axes.all(|other| other == Some(first)).then_some(first)
    }
}

impl Builder {
    /// Moves slices before the nodes that they cut the results of, as far as possible.
    pub(super) fn slice_early(&mut self, outputs: &[ValueId]) {
        let mut done = Reversed { nodes: Vec::new(), readers: Vec::new() };
        for node in std::mem::take(&mut self.graph.nodes).into_iter().rev() {
            let cut = match (&node.inputs[..], &node.outputs[..]) {
                ([input], [output]) if !outputs.contains(output) => {
                    done.sliced(*output).and_then(|axis| Some((*input, *output, axis, self.before(&node, axis)?)))
                }
                _ => None,
            };
            let Some((input, output, axis, Before { axis: own, each })) = cut else {
                done.push(node);
                continue;
            };
            for reader in std::mem::take(&mut done.readers[output.0]) {
                let slice = done.nodes[reader].take().expect("a reader is there until it is moved");
                let Op::Slice { start, .. } = slice.op else { unreachable!("only slices are moved") };
                let mut shape = self.shape(input).to_vec();
                shape[own] = self.shape(slice.outputs[0])[axis] * each;
                self.graph.values.push(Value { name: slice.name.clone(), shape, kind: Kind::Computed });
                let part = ValueId(self.graph.values.len() - 1);
                done.push(Node { inputs: vec![part], outputs: slice.outputs, ..node.clone() });
                let op = Op::Slice { axis: own, start: start * each };
                done.push(Node { op, inputs: vec![input], outputs: vec![part], ..slice });
            }
        }
        self.graph.nodes = done.nodes.into_iter().rev().flatten().collect();
    }

    /// Where the entries of an axis of a node's result are in what it reads.
    fn before(&self, node: &Node, axis: usize) -> Option<Before> {
        match &node.op {
            Op::Reshape => {
                let (from, to) = (self.shape(node.inputs[0]), self.shape(node.outputs[0]));
                let ahead: usize = to[..axis].iter().product();
                let mut passed = 1;
                for (own, size) in from.iter().enumerate().filter(|(_, size)| **size > 1) {
                    if passed == ahead {
                        // The axis is the first factor of this one.
                        let mut products = to[axis..].iter().scan(1, |product, size| {
                            *product *= size;
                            Some(*product)
                        });
                        return products
                            .any(|product| product == *size)
                            .then_some(Before { axis: own, each: size / to[axis] });
                    }
                    passed *= size;
                }
                None
            }
            Op::Indexed(indices) => {
                let [from, to] = &indices[..] else { return None };
                let (Index::Any(number), index) = (to[axis], to[axis]) else { return None };
                let once = to.iter().filter(|own| **own == index).count() == 1
                    && from.iter().filter(|own| **own == index).count() == 1;
                let own = from.iter().position(|own| *own == index)?;
                (once && node.separate.contains(&number)).then_some(Before { axis: own, each: 1 })
            }
            _ => None,
        }
    }
}

/// An axis, and how many of its entries are one of another axis.
struct Before {
    axis: usize,
    each: usize,
}
