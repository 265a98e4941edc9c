//! Steps uphill over flat vectors: the rules of the optimisers, and the fused step of a point.

use crate::lanes::{Kernel, Lanes};

/// Turns a gradient into a step, and remembers what it has to in one or two numbers for each parameter.
///
/// # Safety
/// `delta` is only called from code compiled for the vector's instruction set.
pub unsafe trait Rule: Copy + Send + Sync {
    /// Whether the second number is used; if not, its array may be empty.
    const SECOND: bool;

    /// The step to add to parameters.
    #[expect(clippy::missing_safety_doc, reason = "it stands above")]
    unsafe fn delta<V: Lanes>(self, gradient: V, first: &mut V, second: &mut V) -> V;
}

/// Gradient ascent with momentum: v ← μ v + g, step = rate · v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The learning rate.
    pub rate: f32,
    /// μ; 0 for none.
    pub momentum: f32,
}

// SAFETY: nothing but arithmetic.
unsafe impl Rule for Momentum {
    const SECOND: bool = false;

    #[inline(always)]
    unsafe fn delta<V: Lanes>(self, gradient: V, first: &mut V, _: &mut V) -> V {
        // SAFETY: the caller runs on the instruction set.
        unsafe {
            *first = V::splat(self.momentum).mul_add(*first, gradient);
            V::splat(self.rate).mul(*first)
        }
    }
}

/// Adam (Kingma and Ba 2015) as in their section 2, "efficiency": the corrections of the bias are in the rate and ε.
///
/// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², step = rate · m / (√v + ε)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate times √(1 − β₂ᵗ) / (1 − β₁ᵗ), t the number of this step from one.
    pub rate: f32,
    /// β₁
    pub decay: f32,
    /// β₂
    pub square_decay: f32,
    /// ε √(1 − β₂ᵗ)
    pub epsilon: f32,
}

// SAFETY: nothing but arithmetic.
unsafe impl Rule for Adam {
    const SECOND: bool = true;

    #[inline(always)]
    unsafe fn delta<V: Lanes>(self, gradient: V, first: &mut V, second: &mut V) -> V {
        // SAFETY: the caller runs on the instruction set.
        unsafe {
            let gain = V::splat(1.0 - self.decay);
            *first = V::splat(self.decay).mul_add(*first, gain.mul(gradient));
            let gain = V::splat(1.0 - self.square_decay);
            *second = V::splat(self.square_decay).mul_add(*second, gain.mul(gradient).mul(gradient));
            // √v = v / √v; where v is (nearly) zero, so is the root, whatever is taken for its inverse.
            let root = second.mul(V::splat(1e-37).max(*second).inverse_sqrt());
            V::splat(self.rate).mul(*first).mul(root.add(V::splat(self.epsilon)).reciprocal())
        }
    }
}

/// One step of a point: θ ← θ + step(scale · gradient − decay · θ).
pub struct StepPoint<'a, R> {
    /// How the gradient becomes a step.
    pub rule: R,
    /// θ
    pub params: &'a mut [f32],
    /// The rule's first numbers, as many.
    pub first: &'a mut [f32],
    /// The rule's second numbers, as many, or none if it has no use for them.
    pub second: &'a mut [f32],
    /// As many.
    pub gradient: &'a [f32],
    /// Multiplies the gradient.
    pub scale: f32,
    /// The precision of the prior, scaled likewise.
    pub decay: f32,
}

impl<R: Rule> Kernel for StepPoint<'_, R> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let second_len = if R::SECOND { self.params.len() } else { 0 };
        let mut slopes = [0.0; CHUNK];
        for first in (0..self.params.len()).step_by(CHUNK) {
            let range = first..(first + CHUNK).min(self.params.len());
            let second_range = range.start.min(second_len)..range.end.min(second_len);
            let (params, gradient) = (&mut self.params[range.clone()], &self.gradient[range.clone()]);
            let slopes = &mut slopes[..params.len()];
            for i in 0..slopes.len() {
                slopes[i] = (-self.decay).mul_add(params[i], self.scale * gradient[i]);
            }
            step::<V, R>(self.rule, params, slopes, &mut self.first[range], &mut self.second[second_range]);
        }
    }
}

/// Values whose slopes are computed before they are stepped.
const CHUNK: usize = 256;

/// Steps `params` along their slopes; `first` is as long, and so is `second` if the rule uses it.
#[inline(always)]
pub(super) fn step<V: Lanes, R: Rule>(
    rule: R,
    params: &mut [f32],
    slopes: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let len = params.len();
    let second_len = if R::SECOND { len } else { 0 };
    let (slopes, first, second) = (&slopes[..len], &mut first[..len], &mut second[..second_len]);
    for at in (0..len).step_by(V::LANES) {
        let lanes = V::LANES.min(len - at);
        // SAFETY: `lanes` values from `at` on are inside all arrays that are touched.
        unsafe {
            let zero = V::splat(0.0);
            let whole = lanes == V::LANES;
            let load = |from: &[f32]| {
                let from = from.as_ptr().add(at);
                if whole { V::load(from) } else { V::load_part(from, lanes) }
            };
            let store = |value: V, to: &mut [f32]| {
                let to = to.as_mut_ptr().add(at);
                if whole { value.store(to) } else { value.store_part(to, lanes) }
            };
            let mut moment = load(first);
            let mut square = if R::SECOND { load(second) } else { zero };
            let delta = rule.delta(load(slopes), &mut moment, &mut square);
            store(load(params).add(delta), params);
            store(moment, first);
            if R::SECOND {
                store(square, second);
            }
        }
    }
}
