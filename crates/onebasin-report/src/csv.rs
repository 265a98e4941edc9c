//! Comma-separated values, as RFC 4180 has them but for the ends of lines.

use crate::figure::Chart;
use crate::figure::Figure;

impl Figure {
    /// The numbers behind the figure, one line each: `series,group,x,y,error` of lines, `x,y,value,place` of a heat map,
    /// whose places come last. Numbers are exact; a standard error that is not known is empty.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        match &self.chart {
            Chart::Lines(lines) => {
                out += &line(["series", "group", "x", "y", "error"]);
                for series in &lines.series {
                    for point in &series.points {
                        let numbers = [number(point.x), number(point.y), point.error.map_or_else(String::new, number)];
                        let names = [series.name.as_str(), &series.group];
                        out += &line(names.into_iter().chain(numbers.iter().map(String::as_str)));
                    }
                }
            }
            Chart::Heat(heat) => {
                out += &line(["x", "y", "value", "place"]);
                for (row, &y) in heat.ys.iter().enumerate() {
                    for (column, &x) in heat.xs.iter().enumerate() {
                        out += &line([&*number(x), &number(y), &number(heat.at(row, column)), ""]);
                    }
                }
                for place in &heat.places {
                    out += &line([&*number(place.x), &number(place.y), "", &place.name]);
                }
            }
        }
        out
    }
}

/// A line of cells, each in quotes if it needs them.
pub(crate) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = cells
        .into_iter()
        .map(|cell| {
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.to_owned()
            }
        })
        .collect();
    quoted.join(",") + "\n"
}

/// The shortest decimal number that is read as `value`.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}
