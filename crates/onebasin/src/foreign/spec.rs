//! The symmetry of a network as the spec that alignments take.

use crate::error::Result;
use crate::params::Layout;
use crate::symmetry::{Action, Group, Segment, Spec};
use onebasin_graph::symmetry::{self, Symmetry};
use std::sync::Arc;

impl Spec {
    /// The spec of a network whose symmetry was found from its graph, or was read from a file.
    pub fn of_network(symmetry: &Symmetry) -> Result<Self> {
        let tensors = symmetry.tensors.iter().map(|tensor| (&*tensor.name, &tensor.shape[..]));
        let layout = Arc::new(Layout::new(tensors)?);
        let groups = symmetry.groups.iter().map(|group| {
            let own = Group::new(&group.name, group.units);
            match group.within {
                Some(parent) => own.within(&symmetry.groups[parent].name),
                None => own,
            }
        });
        let segment = |&symmetry::Segment { group, units, repeat, blocks }: &symmetry::Segment| Segment {
            action: group.map_or(Action::Fixed, Action::Permuted),
            units,
            repeat,
            blocks,
        };
        let axes = |axes: &Vec<Vec<symmetry::Segment>>| {
            axes.iter().map(|segments| segments.iter().map(segment).collect()).collect()
        };
        let axes = symmetry.tensors.iter().map(|tensor| axes(&tensor.axes)).collect();
        Self::new(&layout, groups.collect(), axes)
    }
}
