//! A map: cells in colours, a bar that says what they stand for, and places with names.

use crate::figure::Heat;
use crate::scale::Range;
use crate::scale::Scale;
use crate::svg::Area;
use crate::svg::Drawing;
use crate::svg::Frame;
use crate::svg::WIDTH;
use crate::svg::axes;
use crate::svg::canvas;
use crate::svg::canvas::Canvas;
use crate::svg::canvas::px;

/// Steps from the first colour to the last: few enough that all cells of a colour are one path.
const LEVELS: usize = 96;
/// Viridis of matplotlib (van der Walt and Smith, 2015), which is even for the eye and for those who see fewer colours.
const COLOURS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];
/// So that a cell is about as high as it is wide.
const HEIGHT: f64 = 345.0;
const OVERLAP: f64 = 0.3;
const BAR: f64 = 13.0;
const DOT: f64 = 4.2;
/// Of the names of places.
const SIZE: f64 = 12.0;
const HALO: &str = "font-weight=\"600\" fill=\"#000000\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
                    paint-order=\"stroke\"";

pub(super) fn draw(heat: &Heat) -> Drawing {
    let [columns, rows] = [edges(heat.x.scale, &heat.xs), edges(heat.y.scale, &heat.ys)];
    let x = Range::covering(heat.x.scale, columns.iter().copied().chain(heat.places.iter().map(|place| place.x)));
    let y = Range::covering(heat.y.scale, rows.iter().copied().chain(heat.places.iter().map(|place| place.y)));
    let value = Range::covering(heat.value.scale, heat.values.iter().copied());
    let name = axes::name(&heat.value, HEIGHT);
    let right = 14.0 + BAR + 8.0 + axes::widest(&axes::ticks_of(&value)) + 26.0 + axes::further(&name);
    let frame = axes::frame(x, y, &heat.y, HEIGHT, right);
    let mut canvas = Canvas::default();
    axes::draw(&mut canvas, &frame, &heat.x, &heat.y);
    cells(&mut canvas, &frame, heat, [&columns, &rows], &value);
    bar(&mut canvas, &frame, &value);
    axes::upright(&mut canvas, &frame, WIDTH - 8.0 - axes::further(&name), &name);
    canvas.raw("</g>\n");
    places(&mut canvas, &frame, heat);
    Drawing { height: axes::height(&frame, &heat.x), frame, body: canvas.finish(), legend: [0.0, 0.0] }
}

/// The borders of cells: in the middle between neighbours, and as far beyond the first and the last.
fn edges(scale: Scale, centres: &[f64]) -> Vec<f64> {
    match centres {
        [] => Vec::new(),
        [only] => {
            let range = Range::covering(scale, [*only]);
            vec![range.low, range.high]
        }
        [first, second, ..] => {
            let last = [centres[centres.len() - 2], centres[centres.len() - 1]];
            let inner = centres.windows(2).map(|pair| scale.middle(pair[0], pair[1]));
            let outer = [scale.beyond(*second, *first, 0.5), scale.beyond(last[0], last[1], 0.5)];
            [outer[0]].into_iter().chain(inner).chain([outer[1]]).collect()
        }
    }
}

/// One path for each colour; neighbours of the same colour in a row are one rectangle.
fn cells(canvas: &mut Canvas, frame: &Frame, heat: &Heat, [columns, rows]: [&[f64]; 2], value: &Range) {
    let mut paths = vec![String::new(); LEVELS];
    for (row, height) in rows.windows(2).enumerate() {
        let levels: Vec<Option<usize>> =
            (0..heat.xs.len()).map(|column| Some(level(value.part(heat.at(row, column))?))).collect();
        let mut column = 0;
        for run in levels.chunk_by(|left, right| left == right) {
            let ends = [columns[column], columns[column + run.len()]];
            column += run.len();
            let corners = [frame.place(ends[0], height[1]), frame.place(ends[1], height[0])];
            if let (Some(level), [Some([left, top]), Some([right, bottom])]) = (run[0], corners) {
                // Neighbours overlap a little: between borders that only touch, printers let the paper through.
                let [left, top, right, bottom] = [left, top, right + OVERLAP, bottom + OVERLAP].map(px);
                paths[level] += &format!("M{left} {top}H{right}V{bottom}H{left}z");
            }
        }
    }
    canvas.raw("<g class=\"cells\" shape-rendering=\"crispEdges\">\n");
    for (level, path) in paths.iter().enumerate() {
        canvas.path(&format!("fill=\"{}\"", colour(level)), path);
    }
    canvas.raw("</g>\n");
}

