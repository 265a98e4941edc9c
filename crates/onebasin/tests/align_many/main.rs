//! Many posteriors aligned with each other: planted permutations are found, objectives never decrease, cycles close.

mod errors;
mod families;
mod relabelling;
mod stopping;
#[path = "../align/structured.rs"]
mod structured;
mod together;

use onebasin::align::{Criterion, Settings};
use onebasin::arch::{Arch, Preset};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Spec};

const NETWORKS: [&str; 3] = [
    r#"{"preset": "mlp", "input": "3x4x1", "classes": 4, "hidden": [17, 9]}"#,
    r#"{"preset": "cnn", "input": "4x4x2", "classes": 3, "stack": ["9", "8", "max"]}"#,
    r#"{"preset": "resnet", "input": "4x4x2", "classes": 3, "depth": 8, "width": 1}"#,
];

fn spec(network: usize) -> Spec {
    Spec::of(&Arch::new(serde_json::from_str::<Preset>(NETWORKS[network]).unwrap()).unwrap())
}

fn settings(criterion: Criterion) -> Settings {
    Settings { criterion, ..Settings::default() }
}

/// Normal numbers with some mean and standard deviation.
fn normals(spec: &Spec, label: &str, index: u64, mean: f32, std: f32) -> Params {
    let mut params = Params::zeros(spec.layout());
    Stream::new(3, label, index).fill_normal(params.values_mut());
    params.values_mut().iter_mut().for_each(|value| *value = mean + std * *value);
    params
}

/// A posterior that has nothing to do with any other.
fn independent(spec: &Spec, index: u64) -> Gaussian {
    let mut std = normals(spec, "std", index, 0.3, 0.1);
    std.values_mut().iter_mut().for_each(|std| *std = std.abs());
    Gaussian::new(normals(spec, "mean", index, 0.0, 1.0), std).unwrap()
}

/// The same posterior again, but for some noise.
fn noisy(spec: &Spec, gaussian: &Gaussian, index: u64, noise: f32) -> Gaussian {
    let mut mean = normals(spec, "noise", index, 0.0, noise);
    mean.values_mut().iter_mut().zip(gaussian.mean().values()).for_each(|(noise, mean)| *noise += mean);
    Gaussian::new(mean, gaussian.std().clone()).unwrap()
}

fn permuted(spec: &Spec, permutations: &Permutations, gaussian: &Gaussian) -> Gaussian {
    let apply = |params: &Params| spec.apply(permutations, params).unwrap();
    Gaussian::new(apply(gaussian.mean()), apply(gaussian.std())).unwrap()
}

/// Noisy copies of one posterior, each permuted at random, and these permutations.
fn planted(spec: &Spec, count: u64, noise: f32) -> (Vec<Gaussian>, Vec<Permutations>) {
    let original = independent(spec, 0);
    let switches: Vec<Permutations> = (0..count).map(|index| Permutations::random(spec, 100 + index)).collect();
    let members = (0..).zip(&switches);
    let members = members.map(|(index, switch)| permuted(spec, switch, &noisy(spec, &original, index, noise)));
    (members.collect(), switches)
}

/// Σ over pairs of the products of all features, by the definition.
fn over_pairs(spec: &Spec, members: &[Gaussian], permutations: &[Permutations], criterion: Criterion) -> f64 {
    let moved: Vec<Gaussian> =
        members.iter().zip(permutations).map(|(member, own)| permuted(spec, own, member)).collect();
    let product = |a: &Params, b: &Params| -> f64 {
        a.values().iter().zip(b.values()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let mut total = 0.0;
    for (index, one) in moved.iter().enumerate() {
        for other in &moved[index + 1..] {
            total += product(one.mean(), other.mean());
            if criterion == Criterion::W2 {
                total += product(one.std(), other.std());
            }
        }
    }
    total
}

fn assert_close(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * a.abs().max(b.abs()), "{a} is not {b}");
}
