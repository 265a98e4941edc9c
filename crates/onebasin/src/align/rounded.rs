//! The tensors that two permutations act on, rounded to bytes: what costs are summed from.
//!
//! From each value the mean over the units of the other axis is taken, so only that is rounded which tells units apart. Of a unit,
//! all values have one scale. For normal weights an entry of the costs is then off by one or two hundredths of what entries differ
//! by (`docs/math.md`).

use super::marginals::Marginal;
use super::marginals::Marginals;
use super::objective::Objective;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::bytes::LARGEST;
use crate::kernels::bytes::Matrix;
use crate::kernels::bytes::Products;
use crate::kernels::bytes::Scratch;
use crate::kernels::bytes::Source;
use crate::kernels::bytes::round;
use crate::symmetry::Patch;
use std::ops::Range;

/// A patch with two axes, as either of them sees it.
#[derive(Debug)]
pub(super) struct Rounded([Axis; 2]);

/// A patch as the units of one of its axes see it.
#[derive(Debug)]
struct Axis {
    /// That which stays, and that which moves.
    sides: [Side; 2],
    /// Units of the other axis.
    others: usize,
    /// Halves of each: a feature after the other at each of the places in `rest`, two in a half.
    parts: usize,
}

#[derive(Debug)]
struct Side {
    /// (blocks of units, others, parts, 16)
    halves: Vec<u16>,
    /// Of each unit.
    scales: Vec<f32>,
    /// Of each unit, the squared norm of what was rounded.
    norms: Vec<f64>,
}

impl Rounded {
    pub(super) fn new(objective: &Objective<'_>, patch: &Patch, marginals: &Marginals, team: &Team) -> Self {
        Self([0, 1].map(|axis| Axis::new(objective, patch, axis, marginals.seen(axis), team)))
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
        let Axis { sides: [fixed, moved], others, parts } = &self.0[axis];
        let places = [0, 1].map(|side| {
            let places = pairs.iter().map(|pair| pair[side] * *parts as u32);
            places.flat_map(|place| place..place + *parts as u32).collect::<Vec<u32>>()
        });
        let scales: Vec<f32> = fixed.scales.iter().map(|scale| times * scale).collect();
        Isa::detect().run(Products {
            halves: [&fixed.halves, &moved.halves],
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
        let [fixed, moved] = &self.0[axis].sides;
        let of = |rounded: &Side, exact: &Side| {
            // A rounded number is off by anything up to half a scale either way.
            let scale = rounded.scales.iter().copied().fold(0.0, f32::max);
            f64::from(scale).powi(2) / 12.0 * exact.norms.iter().copied().fold(0.0, f64::max)
        };
        of(fixed, moved) + of(moved, fixed)
    }
}

impl Axis {
    fn new<'o>(
        objective: &'o Objective<'_>,
        patch: &Patch,
        axis: usize,
        marginals: [&Marginal; 2],
        team: &Team,
    ) -> Self {
        let [(group, _), (other, _)] = [patch.axes[axis], patch.axes[1 - axis]];
        let [units, others] = [group, other].map(|group| objective.size(group));
        // A feature may be large on one side and small on the other; in the middle, its errors are as large as those of others.
        let sums = marginals.map(|side| side.norms.chunks_exact(units).map(|norms| norms.iter().sum::<f64>()));
        let [fixed, moved] = sums.map(Iterator::collect::<Vec<f64>>);
        let weights = fixed.iter().zip(&moved).map(|(fixed, moved)| {
            let weight = (moved / fixed).powf(0.25) as f32;
            if weight.is_normal() { weight } else { 1.0 }
        });
        let weights: Vec<f32> = weights.collect();
        let inverses: Vec<f32> = weights.iter().map(|weight| 1.0 / weight).collect();
        let parts = (objective.features().len() * patch.rest.len()).div_ceil(2);
        assert!(u32::try_from(others * parts).is_ok(), "a tensor of {others} units of {parts} pairs");
        let [fixed, moved] = marginals;
        let side = |marginal, weights: &[f32], values: &(dyn Fn(usize) -> &'o [f32] + Sync)| {
            Side::new(patch, axis, (units, others, parts), marginal, (weights, values), team)
        };
        let features = objective.features();
        let sides = [
            side(fixed, &weights, &|feature| &features[feature].fixed),
            side(moved, &inverses, &|feature| &features[feature].moved),
        ];
        Self { sides, others, parts }
    }
}

impl Side {
    /// Features are multiplied by their weights.
    fn new<'o>(
        patch: &Patch,
        axis: usize,
        (units, others, parts): (usize, usize, usize),
        marginal: &Marginal,
        (weights, values): (&[f32], &(dyn Fn(usize) -> &'o [f32] + Sync)),
        team: &Team,
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
                from: &values(feature)[patch.base + patch.rest[at] + here.start * row..],
                means: &marginal.means[(feature * rest + at) * units..][here.clone()],
                gains: &(if there { &gains[feature] } else { &nothing })[here],
            }
        };
        let matrix = Matrix { rows: (units, row), columns: (others, column), parts };
        let halves = round(Isa::detect(), team, matrix, |here| {
            (0..parts).map(|part| [2 * part, 2 * part + 1].map(|number| source(number, here.clone()))).collect()
        });
        Self { halves, scales: reaches.iter().map(|reach| reach / LARGEST).collect(), norms }
    }
}
