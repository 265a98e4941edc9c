//! The scans of linear assignment.

use onebasin::kernels::Isa;
use onebasin::kernels::assignment;
use onebasin::kernels::assignment::ColumnMinima;
use onebasin::kernels::assignment::FindTwoSmallest;
use onebasin::kernels::assignment::GroupMinima;
use onebasin::kernels::assignment::LargestMagnitude;
use onebasin::kernels::assignment::Relax;
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
    fn the_two_smallest_are_the_first_two_in_order(
        row in proptest::collection::vec((-50i8..50).prop_map(f32::from), 1..200),
        negate in any::<bool>(),
    ) {
        let sign = if negate { -1.0 } else { 1.0 };
        let duals: Vec<f64> = row.iter().rev().map(|cost| f64::from(*cost) / 4.0).collect();
        let reduced: Vec<f64> = row.iter().zip(&duals).map(|(cost, dual)| f64::from(sign * cost) - dual).collect();
        let mut sorted = reduced.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.push(f64::INFINITY);
        for isa in Isa::available() {
            let two = isa.run(FindTwoSmallest { row: &row, sign, duals: &duals });
            prop_assert_eq!([two.smallest, two.second], [sorted[0], sorted[1]], "on {:?}", isa);
            prop_assert_eq!(reduced[two.column], sorted[0]);
        }
    }

    #[test]
    fn distances_become_the_shorter_ways(
        row in proptest::collection::vec((-50i8..50).prop_map(f32::from), 1..200),
        offset in -20i8..20,
    ) {
        let columns = row.len();
        let (offset, sign) = (f64::from(offset), -1.0);
        let duals: Vec<f64> = row.iter().rev().map(|cost| f64::from(*cost) / 4.0).collect();
        // Some columns are settled, some not reached.
        let known = (0..columns).map(|j| [f64::NEG_INFINITY, f64::INFINITY, 0.0, 9.0][j % 4]);
        let known: Vec<f64> = known.collect();
        let ways: Vec<f64> = (0..columns).map(|j| offset + f64::from(sign * row[j]) - duals[j]).collect();
        for isa in Isa::available() {
            let (mut distances, mut before) = (known.clone(), vec![1; columns]);
            let (column, nearest) = isa.run(Relax {
                row: &row,
                sign,
                index: 7,
                duals: &duals,
                offset,
                distances: &mut distances,
                before: &mut before,
            });
            for j in 0..columns {
                prop_assert_eq!(distances[j], known[j].min(ways[j]));
                prop_assert_eq!(before[j], if ways[j] < known[j] { 7 } else { 1 });
            }
            let open = distances.iter().copied().filter(|distance| *distance > f64::NEG_INFINITY);
            prop_assert_eq!(nearest, open.fold(f64::INFINITY, f64::min), "on {:?}", isa);
            prop_assert!(nearest == f64::INFINITY || distances[column] == nearest);
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
