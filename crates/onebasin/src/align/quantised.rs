//! The tensors that two permutations act on: their sums over either axis, and what is left of them without the means, quantised to int8.
//!
//! From each value the mean over the units of the other axis is taken, so only that is quantised which tells units apart. Of a unit,
//! all values have one scale. For normal weights an entry of the costs is then off by 1 or 2 % of what entries differ by (`docs/math.md`).

use super::objective::{Local, Objective};
use crate::symmetry::Patch;
use onebasin_kernels::int8::{Codes, Products, Scratch};
use onebasin_kernels::quantise::{LARGEST, Matrix, Source, quantise};
use onebasin_kernels::{Isa, ThreadPool, marginals};
use std::ops::Range;

/// A patch with two axes, as either of them sees it, and its sums.
#[derive(Debug)]
pub(super) struct Quantised {
    axes: [Axis; 2],
    pub(super) marginals: Marginals,
}

/// A patch as the units of one of its axes see it.
#[derive(Debug)]
struct Axis {
    /// The fixed posterior and the one that is permuted.
    sides: [Side; 2],
    /// Units of the other axis.
    others: usize,
    /// Places of each: a feature after the other at each of `rest`, two at a place if there are two.
    parts: usize,
}

#[derive(Debug)]
struct Side {
    /// (blocks of units, others, parts, 16)
    codes: Codes,
    scales: Vec<f32>,
    /// The squared norm of each unit before quantisation.
    norms: Vec<f64>,
}

impl Quantised {
    pub(super) fn new(objective: &Objective<'_>, patch: &Patch, pool: &ThreadPool) -> Self {
        let local = objective.local(patch);
        let marginals = Marginals::new(objective, patch, &local, pool);
        let axis = |axis| Axis::new(objective, (patch, &local), axis, marginals.along(axis), pool);
        Self { axes: [0, 1].map(axis), marginals }
    }

    /// Adds to the matrix of the group on an axis, some times, what the patch contributes in some pairs of units of the other group.
    pub(super) fn add(
        &self,
        axis: usize,
        (times, pairs): (f32, &[[u32; 2]]),
        blocks: Range<usize>,
        scratch: &mut Scratch,
        sums: &mut [f32],
    ) {
        let Axis { sides: [fixed, moved], others, parts } = &self.axes[axis];
        let places = [0, 1].map(|side| {
            let places = pairs.iter().map(|pair| pair[side] * *parts as u32);
            places.flat_map(|place| place..place + *parts as u32).collect::<Vec<u32>>()
        });
        let scales: Vec<f32> = fixed.scales.iter().map(|scale| times * scale).collect();
        Isa::detect().run(Products {
            codes: [&fixed.codes, &moved.codes],
            len: others * parts,
            scales: [&scales, &moved.scales],
            places: places.each_ref().map(|places| &places[..]),
            blocks,
            scratch,
            sums,
        });
    }

    /// About how far an entry of the matrix of the group on an axis may be off for this patch: the variance.
    pub(super) fn variance(&self, axis: usize) -> f64 {
        let [fixed, moved] = &self.axes[axis].sides;
        let of = |quantised: &Side, exact: &Side| {
            // A quantised value is off by anything up to half a scale either way.
            let scale = quantised.scales.iter().copied().fold(0.0, f32::max);
            f64::from(scale).powi(2) / 12.0 * exact.norms.iter().copied().fold(0.0, f64::max)
        };
        of(fixed, moved) + of(moved, fixed)
    }
}

