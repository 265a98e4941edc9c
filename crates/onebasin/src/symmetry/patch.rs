//! Tensors cut into products of segments, inside which permutations act on whole axes.

use super::{Action, Group, Segment};
use crate::params::Layout;

/// A part of a tensor: the parameters at `base + Σₖ unitₖ · strideₖ + rest[e]`.
///
/// A permutation of a group reorders the units of its axes and nothing else; a patch without axes stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Index of the tensor.
    pub tensor: usize,
    /// Offset of the first parameter, in floats, in the flat vector of all parameters.
    pub base: usize,
    /// Group and stride, in floats between neighbouring units, of each axis that is permuted; strides descend.
    pub axes: Vec<(usize, usize)>,
    /// Which axis of the tensor each of `axes` is.
    pub along: Vec<usize>,
    /// Offsets of all other indices (positions of a filter, inputs, classes, repeats and blocks), ascending.
    pub rest: Vec<usize>,
}

impl Patch {
    /// Calls `visit` with the place of every parameter in the flat vector and its unit in each of `axes`.
    pub fn for_each(&self, groups: &[Group], mut visit: impl FnMut(usize, &[usize])) {
        let mut units = vec![0; self.axes.len()];
        for offset in &self.rest {
            self.for_each_unit(groups, 0, self.base + offset, &mut units, &mut visit);
        }
    }

    fn for_each_unit(
        &self,
        groups: &[Group],
        axis: usize,
        place: usize,
        units: &mut [usize],
        visit: &mut impl FnMut(usize, &[usize]),
    ) {
        let Some(&(group, stride)) = self.axes.get(axis) else {
            visit(place, units);
            return;
        };
        let last = axis + 1 == self.axes.len();
        for unit in 0..groups[group].size {
            units[axis] = unit;
            if last {
                visit(place + unit * stride, units);
            } else {
                self.for_each_unit(groups, axis + 1, place + unit * stride, units, visit);
            }
        }
    }

    /// Writes the patch of `old`, reordered, into `new`; both are the flat vectors of all parameters.
    ///
    /// `permutation` gives the indices for each of `axes`, by its number and its group.
    pub fn permute<'p>(&self, permutation: impl Fn(usize, usize) -> &'p [u32], old: &[f32], new: &mut [f32]) {
        let axes = self.axes.iter().enumerate();
        let axes: Vec<(&[u32], usize)> =
            axes.map(|(axis, &(group, stride))| (permutation(axis, group), stride)).collect();
        // The innermost loop runs along memory: over the units of the last axis, or over neighbours in `rest`.
        if let Some((&(units, 1), outer)) = axes.split_last() {
            for offset in &self.rest {
                let start = self.base + offset;
                for_each_row(outer, start, start, &mut |to, from| {
                    let old = &old[from..from + units.len()];
                    for (new, &unit) in new[to..to + units.len()].iter_mut().zip(units) {
                        *new = old[unit as usize];
                    }
                });
            }
        } else {
            for_each_row(&axes, self.base, self.base, &mut |to, from| {
                for run in self.rest.chunk_by(|one, next| one + 1 == *next) {
                    new[to + run[0]..][..run.len()].copy_from_slice(&old[from + run[0]..][..run.len()]);
                }
            });
        }
    }
}

/// Calls `visit` with where each row goes to and where it comes from.
fn for_each_row(axes: &[(&[u32], usize)], to: usize, from: usize, visit: &mut impl FnMut(usize, usize)) {
    let Some((&(units, stride), inner)) = axes.split_first() else {
        visit(to, from);
        return;
    };
    for (place, &unit) in units.iter().enumerate() {
        for_each_row(inner, to + place * stride, from + unit as usize * stride, visit);
    }
}

/// The patches of all tensors, in order; `axes` are (tensor, axis, segment) and fit the layout.
pub(super) fn cut(layout: &Layout, axes: &[Vec<Vec<Segment>>]) -> Vec<Patch> {
    let mut all = Vec::new();
    for (tensor, (place, axes)) in layout.tensors().iter().zip(axes).enumerate() {
        let whole = Patch { tensor, base: place.range().start, axes: vec![], along: vec![], rest: vec![0] };
        let mut patches = vec![whole];
        let mut stride = place.range().len();
        for (axis, segments) in axes.iter().enumerate() {
            stride /= place.shape()[axis];
            let refine = |patch: &Patch| refine(patch, axis, stride, segments);
            patches = patches.iter().flat_map(refine).collect();
        }
        all.append(&mut patches);
    }
    all
}

/// A patch, cut along one more axis of its tensor.
fn refine(patch: &Patch, axis: usize, stride: usize, segments: &[Segment]) -> Vec<Patch> {
    let mut base = patch.base;
    let mut parts = Vec::with_capacity(segments.len());
    for &Segment { action, units, repeat, blocks } in segments {
        let mut part = Patch { base, ..patch.clone() };
        base += blocks * units * repeat * stride;
        let fixed = if let Action::Permuted(group) = action {
            part.axes.push((group, repeat * stride));
            part.along.push(axis);
            1
        } else {
            units
        };
        for (count, distance) in [(blocks, units * repeat * stride), (fixed, repeat * stride), (repeat, stride)] {
            let copies = |offset: &usize| (0..count).map(move |index| offset + index * distance).collect::<Vec<_>>();
            part.rest = part.rest.iter().flat_map(copies).collect();
        }
        parts.push(part);
    }
    parts
}