fn level(part: f64) -> usize {
    ((part * LEVELS as f64) as usize).min(LEVELS - 1)
}

fn colour(level: usize) -> String {
    let at = level as f64 / (LEVELS - 1) as f64 * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let part = at - below as f64;
    let [r, g, b] = [0, 1, 2].map(|channel| {
        let [from, to] = [COLOURS[below][channel], COLOURS[below + 1][channel]].map(f64::from);
        (from + part * (to - from)).round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// All colours, with their numbers to the right.
fn bar(canvas: &mut Canvas, frame: &Frame, value: &Range) {
    let area = &frame.area;
    let left = area.right() + 14.0;
    canvas.raw("<g class=\"bar\" shape-rendering=\"crispEdges\">\n");
    for level in 0..LEVELS {
        let [high, low] = [level + 1, level].map(|level| px(frame.height_of(level as f64 / LEVELS as f64)));
        let d = format!("M{} {high}h{BAR}V{low}h-{BAR}z", px(left));
        canvas.path(&format!("fill=\"{}\"", colour(level)), &d);
    }
    canvas.raw("</g>\n");
    canvas.raw("<g class=\"axes\">\n");
    let mut marks = String::new();
    for tick in axes::ticks_of(value).iter().filter(|tick| !tick.label.is_empty()) {
        let y = frame.height_of(value.clamped(tick.value));
        marks += &format!("M{} {}h4", px(left + BAR), px(y));
        canvas.text([left + BAR + 7.0, y + 4.2], "start", "", &tick.label);
    }
    canvas.path("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".7\"", &marks);
}

/// Dots with names: right of the dot, or left where the plot ends, and shifted until they cover no dot and no other name.
fn places(canvas: &mut Canvas, frame: &Frame, heat: &Heat) {
    let named = heat.places.iter().filter_map(|place| Some((place.name.as_str(), frame.place(place.x, place.y)?)));
    let mut taken = Vec::new();
    for (_, [x, y]) in named.clone() {
        canvas.circle([x, y], DOT, "fill=\"#ffffff\" stroke=\"#000000\" stroke-width=\"1.6\"");
        taken.push(Area { left: x - DOT, top: y - DOT, width: 2.0 * DOT, height: 2.0 * DOT });
    }
    for (name, [x, y]) in named {
        let (width, away) = (canvas::width(name, SIZE), DOT + 5.0);
        let beside = [("start", x + away, x + away), ("end", x - away, x - away - width)];
        let shifts = [0.0, -15.0, 15.0, -30.0, 30.0];
        let mut ways = shifts.iter().flat_map(|shift| beside.iter().map(move |beside| (beside, y + shift)));
        let box_of = |left: f64, middle: f64| Area { left, top: middle - 0.5 * SIZE, width, height: SIZE };
        let free = |(beside, middle): &(&(&str, f64, f64), f64)| {
            let own = box_of(beside.2, *middle);
            own.inside(&frame.area) && !taken.iter().any(|other| own.meets(other))
        };
        let (&(anchor, at, left), middle) = ways.find(free).unwrap_or((&beside[0], y));
        taken.push(box_of(left, middle));
        canvas.text([at, middle + 4.2], anchor, HALO, name);
    }
}
