//! Round numbers for the ticks of an axis, and how they are written.

use crate::scale::Scale;

/// A place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it is.
    pub value: f64,
    /// What is written there; nothing at the small ticks of a logarithmic axis.
    pub label: String,
}

/// A distance of `mantissa` (1, 2 or 5) times 10 to the `exponent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    mantissa: i64,
    exponent: i32,
}

impl Step {
    /// The multiple number `index`, to the last bit: products of rounded powers would show 0.30000000000000004.
    pub(crate) fn at(self, index: i64) -> f64 {
        format!("{}e{}", index * self.mantissa, self.exponent).parse().expect("digits, e and digits are a number")
    }

    /// The last multiple that is not above `value`, but for rounding.
    pub(crate) fn below(self, value: f64) -> i64 {
        (value / self.at(1) + 1e-6).floor() as i64
    }

    /// The first multiple that is not below `value`, but for rounding.
    pub(crate) fn above(self, value: f64) -> i64 {
        (value / self.at(1) - 1e-6).ceil() as i64
    }
}

/// The smallest round distance that cuts `low` to `high` into at most `most` pieces.
pub(crate) fn step(low: f64, high: f64, most: usize) -> Step {
    let raw = (high - low) / most.max(1) as f64;
    let exponent = raw.log10().floor() as i32;
    let steps = [1, 2, 5].map(|mantissa| Step { mantissa, exponent });
    let fits = steps.into_iter().find(|step| step.at(1) >= raw * (1.0 - 1e-9));
    fits.unwrap_or(Step { mantissa: 1, exponent: exponent + 1 })
}

/// Ticks between `low` and `high`, in ascending order, with at most `most` + 1 labels.
///
/// Those of a linear axis are multiples of 1, 2 or 5 times a power of ten. Those of a logarithmic one are such numbers
/// themselves if they are few, else powers of ten, with small ticks between if there is room; over a short
/// range they are those of a linear axis.
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

/// With so many decimals, and a minus sign as long as a plus.
fn plain(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// As a multiple of a power of ten, of which a single one is not written.
fn scientific(value: f64, exponent: i32, decimals: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
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

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' | '4'..='9' => char::from_u32('⁰' as u32 + (c as u32 - '0' as u32)).expect("superscripts lie in a row"),
        other => other,
    }
}
