//! Comma-separated values (RFC 4180, but with `\n` at the end of each line).

use crate::figure::{Axis, Chart, Figure, Point, Series};

/// Returns a line for each row. Cells that need quotes have them.
pub(crate) fn lines<R: IntoIterator<Item: AsRef<str>>>(rows: impl IntoIterator<Item = R>) -> String {
    let quoted = |cell: &str| {
        let needed = cell.contains([',', '"', '\n', '\r']);
        if needed { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
    };
    let line = |row: R| row.into_iter().map(|cell| quoted(cell.as_ref())).collect::<Vec<_>>().join(",") + "\n";
    rows.into_iter().map(line).collect()
}

/// Returns the shortest decimal number that is read as the same value.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Returns a coordinate of an axis: a number, or the name of a kind.
fn coordinate(axis: &Axis, at: f64) -> String {
    axis.category(at).map_or_else(|| number(at), str::to_owned)
}

impl Figure {
    /// Returns the numbers of the figure as comma-separated values: columns `series,group,x,y,error` for lines, columns
    /// `x,y,value,annotation` for a heat map, whose annotations come last. Numbers are exact; an unknown standard error is empty;
    /// a kind has its name.
    pub fn csv(&self) -> String {
        match &self.chart {
            Chart::Lines(all) => {
                let titles = ["series", "group", "x", "y", "error"].map(str::to_owned);
                let row = |Series { name, group, .. }: &Series, Point { x, y, error }: &Point| {
                    let error = error.map_or_else(String::new, number);
                    [name.clone(), group.clone(), coordinate(&all.x, *x), number(*y), error]
                };
                let rows =
                    all.series.iter().flat_map(|series| series.points.iter().map(move |point| row(series, point)));
                lines([titles].into_iter().chain(rows))
            }
            Chart::HeatMap(map) => {
                let titles = ["x", "y", "value", "annotation"].map(str::to_owned);
                let place = |x: f64, y: f64| [coordinate(&map.x, x), coordinate(&map.y, y)];
                let places = map.ys.iter().flat_map(|y| map.xs.iter().map(|x| place(*x, *y)));
                let cells = places.zip(&map.values).map(|([x, y], value)| [x, y, number(*value), String::new()]);
                let named = map.annotations.iter();
                let named = named.map(|it| [number(it.x), number(it.y), String::new(), it.name.clone()]);
                lines([titles].into_iter().chain(cells).chain(named))
            }
        }
    }
}
