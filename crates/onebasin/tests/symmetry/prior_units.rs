//! Units that have stayed at the prior are told from those that have learned.

use crate::networks::{cnn, mlp, resnet};
use onebasin::arch::{Activation, Arch, Normalisation, Shortcut};
use onebasin::infer::{Prior, Scaling};
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::symmetry::{PRIOR_THRESHOLD, Spec, distance_from_prior, prior_like_units};

fn networks() -> [Arch; 3] {
    [
        mlp(&[20, 10], Activation::Tanh),
        cnn(&["8", "max", "6/2"], &[12], Activation::Relu),
        resnet(8, Normalisation::Frn, Shortcut::Padded),
    ]
}

fn variances(arch: &Arch) -> Vec<f64> {
    Prior { variance: 0.5, scaling: Scaling::FanIn }.variances(arch)
}

/// The standard deviations of the prior.
fn prior_std(arch: &Arch) -> Params {
    let mut std = Params::zeros(arch.layout());
    for (tensor, variance) in arch.layout().tensors().iter().zip(variances(arch)) {
        std.values_mut()[tensor.range()].fill(variance.sqrt() as f32);
    }
    std
}

#[test]
fn the_prior_itself_is_at_distance_zero() {
    for arch in networks() {
        let (spec, zero) = (Spec::of(&arch), Params::zeros(arch.layout()));
        let distances = distance_from_prior(&spec, &zero, &prior_std(&arch), &variances(&arch)).unwrap();
        assert_eq!(distances.len(), spec.groups().len());
        assert!(distances.iter().flatten().all(|distance| distance.abs() < 1e-12), "{distances:?}");
    }
}

/// Planted units have learned: all that touches them is half as wide as the prior. All others stay where they were.
#[test]
fn planted_units_are_found_and_no_others() {
    for arch in networks() {
        let (spec, zero, mut std) = (Spec::of(&arch), Params::zeros(arch.layout()), prior_std(&arch));
        let planted = |group: usize, unit: usize| (unit + group).is_multiple_of(5);
        let mut learned = vec![false; arch.layout().len()];
        for patch in spec.patches() {
            patch.for_each(spec.groups(), |place, units| {
                learned[place] = patch.axes.iter().zip(units).any(|((group, _), unit)| planted(*group, *unit));
            });
        }
        for (value, _) in std.values_mut().iter_mut().zip(&learned).filter(|(_, learned)| **learned) {
            *value *= 0.5;
        }
        let distances = distance_from_prior(&spec, &zero, &std, &variances(&arch)).unwrap();
        // ½ (¼ - 1 - ln ¼)
        let half = 0.318_147_180_559_945_3;
        for (group, distances) in distances.iter().enumerate() {
            for (unit, distance) in distances.iter().enumerate() {
                // A fifth of the neighbours of any other unit has learned.
                assert_eq!((distance - half).abs() < 1e-6, planted(group, unit), "{distance}");
            }
        }
        let found = prior_like_units(&distances, 0.9 * half);
        for (group, found) in found.iter().enumerate() {
            assert!(found.iter().enumerate().all(|(unit, at_prior)| *at_prior != planted(group, unit)));
        }
    }
}

/// One hidden layer: no other unit touches the parameters of a unit, and the threshold tells exactly.
#[test]
fn the_threshold_tells_samples_of_the_prior_from_what_was_learned() {
    let arch = mlp(&[40], Activation::Relu);
    let (spec, prior, layout) = (Spec::of(&arch), prior_std(&arch), arch.layout());
    let draws = 100;
    let mut normals = vec![0.0; draws * layout.len()];
    Stream::new(1, "draws", 0).fill_normal(&mut normals);
    let (mut mean, mut std) = (Params::zeros(layout), Params::zeros(layout));
    for place in 0..layout.len() {
        let values: Vec<f32> =
            normals.iter().skip(place).step_by(layout.len()).map(|value| value * prior.values()[place]).collect();
        let centre = values.iter().sum::<f32>() / draws as f32;
        let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f32>() / draws as f32;
        mean.values_mut()[place] = centre;
        std.values_mut()[place] = variance.sqrt();
    }
    let distances = distance_from_prior(&spec, &mean, &std, &variances(&arch)).unwrap();
    let average = distances[0].iter().sum::<f64>() / 40.0;
    assert!((average * draws as f64 - 1.0).abs() < 0.1, "{average} nats, not 1/{draws}");
    assert!(prior_like_units(&distances, PRIOR_THRESHOLD)[0].iter().all(|at_prior| *at_prior), "{distances:?}");

    // A mean that is a quarter of a standard deviation away is enough in all parameters of a unit.
    for (index, value) in mean.view_mut("hidden1.weight").unwrap().iter_mut().enumerate() {
        if index % 40 == 7 {
            *value += 0.25 * prior.view("hidden1.weight").unwrap()[0];
        }
    }
    let distances = distance_from_prior(&spec, &mean, &std, &variances(&arch)).unwrap();
    let found = prior_like_units(&distances, PRIOR_THRESHOLD);
    let learned: Vec<usize> = (0..40).filter(|unit| !found[0][*unit]).collect();
    assert_eq!(learned, [7]);
}

#[test]
fn degenerate_and_wrong_input_has_an_outcome() {
    let arch = mlp(&[3], Activation::Relu);
    let (spec, zero) = (Spec::of(&arch), Params::zeros(arch.layout()));
    let distances = distance_from_prior(&spec, &zero, &zero, &variances(&arch)).unwrap();
    assert_eq!(distances, [[f64::INFINITY; 3]]);
    let mut nan = zero.clone();
    nan.view_mut("hidden1.bias").unwrap()[1] = f32::NAN;
    let distances = distance_from_prior(&spec, &nan, &prior_std(&arch), &variances(&arch)).unwrap();
    assert_eq!(prior_like_units(&distances, PRIOR_THRESHOLD), [[true, false, true]]);
    let refused = |variances: &[f64]| distance_from_prior(&spec, &zero, &zero, variances).unwrap_err().to_string();
    assert_eq!(refused(&[1.0]), "the array of variances has 1 values, but 4 are needed (one for each tensor)");
    assert_eq!(refused(&[1.0, 1.0, 0.0, 1.0]), "`prior.variance` is 0; it must be a positive number");
}
