//! Units without a vote have no influence on which of the others belong together.

use onebasin::align;
use onebasin::align::Alignment;
use onebasin::align::Channel;
use onebasin::align::Settings;
use onebasin::arch::Arch;
use onebasin::arch::Preset;
use onebasin::kernels::Team;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;

const CHANNELS: [Channel; 4] = [Channel::Mean, Channel::W2, Channel::Kl, Channel::Jeffreys];

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

fn align(spec: &Spec, sides: [&Gaussian; 2], silent: [&Units; 2], channel: Channel) -> Alignment {
    let settings = Settings { channel, ..Settings::default() };
    let silent = silent.map(|units| &units[..]);
    align::pair_without(spec, sides[0], sides[1], silent, settings, &Team::alone(), &mut |_| ()).unwrap()
}

#[test]
fn what_touches_silent_units_may_be_anything() {
    for spec in networks().iter().map(Spec::of) {
        let [fixed, moved, other] = [0, 1, 2].map(|seed| gaussian(&spec, seed));
        let silent = [&some_units(&spec, 0), &some_units(&spec, 1)];
        let changed = [replaced(&spec, &fixed, &other, silent[0]), replaced(&spec, &moved, &other, silent[1])];
        for channel in CHANNELS {
            let one = align(&spec, [&fixed, &moved], silent, channel);
            let two = align(&spec, [&changed[0], &changed[1]], silent, channel);
            assert_eq!(one.permutations, two.permutations, "{channel:?}");
            assert_eq!(one.after, two.after, "{channel:?}");
            assert_eq!(one.bound, two.bound, "{channel:?}");
        }
    }
}

/// With the same units of both sides silenced, the others are found again even where the silent ones are strangers.
#[test]
fn units_with_a_vote_are_brought_back_among_strangers() {
    for spec in networks().iter().map(Spec::of) {
        let (fixed, other) = (gaussian(&spec, 0), gaussian(&spec, 2));
        let silent = some_units(&spec, 0);
        let permutations = Permutations::random(&spec, 5);
        let apply = |params: &Params| spec.apply(&permutations, params).unwrap();
        let copy = replaced(&spec, &fixed, &other, &silent);
        let moved = Gaussian::new(apply(copy.mean()), apply(copy.std())).unwrap();
        let groups = permutations.as_slice().iter().zip(&silent);
        let silent_there: Units = groups.map(|(permutation, silent)| permutation.apply(silent)).collect();
        let found = align(&spec, [&fixed, &moved], [&silent, &silent_there], Channel::W2).permutations;
        let inverse = permutations.inverse();
        for ((found, expected), silent) in found.as_slice().iter().zip(inverse.as_slice()).zip(&silent) {
            for ((found, expected), silent) in found.as_slice().iter().zip(expected.as_slice()).zip(silent) {
                assert!(*silent || found == expected);
            }
        }
    }
}

#[test]
fn with_a_vote_for_all_nothing_changes() {
    for spec in networks().iter().map(Spec::of) {
        let [fixed, moved] = [0, 1].map(|seed| gaussian(&spec, seed));
        let nobody = some_units(&spec, 3);
        let one = align(&spec, [&fixed, &moved], [&nobody, &nobody], Channel::W2);
        let two = align::pair(&spec, &fixed, &moved, Settings::default(), &Team::alone(), &mut |_| ()).unwrap();
        assert_eq!((one.permutations, one.after, one.bound), (two.permutations, two.after, two.bound));
    }
}
