//! What a posterior predicts is the mean over its points, and what it draws has the moments it should have.

use onebasin::arch::Arch;
use onebasin::data::{Examples, Scaling, Split, Standardisation};
use onebasin::error::Error;
use onebasin::net::{Likelihood, Net, Precision};
use onebasin::params::Params;
use onebasin::posterior::{Draws, Gaussian, Posterior, Predictor, Samples};
use onebasin::progress::{Monitor, Progress};
use onebasin::threads::pool;
use std::ops::ControlFlow;
use std::path::Path;

fn examples() -> Examples {
    let dataset = onebasin::data::load("synthetic", Split::Test, Path::new("")).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(dataset, standardisation).unwrap()
}

fn networks() -> [Arch; 2] {
    let mlp = r#"{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": [9, 5], "activation": "tanh"}"#;
    let cnn = r#"{"preset": "cnn", "input": "6x6x1", "classes": 4, "stack": ["3", "max", "5"]}"#;
    [mlp, cnn].map(|json| Arch::new(serde_json::from_str::<onebasin::arch::Preset>(json).unwrap()).unwrap())
}

fn mlp() -> Arch {
    let [mlp, _] = networks();
    mlp
}

fn gaussian(arch: &Arch, std: f32) -> Posterior {
    let stds = Params::from_values(arch.layout(), vec![std; arch.layout().len()]).unwrap();
    Posterior::Gaussian(Gaussian::new(arch.initialise(0), stds).unwrap())
}

fn samples(arch: &Arch, seeds: std::ops::Range<u64>) -> Posterior {
    let points: Vec<Params> = seeds.map(|seed| arch.initialise(seed)).collect();
    let chains = points.len();
    Posterior::Samples(Samples::new(points, chains).unwrap())
}

/// The predictive mean (image, class) of up to `count` points, on `threads` threads.
fn mean(arch: &Arch, posterior: &Posterior, count: usize, threads: usize) -> Vec<f64> {
    let mut predictor = Predictor::new(arch, Likelihood::Softmax, Precision::F32, &pool(threads).unwrap()).unwrap();
    predictor.mean(posterior, &examples(), count, 7, &mut Monitor::silent()).unwrap()
}

/// The softmax of a network's logits, in f64.
fn softmax(arch: &Arch, point: &Params) -> Vec<f64> {
    let (images, labels) = examples().all();
    let mut logits = vec![0.0; labels.len() * arch.classes()];
    Net::new(arch, &pool(1).unwrap()).unwrap().logits(point, &images, &mut logits).unwrap();
    let rows = logits.chunks_exact(arch.classes());
    rows.flat_map(|row| {
        let exponentials: Vec<f64> = row.iter().map(|logit| f64::from(*logit).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        exponentials.into_iter().map(move |value| value / sum)
    })
    .collect()
}

/// Probabilities are f32, each rounded a few times.
fn assert_close(one: &[f64], other: &[f64]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert!((one - other).abs() < 1e-5, "{one} and {other}");
    }
}

#[test]
fn a_point_predicts_the_softmax_of_its_logits() {
    for arch in networks() {
        let point = arch.initialise(3);
        let expected = softmax(&arch, &point);
        // However many are asked for, there is one.
        for count in [1, 20] {
            assert_close(&mean(&arch, &Posterior::Point(point.clone()), count, 1), &expected);
        }
    }
}

#[test]
fn samples_predict_the_mean_over_them() {
    for arch in networks() {
        let parts: Vec<Vec<f64>> = (0..5).map(|seed| softmax(&arch, &arch.initialise(seed))).collect();
        let over = |chosen: &[usize]| -> Vec<f64> {
            let of_entry =
                |entry: usize| chosen.iter().map(|part| parts[*part][entry]).sum::<f64>() / chosen.len() as f64;
            (0..parts[0].len()).map(of_entry).collect()
        };
        let posterior = samples(&arch, 0..5);
        assert_close(&mean(&arch, &posterior, 5, 2), &over(&[0, 1, 2, 3, 4]));
        assert_close(&mean(&arch, &posterior, 100, 2), &over(&[0, 1, 2, 3, 4]));
        // Fewer are taken at equal distances.
        assert_close(&mean(&arch, &posterior, 2, 2), &over(&[0, 2]));
        assert_close(&mean(&arch, &posterior, 1, 2), &over(&[0]));
    }
}

