//! Products of int8 matrices are exact, and a quantised value is off by one-half of a step at most.

use crate::plain::normals;
use onebasin::rng::{Stream, below};
use onebasin_kernels::geometry::blocks;
use onebasin_kernels::int8::{Codes, Products, Scratch};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::quantise::{LARGEST, Matrix, Source, quantise};
use onebasin_kernels::{Isa, ThreadPool};
use proptest::prelude::*;
use std::ops::Range;

/// Where a pair of a row is.
fn pair(len: usize, row: usize, place: usize) -> usize {
    (row / BLOCK * len + place) * BLOCK + row % BLOCK
}

/// Integers from -127 to 127.
fn int8s(label: &str, rows: usize, len: usize) -> Vec<u16> {
    let mut generator = Stream::new(3, label, (rows * len) as u64).generator();
    let mut byte = || (below(&mut generator, 255) as i32 - 127) as i8 as u8;
    (0..blocks(rows) * len * BLOCK).map(|_| u16::from_le_bytes([byte(), byte()])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products_are_those_of_integers(
        rows in 1..70usize,
        columns in 1..120usize,
        len in 1..40usize,
        places in prop::collection::vec((0..1000u32, 0..1000u32), 0..600),
        from in 0..3usize,
    ) {
        let pairs = [int8s("first", rows, len), int8s("second", columns, len)];
        let scales = [normals("rows", rows), normals("columns", columns)];
        let places = [0, 1].map(|side| {
            places.iter().map(|place| [place.0, place.1][side] % len as u32).collect::<Vec<u32>>()
        });
        let first = from.min(blocks(rows) - 1);
        let here = first * BLOCK..rows;
        let both = pairs.each_ref().map(|pairs| Codes::Pairs(pairs.clone()));
        let singles = pairs.each_ref().map(|pairs| Codes::singles(&ThreadPool::alone(), pairs));
        for (isa, codes, count) in Isa::available().into_iter().flat_map(|isa| [(isa, &both, 2), (isa, &singles, 1)]) {
            let mut sums = vec![1.0; here.len() * columns];
            isa.run(Products {
                codes: codes.each_ref(),
                len,
                scales: scales.each_ref().map(|scales| &scales[..]),
                places: places.each_ref().map(|places| &places[..]),
                blocks: first..blocks(rows),
                scratch: &mut Scratch::default(),
                sums: &mut sums,
            });
            for row in here.clone() {
                for column in 0..columns {
                    let product = |(one, other): (&u32, &u32)| -> i32 {
                        let [a, b] = [(0, row, one), (1, column, other)].map(|(side, row, place)| {
                            pairs[side][pair(len, row, *place as usize)].to_le_bytes().map(|byte| i32::from(byte as i8))
                        });
                        a.iter().zip(b).take(count).map(|(a, b)| a * b).sum()
                    };
                    let products = || places[0].iter().zip(&places[1]).map(product);
                    let scale = f64::from(scales[0][row]) * f64::from(scales[1][column]);
                    let [sum, size] =
                        [products().sum::<i32>(), products().map(i32::abs).sum()].map(|sum| scale * f64::from(sum));
                    let off = (f64::from(sums[(row - here.start) * columns + column]) - 1.0 - sum).abs();
                    prop_assert!(off <= 3e-7 * (1.0 + size.abs()), "{isa:?} {row} {column}: off by {off} of {size}");
                }
            }
        }
    }

    #[test]
    fn values_are_quantised(
        rows in prop_oneof![1..70usize, Just(48), 250..300usize],
        columns in prop_oneof![1..20usize, Just(64), Just(150)],
        parts in 1..4usize,
        along in 0..3usize,
    ) {
        let (row, column) = [(1, rows + 3), (columns + 2, 1), (2 * columns, 2)][along];
        let len = (rows - 1) * row + (columns - 1) * column + 1;
        let values: Vec<Vec<f32>> = (0..2 * parts).map(|part| normals(&format!("values {part}"), len)).collect();
        let means = normals("means", rows);
        let largest = values.iter().flatten().chain(&means).fold(0.0f32, |all, own| all.max(own.abs()));
        let gains: Vec<f32> = (0..rows).map(|row| LARGEST / (2.0 * largest * (1 + row % 3) as f32)).collect();
        let sources = |here: Range<usize>| {
            let source = |part: usize| {
                Source { from: &values[part][here.start * row..], means: &means[here.clone()], gains: &gains[here.clone()] }
            };
            (0..parts).map(|part| [2 * part, 2 * part + 1].map(source)).collect()
        };
        let pool = &ThreadPool::new(3).expect("threads");
        let mut first = None;
        for isa in Isa::available() {
            let pairs = quantise(isa, pool, Matrix { rows: (rows, row), columns: (columns, column), parts }, sources);
            for unit in 0..blocks(rows) * BLOCK {
                for index in 0..columns {
                    for part in 0..parts {
                        let found = pairs[pair(columns * parts, unit, index * parts + part)].to_le_bytes();
                        for (byte, values) in found.into_iter().zip(&values[2 * part..]) {
                            let exact = if unit < rows {
                                (values[unit * row + index * column] - means[unit]) * gains[unit]
                            } else {
                                0.0
                            };
                            let off = (f32::from(byte as i8) - exact).abs();
                            prop_assert!(off <= 0.5 + 1e-4, "{isa:?} {unit} {index} {part}: off by {off}");
                        }
                    }
                }
            }
            prop_assert_eq!(first.get_or_insert_with(|| pairs.clone()), &pairs, "{:?}", isa);
        }
    }
}

#[test]
#[should_panic(expected = "behind the last")]
fn a_place_behind_the_last_is_refused() {
    let codes = Codes::Pairs(vec![0; BLOCK]);
    Isa::detect().run(Products {
        codes: [&codes, &codes],
        len: 1,
        scales: [&[1.0], &[1.0]],
        places: [&[0], &[1]],
        blocks: 0..1,
        scratch: &mut Scratch::default(),
        sums: &mut [0.0],
    });
}

#[test]
#[should_panic(expected = "as many int8 at a place")]
fn singles_and_pairs_are_not_multiplied() {
    let codes = [Codes::Pairs(vec![0; BLOCK]), Codes::Singles(vec![0; BLOCK])];
    Isa::detect().run(Products {
        codes: codes.each_ref(),
        len: 1,
        scales: [&[1.0], &[1.0]],
        places: [&[0], &[0]],
        blocks: 0..1,
        scratch: &mut Scratch::default(),
        sums: &mut [0.0],
    });
}

#[test]
#[should_panic(expected = "the last row ends at 6")]
fn a_row_behind_the_end_is_refused() {
    let source = Source { from: &[0.0; 6], means: &[0.0; 2], gains: &[1.0; 2] };
    let matrix = Matrix { rows: (2, 5), columns: (2, 1), parts: 1 };
    quantise(Isa::detect(), &ThreadPool::alone(), matrix, |_| vec![[source; 2]]);
}
