//! The range of an axis, and where on it a number lies.

use crate::ticks::step;

/// How numbers are spread over an axis or over colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms; numbers that are not positive are left out.
    Log,
}

/// What is larger counts as infinite, so that axes can reach beyond it without an overflow.
const LARGEST: f64 = 1e150;
/// Numbers whose relative difference is smaller count as equal: rounding would decide about their picture.
const FLAT: f64 = 1e-9;

impl Scale {
    /// Whether `value` has a place on an axis of this scale.
    pub(crate) fn shows(self, value: f64) -> bool {
        value.abs() <= LARGEST && (self == Self::Linear || value >= 1.0 / LARGEST)
    }

    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.log10(),
        }
    }

    fn backward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => 10_f64.powf(value),
        }
    }

    /// The number in the middle of two, as the axis shows them.
    pub(crate) fn middle(self, left: f64, right: f64) -> f64 {
        self.backward(0.5 * self.forward(left) + 0.5 * self.forward(right))
    }

    /// The number as far behind `to` as `to` is behind `from`, times `part`.
    pub(crate) fn beyond(self, from: f64, to: f64, part: f64) -> f64 {
        let [from, to] = [self.forward(from), self.forward(to)];
        self.backward(to + part * (to - from))
    }
}

/// What an axis shows, from its one end to the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// Covers all `values` that can be shown; never empty, also if they are all equal or there are none.
    pub(crate) fn covering(scale: Scale, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|&value| scale.shows(value)) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = if scale == Scale::Log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if high - low <= FLAT * high.abs().max(low.abs()) {
            (low, high) = match scale {
                Scale::Linear if high.abs() < 1.0 / LARGEST => (-1.0, 1.0),
                Scale::Linear => (low - 0.5 * low.abs(), high + 0.5 * high.abs()),
                Scale::Log => (low / 3.0, high * 3.0),
            };
        }
        Self { scale, low, high }
    }

    /// Longer by `part` of its length at both ends.
    pub(crate) fn padded(self, part: f64) -> Self {
        let Self { scale, low, high } = self;
        Self { scale, low: scale.beyond(high, low, part), high: scale.beyond(low, high, part) }
    }

    /// From tick to tick, if it is linear and has at most about `most` of them.
    pub(crate) fn rounded(self, most: usize) -> Self {
        match self.scale {
            Scale::Log => self,
            Scale::Linear => {
                let step = step(self.low, self.high, most);
                Self { low: step.at(step.below(self.low)), high: step.at(step.above(self.high)), ..self }
            }
        }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end. None if it cannot be shown.
    pub(crate) fn part(&self, value: f64) -> Option<f64> {
        let [low, high] = [self.low, self.high].map(|end| self.scale.forward(end));
        self.scale.shows(value).then(|| (self.scale.forward(value) - low) / (high - low))
    }

    /// As `part`, but what lies beyond an end, or has no logarithm, is at that end.
    pub(crate) fn clamped(&self, value: f64) -> f64 {
        self.part(value.clamp(self.low, self.high)).unwrap_or(0.0)
    }
}
