//! What was measured, as a table.

use super::report::Report;
use super::report::Row;
use crate::commands::name_of;
use onebasin::measure::Barrier;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;

impl Report {
    /// One line for each curve.
    pub(crate) fn table(&self) -> anyhow::Result<Table> {
        let timed = self.curves.iter().any(|row| row.seconds.is_some());
        let numbers = ["L(0)", "L(1)", "L(1/2)", "loss barrier", "error barrier, %"];
        let numbers = numbers.into_iter().chain(timed.then_some("seconds"));
        let columns = [("curve", Left), ("images", Left)].into_iter();
        let mut table = Table::new(columns.chain(numbers.map(|title| (title, Right))));
        for Row { curve, split, seconds, measured, .. } in &self.curves {
            let points = &measured.points;
            let places = [0, points.len() - 1, points.len() / 2];
            let [from, to, middle] = places.map(|place| format!("{:.5}", points[place].loss.value));
            let seconds = seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}"));
            let cells = [
                curve.clone(),
                name_of(split)?,
                from,
                to,
                middle,
                rise(measured.loss.barrier, 1.0, 5),
                rise(measured.error.barrier, 100.0, 2),
            ];
            table.push(cells.into_iter().chain(timed.then_some(seconds)));
        }
        Ok(table)
    }
}

/// With its standard error, if it has one.
fn rise(Barrier { value, standard_error, .. }: Barrier, unit: f64, digits: usize) -> String {
    let value = format!("{:.digits$}", value * unit);
    match standard_error {
        Some(error) => format!("{value} ± {:.digits$}", error * unit),
        None => value,
    }
}
