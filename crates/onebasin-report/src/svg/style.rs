//! The style of a series: colour, dashes, width and marker.

use crate::figure::{Lines, Series, distinct};
use crate::svg::{Canvas, px};

/// Colour of text and axes.
pub(super) const FOREGROUND: &str = "#1f2328";
/// Colour of references.
const GREY: &str = "#737373";
/// Colours of series, distinct also with colour-vision deficiency: those of Okabe and Ito, Color Universal Design (2008),
/// without black and yellow, and wine and olive of Tol, Colour Schemes (2021). `style.css` has lighter ones for dark pages.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#882255", "#80802b"];
/// CSS class of each colour.
const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
/// Number of colours.
pub(crate) const PALETTE: usize = COLOURS.len();
/// Dashes of groups; the first group has solid lines.
const DASHES: [&str; 4] = ["", "5 3", "1.5 2.5", "8 2.5 1.5 2.5"];
/// Dashes of references where there are no groups, one after the other.
const REFERENCE_DASHES: [&str; 3] = ["8 3.5", "2 3", "9 3 2 3"];
/// Markers as paths relative to the point: circle, square, triangle, diamond.
const MARKERS: [&str; 4] = [
    "m-3.4 0c0-4.53 6.8-4.53 6.8 0c0 4.53-6.8 4.53-6.8 0z",
    "m-3 -3h6v6h-6z",
    "m0 -4l3.8 6.6h-7.6z",
    "m0 -4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
];
/// Width of a line, and of the outline of a marker.
const WIDTHS: [f64; 2] = [1.8, 1.2];
/// What a line that coincides with one above it is wider by, so that it shows on both sides.
const WIDER: f64 = 3.0;
/// Largest number of lines above it that make a line wider.
const MOST: usize = 3;

/// Style of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// CSS class by which a page sets the colour.
    pub(crate) class: &'static str,
    colour: &'static str,
    dash: &'static str,
    marker: Option<&'static str>,
    hollow: bool,
    /// Number of series above it that coincide with it.
    pub(super) covered: usize,
}

/// Returns the style of each series: a colour for each name, dashes for each group.
pub(super) fn styles(lines: &Lines) -> Vec<Style> {
    let names = distinct(lines.series.iter().filter(|series| !series.reference).map(|series| series.name.as_str()));
    let groups = lines.groups();
    let index = |names: &[&str], name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let mut references = 0;
    let style = |series: &Series| {
        let group = index(&groups, &series.group);
        let number = series.colour.unwrap_or_else(|| index(&names, &series.name));
        let marker = series.markers.then_some(MARKERS[number % MARKERS.len()]);
        let (class, colour, dash) = if series.reference {
            references += 1;
            let alone = REFERENCE_DASHES[(references - 1) % REFERENCE_DASHES.len()];
            ("reference", GREY, if groups.len() > 1 { DASHES[group % DASHES.len()] } else { alone })
        } else {
            // The ninth name has the colour of the first, so it must have other dashes.
            let dash = DASHES[(group + 2 * (number / PALETTE)) % DASHES.len()];
            (CLASSES[number % PALETTE], COLOURS[number % PALETTE], dash)
        };
        Style { class, colour, dash, marker, hollow: group % 2 == 1, covered: 0 }
    };
    lines.series.iter().map(style).collect()
}

impl Style {
    /// Returns the style of the legend key of a group, in the colour of text.
    pub(super) fn of_group(self) -> Self {
        Self { class: "group", colour: FOREGROUND, ..self }
    }

    /// Returns the attributes of the element that groups everything of this colour.
    pub(super) fn group(&self) -> String {
        format!("class=\"{}\" color=\"{}\"", self.class, self.colour)
    }

    fn width(&self, of: f64) -> String {
        px(of + WIDER * self.covered.min(MOST) as f64)
    }

    /// Returns the attributes of a line.
    pub(super) fn line(&self) -> String {
        let dash = if self.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", self.dash) };
        let width = self.width(WIDTHS[0]);
        format!(
            "class=\"line\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}"
        )
    }

    /// Draws markers at points, if the series has markers.
    pub(super) fn mark(&self, canvas: &mut Canvas, points: &[[f64; 2]]) {
        let Some(marker) = self.marker else { return };
        let d: String = points.iter().map(|&[x, y]| format!("M{} {}{marker}", px(x), px(y))).collect();
        let (fill, width) = (if self.hollow { "none" } else { "currentColor" }, self.width(WIDTHS[1]));
        canvas.path(&format!("fill=\"{fill}\" stroke=\"currentColor\" stroke-width=\"{width}\""), &d);
    }

    /// Draws the legend key, a line of length 28, with a marker in its middle; a line that joins nothing is left out.
    pub(super) fn sample(&self, canvas: &mut Canvas, [x, y]: [f64; 2], joined: bool) {
        if joined {
            canvas.path(&self.line(), &format!("M{} {}h28", px(x), px(y)));
        }
        self.mark(canvas, &[[x + 14.0, y]]);
    }
}
