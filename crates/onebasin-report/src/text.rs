//! Figures for the terminal: lines as dots of braille, heat maps as characters from light to dark.

use crate::figure::{Annotation, Chart, Figure, HeatMap, Lines};
use crate::scale::Range;

/// Characters of a heat map, from the smallest value to the largest.
const SHADES: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];
/// Dots of a braille pattern, (row, column), as bits of its code point.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Figure {
    /// Returns the figure as plain text, with numbers at the ends of its axes and a legend below. The plot area is `columns`
    /// characters wide and `rows` lines high, but at least 8 by 2. A heat map of n by m cells shows each cell alike if
    /// `columns` and `rows` are multiples of n and m; a letter marks each annotation.
    pub fn text(&self, columns: usize, rows: usize) -> String {
        let (columns, rows) = (columns.max(8), rows.max(2));
        match &self.chart {
            Chart::Lines(it) => lines(it, columns, rows),
            Chart::HeatMap(map) => heat_map(map, columns, rows),
        }
    }
}

fn lines(lines: &Lines, columns: usize, rows: usize) -> String {
    let x = Range::covering(lines.x.scale, lines.visible().map(|point| point.x));
    let y = Range::covering(lines.y.scale, lines.visible().map(|point| point.y));
    let mut dots = vec![vec![0_u32; columns]; rows];
    let mut marks = Vec::new();
    for (index, series) in lines.series.iter().enumerate() {
        let dot = |right: f64, up: f64| [right * (2 * columns - 1) as f64, (1.0 - up) * (4 * rows - 1) as f64];
        let all: Vec<Option<[f64; 2]>> =
            series.points.iter().map(|point| Some(dot(x.fraction(point.x)?, y.fraction(point.y)?))).collect();
        let mut last = None;
        for next in &all {
            if let Some(to) = next {
                connect(&mut dots, last.unwrap_or(*to), *to);
            }
            last = *next;
        }
        // Letters are spread from left to right, so that they do not hide each other where lines coincide.
        let seen: Vec<[f64; 2]> = all.into_iter().flatten().collect();
        if let Some([column, row]) = seen.get((2 * index + 1) * seen.len() / (2 * lines.series.len())) {
            marks.push((column.round() as usize / 2, row.round() as usize / 4, letter(index)));
        }
    }
    let mut cells: Vec<Vec<char>> =
        dots.iter().map(|row| row.iter().map(|bits| char::from_u32(0x2800 + bits).unwrap_or(' ')).collect()).collect();
    let mut legend = String::new();
    if lines.needs_legend() {
        for (column, row, letter) in marks {
            cells[row][column] = letter;
        }
        for (index, series) in lines.series.iter().enumerate() {
            legend += &format!("  {} {}\n", letter(index), series.label());
        }
    }
    framed(&cells, [&x, &y], [&lines.x.label, &lines.y.label]) + &legend
}

/// Sets all dots on the segment between two dots.
fn connect(dots: &mut [Vec<u32>], from: [f64; 2], to: [f64; 2]) {
    let steps = (to[0] - from[0]).abs().max((to[1] - from[1]).abs()).ceil().max(1.0) as usize;
    for step in 0..=steps {
        let fraction = step as f64 / steps as f64;
        let [column, row] = [0, 1].map(|axis| (from[axis] + fraction * (to[axis] - from[axis])).round() as usize);
        dots[row / 4][column / 2] |= DOTS[row % 4][column % 2];
    }
}

fn heat_map(map: &HeatMap, columns: usize, rows: usize) -> String {
    let grid = map.grid();
    // The column or row of the grid at a fraction of an axis.
    let cell = |range: &Range, borders: &[f64], at: f64| {
        let inside = |pair: &[f64]| Some(range.fraction(pair[0])? <= at && at < range.fraction(pair[1])?);
        borders.windows(2).position(|pair| inside(pair) == Some(true))
    };
    let shade = |row: usize, column: usize| {
        let [right, down] = [(column as f64 + 0.5) / columns as f64, (row as f64 + 0.5) / rows as f64];
        let [column, row] = [cell(&grid.x, &grid.columns, right)?, cell(&grid.y, &grid.rows, 1.0 - down)?];
        let level = grid.value.fraction(map.at(row, column))? * SHADES.len() as f64;
        Some(SHADES[(level as usize).min(SHADES.len() - 1)])
    };
    let mut cells: Vec<Vec<char>> =
        (0..rows).map(|row| (0..columns).map(|column| shade(row, column).unwrap_or(' ')).collect()).collect();
    let [lowest, highest] = [SHADES[0], SHADES[SHADES.len() - 1]];
    let [low, high] = [end(grid.value.low), end(grid.value.high)];
    let mut legend = format!("  {lowest} {low} to {highest} {high}: {}\n", map.value.label);
    let mut letters = ('A'..='Z').filter(|letter| map.annotations.iter().all(|it| it.name != letter.to_string()));
    for Annotation { name, x, y } in &map.annotations {
        if let (Some(right), Some(up)) = (grid.x.fraction(*x), grid.y.fraction(*y)) {
            let nearest = |fraction: f64, count: usize| ((fraction * count as f64) as usize).min(count - 1);
            let mark = &mut cells[nearest(1.0 - up, rows)][nearest(right, columns)];
            let mut chars = name.chars();
            *mark = match (chars.next(), chars.next()) {
                (Some(only), None) if only.is_alphanumeric() => only,
                _ => letters.next().unwrap_or('?'),
            };
            if *name != mark.to_string() {
                legend += &format!("  {mark} {name}\n");
            }
        }
    }
    framed(&cells, [&grid.x, &grid.y], [&map.x.label, &map.y.label]) + &legend
}

/// Returns the plot area with its axes, below the label of the vertical axis.
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
        let letters: String = letters.iter().collect();
        out += &format!("{label:>margin$} │{}\n", letters.trim_end_matches(['\u{2800}', ' ']));
    }
    let width = cells.first().map_or(0, Vec::len);
    out += &format!("{:margin$} └{}\n", "", "─".repeat(width));
    let [left, right] = [end(x.low), end(x.high)];
    let room = width.saturating_sub(left.chars().count() + right.chars().count());
    out + &format!("{:margin$}  {left}{below:^room$}{right}\n", "")
}

/// Returns the letter that marks a series: `a`, `b`, ...
fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

/// Returns the number at the end of an axis, to three digits.
fn end(value: f64) -> String {
    let text = if value == 0.0 || (1e-3..1e5).contains(&value.abs()) {
        let decimals = (2 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 5) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    };
    let is_decimal = text.contains('.') && !text.contains('e');
    let text = if is_decimal { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}
