//! The scans of linear assignment.

use onebasin_kernels::Isa;
use onebasin_kernels::assignment::{
    Allowed, AtLeast, ColumnMinima, Cost, FindAllowed, Gains, LargestMagnitude, Relax, SCALE, Threshold,
};
use onebasin_kernels::lanes::BLOCK;
use proptest::prelude::*;

/// Asserts that scans of these gains find the threshold, and what is not below it.
fn finds<T: Cost>(isa: Isa, ours: Gains<'_, T>, gains: &[f32], groups: usize, worst: f32) -> Result<(), TestCaseError> {
    prop_assert_eq!(isa.run(Threshold { gains: ours, groups }), worst, "on {:?}", isa);
    let threshold = worst.max(-100.0);
    let expected: Vec<u32> = (0..gains.len() as u32).filter(|column| gains[*column as usize] >= threshold).collect();
    let mut found = vec![7];
    isa.run(AtLeast { gains: ours, threshold, found: &mut found });
    prop_assert_eq!(&found[1..], &expected[..], "on {:?}", isa);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn good_columns_are_found_in_order(
        row in proptest::collection::vec((-50i8..50).prop_map(f32::from), 1..300),
        negate in any::<bool>(),
        groups in (0..=4u32).prop_map(|power| 1 << power),
    ) {
        let sign = if negate { -1.0 } else { 1.0 };
        let scale = SCALE as f32;
        let scaled: Vec<f32> = row.iter().rev().map(|cost| scale * cost / 4.0).collect();
        // Small multiples of a power of two: nothing is rounded.
        let gains: Vec<f32> = row.iter().zip(&scaled).map(|(cost, dual)| dual - sign * scale * cost).collect();
        let best = |group: usize| gains.iter().skip(group).step_by(groups).copied().fold(f32::NEG_INFINITY, f32::max);
        let worst = (0..groups).map(best).fold(f32::INFINITY, f32::min);
        let mut duals = scaled;
        duals.resize(row.len().next_multiple_of(BLOCK), f32::NEG_INFINITY);
        let doubles: Vec<f64> = row.iter().copied().map(f64::from).collect();
        let factor = -f64::from(sign) * SCALE;
        for isa in Isa::available() {
            finds(isa, Gains::new(&row, factor, &duals), &gains, groups, worst)?;
            finds(isa, Gains::new(&doubles, factor, &duals), &gains, groups, worst)?;
        }
    }

    #[test]
    fn distances_become_those_of_shorter_paths(
        row in proptest::collection::vec((-50i8..50).prop_map(f32::from), 1..200),
        offset in -20i8..20,
    ) {
        let columns = row.len();
        let (offset, sign) = (f64::from(offset), -1.0);
        let duals: Vec<f64> = row.iter().rev().map(|cost| f64::from(*cost) / 4.0).collect();
        // Some columns are settled, some not reached.
        let known = (0..columns).map(|j| [f64::NEG_INFINITY, f64::INFINITY, 0.0, 9.0][j % 4]);
        let known: Vec<f64> = known.collect();
        let lengths: Vec<f64> = (0..columns).map(|j| offset + f64::from(sign * row[j]) - duals[j]).collect();
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
                prop_assert_eq!(distances[j], known[j].min(lengths[j]));
                prop_assert_eq!(before[j], if lengths[j] < known[j] { 7 } else { 1 });
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

    #[test]
    fn doubles_are_scaled_before_they_are_rounded(
        row in proptest::collection::vec(-1.0f64..1.0, 1..100),
        power in prop_oneof![Just(-290), Just(0), Just(290)],
    ) {
        let costs: Vec<f64> = row.iter().map(|cost| cost * 2f64.powi(power)).collect();
        let mut duals = vec![0.0; row.len()];
        duals.resize(row.len().next_multiple_of(BLOCK), f32::NEG_INFINITY);
        let least = row.iter().fold(f64::INFINITY, |least, cost| least.min(*cost));
        for isa in Isa::available() {
            let gains = Gains::new(&costs, -2f64.powi(-power), &duals);
            let most = isa.run(Threshold { gains, groups: 1 });
            prop_assert_eq!(most, -least as f32, "on {:?}", isa);
        }
    }

    #[test]
    fn allowed_costs_are_counted(
        row in proptest::collection::vec(
            prop_oneof![6 => -9.0f64..9.0, 3 => Just(f64::INFINITY), 1 => Just(f64::NEG_INFINITY), 1 => Just(f64::NAN)],
            0..100,
        ),
        negate in any::<bool>(),
    ) {
        let sign = if negate { -1.0 } else { 1.0 };
        let finite = row.iter().filter(|cost| cost.is_finite());
        let expected = Allowed {
            count: finite.clone().count(),
            largest: finite.fold(0.0, |largest: f64, cost| largest.max(cost.abs())),
            valid: row.iter().all(|cost| cost.is_finite() || sign * cost == f64::INFINITY),
        };
        for isa in Isa::available() {
            prop_assert_eq!(isa.run(FindAllowed { row: &row, sign }), expected);
        }
    }
}
