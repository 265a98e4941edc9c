//! Heat maps: coloured cells, a colour bar, and annotations.

use crate::figure::{Grid, HeatMap};
use crate::scale::{Range, Tick};
use crate::svg::{Area, Canvas, Drawing, EDGE, Frame, axes, px, width};

/// Number of colours; one path draws all cells of a colour.
const LEVELS: usize = 96;
/// Red, green and blue of viridis of matplotlib (van der Walt and Smith, 2015): perceptually uniform, also with
/// colour-vision deficiency.
const COLOURS: [u8; 27] = [
    68, 1, 84, 71, 44, 122, 59, 81, 139, 44, 113, 142, 33, 144, 141, 39, 173, 129, 92, 200, 99, 170, 220, 50, 253, 231,
    37,
];
/// Width of a map with its axes, such that three stand side by side on a page.
const WIDTH: f64 = 340.0;
/// Largest height of the plot area.
const HEIGHT: f64 = 260.0;
/// Overlap of neighbouring cells: cells that only touch can show the background between them.
const OVERLAP: f64 = 0.3;
/// Line height of the label of the colour bar, which stands above it.
const LINE: f64 = 16.0;
/// Width that the numbers of most colour bars need.
const NUMBERS: f64 = 44.0;
/// Width of the colour bar.
const BAR: f64 = 13.0;
/// Radius of the dot of an annotation.
const DOT: f64 = 4.2;
/// Font size of the names of annotations.
const SIZE: f64 = 12.0;
/// Attributes of the names of annotations: readable on any colour.
const HALO: &str = "font-weight=\"600\" fill=\"#000000\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
                    paint-order=\"stroke\"";

pub(super) fn draw(map: &HeatMap) -> Drawing {
    let grid = map.grid();
    let ticks = |length: f64| axes::ticks_of(&map.value, &grid.value, length);
    // The same for most maps, so that those side by side have plot areas of one size.
    let right = 14.0 + BAR + 8.0 + axes::widest(&ticks(HEIGHT)).max(NUMBERS);
    let within = |height: f64| {
        let left = axes::left(&map.y, &grid.y, height);
        axes::frame([grid.x, grid.y], left, [WIDTH - left - right, HEIGHT], map.equal)
    };
    // The lower the plot area, the more lines a label beside it takes.
    let mut frame = within(within(HEIGHT).area.height);
    let label = axes::label(&map.value, WIDTH - 2.0 * EDGE);
    frame.area.top += LINE * label.len() as f64;
    let mut canvas = Canvas::default();
    axes::draw(&mut canvas, &frame, &map.x, &map.y);
    cells(&mut canvas, &frame, map, &grid);
    bar(&mut canvas, &frame, &grid.value, &ticks(frame.area.height));
    for (index, line) in label.iter().enumerate() {
        let y = LINE * (index as f64 + 0.8);
        canvas.text([frame.area.right() + 14.0 + BAR, y], "end", "font-size=\"13\"", line);
    }
    canvas.0 += "</g>\n";
    annotations(&mut canvas, &frame, map);
    Drawing { width: WIDTH, height: axes::height(&frame, &map.x), frame, body: canvas.0, legend: [0.0, 0.0] }
}

/// Draws one path for each colour; neighbours of the same colour in a row are one rectangle.
fn cells(canvas: &mut Canvas, frame: &Frame, map: &HeatMap, grid: &Grid) {
    let mut paths = vec![String::new(); LEVELS];
    for (row, height) in grid.rows.windows(2).enumerate() {
        let levels: Vec<Option<usize>> =
            (0..map.xs.len()).map(|column| Some(level(grid.value.fraction(map.at(row, column))?))).collect();
        let mut column = 0;
        for run in levels.chunk_by(|left, right| left == right) {
            let ends = [grid.columns[column], grid.columns[column + run.len()]];
            column += run.len();
            let corners = [frame.position(ends[0], height[1]), frame.position(ends[1], height[0])];
            if let (Some(level), [Some([left, top]), Some([right, bottom])]) = (run[0], corners) {
                let [left, top, right, bottom] = [left, top, right + OVERLAP, bottom + OVERLAP].map(px);
                paths[level] += &format!("M{left} {top}H{right}V{bottom}H{left}z");
            }
        }
    }
    canvas.0 += "<g class=\"cells\" shape-rendering=\"crispEdges\">\n";
    for (level, path) in paths.iter().enumerate() {
        canvas.path(&format!("fill=\"{}\"", colour(level)), path);
    }
    canvas.0 += "</g>\n";
}

