//! Figures and cells of tables in few words.

use crate::figure::{Axis, Chart, Figure, Lines, Point, Series};
use crate::scale::Scale;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use onebasin::measure::Estimate;

/// Number of digits that a small standard error may add to a number.
const MORE: usize = 5;

/// An axis on which equal distances are equal differences.
pub(crate) fn linear(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear, categories: Vec::new() }
}

/// An axis on which equal distances are equal ratios.
pub(crate) fn log(label: &str) -> Axis {
    Axis { scale: Scale::Log, ..linear(label) }
}

/// The axis for some numbers: logarithmic if all are positive and differ by more than a factor of ten.
pub(crate) fn fitting(label: &str, numbers: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0_f64), |(low, high), number| (low.min(number), high.max(number)));
    if low > 0.0 && high > 10.0 * low { log(label) } else { linear(label) }
}

/// A figure of lines.
pub(crate) fn lines(id: String, title: &str, caption: &str, axes: [Axis; 2], series: Vec<Series>) -> Figure {
    let [x, y] = axes;
    Figure {
        id,
        title: title.to_owned(),
        caption: caption.to_owned(),
        chart: Chart::Lines(Lines { x, y, equal: false, series }),
    }
}

/// A line without markers.
pub(crate) fn curve(name: &str, group: &str, points: impl IntoIterator<Item = Point>) -> Series {
    Series {
        name: name.to_owned(),
        group: group.to_owned(),
        colour: None,
        reference: false,
        markers: false,
        points: points.into_iter().collect(),
    }
}

/// A line with a marker at each point.
pub(crate) fn marked(name: &str, group: &str, points: impl IntoIterator<Item = Point>) -> Series {
    Series { markers: true, ..curve(name, group, points) }
}

/// A line with markers for each name and group, in the order of first occurrence; points in the order of x.
pub(crate) fn grouped<'a>(points: impl IntoIterator<Item = (String, &'a str, Point)>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (name, group, point) in points {
        match all.iter_mut().find(|series| series.name == name && series.group == group) {
            Some(series) => series.points.push(point),
            None => all.push(marked(&name, group, [point])),
        }
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    all
}

/// A point without a standard error.
pub(crate) fn point(x: f64, y: f64) -> Point {
    Point { x, y, error: None }
}

/// A table whose first columns are names and whose other columns are numbers.
pub(crate) fn table<'a>(names: &[&'a str], numbers: impl IntoIterator<Item = &'a str>) -> Table {
    let numbers = numbers.into_iter().map(|title| (title, Right));
    Table::new(names.iter().map(|title| (*title, Left)).chain(numbers))
}

/// A row of a table: a name, then other cells.
pub(crate) fn row<I: IntoIterator<Item = String>>(name: impl Into<String>, cells: I) -> impl Iterator<Item = String> {
    std::iter::once(name.into()).chain(cells)
}

/// A number with its standard error, if it has one, in this many digits, or in as many as show that the error is not zero.
pub(crate) fn with_error(Estimate { value, standard_error }: Estimate, unit: f64, digits: usize) -> String {
    let error = standard_error.map(|error| error * unit);
    let shown = |digits: &usize| error.is_none_or(|error| error >= 0.5 * 0.1_f64.powi(*digits as i32));
    let digits = (digits..digits + MORE).find(shown).unwrap_or(digits);
    let number = format!("{:.digits$}", value * unit);
    let is_zero = !number.contains(|c: char| c.is_ascii_digit() && c != '0');
    let number = number.strip_prefix('-').filter(|_| is_zero).unwrap_or(&number);
    match error {
        Some(0.0) => format!("{number} ± 0"),
        Some(error) => format!("{number} ± {error:.digits$}"),
        None => number.to_owned(),
    }
}

/// A count of things in words, such as `1 pair` and `10,000 samples`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    format!("{} {thing}{}", groups.join(","), if number == 1 { "" } else { "s" })
}

/// A value as text, or a dash where there is none.
pub(crate) fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_is_rounded_to_zero() {
        let text = |value, error, digits| with_error(Estimate { value, standard_error: error }, 1.0, digits);
        assert_eq!(text(1.61726, Some(0.01968), 3), "1.617 ± 0.020");
        assert_eq!(text(-0.00001, Some(0.000_02), 4), "-0.00001 ± 0.00002");
        assert_eq!(text(-0.00001, Some(0.3), 1), "0.0 ± 0.3");
        assert_eq!(text(0.0, Some(0.0), 5), "0.00000 ± 0");
        assert_eq!(text(0.25, None, 1), "0.2");
        assert_eq!(text(0.5, Some(f64::NAN), 1), "0.5 ± NaN");
    }

    #[test]
    fn counts_have_commas_and_a_plural() {
        assert_eq!(
            [count(1, "pair"), count(1797, "sample"), count(1_000_000, "x")],
            ["1 pair", "1,797 samples", "1,000,000 xs"]
        );
    }
}
