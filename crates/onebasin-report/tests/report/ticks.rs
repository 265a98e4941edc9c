//! Ticks are few round numbers inside the range, and their labels are those numbers.

use onebasin_report::{Scale, ticks};
use proptest::prelude::*;

/// Parses a label.
fn read(label: &str) -> f64 {
    let plain: String = label
        .chars()
        .map(|c| match c {
            '−' | '⁻' => '-',
            '⁰' | '⁴'..='⁹' => char::from(b'0' + (c as u32 - '⁰' as u32) as u8),
            '¹' => '1',
            '²' => '2',
            '³' => '3',
            c => c,
        })
        .collect();
    // Superscripts are the exponent: it begins where the base 10 ends.
    let raised =
        label.char_indices().find(|(_, c)| "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".contains(*c)).map(|(at, _)| label[..at].chars().count());
    let Some(raised) = raised else { return plain.parse().unwrap() };
    let power: i32 = plain.chars().skip(raised).collect::<String>().parse().unwrap();
    let base: String = plain.chars().take(raised).collect();
    let mantissa = match base.split_once('×') {
        Some((mantissa, "10")) => mantissa,
        None if base == "10" => "1",
        None if base == "-10" => "-1",
        _ => panic!("{label}"),
    };
    format!("{mantissa}e{power}").parse().unwrap()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

/// Returns whether a positive number is 1, 2 or 5 times a power of ten.
fn round(value: f64) -> bool {
    let power = value.log10().floor();
    [1.0, 2.0, 5.0, 10.0].iter().any(|mantissa| near(mantissa * 10_f64.powf(power), value))
}

proptest! {
    #[test]
    fn linear_ticks_are_evenly_spaced_round_numbers(
        middle in -1e6..1e6_f64, exponent in -6..9_i32, digits in 1.0..10.0_f64, most in 6..12_usize,
    ) {
        let half = digits * 10_f64.powi(exponent);
        prop_assume!(half > 1e-9 * middle.abs());
        let (low, high) = (middle - half, middle + half);
        let ticks = ticks(Scale::Linear, low, high, most);
        prop_assert!((2..=most + 1).contains(&ticks.len()), "{ticks:?}");
        let slack = 1e-5 * half;
        let step = ticks[1].value - ticks[0].value;
        prop_assert!(half < 1e-6 * middle.abs() || round(step), "{step}");
        for pair in ticks.windows(2) {
            prop_assert!((pair[1].value - pair[0].value - step).abs() <= 1e-6 * step + 1e-9 * middle.abs());
            prop_assert_ne!(&pair[0].label, &pair[1].label);
        }
        for tick in &ticks {
            prop_assert!((low - slack..=high + slack).contains(&tick.value));
            prop_assert!(near(read(&tick.label), tick.value) || tick.value.abs() < slack, "{tick:?}");
        }
    }

    #[test]
    fn logarithmic_ticks_are_ascending_and_some_are_labelled(
        exponent in -200.0..200.0_f64, decades in 0.001..60.0_f64, most in 6..12_usize,
    ) {
        let (low, high) = (10_f64.powf(exponent), 10_f64.powf(exponent + decades));
        let ticks = ticks(Scale::Log, low, high, most);
        let labelled: Vec<_> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
        prop_assert!((2..=most + 1).contains(&labelled.len()), "{ticks:?}");
        prop_assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value));
        for tick in labelled {
            prop_assert!((low * 0.9999..=high * 1.0001).contains(&tick.value));
            prop_assert!(near(read(&tick.label), tick.value), "{tick:?}");
        }
    }
}

#[test]
fn labels_are_written_as_a_reader_expects() {
    let labels = |scale, low, high| -> Vec<String> {
        ticks(scale, low, high, 6).into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    };
    assert_eq!(labels(Scale::Linear, 0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(labels(Scale::Linear, -50.0, 100.0), ["−50", "0", "50", "100"]);
    assert_eq!(labels(Scale::Linear, 0.0, 2.4e6), ["0", "0.5×10⁶", "1.0×10⁶", "1.5×10⁶", "2.0×10⁶"]);
    assert_eq!(labels(Scale::Log, 8.0, 300.0), ["10", "20", "50", "100", "200"]);
    assert_eq!(labels(Scale::Log, 1e-7, 1e-2), ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]);
    assert_eq!(labels(Scale::Log, 0.3, 0.35), ["0.30", "0.31", "0.32", "0.33", "0.34", "0.35"]);
}
