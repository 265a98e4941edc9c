//! Which units of a network can be permuted without a change of its function, found from its graph.

mod classes;
mod expand;
mod families;
mod name;
mod propagate;
mod resolve;
mod text;

use crate::graph::Graph;

/// Units that are permuted together, wherever they occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, unique in its network.
    pub name: String,
    /// Number of units.
    pub units: usize,
    /// The group whose units its own ones come in equal blocks for: the blocks are permuted as that group is, and the units within
    /// each block may be permuted too.
    pub within: Option<usize>,
}

/// A part of an axis: index `(block * units + unit) * repeat + r` belongs to `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The group of its units; none if they stay fixed.
    pub group: Option<usize>,
    /// Number of units.
    pub units: usize,
    /// Neighbouring indices of one unit.
    pub repeat: usize,
    /// How often all units follow one another.
    pub blocks: usize,
}

/// A tensor of the checkpoint and what permutations do to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorAxes {
    /// Its name.
    pub name: String,
    /// Its shape, where neighbouring axes may have been made one.
    pub shape: Vec<usize>,
    /// The segments of each axis.
    pub axes: Vec<Vec<Segment>>,
    /// Whether it holds running statistics of a batch normalisation: means or variances of activations, not parameters.
    pub statistics: bool,
}

/// Units of a tensor that stay fixed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedUnits {
    /// Name of the tensor.
    pub tensor: String,
    /// The axis.
    pub axis: usize,
    /// Number of indices.
    pub units: usize,
    /// Why, as a person reads it.
    pub reason: String,
}

/// Two tensors of a network that are one tensor of the checkpoint, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    /// One of them.
    pub first: String,
    /// The other.
    pub second: String,
    /// Whether the axes of the other are in reversed order.
    pub transposed: bool,
}

/// The permutation symmetry of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// The groups, in the order in which they first appear.
    pub groups: Vec<Group>,
    /// All tensors of the checkpoint that the network reads, in order.
    pub tensors: Vec<TensorAxes>,
    /// What stays fixed.
    pub fixed: Vec<FixedUnits>,
}

impl Symmetry {
    /// The permutation symmetry of a network.
    ///
    /// Units whose order nothing depends on are found by following every axis through every node. An operation of which nothing is
    /// known fixes all that it reads. So permutations of these groups leave the function as it is, whatever the values of
    /// the tensors are; that more permutations might do so is possible.
    pub fn of(graph: &Graph) -> Self {
        Self::of_tied(graph, &[])
    }

    /// The same of a network in which some tensors are one tensor of the checkpoint.
    pub fn of_tied(graph: &Graph, ties: &[Tie]) -> Self {
        resolve::resolve(graph, ties)
    }

    /// The share of the rows of all tensors with two or more axes that are permuted; NaN without such tensors.
    pub fn share(&self) -> f64 {
        let (mut permuted, mut all) = (0, 0);
        for tensor in self.tensors.iter().filter(|tensor| tensor.axes.len() > 1) {
            for segment in &tensor.axes[0] {
                let rows = segment.units * segment.repeat * segment.blocks;
                all += rows;
                permuted += if segment.group.is_some() { rows } else { 0 };
            }
        }
        permuted as f64 / all as f64
    }
}
