//! The legend of a line chart: an entry for each name, which has a colour, then one for each group, which has dashes.

use super::style::{Style, styles};
use crate::figure::Lines;
use crate::svg::{Canvas, WIDTH, px, width, wrap};

/// Font size of the legend.
const SIZE: f64 = 12.0;
/// Line height of the legend.
const LINE: f64 = 15.0;
/// Space between entries of the legend.
const BETWEEN: f64 = 5.0;
/// Space between names and groups.
const APART: f64 = 8.0;
/// Width of margin and key of the legend, left of its text.
const INDENT: f64 = 42.0;
/// Width at which a label of the legend breaks into lines.
const LONGEST: f64 = 165.0;

/// An entry of a legend.
pub(crate) struct Entry {
    pub(crate) style: Style,
    pub(crate) label: String,
    /// Series that it stands for.
    pub(crate) series: Vec<usize>,
}

/// Entries of a legend.
pub(crate) struct Legend {
    /// One for each name.
    pub(crate) names: Vec<Entry>,
    /// One for each group; none if there are not several.
    pub(crate) groups: Vec<Entry>,
    /// Whether lines join the points.
    pub(crate) joined: bool,
}

impl Legend {
    pub(crate) fn of(lines: &Lines) -> Self {
        let styles = styles(lines);
        let those = |is: &dyn Fn(usize) -> bool| (0..lines.series.len()).filter(|index| is(*index)).collect::<Vec<_>>();
        let groups = lines.groups();
        let several = groups.len() > 1;
        let name = |name: &str| {
            let series = those(&|index| lines.series[index].name == name);
            let label = if several { name.to_owned() } else { lines.series[series[0]].label() };
            Entry { style: styles[series[0]], label, series }
        };
        let group = |group: &str| {
            let series = those(&|index| lines.series[index].group == group);
            // A reference alone may have other dashes.
            let shown = series.iter().copied().find(|index| !lines.series[*index].reference).unwrap_or(series[0]);
            Entry { style: styles[shown].of_group(), label: group.to_owned(), series }
        };
        let named = groups.iter().copied().filter(|group| several && !group.is_empty());
        Self {
            names: lines.names().into_iter().map(name).collect(),
            groups: named.map(group).collect(),
            joined: lines.x.categories.is_empty(),
        }
    }
}

/// Draws the legend from `top` downwards and returns its width and its lower end.
pub(super) fn draw(canvas: &mut Canvas, lines: &Lines, top: f64) -> [f64; 2] {
    if !lines.needs_legend() {
        return [0.0, 0.0];
    }
    let Legend { names, groups, joined } = Legend::of(lines);
    let mut y = top;
    let mut widest: f64 = 0.0;
    canvas.0 += "<g class=\"legend\">\n";
    for (index, Entry { style, label, .. }) in names.iter().chain(&groups).enumerate() {
        if index == names.len() {
            y += APART;
        }
        canvas.0 += &format!("<g {}>\n", style.group());
        style.sample(canvas, [WIDTH + 4.0, y + 0.5 * LINE], joined);
        canvas.0 += "</g>\n";
        let rows = wrap(label, SIZE, LONGEST);
        for (index, row) in rows.iter().enumerate() {
            canvas.text([WIDTH + INDENT, y + LINE * (index as f64 + 0.78)], "start", "", row);
            widest = widest.max(width(row, SIZE));
        }
        y += LINE * rows.len().max(1) as f64 + BETWEEN;
    }
    canvas.0 += "</g>\n";
    [INDENT + widest + 12.0, y]
}

/// Returns the legend key as an SVG element of its own.
pub(crate) fn key(style: &Style, joined: bool) -> String {
    let mut canvas = Canvas::default();
    style.sample(&mut canvas, [1.0, 6.0], joined);
    let [width, height] = [30.0, 12.0].map(px);
    format!(
        "<svg class=\"key\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">{}</svg>",
        canvas.0.trim_end()
    )
}
