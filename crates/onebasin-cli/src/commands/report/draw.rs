//! Figures from what commands measured, in few words.

use onebasin_report::Axis;
use onebasin_report::Chart;
use onebasin_report::Figure;
use onebasin_report::Lines;
use onebasin_report::Point;
use onebasin_report::Scale;
use onebasin_report::Series;

/// An axis on which equal distances are equal differences.
pub(crate) fn linear(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear }
}

/// An axis on which equal distances are equal ratios.
pub(crate) fn log(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Log }
}

/// The axis for some numbers: of ratios, if all are positive and they differ by more than a factor of ten.
pub(crate) fn fitting(label: &str, numbers: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0_f64), |(low, high), number| (low.min(number), high.max(number)));
    if low > 0.0 && high > 10.0 * low { log(label) } else { linear(label) }
}

/// Curves.
pub(crate) fn lines(id: String, title: &str, caption: &str, axes: [Axis; 2], series: Vec<Series>) -> Figure {
    let [x, y] = axes;
    Figure { id, title: title.to_owned(), caption: caption.to_owned(), chart: Chart::Lines(Lines { x, y, series }) }
}

/// A curve without gaps between its points.
pub(crate) fn curve(name: &str, group: &str, points: impl IntoIterator<Item = Point>) -> Series {
    Series {
        name: name.to_owned(),
        group: group.to_owned(),
        reference: false,
        markers: false,
        points: points.into_iter().collect(),
    }
}

/// A curve of a few measured points.
pub(crate) fn marked(name: &str, group: &str, points: impl IntoIterator<Item = Point>) -> Series {
    Series { markers: true, ..curve(name, group, points) }
}

/// A point without a standard error.
pub(crate) fn point(x: f64, y: f64) -> Point {
    Point { x, y, error: None }
}
