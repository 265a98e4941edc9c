//! The scans of linear assignment.

use onebasin::kernels::Isa;
use onebasin::kernels::assignment;
use onebasin::kernels::assignment::ColumnMinima;
use onebasin::kernels::assignment::GroupMinima;
use onebasin::kernels::assignment::LargestMagnitude;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_hold_every_column_once(columns in 1usize..2000) {
        let mut seen: Vec<usize> =
            (0..assignment::groups(columns)).flat_map(|group| assignment::columns_of(group, columns)).collect();
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(0..columns));
    }

    #[test]
    fn minima_of_groups_are_those_of_their_columns(
        row in proptest::collection::vec(-1.0f32..1.0, 1..1200),
        negate in any::<bool>(),
    ) {
        let columns = row.len();
        let sign = if negate { -1.0 } else { 1.0 };
        let duals: Vec<f64> = row.iter().rev().map(|cost| f64::from(*cost) / 3.0).collect();
        for isa in Isa::available() {
            let mut minima = vec![0.0; assignment::groups(columns)];
            isa.run(GroupMinima { row: &row, sign, duals: &duals, minima: &mut minima });
            for (group, minimum) in minima.into_iter().enumerate() {
                let reduced = assignment::columns_of(group, columns).map(|j| f64::from(sign * row[j]) - duals[j]);
                prop_assert_eq!(minimum, reduced.fold(f64::INFINITY, f64::min), "group {} on {:?}", group, isa);
            }
        }
    }

    #[test]
    fn minima_of_columns_are_those_of_the_first_row_that_has_them(
        costs in (1usize..70).prop_flat_map(|columns| {
            let row = proptest::collection::vec((-3i8..3).prop_map(f32::from), columns);
            proptest::collection::vec(row, 1..9)
        }),
        negate in any::<bool>(),
    ) {
        let columns = costs[0].len();
        let sign = if negate { -1.0 } else { 1.0 };
        for isa in Isa::available() {
            let (mut minima, mut rows) = (vec![f32::INFINITY; columns], vec![0; columns]);
            for (index, row) in (0..).zip(&costs) {
                isa.run(ColumnMinima { row, sign, index, minima: &mut minima, rows: &mut rows });
            }
            for column in 0..columns {
                let cost = |row: usize| sign * costs[row][column];
                let first = (0..costs.len()).reduce(|best, row| if cost(row) < cost(best) { row } else { best }).unwrap();
                prop_assert_eq!((minima[column], rows[column] as usize), (cost(first), first), "on {:?}", isa);
            }
        }
    }

    #[test]
    fn the_largest_magnitude_is_of_either_sign(values in proptest::collection::vec(-1e30f32..1e30, 0..200)) {
        let largest = values.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        for isa in Isa::available() {
            prop_assert_eq!(isa.run(LargestMagnitude { values: &values }), largest);
        }
    }

    #[test]
    fn the_largest_magnitude_shows_what_is_not_finite(len in 1usize..200, at in any::<prop::sample::Index>()) {
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = vec![f32::MAX; len];
            values[at.index(len)] = bad;
            for isa in Isa::available() {
                let largest = isa.run(LargestMagnitude { values: &values });
                prop_assert!(!largest.is_finite());
            }
        }
    }
}
