//! What a figure shows: curves with standard errors, or numbers on a grid as colours.

use crate::scale::Scale;

/// A figure; what it looks like is decided where it is drawn.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The stem of the names of its files.
    pub id: String,
    /// A few words above it.
    pub title: String,
    /// What is seen, in a few sentences.
    pub caption: String,
    /// The numbers.
    pub chart: Chart,
}

/// The numbers of a figure.
#[derive(Clone, Debug)]
pub enum Chart {
    /// Curves.
    Lines(Lines),
    /// A map.
    Heat(Heat),
}

/// What an axis, or the colours of a map, stand for.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// How numbers are spread over it.
    pub scale: Scale,
}

/// Curves over common axes.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves; those with equal names have the same colour.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is a curve of.
    pub name: String,
    /// What it was measured on, such as "test"; curves of one group are dashed alike and are shown together. May be empty.
    pub group: String,
    /// Something that the others are compared with: drawn dashed and grey.
    pub reference: bool,
    /// Whether each point is marked, and its standard error is a bar; else the errors are a band.
    pub markers: bool,
    /// From left to right. The curve has a gap wherever a number cannot be shown.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// Where on the vertical axis.
    pub y: f64,
    /// The standard error of `y`.
    pub error: Option<f64>,
}

/// Numbers on a grid.
#[derive(Clone, Debug)]
pub struct Heat {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Where the columns are, in ascending order.
    pub xs: Vec<f64>,
    /// Where the rows are, in ascending order: upwards.
    pub ys: Vec<f64>,
    /// What the colours stand for.
    pub value: Axis,
    /// (y, x); what cannot be shown is left blank.
    pub values: Vec<f64>,
    /// Points with names.
    pub places: Vec<Place>,
}

/// A point with a name.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Where on the horizontal axis.
    pub x: f64,
    /// Where on the vertical axis.
    pub y: f64,
}

impl Series {
    /// The name, and the group if there is one.
    pub(crate) fn label(&self) -> String {
        match (self.name.as_str(), self.group.as_str()) {
            (name, "") => name.to_owned(),
            ("", group) => group.to_owned(),
            (name, group) => format!("{name} ({group})"),
        }
    }
}

impl Lines {
    /// Whether there is anything to tell apart or to name.
    pub(crate) fn needs_legend(&self) -> bool {
        self.series.len() > 1 || self.series.iter().any(|series| !series.label().is_empty())
    }

    /// The different groups, in the order of the curves.
    pub(crate) fn groups(&self) -> Vec<&str> {
        distinct(self.series.iter().map(|series| series.group.as_str()))
    }
}

impl Heat {
    /// The number in a row, counted from below, and a column.
    ///
    /// # Panics
    /// If there is not exactly one number for each row and column.
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        assert_eq!(self.values.len(), self.xs.len() * self.ys.len(), "a map needs a value for each row and column");
        self.values[row * self.xs.len() + column]
    }
}

/// Each once, in the order of its first occurrence.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
