//! Columns gathered from anywhere, sums of rows and columns, and products with vectors and permuted rows.

use crate::plain::{close, normals};
use onebasin::rng::Stream;
use onebasin::symmetry::Permutation;
use onebasin_kernels::Isa;
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::marginals::{Indices, Marginals, PermutedProduct, TimesColumn, TimesRow};
use onebasin_kernels::pack::{Columns, Gather};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_are_gathered(
        units in 1..3 * BLOCK,
        stride in prop_oneof![Just(1), 1..40usize],
        starts in prop::collection::vec(0..100usize, 0..30),
        runs: bool,
        gap in 0..3usize,
        factor in prop_oneof![Just(1.0f32), Just(-2.0)],
    ) {
        let mut from = normals("from", 200 + 3 * BLOCK * 40);
        // Tiny ones become zero, whatever their sign, and NaN stays.
        (from[7], from[20], from[33], from[60]) = (1e-30, -1e-40, f32::NAN, -0.9e-19);
        let places: Vec<usize> = (0..starts.len()).map(|at| if runs { starts[0] + at } else { starts[at] }).collect();
        for isa in Isa::available() {
            let block = (places.len() + gap) * BLOCK;
            let mut blocked = vec![f32::INFINITY; units.div_ceil(BLOCK) * block];
            let columns = Columns { from: &from, places: &places, stride, units, factor };
            isa.run(Gather { columns, block, blocked: &mut blocked });
            for (index, found) in blocked.iter().enumerate() {
                let (unit, column) = (index / block * BLOCK + index % BLOCK, index % block / BLOCK);
                if column >= places.len() {
                    prop_assert_eq!(*found, f32::INFINITY, "not a column");
                    continue;
                }
                let expected = if unit < units { factor * from[places[column] + unit * stride] } else { 0.0 };
                let expected = if expected.abs() < 1.1e-19 { 0.0 } else { expected };
                prop_assert!(*found == expected || found.is_nan() && expected.is_nan(), "{isa:?} {found} {expected}");
            }
        }
    }

    #[test]
    fn rows_and_columns_are_summed(height in 1..20usize, width in 1..50usize, gap in 0..5usize, pivot in -2.0..2.0f32) {
        let stride = width + gap;
        let from = normals("matrix", height * stride);
        let entry = |row: usize, column: usize| f64::from(from[row * stride + column] - pivot);
        let sums = |count: usize, others: usize, entry: &dyn Fn(usize, usize) -> f64| -> [Vec<f64>; 2] {
            [1, 2].map(|power| (0..count).map(|one| (0..others).map(|other| entry(one, other).powi(power)).sum()).collect())
        };
        let largest = |count: usize, others: usize, entry: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..count).map(|one| (0..others).map(|other| entry(one, other)).fold(f64::MIN, f64::max)).collect()
        };
        for isa in Isa::available() {
            let mut rows = [0, 1, 2, 3].map(|_| vec![f32::NAN; height]);
            let mut columns = [0.0, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY].map(|nothing| vec![nothing; width]);
            let (row_parts, column_parts) =
                (rows.each_mut().map(|sums| &mut sums[..]), columns.each_mut().map(|sums| &mut sums[..]));
            isa.run(Marginals { from: &from, stride, pivot, rows: row_parts, columns: column_parts });
            for (found, expected) in rows.iter().zip(sums(height, width, &entry)) {
                close(found, &expected, 20.0 * width as f64, 1e-6)?;
            }
            for (found, expected) in columns.iter().zip(sums(width, height, &|column, row| entry(row, column))) {
                close(found, &expected, 20.0 * height as f64, 1e-6)?;
            }
            for (which, sign) in [(2, 1.0), (3, -1.0)] {
                let signed = |row, column| sign * entry(row, column);
                close(&rows[which], &largest(height, width, &signed), 1.0, 1e-6)?;
                close(&columns[which], &largest(width, height, &|column, row| signed(row, column)), 1.0, 1e-6)?;
            }
        }
    }

    #[test]
    fn products_of_a_matrix_with_vectors(height in 0..20usize, width in 1..150usize) {
        let (matrix, row, column) = (normals("matrix", height * width), normals("row", height), normals("column", width));
        let entry = |one: usize, other: usize| f64::from(matrix[one * width + other]);
        let times_column: Vec<f64> = (0..height)
            .map(|one| (0..width).map(|other| entry(one, other) * f64::from(column[other])).sum())
            .collect();
        let times_row: Vec<f64> =
            (0..width).map(|other| (0..height).map(|one| entry(one, other) * f64::from(row[one])).sum()).collect();
        for isa in Isa::available() {
            let (mut rows, mut columns) = (vec![f32::NAN; height], vec![f32::NAN; width]);
            isa.run(TimesColumn { matrix: &matrix, columns: &column, rows: &mut rows });
            close(&rows, &times_column, 10.0 * width as f64, 1e-6)?;
            isa.run(TimesRow { matrix: &matrix, rows: &row, columns: &mut columns });
            close(&columns, &times_row, 10.0 * (1 + height) as f64, 1e-6)?;
        }
    }

    #[test]
    fn products_with_permuted_rows(
        len in 0..70usize,
        height in 0..5usize,
        stride in 1..4usize,
        gap in 0..3usize,
        plain: bool,
        seed: u64,
    ) {
        let far = len * stride + gap;
        let (a, b) = (normals("a", height * far), normals("b", height * far));
        let permuted = |size: usize, label: &str| {
            if plain { Permutation::identity(size) } else { Permutation::random(size, &Stream::new(seed, label, 0)) }
        };
        let (rows, order) = (permuted(height, "rows"), permuted(len, "order"));
        let mut expected = 0.0;
        for (row, from) in rows.as_slice().iter().enumerate() {
            for (at, index) in order.as_slice().iter().enumerate() {
                let other = *from as usize * far + *index as usize * stride;
                expected += f64::from(a[row * far + at * stride]) * f64::from(b[other]);
            }
        }
        for isa in Isa::available() {
            let (rows, indices) = (rows.as_slice(), Indices::new(order.as_slice()));
            let found = isa.run(PermutedProduct { a: &a, b: &b, far, rows, stride, indices });
            prop_assert!((found - expected).abs() <= 1e-12 * (height * len) as f64, "{isa:?}: {found} against {expected}");
        }
    }
}

#[test]
#[should_panic(expected = "a column ends at 10")]
fn a_column_beyond_the_end_is_refused() {
    let mut blocked = [0.0; BLOCK];
    let (from, places) = ([0.0; 10], [4]);
    let columns = Columns { from: &from, places: &places, stride: 3, units: 3, factor: 1.0 };
    Isa::detect().run(Gather { columns, block: BLOCK, blocked: &mut blocked });
}

#[test]
#[should_panic(expected = "assertion failed")]
fn a_permutation_beyond_the_end_is_refused() {
    Isa::detect().run(PermutedProduct {
        a: &[0.0; 2],
        b: &[0.0; 2],
        far: 0,
        rows: &[0],
        stride: 1,
        indices: Indices::new(&[0, 2]),
    });
}