#[test]
fn a_gaussian_without_spread_predicts_what_its_mean_does() {
    for arch in networks() {
        let expected = mean(&arch, &Posterior::Point(arch.initialise(0)), 1, 1);
        let one = mean(&arch, &gaussian(&arch, 0.0), 1, 1);
        assert_eq!(one, expected);
        // The mean of equal numbers is that number only up to the rounding of the sum.
        let many = mean(&arch, &gaussian(&arch, 0.0), 10, 1);
        assert!(many.iter().zip(&expected).all(|(one, other)| (one - other).abs() < 1e-15));
        assert!(mean(&arch, &gaussian(&arch, 0.5), 1, 1) != expected);
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for arch in networks() {
        for posterior in [Posterior::Point(arch.initialise(1)), samples(&arch, 0..13), gaussian(&arch, 0.3)] {
            let expected = mean(&arch, &posterior, 50, 1);
            for threads in [2, 5] {
                assert_eq!(mean(&arch, &posterior, 50, threads), expected, "{threads} threads");
            }
        }
    }
}

#[test]
fn draws_have_the_moments_of_the_gaussian() {
    const COUNT: usize = 4000;
    let arch = mlp();
    let layout = arch.layout();
    let means: Vec<f32> = (0..layout.len()).map(|index| index as f32 % 7.0 - 3.0).collect();
    let stds: Vec<f32> = (0..layout.len()).map(|index| 0.1 * (1.0 + index as f32 % 5.0)).collect();
    let params = |values: &Vec<f32>| Params::from_values(layout, values.clone()).unwrap();
    let posterior = Posterior::Gaussian(Gaussian::new(params(&means), params(&stds)).unwrap());
    let mut point = Params::zeros(layout);
    // Of the standardised draws of each parameter, and of the products of neighbours.
    let mut sums = vec![[0.0; 3]; layout.len()];
    for index in 0..COUNT {
        posterior.draw(11, index, COUNT, &mut point).unwrap();
        let noise: Vec<f64> =
            (0..layout.len()).map(|at| f64::from(point.values()[at] - means[at]) / f64::from(stds[at])).collect();
        for (at, sums) in sums.iter_mut().enumerate() {
            let (here, next) = (noise[at], noise[(at + 1) % noise.len()]);
            for (sum, term) in sums.iter_mut().zip([here, here * here, here * next]) {
                *sum += term;
            }
        }
    }
    // Standard errors are 1/√n, √2/√n and 1/√n; among a thousand numbers, six of them is beyond chance.
    let error = 6.0 / (COUNT as f64).sqrt();
    for (at, [first, second, product]) in sums.into_iter().map(|sums| sums.map(|sum| sum / COUNT as f64)).enumerate() {
        assert!(first.abs() < error, "mean of {at}: {first}");
        assert!((second - 1.0).abs() < 2f64.sqrt() * error, "variance of {at}: {second}");
        assert!(product.abs() < error, "correlation of {at}: {product}");
    }
}

#[test]
fn a_draw_depends_on_its_seed_and_its_index_only() {
    let arch = mlp();
    let posterior = gaussian(&arch, 1.0);
    let draw = |seed, index, count| {
        let mut point = Params::zeros(arch.layout());
        posterior.draw(seed, index, count, &mut point).unwrap();
        point
    };
    assert_eq!(draw(1, 2, 3), draw(1, 2, 300));
    assert_ne!(draw(1, 2, 3), draw(1, 1, 3));
    assert_ne!(draw(1, 2, 3), draw(2, 2, 3));
}

#[test]
fn breaking_off_at_any_moment_gives_nothing() {
    let arch = mlp();
    let posterior = gaussian(&arch, 0.1);
    let mut predictor = Predictor::new(&arch, Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    let mut told = Vec::new();
    let mut note = |progress: Progress<'_>| {
        told.push((progress.done, progress.total));
        ControlFlow::Continue(())
    };
    predictor.mean(&posterior, &examples(), 20, 0, &mut Monitor::new("", &mut note)).unwrap();
    assert_eq!((told.first(), told.last()), (Some(&(0, 2000)), Some(&(2000, 2000))));
    assert!(told.is_sorted() && told.len() > 3, "{told:?}");
    for breaks in 0..told.len() {
        let mut calls = 0;
        let mut break_off = |_: Progress<'_>| {
            calls += 1;
            if calls > breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut monitor = Monitor::new("", &mut break_off);
        assert_eq!(predictor.mean(&posterior, &examples(), 20, 0, &mut monitor), Err(Error::Stopped));
        assert_eq!(calls, breaks + 1, "nothing is done after that");
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let [mlp, cnn] = networks();
    let mut predictor = Predictor::new(&mlp, Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    assert!(predictor.mean(&samples(&cnn, 0..2), &examples(), 2, 0, &mut Monitor::silent()).is_err());
    assert!(predictor.mean(&samples(&mlp, 0..2), &examples(), 0, 0, &mut Monitor::silent()).is_err());
    let digits = onebasin::data::load("digits", Split::Test, Path::new("")).unwrap();
    let standardisation = Standardisation::of(Scaling::Unit, &digits);
    let digits = Examples::new(digits, standardisation).unwrap();
    assert!(predictor.mean(&samples(&mlp, 0..2), &digits, 2, 0, &mut Monitor::silent()).is_err());
    let mut elsewhere = Params::zeros(cnn.layout());
    assert!(samples(&mlp, 0..2).draw(0, 0, 1, &mut elsewhere).is_err());
    let other = Params::zeros(cnn.layout());
    assert!(Gaussian::new(mlp.initialise(0), other.clone()).is_err());
    assert!(Samples::new(vec![mlp.initialise(0), other], 1).is_err());
    let error = Samples::new(vec![mlp.initialise(0); 5], 2).unwrap_err().to_string();
    assert!(error.contains("2 chains of equal length"), "{error}");
    assert!(Samples::new(vec![mlp.initialise(0)], 0).is_err());
    assert!(Samples::new(Vec::new(), 1).is_err());
}

#[test]
fn the_distance_of_gaussians_is_that_of_wasserstein() {
    let arch = mlp();
    let at = |mean: f32, std: f32| {
        let params = |value: f32| Params::from_values(arch.layout(), vec![value; arch.layout().len()]).unwrap();
        Gaussian::new(params(mean), params(std)).unwrap()
    };
    let root = (arch.layout().len() as f64).sqrt();
    for (one, other, expected) in [
        (at(1.5, 0.5), at(1.5, 0.5), 0.0),
        (at(1.0, 0.5), at(-2.0, 0.5), 3.0 * root),
        (at(1.0, 0.5), at(1.0, 2.5), 2.0 * root),
        (at(4.0, 0.0), at(1.0, 4.0), 5.0 * root),
    ] {
        let distance = one.distance(&other).unwrap();
        assert!((distance - expected).abs() <= 1e-14 * expected, "{distance} instead of {expected}");
        assert_eq!(other.distance(&one).unwrap(), distance);
    }
    let [_, cnn] = networks();
    let other = gaussian(&cnn, 0.1);
    assert!(at(0.0, 0.0).distance(&other.gaussian()).is_err());
}

#[test]
fn a_change_of_coordinates_reaches_every_array() {
    let arch = mlp();
    let double = |params: &Params| {
        let mut params = params.clone();
        params.scale(2.0);
        Ok(params)
    };
    for posterior in [gaussian(&arch, 0.5), samples(&arch, 0..3), Posterior::Point(arch.initialise(4))] {
        let doubled = posterior.map(double).unwrap();
        assert_eq!(std::mem::discriminant(&doubled), std::mem::discriminant(&posterior));
        let (before, after) = (posterior.gaussian(), doubled.gaussian());
        for (before, after) in [(before.mean(), after.mean()), (before.std(), after.std())] {
            assert!(before.values().iter().zip(after.values()).all(|(before, after)| 2.0 * before == *after));
        }
    }
}
