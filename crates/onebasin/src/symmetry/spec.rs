//! How permutations of groups of units act on every axis of every tensor, in memory and in files.

use super::family::{check_parents, families};
use super::{Family, Patch, Permutations, patch, trace};
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::keys::number;
use crate::params::{Layout, Params};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Units that are reordered together, wherever they occur.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name, unique in its spec.
    pub name: String,
    /// Number of units.
    #[serde(rename = "units")]
    pub size: usize,
    /// Name of its parent, if it has one: the units come in equal blocks, one for each unit of the parent. Block b follows
    /// unit b of the parent, and the units inside a block may be reordered too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl Group {
    /// A group that is within no other.
    pub fn new(name: impl Into<String>, size: usize) -> Self {
        Self { name: name.into(), size, within: None }
    }

    /// The same group within another.
    #[must_use]
    pub fn within(self, parent: impl Into<String>) -> Self {
        Self { within: Some(parent.into()), ..self }
    }
}

/// How permutations act on the indices of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: they are inputs or classes, whose order is given.
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
///
/// Reading one from a file costs memory in proportion to its text, whatever sizes it claims. Whoever uses it compares its layout with that of the
/// parameters first, as [`Self::apply`] and all alignments do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Text", try_from = "Text")]
pub struct Spec {
    layout: Arc<Layout>,
    groups: Arc<[Group]>,
    axes: Vec<Vec<Vec<Segment>>>,
    hidden: Vec<Vec<Segment>>,
    /// Computed from the others when they are first needed: they take memory for each parameter that is not permuted.
    patches: OnceLock<Vec<Patch>>,
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        (&self.layout, &self.groups, &self.axes, &self.hidden)
            == (&other.layout, &other.groups, &other.axes, &other.hidden)
    }
}

impl Spec {
    /// The symmetries of a network that an [`Arch`] describes.
    pub fn of(arch: &Arch) -> Self {
        trace::spec(arch)
    }

    /// The symmetries given by the segments of each axis of each tensor, (tensor, axis, segment).
    ///
    /// Whether they leave the network's function unchanged, [`change_of_logits`] answers.
    pub fn new(layout: &Arc<Layout>, groups: Vec<Group>, axes: Vec<Vec<Vec<Segment>>>) -> Result<Self> {
        check(layout, &groups, &axes).map_err(|fault| Error::Spec { fault })?;
        let (layout, patches) = (Arc::clone(layout), OnceLock::new());
        Ok(Self { layout, groups: groups.into(), axes, hidden: Vec::new(), patches })
    }

    /// The same symmetries, with the segments of the channels of each hidden layer.
    pub(super) fn with_hidden(self, hidden: Vec<Vec<Segment>>) -> Result<Self> {
        for (layer, segments) in hidden.iter().enumerate() {
            let name = format!("hidden layer {layer}");
            for segment in segments {
                check_segment(&name, segment, &self.groups).map_err(|fault| Error::Spec { fault })?;
            }
        }
        Ok(Self { hidden, ..self })
    }

    /// The layout of the parameters.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// The groups, in the order in which they first appear from the input to the output.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// The groups that are within others, with their parents.
    pub fn families(&self) -> Vec<Family> {
        families(&self.groups)
    }
    pub(super) fn shared_groups(&self) -> &Arc<[Group]> {
        &self.groups
    }
    /// Index of the group of this name.
    pub fn group(&self, name: &str) -> Result<usize> {
        let position = self.groups.iter().position(|group| group.name == name);
        position.ok_or_else(|| Error::unknown("group", name, self.groups.iter().map(|group| group.name.as_str())))
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
        self.patches.get_or_init(|| patch::cut(&self.layout, &self.axes))
    }

    /// The parameters with their units reordered.
    pub fn apply(&self, permutations: &Permutations, params: &Params) -> Result<Params> {
        self.layout.check_same(params.layout())?;
        permutations.check(&self.groups)?;
        let mut out = Params::zeros(&self.layout);
        for patch in self.patches() {
            let of = |_, group: usize| permutations.as_slice()[group].as_slice();
            patch.permute(of, params.values(), out.values_mut());
        }
        Ok(out)
    }
}

/// Says what is wrong with a segment at some place; returns the group that it belongs to.
fn check_segment(place: &str, segment: &Segment, groups: &[Group]) -> std::result::Result<Option<usize>, String> {
    if segment.len().is_none_or(|len| len == 0) {
        return Err(format!("{place} has a segment of no or too many indices: {segment:?}"));
    }
    let Action::Permuted(group) = segment.action else { return Ok(None) };
    let Some(known) = groups.get(group) else {
        return Err(format!("{place} names group {group} of {}", groups.len()));
    };
    if known.size != segment.units {
        let (units, group, size) = (segment.units, &known.name, known.size);
        return Err(format!("{place} has {units} units of group `{group}`, which has {size}"));
    }
    Ok(Some(group))
}

