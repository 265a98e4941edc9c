//! A member under doubly stochastic matrices instead of permutations, and its steps towards vertices of the Birkhoff polytope.
//!
//! A tensor that two groups act on is bilinear in their doubly stochastic matrices P and Q. Between them and permutations C and D,
//! at (1 - t) P + t C and (1 - t) Q + t D, it is therefore
//!
//! (1 - t)² P W Qᵀ + t (1 - t) (C W Qᵀ + P W Dᵀ) + t² C W Dᵀ
//!
//! and all but the first term are reorderings of W Qᵀ, P W and W, which are kept: no matrix is ever multiplied here.

use crate::symmetry::{Patch, Permutation, Spec};

/// One feature of a member.
#[derive(Debug)]
pub(super) struct Relaxed {
    /// The feature itself, W.
    values: Vec<f32>,
    /// The feature with only the other axis transformed, for the first and for the second axis of each patch: W Qᵀ and P W.
    pub(super) partial: [Vec<f32>; 2],
    /// The feature with all axes transformed, at t = 0.
    pub(super) current: Vec<f32>,
    /// The factor of t (1 - t).
    pub(super) mixed: Vec<f32>,
    /// The feature with all axes transformed, at t = 1.
    pub(super) vertex: Vec<f32>,
}

impl Relaxed {
    /// All matrices at the centre of the Birkhoff polytope: every unit is the mean of all.
    pub(super) fn new(spec: &Spec, values: &[f32]) -> Self {
        let partial = [averaged(spec, values, 1), averaged(spec, values, 0)];
        let current = averaged(spec, &partial[0], 0);
        let zeros = vec![0.0; values.len()];
        Self { values: values.to_vec(), partial, current, mixed: zeros.clone(), vertex: zeros }
    }

    /// Chooses the vertex that the next step goes to: one permutation for each group.
    pub(super) fn aim(&mut self, spec: &Spec, permutations: &[Permutation], identity: &[u32]) {
        let mut one = vec![0.0; self.values.len()];
        permute(spec, permutations, identity, [true, false], &self.partial[0], &mut self.mixed);
        permute(spec, permutations, identity, [false, true], &self.partial[1], &mut one);
        add(&mut self.mixed, 1.0, &one, 1.0);
        permute(spec, permutations, identity, [true, true], &self.values, &mut self.vertex);
    }

    /// Makes a step of size `t` to the vertex that was chosen.
    pub(super) fn step(&mut self, spec: &Spec, permutations: &[Permutation], identity: &[u32], t: f32) {
        add(&mut self.current, (1.0 - t).powi(2), &self.mixed, t * (1.0 - t));
        add(&mut self.current, 1.0, &self.vertex, t * t);
        // No longer needed until the next vertex is chosen.
        let scratch = &mut self.mixed;
        for (partial, axes) in self.partial.iter_mut().zip([[false, true], [true, false]]) {
            permute(spec, permutations, identity, axes, &self.values, scratch);
            add(partial, 1.0 - t, scratch, t);
        }
    }
}

/// Reorders the first, the second or both axes of all patches.
fn permute(spec: &Spec, permutations: &[Permutation], identity: &[u32], axes: [bool; 2], old: &[f32], new: &mut [f32]) {
    for patch in spec.patches() {
        let of = |axis: usize, group: usize| {
            let own = permutations[group].as_slice();
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
