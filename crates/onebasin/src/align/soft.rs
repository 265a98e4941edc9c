//! A member of which each unit is a weighted mean of units, on its way from one such state to permutations.
//!
//! A tensor that two groups act on is bilinear in their doubly stochastic matrices P and Q. On the way to permutations C and D,
//! (1 - t) P + t C and (1 - t) Q + t D, it is therefore
//!
//! (1 - t)² P W Qᵀ + t (1 - t) (C W Qᵀ + P W Dᵀ) + t² C W Dᵀ
//!
//! and all but the first term are reorderings of W Qᵀ, P W and W, which are kept: no matrix is ever multiplied here.

use crate::symmetry::Patch;
use crate::symmetry::Permutation;
use crate::symmetry::Spec;

/// One feature of a member.
#[derive(Debug)]
pub(super) struct Soft {
    /// W
    values: Vec<f32>,
    /// As the first and as the second axis of each patch see it: with only the other axis moved.
    pub(super) seen: [Vec<f32>; 2],
    /// With all axes moved, at t = 0.
    pub(super) here: Vec<f32>,
    /// What is multiplied by t (1 - t).
    pub(super) between: Vec<f32>,
    /// With all axes moved, at t = 1.
    pub(super) there: Vec<f32>,
}

impl Soft {
    /// All matrices at the barycentre: every unit is the mean of all.
    pub(super) fn new(spec: &Spec, values: &[f32]) -> Self {
        let seen = [averaged(spec, values, 1), averaged(spec, values, 0)];
        let here = averaged(spec, &seen[0], 0);
        let zeros = vec![0.0; values.len()];
        Self { values: values.to_vec(), seen, here, between: zeros.clone(), there: zeros }
    }

    /// Turns to a corner: one permutation for each group.
    pub(super) fn turn(&mut self, spec: &Spec, corner: &[Permutation], identity: &[u32]) {
        let mut one = vec![0.0; self.values.len()];
        permute(spec, corner, identity, [true, false], &self.seen[0], &mut self.between);
        permute(spec, corner, identity, [false, true], &self.seen[1], &mut one);
        add(&mut self.between, 1.0, &one, 1.0);
        permute(spec, corner, identity, [true, true], &self.values, &mut self.there);
    }

    /// Goes a part `t` of the way to the corner that it was turned to.
    pub(super) fn step(&mut self, spec: &Spec, corner: &[Permutation], identity: &[u32], t: f32) {
        add(&mut self.here, (1.0 - t).powi(2), &self.between, t * (1.0 - t));
        add(&mut self.here, 1.0, &self.there, t * t);
        // No longer needed until the next turn.
        let scratch = &mut self.between;
        for (seen, axes) in self.seen.iter_mut().zip([[false, true], [true, false]]) {
            permute(spec, corner, identity, axes, &self.values, scratch);
            add(seen, 1.0 - t, scratch, t);
        }
    }
}

/// Reorders the first, the second or both axes of all patches.
fn permute(spec: &Spec, corner: &[Permutation], identity: &[u32], axes: [bool; 2], old: &[f32], new: &mut [f32]) {
    for patch in spec.patches() {
        let of = |axis: usize, group: usize| {
            let own = corner[group].as_slice();
            if axes[axis] { own } else { &identity[..own.len()] }
        };
        patch.permute(of, old, new);
    }
}

/// The means over the units of the first or the second axis of each patch, in the place of every unit.
fn averaged(spec: &Spec, values: &[f32], axis: usize) -> Vec<f32> {
    let mut means = values.to_vec();
    let mut sums = vec![0.0f64; values.len()];
    for patch in spec.patches() {
        let Patch { axes, .. } = patch;
        let Some(&(group, stride)) = axes.get(axis) else { continue };
        let units = spec.groups()[group].size as f64;
        patch.for_each(spec.groups(), |place, units| sums[place - units[axis] * stride] += f64::from(values[place]));
        patch.for_each(spec.groups(), |place, at| means[place] = (sums[place - at[axis] * stride] / units) as f32);
    }
    means
}

/// a x + b y, in the place of x.
fn add(x: &mut [f32], a: f32, y: &[f32], b: f32) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = a * *x + b * y);
}
