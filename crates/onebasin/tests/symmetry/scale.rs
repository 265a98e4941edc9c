//! Rescaling units leaves the function of every ReLU network unchanged, and balancing finds the smallest energy.

use crate::networks::{NORMALISATIONS, SHORTCUTS, cnn, every_network, generic, logits, mlp, resnet};
use onebasin::arch::{Activation, Arch};
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::symmetry::{Scales, Spec};

fn squares(params: &Params) -> Params {
    Params::from_values(params.layout(), params.values().iter().map(|value| value * value).collect()).unwrap()
}

fn total(energy: &Params) -> f64 {
    energy.values().iter().map(|value| f64::from(*value)).sum()
}

/// Factors e^(0.5 ε), normal ε.
fn random_factors(spec: &Spec, seed: u64) -> Vec<Vec<f32>> {
    let of = |group: &onebasin::symmetry::Group| {
        let mut normals = vec![0.0; group.size];
        Stream::new(seed, &group.name, 0).fill_normal(&mut normals);
        normals.iter().map(|normal| (0.5 * normal).exp()).collect()
    };
    spec.groups().iter().map(of).collect()
}

/// The parameters of every network, its units in random scales.
fn unbalanced(arch: &Arch, scales: &Scales, seed: u64) -> Params {
    let mut params = generic(arch, seed);
    scales.apply(&random_factors(&Spec::of(arch), seed), &mut params).unwrap();
    params
}

/// The largest change of a logit, relative to the largest one.
fn difference(before: &[f32], after: &[f32]) -> f32 {
    let largest = before.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    before.iter().zip(after).fold(0.0f32, |most, (before, after)| most.max((before - after).abs())) / largest
}

#[test]
fn scales_change_no_logit() {
    for (index, arch) in every_network(Activation::Relu).iter().enumerate() {
        let scales = Scales::of(arch).unwrap();
        let start = generic(arch, index as u64);
        let random = unbalanced(arch, &scales, index as u64);
        assert!(random != start || Spec::of(arch).groups().is_empty());
        let mut balanced = random.clone();
        scales.apply(&scales.balance(&squares(&random)).unwrap(), &mut balanced).unwrap();
        let before = logits(arch, &start);
        for after in [random, balanced] {
            let difference = difference(&before, &logits(arch, &after));
            assert!(difference < 1e-4, "{difference} in {:?}", arch.preset());
        }
    }
}

/// One network for each way of scaling a unit.
fn some_networks() -> Vec<Arch> {
    let mut all = vec![mlp(&[33, 1, 20], Activation::Relu), cnn(&["17", "max", "6/2"], &[30], Activation::Relu)];
    for normalisation in NORMALISATIONS {
        all.extend(SHORTCUTS.map(|shortcut| resnet(8, normalisation, shortcut)));
    }
    all
}

#[test]
fn balancing_lowers_the_energy_and_ends_in_one_place() {
    for arch in every_network(Activation::Relu) {
        if Spec::of(&arch).groups().is_empty() {
            continue;
        }
        let scales = Scales::of(&arch).unwrap();
        let (start, random) = (generic(&arch, 1), unbalanced(&arch, &scales, 1));
        let balance = |params: &Params| {
            let mut balanced = params.clone();
            scales.apply(&scales.balance(&squares(params)).unwrap(), &mut balanced).unwrap();
            balanced
        };
        let (one, other) = (balance(&start), balance(&random));
        for before in [&start, &random] {
            assert!(total(&squares(&one)) < total(&squares(before)), "{:?}", arch.preset());
        }
        let mut difference = one.clone();
        difference.add_scaled(-1.0, &other).unwrap();
        assert!(difference.norm() < 1e-4 * one.norm(), "{} in {:?}", difference.norm() / one.norm(), arch.preset());
        let again = scales.balance(&squares(&one)).unwrap();
        assert!(again.iter().flatten().all(|factor| (factor - 1.0).abs() < 1e-5), "{:?}", arch.preset());
    }
}

