//! How permutations of groups of units act on every axis of every tensor.

use super::Patch;
use super::Permutations;
use super::patch;
use super::permutations;
use super::trace;
use crate::arch::Arch;
use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use std::sync::Arc;

/// Units that are reordered together, wherever they occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, unique in its spec.
    pub name: String,
    /// Number of units.
    pub size: usize,
}

/// What may be done to the indices of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: they are inputs or classes, whose order the world outside knows.
    Fixed,
    /// Nothing: they are positions of a filter and not units at all.
    Free,
    /// They are the units of the group of this index.
    Permuted(usize),
}

/// A part of an axis: index `(block * units + unit) * repeat + r` belongs to `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What may be done to its units.
    pub action: Action,
    /// Number of units.
    pub units: usize,
    /// Neighbouring indices of one unit.
    pub repeat: usize,
    /// How often all units follow one another, such as once for each position of a flattened image.
    pub blocks: usize,
}

impl Segment {
    /// `units` indices, one for each unit.
    pub fn new(action: Action, units: usize) -> Self {
        Self { action, units, repeat: 1, blocks: 1 }
    }

    /// Number of indices, if it is a number.
    fn len(&self) -> Option<usize> {
        self.units.checked_mul(self.repeat)?.checked_mul(self.blocks)
    }
}

/// The permutation symmetries of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    layout: Arc<Layout>,
    groups: Arc<[Group]>,
    axes: Vec<Vec<Vec<Segment>>>,
    patches: Vec<Patch>,
    hidden: Vec<Vec<Segment>>,
}

impl Spec {
    /// The symmetries of a network that an [`Arch`] describes.
    pub fn of(arch: &Arch) -> Self {
        trace::spec(arch)
    }

    /// The symmetries given by the segments of each axis of each tensor, (tensor, axis, segment).
    ///
    /// Whether they leave the network's function unchanged is another question, which
    /// [`super::change_of_logits`] answers.
    pub fn new(layout: &Arc<Layout>, groups: Vec<Group>, axes: Vec<Vec<Vec<Segment>>>) -> Result<Self> {
        check(layout, &groups, &axes).map_err(|fault| Error::Spec { fault })?;
        let patches = patch::cut(layout, &axes);
        Ok(Self { layout: Arc::clone(layout), groups: groups.into(), axes, patches, hidden: Vec::new() })
    }

    pub(super) fn with_hidden(self, hidden: Vec<Vec<Segment>>) -> Self {
        Self { hidden, ..self }
    }

    /// The layout of the parameters.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// The groups, in the order in which they first appear on the way through the network.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    pub(super) fn shared_groups(&self) -> &Arc<[Group]> {
        &self.groups
    }
    /// Index of the group of this name.
    pub fn group(&self, name: &str) -> Result<usize> {
        permutations::index_of(&self.groups, name)
    }
    /// The segments of each axis of the tensor of this index.
    pub fn axes(&self, tensor: usize) -> &[Vec<Segment>] {
        &self.axes[tensor]
    }
    /// The segments of the channels of each hidden layer, in the order of [`Arch::hidden`]; none if only tensors were given.
    pub fn hidden(&self) -> &[Vec<Segment>] {
        &self.hidden
    }
    /// All tensors cut into products of segments; every parameter is in exactly one.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The parameters with their units reordered.
    pub fn apply(&self, permutations: &Permutations, params: &Params) -> Result<Params> {
        let mut out = Params::zeros(&self.layout);
        self.apply_into(permutations, params, &mut out)?;
        Ok(out)
    }

    /// [`Self::apply`] into parameters that are there already.
    pub fn apply_into(&self, permutations: &Permutations, params: &Params, out: &mut Params) -> Result<()> {
        self.layout.check_same(params.layout())?;
        self.layout.check_same(out.layout())?;
        permutations.check(&self.groups)?;
        for patch in &self.patches {
            let of = |_, group: usize| permutations.as_slice()[group].as_slice();
            patch.permute(of, params.values(), out.values_mut());
        }
        Ok(())
    }
}

/// Says what contradicts the layout, or the groups.
fn check(layout: &Layout, groups: &[Group], axes: &[Vec<Vec<Segment>>]) -> std::result::Result<(), String> {
    for (index, group) in groups.iter().enumerate() {
        if groups[..index].iter().any(|other| other.name == group.name) {
            return Err(format!("two groups are named `{}`", group.name));
        }
        if u32::try_from(group.size).is_err() {
            return Err(format!("group `{}` has {} units, more than fit 32 bits", group.name, group.size));
        }
    }
    if axes.len() != layout.tensors().len() {
        return Err(format!("it has {} tensors, the layout {}", axes.len(), layout.tensors().len()));
    }
    let mut used = vec![false; groups.len()];
    for (tensor, axes) in layout.tensors().iter().zip(axes) {
        let (name, shape) = (tensor.name(), tensor.shape());
        if axes.len() != shape.len() {
            return Err(format!("it has {} axes for tensor `{name}` {shape:?}", axes.len()));
        }
        for (axis, (segments, &size)) in axes.iter().zip(shape).enumerate() {
            for segment in segments {
                if segment.len().is_none_or(|len| len == 0) {
                    return Err(format!(
                        "axis {axis} of `{name}` has a segment of no or too many indices: {segment:?}"
                    ));
                }
                let Action::Permuted(group) = segment.action else { continue };
                let Some(known) = groups.get(group) else {
                    return Err(format!("axis {axis} of `{name}` names group {group} of {}", groups.len()));
                };
                if known.size != segment.units {
                    let (units, group, size) = (segment.units, &known.name, known.size);
                    return Err(format!(
                        "axis {axis} of `{name}` has {units} units of group `{group}`, which has {size}"
                    ));
                }
                used[group] = true;
            }
            let total = segments.iter().try_fold(0usize, |sum, segment| sum.checked_add(segment.len()?));
            if total != Some(size) {
                let total = total.unwrap_or(usize::MAX);
                return Err(format!("the segments of axis {axis} of `{name}` have {total} indices, the axis {size}"));
            }
        }
    }
    match used.iter().position(|used| !used) {
        Some(group) => Err(format!("no tensor has the units of group `{}`", groups[group].name)),
        None => Ok(()),
    }
}