/// Says what contradicts the layout, or the groups.
fn check(layout: &Layout, groups: &[Group], axes: &[Vec<Vec<Segment>>]) -> std::result::Result<(), String> {
    let mut names = BTreeSet::new();
    for group in groups {
        if !names.insert(&group.name) {
            return Err(format!("two groups are named `{}`", group.name));
        }
        if u32::try_from(group.size).is_err() {
            return Err(format!("group `{}` has {} units, more than fit 32 bits", group.name, group.size));
        }
    }
    if axes.len() != layout.tensors().len() {
        return Err(format!("it has {} tensors, the layout {}", axes.len(), layout.tensors().len()));
    }
    // A parent may occur in the blocks of its children alone.
    let mut used = check_parents(groups)?;
    for (tensor, axes) in layout.tensors().iter().zip(axes) {
        let (name, shape) = (tensor.name(), tensor.shape());
        if axes.len() != shape.len() {
            return Err(format!("it has {} axes for tensor `{name}` {shape:?}", axes.len()));
        }
        for (axis, (segments, &size)) in axes.iter().zip(shape).enumerate() {
            let place = format!("axis {axis} of `{name}`");
            for segment in segments {
                if let Some(group) = check_segment(&place, segment, groups)? {
                    used[group] = true;
                }
            }
            let total = segments.iter().try_fold(0usize, |sum, segment| sum.checked_add(segment.len()?));
            if total != Some(size) {
                let total = total.unwrap_or(usize::MAX);
                return Err(format!("the segments of {place} have {total} indices, the axis {size}"));
            }
        }
    }
    match used.iter().position(|used| !used) {
        Some(group) => Err(format!("no tensor has the units of group `{}`", groups[group].name)),
        None => Ok(()),
    }
}

/// The largest change of a logit under random permutations of all groups, relative to the largest logit.
///
/// `logits` evaluates the network at a point, (image, class). For a right spec the result is a matter of rounding, about
/// 1e-6; 1e-5 is a fair bound. To be sensitive to every tensor, `params` must have no tensor of equal values, such as the
/// biases of an initial point. NaN if a logit is.
pub fn change_of_logits(
    spec: &Spec,
    params: &Params,
    seed: u64,
    mut logits: impl FnMut(&Params) -> Result<Vec<f32>>,
) -> Result<f64> {
    let before = logits(params)?;
    let after = logits(&spec.apply(&Permutations::random(spec, seed), params)?)?;
    Ok(relative_change(&before, &after))
}

/// Whether a change of outputs, relative to the largest, is no more than rounding.
pub fn is_rounding(change: f64) -> bool {
    change <= 1e-4
}

/// The largest change of a value, relative to the largest value before. NaN if a value is, or if all were zero.
pub fn relative_change(before: &[f32], after: &[f32]) -> f64 {
    assert_eq!(before.len(), after.len(), "each value has one before and one after");
    let largest = |values: &mut dyn Iterator<Item = f32>| {
        // NaN wins, unlike in f64::max.
        let larger = |most: f64, value: f64| if most.is_nan() || value <= most { most } else { value };
        values.map(|value| f64::from(value.abs())).fold(0.0, larger)
    };
    let change = largest(&mut before.iter().zip(after).map(|(before, after)| after - before));
    change / largest(&mut before.iter().copied())
}

/// A spec as it is written; all that is computed from it is left out.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    groups: Vec<Group>,
    tensors: Vec<TensorText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<Vec<SegmentText>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorText {
    name: String,
    shape: Vec<usize>,
    axes: Vec<Vec<SegmentText>>,
}

/// A segment: either the name of a group, or the number of units that are `fixed` or `free`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SegmentText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    free: Option<usize>,
    #[serde(default = "number::<1, _>", skip_serializing_if = "is_one")]
    repeat: usize,
    #[serde(default = "number::<1, _>", skip_serializing_if = "is_one")]
    blocks: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_one(value: &usize) -> bool {
    *value == 1
}

impl From<Spec> for Text {
    fn from(spec: Spec) -> Self {
        let segments = |segments: &Vec<Segment>| {
            let segments = segments.iter().map(|&Segment { action, units, repeat, blocks }| {
                let (group, fixed, free) = match action {
                    Action::Permuted(group) => (Some(spec.groups()[group].name.clone()), None, None),
                    Action::Fixed => (None, Some(units), None),
                    Action::Free => (None, None, Some(units)),
                };
                SegmentText { group, fixed, free, repeat, blocks }
            });
            segments.collect()
        };
        let tensors = spec.layout().tensors().iter().enumerate().map(|(index, tensor)| TensorText {
            name: tensor.name().to_owned(),
            shape: tensor.shape().to_vec(),
            axes: spec.axes(index).iter().map(segments).collect(),
        });
        let hidden = spec.hidden().iter().map(segments).collect();
        Self { groups: spec.groups().to_vec(), tensors: tensors.collect(), hidden }
    }
}

impl TryFrom<Text> for Spec {
    type Error = Error;

    fn try_from(Text { groups, tensors, hidden }: Text) -> Result<Self> {
        let layout = Layout::new(tensors.iter().map(|tensor| (&*tensor.name, &tensor.shape[..])))?;
        let known: BTreeMap<&str, usize> = groups.iter().map(|group| &*group.name).zip(0..).collect();
        let segments = |texts: Vec<SegmentText>| -> Result<Vec<Segment>> {
            texts.into_iter().map(|text| text.segment(&groups, &known)).collect()
        };
        let axes = tensors.into_iter().map(|tensor| tensor.axes.into_iter().map(segments).collect());
        let axes = axes.collect::<Result<_>>()?;
        let hidden = hidden.into_iter().map(segments).collect::<Result<_>>()?;
        Self::new(&Arc::new(layout), groups, axes)?.with_hidden(hidden)
    }
}

impl SegmentText {
    fn segment(self, groups: &[Group], known: &BTreeMap<&str, usize>) -> Result<Segment> {
        let Self { group, fixed, free, repeat, blocks } = self;
        let (action, units) = match (group, fixed, free) {
            (Some(name), None, None) => {
                let group = known.get(&*name);
                let group = *group.ok_or_else(|| Error::Spec { fault: format!("it has no group `{name}`") })?;
                (Action::Permuted(group), groups[group].size)
            }
            (None, Some(units), None) => (Action::Fixed, units),
            (None, None, Some(units)) => (Action::Free, units),
            _ => return Err(Error::Spec { fault: "a segment needs one of `group`, `fixed` and `free`".to_owned() }),
        };
        Ok(Segment { action, units, repeat, blocks })
    }
}
