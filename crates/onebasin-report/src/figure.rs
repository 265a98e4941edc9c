//! The data of a figure: lines with standard errors, or a heat map.

use crate::scale::{Range, Scale};

/// A figure: data and words; each output format decides what it looks like.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Identifier in links, and file name without extension.
    pub id: String,
    /// Title, in a few words.
    pub title: String,
    /// Caption, in a few sentences.
    pub caption: String,
    /// Data that the figure shows.
    pub chart: Chart,
}

/// Data of a figure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Chart {
    /// Lines over two axes.
    Lines(Lines),
    /// Values on a grid, as colours.
    HeatMap(HeatMap),
}

/// An axis, or the colour bar of a heat map.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Scale of the axis.
    pub scale: Scale,
    /// Names at the coordinates 0, 1, 2 and so on, if the axis shows kinds instead of numbers. Lines do not join kinds.
    pub categories: Vec<String>,
}

/// Lines over two axes.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Whether equal distances have equal lengths on both axes.
    pub equal: bool,
    /// Series of points; series with equal names have the same colour.
    pub series: Vec<Series>,
}

/// One line of a figure.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Group of the series, such as the data split "test"; may be empty. Series of one group have the same dashes, and a
    /// page shows and hides them together.
    pub group: String,
    /// Number of the colour, the same for series of equal names; without one it is the place of the name in the figure.
    /// [`crate::Page::assign_colours`] gives a name one colour in all figures of a page.
    pub colour: Option<usize>,
    /// Whether the other series are compared with this one; if so, it is grey.
    pub reference: bool,
    /// Whether each point has a marker and an error bar; if not, a band shows the standard errors.
    pub markers: bool,
    /// Points in the order of ascending x. The line has a gap wherever the axes cannot show a point.
    pub points: Vec<Point>,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate.
    pub y: f64,
    /// Standard error of `y`, if it is known.
    pub error: Option<f64>,
}

/// Values on a grid, as colours.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Horizontal coordinates of the columns, in ascending order.
    pub xs: Vec<f64>,
    /// Vertical coordinates of the rows, in ascending order.
    pub ys: Vec<f64>,
    /// Whether equal distances have equal lengths on both axes.
    pub equal: bool,
    /// Colour bar.
    pub value: Axis,
    /// Ends of the colour bar, so that several maps have one scale; without them it covers all values.
    pub limits: Option<[f64; 2]>,
    /// Values of the grid, of shape (y, x). A cell is blank if the colour bar cannot show its value.
    pub values: Vec<f64>,
    /// Points with names.
    pub annotations: Vec<Annotation>,
}

/// A point of a heat map with a name.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Name of the point.
    pub name: String,
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate.
    pub y: f64,
}

impl Axis {
    /// Returns the name of the kind at a coordinate; none on an axis of numbers.
    pub(crate) fn category(&self, at: f64) -> Option<&str> {
        self.categories.get(at as usize).map(String::as_str)
    }
}

impl Series {
    /// Returns the name, with the group in parentheses if there is one.
    pub(crate) fn label(&self) -> String {
        match (self.name.as_str(), self.group.as_str()) {
            (name, "") => name.to_owned(),
            ("", group) => group.to_owned(),
            (name, group) => format!("{name} ({group})"),
        }
    }
}

impl Lines {
    /// Returns whether there are several series or one with a name.
    pub(crate) fn needs_legend(&self) -> bool {
        self.series.len() > 1 || self.series.iter().any(|series| !series.label().is_empty())
    }

    /// Returns the distinct names in the order of the series.
    pub(crate) fn names(&self) -> Vec<&str> {
        distinct(self.series.iter().map(|series| series.name.as_str()))
    }

    /// Returns the distinct groups in the order of the series.
    pub(crate) fn groups(&self) -> Vec<&str> {
        distinct(self.series.iter().map(|series| series.group.as_str()))
    }

    /// Returns by how much the points of a series stand beside the name of their kind, so that series do not hide each
    /// other; zero on an axis of numbers.
    pub(crate) fn shift(&self, series: usize) -> f64 {
        let count = self.series.len();
        if self.x.categories.is_empty() { 0.0 } else { 0.6 * ((series as f64 + 0.5) / count as f64 - 0.5) }
    }

    /// Returns all points that both axes can show.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Point> {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| self.x.scale.shows(point.x) && self.y.scale.shows(point.y))
    }
}

/// The cells of a heat map, and the ranges of its axes.
pub(crate) struct Grid {
    /// Borders of the columns, one more than there are columns.
    pub(crate) columns: Vec<f64>,
    /// Borders of the rows, one more than there are rows.
    pub(crate) rows: Vec<f64>,
    /// Range of the horizontal axis: all columns and annotations.
    pub(crate) x: Range,
    /// Range of the vertical axis: all rows and annotations.
    pub(crate) y: Range,
    /// Range of the colour bar.
    pub(crate) value: Range,
}

impl HeatMap {
    /// Returns the value in a row, counted from below, and a column.
    ///
    /// # Panics
    /// If there is not exactly one value for each row and column.
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        let cells = self.xs.len() * self.ys.len();
        assert_eq!(self.values.len(), cells, "a heat map needs a value for each row and column");
        self.values[row * self.xs.len() + column]
    }

    /// Returns the borders of the cells and the ranges of the axes.
    pub(crate) fn grid(&self) -> Grid {
        let [columns, rows] = [self.x.scale.borders(&self.xs), self.y.scale.borders(&self.ys)];
        let annotated = |of: fn(&Annotation) -> f64| self.annotations.iter().map(of);
        Grid {
            x: Range::covering(self.x.scale, columns.iter().copied().chain(annotated(|it| it.x))),
            y: Range::covering(self.y.scale, rows.iter().copied().chain(annotated(|it| it.y))),
            value: Range::covering(
                self.value.scale,
                self.values.iter().copied().chain(self.limits.into_iter().flatten()),
            ),
            columns,
            rows,
        }
    }
}

/// Returns each name once, in the order of first occurrence.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
