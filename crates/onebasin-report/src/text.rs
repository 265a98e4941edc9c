//! Figures for the terminal: curves as dots of braille, maps as shades.

use crate::figure::Chart;
use crate::figure::Figure;
use crate::figure::Heat;
use crate::figure::Lines;
use crate::scale::Range;

/// From the smallest value to the largest.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// The dots of a braille letter, (row, column), as bits of its number.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Figure {
    /// The figure in letters, with the numbers at the ends of its axes and a legend under it. The plot itself is `columns`
    /// wide and `rows` high, but at least 8 by 2.
    pub fn text(&self, columns: usize, rows: usize) -> String {
        let (columns, rows) = (columns.max(8), rows.max(2));
        match &self.chart {
            Chart::Lines(lines) => curves(lines, columns, rows),
            Chart::Heat(heat) => map(heat, columns, rows),
        }
    }
}

fn curves(lines: &Lines, columns: usize, rows: usize) -> String {
    let points = || lines.series.iter().flat_map(|series| &series.points);
    let shown = || points().filter(|point| lines.x.scale.shows(point.x) && lines.y.scale.shows(point.y));
    let x = Range::covering(lines.x.scale, shown().map(|point| point.x));
    let y = Range::covering(lines.y.scale, shown().map(|point| point.y));
    let mut dots = vec![vec![0_u32; columns]; rows];
    let mut marks = Vec::new();
    for (index, series) in lines.series.iter().enumerate() {
        let place = |column: f64, row: f64| [column * (2 * columns - 1) as f64, (1.0 - row) * (4 * rows - 1) as f64];
        let places: Vec<Option<[f64; 2]>> =
            series.points.iter().map(|point| Some(place(x.part(point.x)?, y.part(point.y)?))).collect();
        let mut last = None;
        for next in &places {
            if let Some(to) = next {
                line(&mut dots, last.unwrap_or(*to), *to);
            }
            last = *next;
        }
        // Letters are spread from left to right, so that curves that lie together can be told apart where they do not.
        let seen: Vec<[f64; 2]> = places.into_iter().flatten().collect();
        if let Some([column, row]) = seen.get((2 * index + 1) * seen.len() / (2 * lines.series.len())) {
            marks.push((column.round() as usize / 2, row.round() as usize / 4, letter(index)));
        }
    }
    let mut cells: Vec<Vec<char>> =
        dots.iter().map(|row| row.iter().map(|bits| char::from_u32(0x2800 + bits).unwrap_or(' ')).collect()).collect();
    if lines.needs_legend() {
        for (column, row, letter) in marks {
            cells[row][column] = letter;
        }
    }
    let mut out = framed(&cells, [&x, &y], [&lines.x.label, &lines.y.label]);
    if lines.needs_legend() {
        for (index, series) in lines.series.iter().enumerate() {
            out += &format!("  {} {}\n", letter(index), series.label());
        }
    }
    out
}

/// Sets the dots from one place to another.
fn line(dots: &mut [Vec<u32>], from: [f64; 2], to: [f64; 2]) {
    let steps = (to[0] - from[0]).abs().max((to[1] - from[1]).abs()).ceil().max(1.0) as usize;
    for step in 0..=steps {
        let part = step as f64 / steps as f64;
        let [column, row] = [0, 1].map(|axis| (from[axis] + part * (to[axis] - from[axis])).round() as usize);
        dots[row / 4][column / 2] |= DOTS[row % 4][column % 2];
    }
}

fn map(heat: &Heat, columns: usize, rows: usize) -> String {
    let x = Range::covering(heat.x.scale, heat.xs.iter().copied().chain(heat.places.iter().map(|place| place.x)));
    let y = Range::covering(heat.y.scale, heat.ys.iter().copied().chain(heat.places.iter().map(|place| place.y)));
    let value = Range::covering(heat.value.scale, heat.values.iter().copied());
    // The nearest column or row of the map, as the axis shows it.
    let nearest = |range: &Range, all: &[f64], part: f64| {
        let distance = |index: &usize| range.part(all[*index]).map_or(f64::INFINITY, |at| (at - part).abs());
        (0..all.len()).min_by(|left, right| distance(left).total_cmp(&distance(right)))
    };
    let shade = |row: usize, column: usize| {
        let [right, down] = [(column as f64 + 0.5) / columns as f64, (row as f64 + 0.5) / rows as f64];
        let [column, row] = [nearest(&x, &heat.xs, right)?, nearest(&y, &heat.ys, 1.0 - down)?];
        let level = value.part(heat.at(row, column))? * SHADES.len() as f64;
        Some(SHADES[(level as usize).min(SHADES.len() - 1)])
    };
    let mut cells: Vec<Vec<char>> =
        (0..rows).map(|row| (0..columns).map(|column| shade(row, column).unwrap_or(' ')).collect()).collect();
    let mut legend = String::new();
    for (index, place) in heat.places.iter().enumerate() {
        if let (Some(right), Some(up)) = (x.part(place.x), y.part(place.y)) {
            let cell = |part: f64, count: usize| ((part * count as f64) as usize).min(count - 1);
            cells[cell(1.0 - up, rows)][cell(right, columns)] = letter(index).to_ascii_uppercase();
            legend += &format!("  {} {}\n", letter(index).to_ascii_uppercase(), place.name);
        }
    }
    let shades =
        format!("  {} {} to {} {}: {}\n", SHADES[0], end(value.low), SHADES[4], end(value.high), heat.value.label);
    framed(&cells, [&x, &y], [&heat.x.label, &heat.y.label]) + &shades + &legend
}

/// The plot between its axes, under the name of the vertical one.
fn framed(cells: &[Vec<char>], [x, y]: [&Range; 2], [below, above]: [&str; 2]) -> String {
    let [high, low] = [end(y.high), end(y.low)];
    let margin = high.chars().count().max(low.chars().count());
    let mut out = format!("{:margin$} {above}\n", "");
    for (row, letters) in cells.iter().enumerate() {
        let label = match row {
            0 => &high,
            row if row + 1 == cells.len() => &low,
            _ => "",
        };
        out +=
            &format!("{label:>margin$} │{}\n", letters.iter().collect::<String>().trim_end_matches(['\u{2800}', ' ']));
    }
    let width = cells.first().map_or(0, Vec::len);
    out += &format!("{:margin$} └{}\n", "", "─".repeat(width));
    let [left, right] = [end(x.low), end(x.high)];
    let room = width.saturating_sub(left.chars().count() + right.chars().count());
    out + &format!("{:margin$}  {left}{below:^room$}{right}\n", "")
}

/// `a`, `b`, ...
fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

/// The number at the end of an axis, to three digits.
fn end(value: f64) -> String {
    let text = if value == 0.0 || (1e-3..1e5).contains(&value.abs()) {
        let decimals = (2 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 5) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    };
    let text = if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    text.replace('-', "−")
}
