//! The scale, the range and the ticks of an axis, and the position of a number on it.

/// Scale of an axis or of a colour bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths; numbers that are not positive are not shown.
    Log,
}

/// Numbers above it count as infinite, so that an axis can reach beyond them without an overflow.
const LARGEST: f64 = 1e150;
/// Numbers with a smaller relative difference count as equal: their difference may be rounding.
const FLAT: f64 = 1e-9;
/// Digits of exponents.
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

impl Scale {
    /// Returns whether `value` has a position on an axis of this scale.
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

    /// Returns the number at the position `to` + `fraction` · (`to` − `from`) of the axis.
    fn beyond(self, from: f64, to: f64, fraction: f64) -> f64 {
        let [from, to] = [self.forward(from), self.forward(to)];
        self.backward(to + fraction * (to - from))
    }

    /// Returns the borders of cells around `centres`: the midpoints of neighbours, and as far beyond the first and the last.
    pub(crate) fn borders(self, centres: &[f64]) -> Vec<f64> {
        match centres {
            [] => Vec::new(),
            [only] => {
                let range = Range::covering(self, [*only]);
                vec![range.low, range.high]
            }
            [first, second, ..] => {
                let middle = |pair: &[f64]| self.backward(0.5 * self.forward(pair[0]) + 0.5 * self.forward(pair[1]));
                let inner = centres.windows(2).map(middle);
                let last = &centres[centres.len() - 2..];
                let outer = [self.beyond(*second, *first, 0.5), self.beyond(last[0], last[1], 0.5)];
                [outer[0]].into_iter().chain(inner).chain([outer[1]]).collect()
            }
        }
    }
}

/// Range of numbers that an axis shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// Returns the range of all `values` that can be shown. It is never empty, even if they are all equal or there are none.
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

    /// Returns the range extended by `fraction` of its length at both ends.
    pub(crate) fn padded(self, fraction: f64) -> Self {
        let Self { scale, low, high } = self;
        Self { scale, low: scale.beyond(high, low, fraction), high: scale.beyond(low, high, fraction) }
    }

    /// Returns the range extended to ticks, of which it has at most about `most`; a logarithmic range stays as it is.
    pub(crate) fn rounded(self, most: usize) -> Self {
        match self.scale {
            Scale::Log => self,
            Scale::Linear => {
                let step = step(self.low, self.high, most);
                Self { low: step.at(step.below(self.low)), high: step.at(step.above(self.high)), ..self }
            }
        }
    }

    /// Returns the position of `value`: 0 at the low end, 1 at the high end, `None` if the scale cannot show it.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        let [low, high] = [self.low, self.high].map(|end| self.scale.forward(end));
        self.scale.shows(value).then(|| (self.scale.forward(value) - low) / (high - low))
    }

    /// Returns the position of `value`; a value beyond an end, or without a logarithm, is at that end.
    pub(crate) fn clamped(&self, value: f64) -> f64 {
        self.fraction(value.clamp(self.low, self.high)).unwrap_or(0.0)
    }
}

/// Distance between ticks: `mantissa` (1, 2 or 5) times 10 to the power of `exponent`.
#[derive(Clone, Copy, Debug)]
struct Step {
    mantissa: i64,
    exponent: i32,
}

impl Step {
    /// Returns `index` times the step, exactly rounded: products of rounded powers would show 0.30000000000000004.
    fn at(self, index: i64) -> f64 {
        format!("{}e{}", index * self.mantissa, self.exponent).parse().expect("digits, e and digits are a number")
    }

    /// Returns the index of the last multiple not above `value`, with a tolerance for rounding.
    fn below(self, value: f64) -> i64 {
        (value / self.at(1) + 1e-6).floor() as i64
    }

    /// Returns the index of the first multiple not below `value`, with a tolerance for rounding.
    fn above(self, value: f64) -> i64 {
        (value / self.at(1) - 1e-6).ceil() as i64
    }
}

/// Returns the smallest round step that divides `low` to `high` into at most `most` intervals.
fn step(low: f64, high: f64, most: usize) -> Step {
    let raw = (high - low) / most.max(1) as f64;
    let exponent = raw.log10().floor() as i32;
    let steps = [1, 2, 5].map(|mantissa| Step { mantissa, exponent });
    let fits = steps.into_iter().find(|step| step.at(1) >= raw * (1.0 - 1e-9));
    fits.unwrap_or(Step { mantissa: 1, exponent: exponent + 1 })
}

/// Tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Number at the tick.
    pub value: f64,
    /// Label of the tick; empty at the minor ticks of a logarithmic axis.
    pub label: String,
}

/// Returns ticks between `low` and `high` in ascending order, with at most `most` + 1 labels.
///
/// Ticks of a linear axis are multiples of 1, 2 or 5 times a power of ten. Ticks of a logarithmic axis are 1, 2 and 5 times
/// powers of ten if they are few, else powers of ten, with minor ticks between them if there is space. Over a short
/// range, a logarithmic axis has the ticks of a linear one.
///
/// # Panics
/// If the range is empty, infinite, or reaches to numbers that have no logarithm.
pub fn ticks(scale: Scale, low: f64, high: f64, most: usize) -> Vec<Tick> {
    let exists = low < high && (high - low).is_finite() && (scale == Scale::Linear || low > 0.0);
    assert!(exists, "no {scale:?} axis from {low} to {high}");
    match scale {
        Scale::Linear => linear(low, high, most),
        Scale::Log => logarithmic(low, high, most),
    }
}

fn linear(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let step = step(low, high, most);
    let values: Vec<f64> = (step.above(low)..=step.below(high)).map(|index| step.at(index)).collect();
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let magnitude = if largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
    let label = |value: f64| {
        if value == 0.0 && step.exponent >= 0 {
            "0".to_owned()
        } else if magnitude >= 5 || step.exponent < -4 {
            scientific(value, magnitude, (magnitude - step.exponent).max(0) as usize)
        } else {
            plain(value, (-step.exponent).max(0) as usize)
        }
    };
    values.iter().map(|&value| Tick { value, label: label(value) }).collect()
}

fn logarithmic(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let inside = |mantissas: &[i64]| -> Vec<(i64, i32, f64)> {
        let all = exponents.clone().flat_map(|exponent| mantissas.iter().map(move |&mantissa| (mantissa, exponent)));
        all.map(|(mantissa, exponent)| (mantissa, exponent, Step { mantissa, exponent }.at(1)))
            .filter(|(_, _, value)| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
            .collect()
    };
    let (round, decades) = (inside(&[1, 2, 5]), inside(&[1]));
    if round.len() < 3 {
        return linear(low, high, most);
    }
    let stride = decades.len().div_ceil(most.max(1)) as i32;
    let labelled = |mantissa: i64, exponent: i32| {
        if round.len() <= most + 1 {
            [1, 2, 5].contains(&mantissa)
        } else {
            mantissa == 1 && exponent.rem_euclid(stride) == 0
        }
    };
    let plainly = decades.iter().all(|(_, exponent, _)| (-3..=4).contains(exponent));
    let small: &[i64] = if stride == 1 { &[1, 2, 3, 4, 5, 6, 7, 8, 9] } else { &[1] };
    let label = |(mantissa, exponent, value): (i64, i32, f64)| Tick {
        value,
        label: match labelled(mantissa, exponent) {
            false => String::new(),
            true if plainly => plain(value, (-exponent).max(0) as usize),
            true => scientific(value, exponent, 0),
        },
    };
    inside(small).into_iter().map(label).collect()
}

/// Returns a number with this many decimals, and with a minus sign instead of a hyphen.
fn plain(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// Returns a number as a multiple of a power of ten; the factor 1 is left out.
fn scientific(value: f64, exponent: i32, decimals: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let superscript = |c: char| c.to_digit(10).map_or('⁻', |digit| SUPERSCRIPTS[digit as usize]);
    let power: String = exponent.to_string().chars().map(superscript).collect();
    let shifted: f64 = format!("{value:e}")
        .split_once('e')
        .and_then(|(digits, own)| format!("{digits}e{}", own.parse::<i32>().ok()? - exponent).parse().ok())
        .expect("numbers are written with an exponent");
    match plain(shifted, decimals).as_str() {
        "1" => format!("10{power}"),
        "−1" => format!("−10{power}"),
        mantissa => format!("{mantissa}×10{power}"),
    }
}
