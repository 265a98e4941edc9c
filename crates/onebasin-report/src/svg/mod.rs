//! Figures as SVG: one drawing for its file and for the page, which recolours it by classes and cuts off title and legend.

mod axes;
mod canvas;
mod heat;
mod legend;
mod lines;
mod style;

use crate::escape;
use crate::figure::Chart;
use crate::figure::Figure;
use crate::scale::Range;
use canvas::Canvas;
use canvas::px;
pub(crate) use style::key;
pub(crate) use style::styles;

/// Width of a plot with its axes. A page shows it on a phone, so letters must survive that it shrinks to two thirds.
const WIDTH: f64 = 500.0;
const TITLE_SIZE: f64 = 14.0;
const TITLE_LINE: f64 = 19.0;
/// Between the edge of the file and what is drawn.
const EDGE: f64 = 10.0;

/// A rectangle, in units of the drawing.
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

/// Where numbers are in a drawing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) area: Area,
    pub(crate) x: Range,
    pub(crate) y: Range,
}

impl Frame {
    /// The place of a point; None if it cannot be shown.
    fn place(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([self.area.left + self.x.part(x)? * self.area.width, self.height_of(self.y.part(y)?)])
    }

    /// The vertical coordinate of a part of the vertical axis.
    fn height_of(&self, part: f64) -> f64 {
        self.area.bottom() - part * self.area.height
    }
}

/// A plot with its axes, and beside it, right of `WIDTH`, its legend.
pub(crate) struct Drawing {
    pub(crate) frame: Frame,
    body: String,
    /// Of the plot without title and legend.
    height: f64,
    /// Of the legend.
    legend: [f64; 2],
}

impl Drawing {
    pub(crate) fn of(figure: &Figure) -> Self {
        match &figure.chart {
            Chart::Lines(lines) => lines::draw(lines),
            Chart::Heat(heat) => heat::draw(heat),
        }
    }

    /// The plot alone, for a page: the rest of the drawing is there, but outside of what is shown.
    pub(crate) fn inline(&self, figure: &Figure) -> String {
        let shown = Area { left: 0.0, top: 0.0, width: WIDTH, height: self.height };
        let whole = self.whole(figure).view_box();
        self.element(figure, &format!("viewBox=\"{}\" data-whole=\"{whole}\"", shown.view_box()))
    }

    fn file(&self, figure: &Figure) -> String {
        let whole = self.whole(figure);
        let [width, height] = [whole.width, whole.height].map(px);
        self.element(figure, &format!("viewBox=\"{}\" width=\"{width}\" height=\"{height}\"", whole.view_box())) + "\n"
    }

    /// Plot, legend and title.
    fn whole(&self, figure: &Figure) -> Area {
        let [legend_width, legend_height] = self.legend;
        let title = TITLE_LINE * self.title(figure).len() as f64 + EDGE;
        let height = self.height.max(legend_height) + title;
        Area { left: 0.0, top: -title, width: WIDTH + legend_width, height }
    }

    fn title(&self, figure: &Figure) -> Vec<String> {
        canvas::wrap(&figure.title, TITLE_SIZE, WIDTH + self.legend[0] - 2.0 * EDGE)
    }

    fn element(&self, figure: &Figure, size: &str) -> String {
        let mut canvas = Canvas::default();
        let whole = self.whole(figure);
        canvas.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} role=\"img\" aria-label=\"{}\" color=\"{}\" \
             fill=\"currentColor\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" font-size=\"12\">\n",
            escape::xml(&format!("{}. {}", figure.title, figure.caption)),
            style::INK,
        ));
        canvas.raw(&format!(
            "<rect class=\"paper\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n",
            px(whole.top),
            px(whole.width),
            px(whole.height)
        ));
        let title = self.title(figure);
        for (index, line) in title.iter().enumerate() {
            let y = whole.top + EDGE + TITLE_LINE * (index as f64 + 0.75);
            canvas.text([EDGE, y], "start", &format!("font-size=\"{TITLE_SIZE}\" font-weight=\"600\""), line);
        }
        canvas.raw(&self.body);
        canvas.raw("</svg>");
        canvas.finish()
    }
}

impl Figure {
    /// A file of its own, on white, with title and legend.
    pub fn svg(&self) -> String {
        Drawing::of(self).file(self)
    }
}
