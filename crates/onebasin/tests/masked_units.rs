//! Excluded units have no influence on how the others are matched.

use onebasin::align;
use onebasin::align::{Alignment, Criterion, Settings};
use onebasin::arch::{Arch, Preset};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;

const CRITERIA: [Criterion; 4] = [Criterion::Mean, Criterion::W2, Criterion::Kl, Criterion::Jeffreys];

/// (group, unit)
type Units = Vec<Vec<bool>>;

fn networks() -> [Arch; 2] {
    let mlp = r#"{"preset": "mlp", "input": "3x3x1", "classes": 4, "hidden": [9, 7]}"#;
    let cnn = r#"{"preset": "cnn", "input": "6x6x1", "classes": 3, "stack": ["8", "max", "6"], "hidden": [5]}"#;
    [mlp, cnn].map(|json| Arch::new(serde_json::from_str::<Preset>(json).unwrap()).unwrap())
}

fn gaussian(spec: &Spec, seed: u64) -> Gaussian {
    let normal = |label: &str| {
        let mut params = Params::zeros(spec.layout());
        Stream::new(seed, label, 0).fill_normal(params.values_mut());
        params
    };
    let mut std = normal("std");
    std.values_mut().iter_mut().for_each(|std| *std = 0.1 + std.abs());
    Gaussian::new(normal("mean"), std).unwrap()
}

/// Every unit whose number has this remainder modulo 3.
fn some_units(spec: &Spec, remainder: usize) -> Units {
    let groups = spec.groups().iter();
    groups.map(|group| (0..group.size).map(|unit| unit % 3 == remainder).collect()).collect()
}

/// All that touches the `chosen` units taken from `other`.
fn replaced(spec: &Spec, gaussian: &Gaussian, other: &Gaussian, chosen: &Units) -> Gaussian {
    let replace = |into: &Params, from: &Params| {
        let mut into = into.clone();
        for patch in spec.patches() {
            patch.for_each(spec.groups(), |place, units| {
                if patch.axes.iter().zip(units).any(|((group, _), unit)| chosen[*group][*unit]) {
                    into.values_mut()[place] = from.values()[place];
                }
            });
        }
        into
    };
    Gaussian::new(replace(gaussian.mean(), other.mean()), replace(gaussian.std(), other.std())).unwrap()
}

fn align(spec: &Spec, sides: [&Gaussian; 2], masks: [&Units; 2], criterion: Criterion) -> Alignment {
    let settings = Settings { criterion, ..Settings::default() };
    let masks = masks.map(|units| &units[..]);
    align::pair_masked(spec, sides[0], sides[1], masks, settings, &ThreadPool::alone(), &mut Monitor::silent()).unwrap()
}

#[test]
fn the_parameters_of_excluded_units_may_be_anything() {
    for spec in networks().iter().map(Spec::of) {
        let [fixed, moved, other] = [0, 1, 2].map(|seed| gaussian(&spec, seed));
        let masks = [&some_units(&spec, 0), &some_units(&spec, 1)];
        let changed = [replaced(&spec, &fixed, &other, masks[0]), replaced(&spec, &moved, &other, masks[1])];
        for criterion in CRITERIA {
            let one = align(&spec, [&fixed, &moved], masks, criterion);
            let two = align(&spec, [&changed[0], &changed[1]], masks, criterion);
            assert_eq!(one.permutations, two.permutations, "{criterion:?}");
            assert_eq!(one.after, two.after, "{criterion:?}");
            assert_eq!(one.bound, two.bound, "{criterion:?}");
        }
    }
}

/// With the same units of both sides excluded, the others are found again even where the excluded ones are not copies.
#[test]
fn other_units_are_matched_whatever_the_excluded_ones_are() {
    for spec in networks().iter().map(Spec::of) {
        let (fixed, other) = (gaussian(&spec, 0), gaussian(&spec, 2));
        let mask = some_units(&spec, 0);
        let permutations = Permutations::random(&spec, 5);
        let apply = |params: &Params| spec.apply(&permutations, params).unwrap();
        let copy = replaced(&spec, &fixed, &other, &mask);
        let moved = Gaussian::new(apply(copy.mean()), apply(copy.std())).unwrap();
        let groups = permutations.as_slice().iter().zip(&mask);
        let moved_mask: Units = groups.map(|(permutation, mask)| permutation.apply(mask)).collect();
        let found = align(&spec, [&fixed, &moved], [&mask, &moved_mask], Criterion::W2).permutations;
        let inverse = permutations.inverse();
        for ((found, expected), mask) in found.as_slice().iter().zip(inverse.as_slice()).zip(&mask) {
            for ((found, expected), mask) in found.as_slice().iter().zip(expected.as_slice()).zip(mask) {
                assert!(*mask || found == expected);
            }
        }
    }
}

#[test]
fn masks_that_exclude_none_change_nothing() {
    for spec in networks().iter().map(Spec::of) {
        let [fixed, moved] = [0, 1].map(|seed| gaussian(&spec, seed));
        let none = some_units(&spec, 3);
        let one = align(&spec, [&fixed, &moved], [&none, &none], Criterion::W2);
        let two = align::pair(&spec, &fixed, &moved, Settings::default(), &ThreadPool::alone(), &mut Monitor::silent())
            .unwrap();
        assert_eq!((one.permutations, one.after, one.bound), (two.permutations, two.after, two.bound));
    }
}