impl Axis {
    fn new(
        objective: &Objective<'_>,
        (patch, local): (&Patch, &Local<'_>),
        axis: usize,
        marginals: [&Marginal; 2],
        pool: &ThreadPool,
    ) -> Self {
        let [(group, _), (other, _)] = [patch.axes[axis], patch.axes[1 - axis]];
        let [units, others] = [group, other].map(|group| objective.size(group));
        // A feature may be large on one side and small on the other; balanced, its errors are as large as those of others.
        let sums = marginals.map(|side| side.norms.chunks_exact(units).map(|norms| norms.iter().sum::<f64>()));
        let [fixed, moved] = sums.map(Iterator::collect::<Vec<f64>>);
        let weights = fixed.iter().zip(&moved).map(|(fixed, moved)| {
            let weight = (moved / fixed).powf(0.25) as f32;
            if weight.is_normal() { weight } else { 1.0 }
        });
        let weights: Vec<f32> = weights.collect();
        let inverses: Vec<f32> = weights.iter().map(|weight| 1.0 / weight).collect();
        let parts = (objective.features.len() * patch.rest.len()).div_ceil(2);
        assert!(u32::try_from(others * parts).is_ok(), "a tensor of {others} units of {parts} pairs");
        let [fixed, moved] = marginals;
        let side = |number: usize, marginal, weights: &[f32]| {
            let values: Vec<&[f32]> = local.sides.iter().map(|sides| &sides[number][local.base..]).collect();
            Side::new(patch, axis, (units, others, parts), marginal, (weights, &values), pool)
        };
        let sides = [side(0, fixed, &weights), side(1, moved, &inverses)];
        Self { sides, others, parts }
    }
}

impl Side {
    /// Features are multiplied by their weights; their values begin where the patch does.
    fn new(
        patch: &Patch,
        axis: usize,
        (units, others, parts): (usize, usize, usize),
        marginal: &Marginal,
        (weights, values): (&[f32], &[&[f32]]),
        pool: &ThreadPool,
    ) -> Self {
        let [(_, row), (_, column)] = [patch.axes[axis], patch.axes[1 - axis]];
        let (features, rest) = (weights.len(), patch.rest.len());
        let (mut reaches, mut norms) = (vec![0.0f32; units], vec![0.0; units]);
        for (feature, weight) in weights.iter().enumerate() {
            let of = feature * units..(feature + 1) * units;
            for (all, own) in reaches.iter_mut().zip(&marginal.reaches[of.clone()]) {
                *all = all.max(weight * own);
            }
            for (all, own) in norms.iter_mut().zip(&marginal.norms[of]) {
                *all += f64::from(*weight).powi(2) * own;
            }
        }
        // What is too small to be told from zero is zero.
        let gain = |reach: f32| if LARGEST / reach < f32::MAX { LARGEST / reach } else { 0.0 };
        let gains: Vec<Vec<f32>> =
            weights.iter().map(|weight| reaches.iter().map(|reach| weight * gain(*reach)).collect()).collect();
        let nothing = vec![0.0; units];
        let source = |number: usize, here: Range<usize>| {
            let there = number < features * rest;
            let number = if there { number } else { 0 };
            let (feature, at) = (number % features, number / features);
            Source {
                from: &values[feature][patch.rest[at] + here.start * row..],
                means: &marginal.means[(feature * rest + at) * units..][here.clone()],
                gains: &(if there { &gains[feature] } else { &nothing })[here],
            }
        };
        let matrix = Matrix { rows: (units, row), columns: (others, column), parts };
        let pairs = quantise(Isa::detect(), pool, matrix, |here| {
            (0..parts).map(|part| [2 * part, 2 * part + 1].map(|number| source(number, here.clone()))).collect()
        });
        // Half of the memory and of the products, if there is one value only.
        let codes = if features * rest == 1 { Codes::singles(pool, &pairs) } else { Codes::Pairs(pairs) };
        Self { codes, scales: reaches.iter().map(|reach| reach / LARGEST).collect(), norms }
    }
}

/// The sums of a patch with two axes for the units of one of them, of one posterior.
#[derive(Clone, Debug, Default)]
pub(super) struct Marginal {
    /// The means over the units of the other axis: (features, rest, units).
    pub(super) means: Vec<f32>,
    /// Of each unit, the squared norm of what is left without them: (features, units).
    pub(super) norms: Vec<f64>,
    /// Of each unit, what no magnitude of what is left without them exceeds: (features, units).
    reaches: Vec<f32>,
}

/// The sums of a patch with two axes, of the fixed and of the permuted side: (side, axis).
#[derive(Clone, Debug, Default)]
pub(super) struct Marginals([[Marginal; 2]; 2]);

impl Marginals {
    fn new(objective: &Objective<'_>, patch: &Patch, local: &Local<'_>, pool: &ThreadPool) -> Self {
        let mut sides = Self::default();
        pool.chunks(&mut sides.0, 1, |index, side| side[0] = of(objective, patch, local, index));
        sides
    }

    /// The sums for the units of the first or the second axis, of the fixed and of the permuted side.
    pub(super) fn along(&self, axis: usize) -> [&Marginal; 2] {
        self.0.each_ref().map(|side| &side[axis])
    }
}

fn of(objective: &Objective<'_>, patch: &Patch, local: &Local<'_>, side: usize) -> [Marginal; 2] {
    let [(first, far), (second, near)] = patch.axes[..] else { unreachable!("only for patches with two axes") };
    let isa = Isa::detect();
    let sizes = [objective.size(first), objective.size(second)];
    let mut marginals = [Marginal::default(), Marginal::default()];
    let mut row = vec![0.0; if near == 1 { 0 } else { sizes[1] }];
    for values in local.sides.iter().map(|sides| &sides[side]) {
        let mut norms = sizes.map(|size| vec![0.0; size]);
        let mut reaches = sizes.map(|size| vec![0.0f32; size]);
        for at in &patch.rest {
            let from = &values[local.base + at..];
            let pivot = from[0];
            let [mut rows, mut columns] = sizes.map(sums);
            if near == 1 {
                let [rows, columns] = [&mut rows, &mut columns].map(|sums| sums.each_mut().map(|sums| &mut sums[..]));
                isa.run(marginals::Marginals { from, stride: far, pivot, rows, columns });
            } else {
                for index in 0..sizes[0] {
                    for (column, value) in row.iter_mut().enumerate() {
                        *value = from[index * far + column * near];
                    }
                    let rows = rows.each_mut().map(|sums| &mut sums[index..=index]);
                    let columns = columns.each_mut().map(|sums| &mut sums[..]);
                    isa.run(marginals::Marginals { from: &row, stride: row.len(), pivot, rows, columns });
                }
            }
            for (axis, [sums, squares, high, low]) in [rows, columns].into_iter().enumerate() {
                let others = sizes[1 - axis] as f64;
                let means = sums.iter().map(|sum| (f64::from(*sum) / others + f64::from(pivot)) as f32);
                marginals[axis].means.extend(means);
                let ends = high.into_iter().zip(low).zip(&sums);
                for (reach, ((high, low), sum)) in reaches[axis].iter_mut().zip(ends) {
                    // Both the mean and what is left are rounded.
                    let mean = sum / others as f32;
                    let rounding = 2.0 * f32::EPSILON * (mean.abs() + pivot.abs());
                    *reach = reach.max((high - mean).max(low + mean) + rounding);
                }
                for ((norm, sum), square) in norms[axis].iter_mut().zip(sums).zip(squares) {
                    *norm += (f64::from(square) - f64::from(sum).powi(2) / others).max(0.0);
                }
            }
        }
        for (marginal, (norms, reaches)) in marginals.iter_mut().zip(norms.into_iter().zip(reaches)) {
            marginal.norms.extend(norms);
            marginal.reaches.extend(reaches);
        }
    }
    marginals
}

/// The empty sums of so many rows or columns.
pub(super) fn sums(size: usize) -> [Vec<f32>; 4] {
    [0.0, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY].map(|nothing| vec![nothing; size])
}
