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

/// Gradient ascent with momentum: v ← μ v + g, step = rate · v, or with Nesterov's momentum rate · (μ v + g), v the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The learning rate.
    pub rate: f32,
    /// μ; 0 for none.
    pub momentum: f32,
    /// Whether the momentum is Nesterov's.
    pub nesterov: bool,
}

// SAFETY: nothing but arithmetic.
unsafe impl Rule for Momentum {
    const SECOND: bool = false;

    #[inline(always)]
    unsafe fn delta<V: Lanes>(self, gradient: V, first: &mut V, _: &mut V) -> V {
        // SAFETY: the caller runs on the instruction set.
        unsafe {
            let momentum = V::splat(self.momentum);
            *first = momentum.mul_add(*first, gradient);
            V::splat(self.rate).mul(if self.nesterov { momentum.mul_add(*first, gradient) } else { *first })
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

/// One step of a point: θ ← θ + step(scale · gradient − decay · θ) − shrink · θ.
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
    /// Decoupled weight decay, which no rule sees.
    pub shrink: f32,
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
            fill_slopes(slopes, params, gradient, self.scale, self.decay);
            let moments = [&mut self.first[range], &mut self.second[second_range]];
            step::<V, R>(self.rule, self.shrink, params, slopes, moments);
        }
    }
}

/// Values whose slopes are computed before they are stepped.
const CHUNK: usize = 256;

/// Steps `params` along their slopes; the first moments are as many, and so are the second if the rule uses them.
#[inline(always)]
pub(super) fn step<V: Lanes, R: Rule>(
    rule: R,
    shrink: f32,
    params: &mut [f32],
    slopes: &[f32],
    [first, second]: [&mut [f32]; 2],
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
            let point = load(params);
            store(point.add(V::splat(-shrink).mul_add(point, delta)), params);
            store(moment, first);
            if R::SECOND {
                store(square, second);
            }
        }
    }
}

/// Adds squares in `f64`, side by side, so that the order of the additions is fixed and they fill vectors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Squares([f64; 16]);

impl Squares {
    #[inline(always)]
    pub(super) fn add(&mut self, values: &[f32]) {
        for values in values.chunks(self.0.len()) {
            for (sum, value) in self.0.iter_mut().zip(values) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
    }

    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        self.0.iter().sum()
    }
}

/// The sum of the squared slopes of a step of a point.
pub struct SquarePoint<'a> {
    /// θ
    pub params: &'a [f32],
    /// As many.
    pub gradient: &'a [f32],
    /// Multiplies the gradient.
    pub scale: f32,
    /// The precision of the prior, scaled likewise.
    pub decay: f32,
}

impl Kernel<f64> for SquarePoint<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        let (mut slopes, mut squares) = ([0.0; CHUNK], Squares::default());
        for (params, gradient) in self.params.chunks(CHUNK).zip(self.gradient.chunks(CHUNK)) {
            let slopes = &mut slopes[..params.len()];
            fill_slopes(slopes, params, gradient, self.scale, self.decay);
            squares.add(slopes);
        }
        squares.sum()
    }
}

/// slope = scale · gradient − decay · θ
#[inline(always)]
fn fill_slopes(slopes: &mut [f32], params: &[f32], gradient: &[f32], scale: f32, decay: f32) {
    let (params, gradient) = (&params[..slopes.len()], &gradient[..slopes.len()]);
    for i in 0..slopes.len() {
        slopes[i] = (-decay).mul_add(params[i], scale * gradient[i]);
    }
}
