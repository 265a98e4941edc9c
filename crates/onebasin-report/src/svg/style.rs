//! Colours, dashes and markers: which curve looks how.

use crate::figure::Lines;
use crate::figure::Series;
use crate::figure::distinct;
use crate::svg::canvas::Canvas;
use crate::svg::canvas::px;

/// Text and axes.
pub(super) const INK: &str = "#1f2328";
const GREY: &str = "#737373";
/// Told apart also by those who see fewer colours: after Okabe and Ito, Color Universal Design (2008), without black and
/// yellow, and wine and olive of Tol, Colour Schemes (2021). `style.css` has lighter ones for dark pages.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#882255", "#80802b"];
/// Of the groups: the first one is drawn through.
const DASHES: [&str; 4] = ["", "5 3", "1.5 2.5", "8 2.5 1.5 2.5"];
/// Of references, one after the other: none is drawn through.
const REFERENCE_DASHES: [&str; 3] = ["8 3.5", "2 3", "9 3 2 3"];
/// Round a point at the origin: circle, square, triangle, diamond.
const MARKERS: [&str; 4] = [
    "m-3.4 0c0-4.53 6.8-4.53 6.8 0c0 4.53-6.8 4.53-6.8 0z",
    "m-3 -3h6v6h-6z",
    "m0 -4l3.8 6.6h-7.6z",
    "m0 -4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
];

/// The look of a curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// What a page knows the colour by.
    pub(crate) class: &'static str,
    colour: &'static str,
    dash: &'static str,
    marker: Option<&'static str>,
    hollow: bool,
}

const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// The look of each curve: a colour for each name, a dash for each group.
pub(crate) fn styles(lines: &Lines) -> Vec<Style> {
    let names = distinct(lines.series.iter().filter(|series| !series.reference).map(|series| series.name.as_str()));
    let groups = distinct(lines.series.iter().filter(|series| !series.reference).map(|series| series.group.as_str()));
    let index = |names: &[&str], name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let mut references = 0;
    let style = |series: &Series| {
        let (name, group) = (index(&names, &series.name), index(&groups, &series.group));
        let marker = series.markers.then_some(MARKERS[name % MARKERS.len()]);
        if series.reference {
            let dash = REFERENCE_DASHES[references % REFERENCE_DASHES.len()];
            references += 1;
            Style { class: "reference", colour: GREY, dash, marker, hollow: false }
        } else {
            // A ninth name has the colour of the first, and then it must not have its dash.
            let dash = DASHES[(group + name / COLOURS.len()) % DASHES.len()];
            let colour = name % COLOURS.len();
            Style { class: CLASSES[colour], colour: COLOURS[colour], dash, marker, hollow: group % 2 == 1 }
        }
    };
    lines.series.iter().map(style).collect()
}

impl Style {
    /// The attributes of an element around all that has this colour.
    pub(super) fn group(&self) -> String {
        format!("class=\"{}\" color=\"{}\"", self.class, self.colour)
    }

    /// The attributes of a line.
    pub(super) fn line(&self) -> String {
        let dash = if self.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", self.dash) };
        format!("fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dash}")
    }

    /// Marks at points, if the curve has any.
    pub(super) fn mark(&self, canvas: &mut Canvas, points: &[[f64; 2]]) {
        let Some(marker) = self.marker else { return };
        let d: String = points.iter().map(|&[x, y]| format!("M{} {}{marker}", px(x), px(y))).collect();
        let fill = if self.hollow { "none" } else { "currentColor" };
        canvas.path(&format!("fill=\"{fill}\" stroke=\"currentColor\" stroke-width=\"1.2\""), &d);
    }

    /// A short piece of the curve, 28 long, for a legend.
    pub(super) fn sample(&self, canvas: &mut Canvas, [x, y]: [f64; 2]) {
        canvas.path(&self.line(), &format!("M{} {}h28", px(x), px(y)));
        self.mark(canvas, &[[x + 14.0, y]]);
    }
}

/// The piece of the curve that stands in a legend, as a drawing of its own.
pub(crate) fn key(style: &Style) -> String {
    let mut canvas = Canvas::default();
    style.sample(&mut canvas, [1.0, 6.0]);
    format!(
        "<svg class=\"key\" viewBox=\"0 0 30 12\" width=\"30\" height=\"12\" aria-hidden=\"true\">{}</svg>",
        canvas.finish().trim_end()
    )
}
