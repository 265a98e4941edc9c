//! Where the tensors of a network are in a checkpoint: means, standard deviations, and what is permuted along.

use super::transform::Transform;

/// Where a tensor of the network is: entries `offset..offset + n` of each row of a tensor of the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Index of the tensor in the checkpoint.
    pub tensor: usize,
    /// First entry in each row.
    pub offset: usize,
    /// Entries of a row: all of a tensor or of a vector of all parameters, or fewer if several vectors follow one another.
    pub row: usize,
}

/// What the standard deviation of a tensor is computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stored {
    /// What is stored.
    pub slot: Slot,
    /// The standard deviation as a function of it.
    pub transform: Transform,
    /// The prior precision of each entry, if it is stored.
    pub prior: Option<Slot>,
}

/// Where a tensor of the network is in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The mean, or the value of a point.
    pub mean: Slot,
    /// The standard deviation.
    pub std: Option<Stored>,
    /// What is permuted along.
    pub along: Vec<Slot>,
}

impl Bound {
    /// Everything that permutations of the tensor act on.
    pub fn permuted(&self) -> impl Iterator<Item = Slot> {
        let std = self.std.into_iter().flat_map(|stored| [stored.slot].into_iter().chain(stored.prior));
        [self.mean].into_iter().chain(std).chain(self.along.iter().copied())
    }
}

/// A network found in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// Name of the convention by which standard deviations are stored; none if there are none.
    pub convention: Option<&'static str>,
    /// What stands before the names of the network's tensors.
    pub prefix: String,
    /// For each tensor of the network, in order.
    pub tensors: Vec<Bound>,
    /// Tensors of the checkpoint that have nothing to do with units and stay.
    pub kept: Vec<usize>,
}

/// What is asked of a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Name of the convention, `NAME` or `NAME:TRANSFORM`; found out if there is none.
    pub format: Option<&'a str>,
    /// Beginnings of the names of tensors that are no part of the network and stay as they are.
    pub keep: &'a [String],
}
