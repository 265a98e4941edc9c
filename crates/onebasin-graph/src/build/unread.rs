//! Entries that nothing reads stay fixed, since a network of another input size may read them.
//!
//! A table of positions is the example: a network that was recorded with short sequences reads only its first rows.

use std::collections::BTreeSet;

use super::Builder;
use crate::graph::{Index, Op, ValueId};

/// The parts of an axis that slices read.
struct Slices {
    axis: usize,
    /// (start, len)
    parts: Vec<(usize, usize)>,
}

impl Builder {
    /// Adds nodes that fix what slices leave out of values that only slices along one axis read.
    pub(super) fn fix_unread(&mut self, outputs: &[ValueId]) {
        for (value, Slices { axis, mut parts }) in self.sliced(outputs) {
            parts.sort_unstable();
            let size = self.shape(value)[axis];
            let mut read = 0;
            for (start, len) in parts.into_iter().chain([(size, 0)]) {
                if start > read {
                    self.fix_part(value, axis, read, start - read);
                }
                read = read.max(start + len);
            }
        }
    }

    /// All values that only slices along one axis read.
    fn sliced(&self, outputs: &[ValueId]) -> Vec<(ValueId, Slices)> {
        let mut all: Vec<Option<Slices>> = self.graph.values.iter().map(|_| None).collect();
        let mut otherwise: BTreeSet<ValueId> = outputs.iter().copied().collect();
        for node in &self.graph.nodes {
            for input in &node.inputs {
                match (&node.op, &mut all[input.0]) {
                    (Op::Slice { axis, start }, slices)
                        if slices.as_ref().is_none_or(|slices| slices.axis == *axis) =>
                    {
                        let len = self.shape(node.outputs[0])[*axis];
                        slices.get_or_insert(Slices { axis: *axis, parts: Vec::new() }).parts.push((*start, len));
                    }
                    _ => {
                        otherwise.insert(*input);
                    }
                }
            }
        }
        let numbered = all.into_iter().enumerate().map(|(at, slices)| (ValueId(at), slices));
        numbered
            .filter(|(value, _)| !otherwise.contains(value))
            .filter_map(|(value, slices)| Some((value, slices?)))
            .collect()
    }

    fn fix_part(&mut self, value: ValueId, axis: usize, start: usize, len: usize) {
        self.at(format!("a larger input, for which {} may be read,", self.graph.value(value).name));
        let part = self.slice(value, axis, start, len).expect("the part lies between slices of the value");
        let shape = self.shape(part).to_vec();
        let index = |at: usize| if at == axis { Index::Fixed } else { Index::Any(at) };
        let indices: Vec<Index> = (0..shape.len()).map(index).collect();
        self.indexed_one(&[(part, indices.clone())], &shape, indices).expect("the result has the shape of the part");
        self.works_alone_at((0..shape.len()).filter(|at| *at != axis));
    }
}
