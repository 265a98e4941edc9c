//! Steps uphill over flat vectors: the rules of the optimisers, and the fused step of a point.

use super::isa::Kernel;
use super::lanes::Lanes;
use super::math;

/// Turns a gradient into a step, and remembers what it has to in one or two numbers for each parameter.
pub trait Rule: Copy + Send + Sync {
    /// Whether the second number is used; if not, its array may be empty.
    const SECOND: bool;

    /// The step to add to a parameter.
    fn delta(self, gradient: f32, first: &mut f32, second: &mut f32) -> f32;
}

/// Gradient ascent with momentum: v ← μ v + g, step = rate · v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The learning rate.
    pub rate: f32,
    /// μ; 0 for none.
    pub momentum: f32,
}

impl Rule for Momentum {
    const SECOND: bool = false;

    #[inline(always)]
    fn delta(self, gradient: f32, first: &mut f32, _: &mut f32) -> f32 {
        *first = self.momentum.mul_add(*first, gradient);
        self.rate * *first
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

impl Rule for Adam {
    const SECOND: bool = true;

    #[inline(always)]
    fn delta(self, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
        *first = self.decay.mul_add(*first, (1.0 - self.decay) * gradient);
        *second = self.square_decay.mul_add(*second, (1.0 - self.square_decay) * gradient * gradient);
        self.rate * *first * math::reciprocal(math::sqrt(*second) + self.epsilon)
    }
}

/// One step of a point: θ ← θ + step(scale · gradient − decay · θ).
#[derive(Debug)]
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
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.params.len();
        let (params, first, gradient) = (self.params, &mut self.first[..len], &self.gradient[..len]);
        let second = &mut self.second[..if R::SECOND { len } else { 0 }];
        let mut unused = 0.0;
        for i in 0..len {
            let slope = (-self.decay).mul_add(params[i], self.scale * gradient[i]);
            let second = if R::SECOND { &mut second[i] } else { &mut unused };
            params[i] += self.rule.delta(slope, &mut first[i], second);
        }
    }
}
