//! Figures as SVG: one drawing for the file and for the page, which sets colours by class and crops title and legend.
//! A PNG is the SVG rasterised with a font of the crate, so that pixels depend on no font of the machine.

mod axes;
mod heat_map;
mod legend;
mod lines;
mod style;

use crate::error::{Error, Result};
use crate::escape;
use crate::figure::{Chart, Figure};
use crate::scale::Range;
pub(crate) use legend::{Entry, Legend, key};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::sync::{Arc, LazyLock};
pub(crate) use style::PALETTE;

/// Width of a plot of lines with its axes. Text must stay readable at two thirds of the size, which phones show.
const WIDTH: f64 = 500.0;
/// Font size of the title.
const TITLE_SIZE: f64 = 14.0;
/// Line height of the title.
const TITLE_LINE: f64 = 19.0;
/// Margin of the file.
const EDGE: f64 = 10.0;

/// Fonts that text is set in: the one that `font/README.md` describes.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(include_bytes!("../../font/DejaVuSans-subset.ttf").to_vec());
    Arc::new(fonts)
});

/// A rectangle in user units of the SVG.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn inside(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right() <= other.right()
            && self.top >= other.top
            && self.bottom() <= other.bottom()
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right() && other.left < self.right() && self.top < other.bottom() && other.top < self.bottom()
    }

    fn view_box(&self) -> String {
        [self.left, self.top, self.width, self.height].map(px).join(" ")
    }
}

/// The plot area and the ranges of its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) area: Area,
    pub(crate) x: Range,
    pub(crate) y: Range,
}

impl Frame {
    /// Returns the position of a point, `None` if the axes cannot show it.
    fn position(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([self.area.left + self.x.fraction(x)? * self.area.width, self.height_of(self.y.fraction(y)?)])
    }

    /// Returns the vertical position at a fraction of the vertical axis.
    fn height_of(&self, fraction: f64) -> f64 {
        self.area.bottom() - fraction * self.area.height
    }
}

/// A plot with its axes, and its legend to the right of it.
pub(crate) struct Drawing {
    pub(crate) frame: Frame,
    body: String,
    /// Width and height of the plot without title and legend.
    width: f64,
    height: f64,
    /// Width and height of the legend.
    legend: [f64; 2],
}

impl Drawing {
    pub(crate) fn of(figure: &Figure) -> Self {
        match &figure.chart {
            Chart::Lines(lines) => lines::draw(lines),
            Chart::HeatMap(map) => heat_map::draw(map),
        }
    }

    /// Returns the drawing for a page, whose view box shows the plot without title and legend.
    pub(crate) fn inline(&self, figure: &Figure) -> String {
        let shown = Area { left: 0.0, top: 0.0, width: self.width, height: self.height };
        self.element(figure, |whole| format!("viewBox=\"{}\" data-whole=\"{}\"", shown.view_box(), whole.view_box()))
    }

    /// Returns the drawing as an element with attributes that depend on the area of plot, legend and title.
    fn element(&self, figure: &Figure, attributes: impl Fn(&Area) -> String) -> String {
        let [legend_width, legend_height] = self.legend;
        let title = wrap(&figure.title, TITLE_SIZE, self.width + legend_width - 2.0 * EDGE);
        let above = TITLE_LINE * title.len() as f64 + EDGE;
        let height = self.height.max(legend_height) + above;
        let whole = Area { left: 0.0, top: -above, width: self.width + legend_width, height };
        let [top, width, height] = [whole.top, whole.width, whole.height].map(px);
        let mut canvas = Canvas(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {} role=\"img\" aria-label=\"{}\" color=\"{}\" \
             fill=\"currentColor\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" font-size=\"12\">\n\
             <rect class=\"background\" x=\"0\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            attributes(&whole),
            escape::xml(&format!("{}. {}", figure.title, figure.caption)),
            style::FOREGROUND,
        ));
        for (index, line) in title.iter().enumerate() {
            let y = whole.top + EDGE + TITLE_LINE * (index as f64 + 0.75);
            canvas.text([EDGE, y], "start", &format!("font-size=\"{TITLE_SIZE}\" font-weight=\"600\""), line);
        }
        canvas.0 + &self.body + "</svg>"
    }
}

impl Figure {
    /// Returns the figure as an SVG file on a white background, with title and legend.
    pub fn svg(&self) -> String {
        let size = |whole: &Area| {
            let [width, height] = [whole.width, whole.height].map(px);
            format!("viewBox=\"{}\" width=\"{width}\" height=\"{height}\"", whole.view_box())
        };
        Drawing::of(self).element(self, size) + "\n"
    }

    /// Renders the figure as PNG on a white background, `width` pixels wide.
    pub fn png(&self, width: u32) -> Result<Vec<u8>> {
        let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
        let tree = Tree::from_str(&self.svg(), &options).map_err(|error| Error::Render(error.into()))?;
        let zoom = width as f32 / tree.size().width();
        let height = (tree.size().height() * zoom).ceil() as u32;
        let mut pixels = Pixmap::new(width, height).ok_or(Error::Size { width, height })?;
        pixels.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(zoom, zoom), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| Error::Render(error.into()))
    }
}

/// SVG elements, one on each line.
#[derive(Default)]
struct Canvas(String);

impl Canvas {
    /// Appends a text whose start, middle or end (`anchor`) is at a point of its baseline.
    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        let (x, y, text) = (px(x), px(y), escape::xml(text));
        self.0 += &format!("<text x=\"{x}\" y=\"{y}\"{anchor}{space}{attributes}>{text}</text>\n");
    }

    /// Appends a path, unless it is empty.
    fn path(&mut self, attributes: &str, d: &str) {
        if !d.is_empty() {
            self.0 += &format!("<path {attributes} d=\"{d}\"/>\n");
        }
    }

    fn circle(&mut self, [x, y]: [f64; 2], radius: f64, attributes: &str) {
        self.0 += &format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {attributes}/>\n", px(x), px(y), px(radius));
    }
}

/// Returns a coordinate, rounded to a tenth of a user unit.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Returns an estimate of the width of a line of text, rather too large than too small.
fn width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.43,
        '×' | '−' | '+' | '=' | '<' | '>' | '±' => 0.84,
        c if c.is_uppercase() => 0.72,
        c if c < '\u{2e80}' => 0.63,
        _ => 1.05, // East Asian wide characters, and emoji
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// Returns the lines of a text that is broken between words; or, in a word that is wider than `room`, after a hyphen or
/// anywhere.
fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut()
            && width(&format!("{line} {word}"), size) <= room
        {
            *line += &format!(" {word}");
            continue;
        }
        let mut line = String::new();
        for c in word.chars() {
            if !line.is_empty() && width(&format!("{line}{c}"), size) > room {
                let rest = line.split_off(line.rfind('-').map_or(line.len(), |hyphen| hyphen + 1));
                lines.push(std::mem::replace(&mut line, rest));
            }
            line.push(c);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_break_after_hyphens_or_anywhere() {
        let room = width("coordinate-d", 12.0);
        assert_eq!(wrap("coordinate-descent of it", 12.0, room), ["coordinate-", "descent of it"]);
        assert_eq!(wrap("abcdef", 12.0, width("abcd", 12.0)), ["abcd", "ef"]);
    }
}