/// At the minimum of a convex function no direction leads down; its directions here are single units.
#[test]
fn no_single_unit_can_lower_the_balanced_energy() {
    for arch in some_networks() {
        let (scales, spec) = (Scales::of(&arch).unwrap(), Spec::of(&arch));
        let mut energy = squares(&unbalanced(&arch, &scales, 1));
        let squared = |factors: &[Vec<f32>]| -> Vec<Vec<f32>> {
            factors.iter().map(|group| group.iter().map(|factor| factor * factor).collect()).collect()
        };
        scales.apply(&squared(&scales.balance(&energy).unwrap()), &mut energy).unwrap();
        let lowest = total(&energy);
        for (group, units) in spec.groups().iter().enumerate() {
            for factor in [0.98, 1.02] {
                let mut factors: Vec<Vec<f32>> = spec.groups().iter().map(|group| vec![1.0; group.size]).collect();
                factors[group][units.size / 2] = factor;
                let mut moved = energy.clone();
                scales.apply(&factors, &mut moved).unwrap();
                assert!(total(&moved) > lowest, "`{}` in {:?}", units.name, arch.preset());
            }
        }
    }
}

#[test]
fn what_enters_a_balanced_unit_has_the_energy_of_what_leaves_it() {
    let arch = mlp(&[9, 6], Activation::Relu);
    let scales = Scales::of(&arch).unwrap();
    let mut point = generic(&arch, 1);
    // One unit of the first layer leads nowhere.
    let idle = 4;
    point.view_mut("hidden2.weight").unwrap()[idle * 6..][..6].fill(0.0);
    let before = point.clone();
    scales.apply(&scales.balance(&squares(&point)).unwrap(), &mut point).unwrap();
    assert_eq!(point.view("hidden1.bias").unwrap()[idle], before.view("hidden1.bias").unwrap()[idle]);
    let energy = squares(&point);
    let view = |name: &str| energy.view(name).unwrap();
    let column = |weight: &[f32], units: usize, unit: usize| weight.iter().skip(unit).step_by(units).sum::<f32>();
    for (layer, next, units, next_units) in [("hidden1", "hidden2", 9, 6), ("hidden2", "head", 6, 5)] {
        for unit in (0..units).filter(|unit| layer != "hidden1" || *unit != idle) {
            let incoming = column(view(&format!("{layer}.weight")), units, unit) + view(&format!("{layer}.bias"))[unit];
            let outgoing: f32 = view(&format!("{next}.weight"))[unit * next_units..][..next_units].iter().sum();
            assert!((incoming / outgoing - 1.0).abs() < 1e-4, "{incoming} and {outgoing}");
        }
    }
}

#[test]
fn units_without_energy_on_one_side_keep_their_scale() {
    let arch = mlp(&[3], Activation::Relu);
    let scales = Scales::of(&arch).unwrap();
    let mut energy = squares(&generic(&arch, 1));
    energy.view_mut("head.weight").unwrap()[5..10].fill(0.0);
    let factors = scales.balance(&energy).unwrap();
    assert!(factors[0][1] == 1.0 && factors[0][0] != 1.0, "{factors:?}");
    assert_eq!(scales.balance(&Params::zeros(arch.layout())).unwrap(), [[1.0; 3]]);
}

#[test]
fn other_networks_and_factors_are_refused() {
    let error = Scales::of(&cnn(&["3"], &[], Activation::Tanh)).unwrap_err().to_string();
    assert!(error.contains("`tanh`"), "{error}");
    assert!(Scales::of(&mlp(&[], Activation::Tanh)).is_ok(), "there is nothing to scale");
    let arch = mlp(&[3], Activation::Relu);
    let scales = Scales::of(&arch).unwrap();
    let refused =
        |factors: &[Vec<f32>]| scales.apply(factors, &mut Params::zeros(arch.layout())).unwrap_err().to_string();
    assert_eq!(refused(&[]), "the array of factors has 0 values, but 1 are needed (one array for each group)");
    assert_eq!(refused(&[vec![1.0; 2]]), "an array of factors has 2 values, but 3 are needed (the units of `hidden1`)");
    assert_eq!(refused(&[vec![1.0, 0.0, 1.0]]), "a factor is 0; it must be a positive number");
    assert!(scales.balance(&Params::zeros(mlp(&[4], Activation::Relu).layout())).is_err());
}
