//! Comma-separated values are read back as they were written.

use crate::sample;
use onebasin_report::Alignment::Left;
use onebasin_report::Scale::Linear;
use onebasin_report::{Chart, Table};
use proptest::prelude::*;

/// Parses comma-separated values, as an independent implementation.
pub(crate) fn read(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !quoted, "the last line does not end");
    rows
}

proptest! {
    #[test]
    fn cells_of_tables_are_read_back(cells in prop::collection::vec("[a-c,\"\n\r| ]{0,6}", 6)) {
        let mut table = Table::new([("one", Left), ("two", Left), ("three", Left)]);
        table.push(&cells[..3]);
        table.push(&cells[3..]);
        let rows = read(&table.csv());
        prop_assert_eq!(&rows[0], &["one", "two", "three"]);
        prop_assert_eq!(rows[1..].concat(), cells);
    }

    #[test]
    fn points_are_read_back_to_the_last_bit(
        name in "[a-c,\"\n ]{0,6}", points in prop::collection::vec((any::<f64>(), any::<f64>(), any::<Option<f64>>()), 0..20),
    ) {
        let axis = || sample::axis("", Linear);
        let figure = sample::lines("it", axis(), axis(), vec![sample::series(&name, "test", points.clone())]);
        let rows = read(&figure.csv());
        prop_assert_eq!(rows.len(), points.len() + 1);
        for (row, (x, y, error)) in rows[1..].iter().zip(points) {
            prop_assert_eq!(&row[..2], &[name.clone(), "test".to_owned()]);
            let bits = |cell: &str| cell.parse::<f64>().unwrap().to_bits();
            let same = |cell: &str, value: f64| bits(cell) == value.to_bits() || value.is_nan() && cell == "NaN";
            prop_assert!(same(&row[2], x) && same(&row[3], y), "{row:?}");
            prop_assert!(error.map_or(row[4].is_empty(), |error| same(&row[4], error)), "{row:?}");
        }
    }
}

#[test]
fn a_heat_map_has_a_row_for_each_cell_and_annotation() {
    let figure = sample::plane();
    let Chart::HeatMap(map) = &figure.chart else { panic!("not a heat map") };
    let rows = read(&figure.csv());
    assert_eq!(rows.len(), 1 + map.values.len() + map.annotations.len());
    let second_row = &rows[1 + map.xs.len()];
    assert_eq!([&second_row[0], &second_row[1]], [&map.xs[0].to_string(), &map.ys[1].to_string()]);
    assert_eq!(second_row[2].parse::<f64>().unwrap(), map.values[map.xs.len()]);
    assert_eq!(rows.last().unwrap()[3], "second, aligned");
}