fn level(fraction: f64) -> usize {
    ((fraction * LEVELS as f64) as usize).min(LEVELS - 1)
}

fn colour(level: usize) -> String {
    let (colours, _) = COLOURS.as_chunks::<3>();
    let at = level as f64 / (LEVELS - 1) as f64 * (colours.len() - 1) as f64;
    let below = (at as usize).min(colours.len() - 2);
    let fraction = at - below as f64;
    let [r, g, b] = [0, 1, 2].map(|channel| {
        let [from, to] = [colours[below][channel], colours[below + 1][channel]].map(f64::from);
        (from + fraction * (to - from)).round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Draws the colour bar, with its numbers to the right.
fn bar(canvas: &mut Canvas, frame: &Frame, value: &Range, ticks: &[Tick]) {
    let area = &frame.area;
    let left = area.right() + 14.0;
    canvas.0 += "<g class=\"bar\" shape-rendering=\"crispEdges\">\n";
    for level in 0..LEVELS {
        let [high, low] = [level + 1, level].map(|level| px(frame.height_of(level as f64 / LEVELS as f64)));
        let d = format!("M{} {high}h{BAR}V{low}h-{BAR}z", px(left));
        canvas.path(&format!("fill=\"{}\"", colour(level)), &d);
    }
    canvas.0 += "</g>\n";
    canvas.0 += "<g class=\"axes\">\n";
    let mut marks = String::new();
    for tick in ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let y = frame.height_of(value.clamped(tick.value));
        marks += &format!("M{} {}h4", px(left + BAR), px(y));
        canvas.text([left + BAR + 7.0, y + 4.2], "start", "", &tick.label);
    }
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".7\"", &marks);
}

/// Draws dots with names: right of the dot, or left of it where the plot ends, shifted so that they cover no dot and no name.
fn annotations(canvas: &mut Canvas, frame: &Frame, map: &HeatMap) {
    let named = map.annotations.iter().filter_map(|it| Some((it.name.as_str(), frame.position(it.x, it.y)?)));
    let mut taken = Vec::new();
    for (_, [x, y]) in named.clone() {
        canvas.circle([x, y], DOT, "fill=\"#ffffff\" stroke=\"#000000\" stroke-width=\"1.6\"");
        taken.push(Area { left: x - DOT, top: y - DOT, width: 2.0 * DOT, height: 2.0 * DOT });
    }
    for (name, [x, y]) in named {
        let (width, away) = (width(name, SIZE), DOT + 5.0);
        let beside = [("start", x + away, x + away), ("end", x - away, x - away - width)];
        let shifts = [0.0, -15.0, 15.0, -30.0, 30.0];
        let mut candidates = shifts.iter().flat_map(|shift| beside.iter().map(move |beside| (beside, y + shift)));
        let box_of = |left: f64, middle: f64| Area { left, top: middle - 0.5 * SIZE, width, height: SIZE };
        let free = |(beside, middle): &(&(&str, f64, f64), f64)| {
            let own = box_of(beside.2, *middle);
            own.inside(&frame.area) && !taken.iter().any(|other| own.meets(other))
        };
        let (&(anchor, at, left), middle) = candidates.find(free).unwrap_or((&beside[0], y));
        taken.push(box_of(left, middle));
        canvas.text([at, middle + 4.2], anchor, HALO, name);
    }
}
