//! The plane through three posteriors: its geometry, and what is exact at its corners.

use onebasin::arch::{Arch, Preset};
use onebasin::data::{Examples, Scaling, Split, Standardisation, Subset};
use onebasin::error::Error;
use onebasin::infer::{Prior, Scaling as PriorScaling};
use onebasin::measure::{Density, Plane, PlanePoint, PlaneSettings, Quality, Triangle};
use onebasin::model::Batch;
use onebasin::net::{Likelihood, Net, Precision};
use onebasin::params::Params;
use onebasin::posterior::{Gaussian, Posterior, Predictor};
use onebasin::progress::{Monitor, Progress};
use onebasin::threads::pool;
use proptest::prelude::*;
use std::ops::ControlFlow;

const PRIOR: Prior = Prior { variance: 0.7, scaling: PriorScaling::FanIn };

fn examples(images: usize) -> Examples {
    let dataset = onebasin::data::load("synthetic", Split::Train, std::path::Path::new("")).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(Subset::First(images).apply(&dataset).unwrap(), standardisation).unwrap()
}

fn arch() -> Arch {
    let json = r#"{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": [9, 5]}"#;
    Arch::new(serde_json::from_str::<Preset>(json).unwrap()).unwrap()
}

fn gaussian(seed: u64, std: f32) -> Gaussian {
    let arch = arch();
    let std = Params::from_values(arch.layout(), vec![std; arch.layout().len()]).unwrap();
    Gaussian::new(arch.initialise(seed), std).unwrap()
}

fn distance(a: &Params, b: &Params) -> f64 {
    let mut difference = a.clone();
    difference.add_scaled(-1.0, b).unwrap();
    difference.norm()
}

fn measure(corners: [&Gaussian; 3], likelihood: Likelihood, settings: PlaneSettings, threads: usize) -> Plane {
    let arch = arch();
    let mut predictor = Predictor::new(&arch, likelihood, Precision::F32, &pool(threads).unwrap()).unwrap();
    let density = Density { arch: &arch, prior: PRIOR, temperature: 0.5, examples: 300 };
    let triangle = Triangle::new(corners).unwrap();
    Plane::through(&triangle, &mut predictor, &examples(150), settings, Some(density), &mut Monitor::silent()).unwrap()
}

#[test]
fn values_are_exact_at_the_three_posteriors() {
    let gaussians = [gaussian(1, 0.1), gaussian(2, 0.3), gaussian(3, 0.0)];
    for likelihood in [Likelihood::Softmax, Likelihood::Gaussian { variance: 0.4 }] {
        let settings = PlaneSettings { points: 3, samples: 6, seed: 5, ..PlaneSettings::default() };
        let plane = measure([&gaussians[0], &gaussians[1], &gaussians[2]], likelihood, settings, 2);
        assert_eq!((plane.examples, plane.samples, plane.points.len()), (150, 6, 9));
        let examples = examples(150);
        let (images, labels) = examples.all();
        let mut predictor = Predictor::new(&arch(), likelihood, Precision::F32, &pool(1).unwrap()).unwrap();
        let mut net = Net::new(&arch(), &pool(1).unwrap()).unwrap().with_likelihood(likelihood).unwrap();
        for (gaussian, corner) in gaussians.iter().zip(&plane.corners) {
            let mut quality = |posterior: &Posterior| {
                let mean = predictor.mean(posterior, &examples, 6, 5, &mut Monitor::silent()).unwrap();
                Quality::of(&mean, &labels, 6).unwrap()
            };
            let point = quality(&Posterior::Point(gaussian.mean().clone()));
            assert_eq!((corner.loss, corner.error), (point.nll, point.error));
            let drawn = quality(&Posterior::Gaussian(gaussian.clone()));
            let marginal = corner.marginal.unwrap();
            assert_eq!((marginal.loss, marginal.error), (drawn.nll, drawn.error));
            let batch = Batch { inputs: &images, labels: &labels };
            let log_likelihood = net.log_likelihood(gaussian.mean(), batch).unwrap();
            // Half of the training images are looked at, at a temperature of one half.
            let expected = 2.0 * (2.0 * log_likelihood + PRIOR.log_density(&arch(), gaussian.mean()));
            assert!((corner.log_posterior.unwrap() - expected).abs() <= 1e-12 * expected.abs());
        }
    }
}

#[test]
fn the_grid_goes_around_the_corners_with_a_margin() {
    let corners = [&gaussian(1, 0.0), &gaussian(2, 0.0), &gaussian(3, 0.0)];
    let settings = PlaneSettings { points: 4, margin: 0.5, samples: 3, seed: 0 };
    let plane = measure(corners, Likelihood::Softmax, settings, 1);
    // Nothing has width.
    assert!(plane.samples == 0 && plane.points.iter().all(|point| point.marginal.is_none()));
    let range = |points: &[PlanePoint], of: fn(&PlanePoint) -> f64| {
        let values = || points.iter().map(of);
        [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)]
    };
    let axes: [fn(&PlanePoint) -> f64; 2] = [|point| point.x, |point| point.y];
    let longest =
        axes.map(|of| range(&plane.corners, of)).into_iter().map(|[low, high]| high - low).fold(0.0, f64::max);
    for of in axes {
        let [low, high] = range(&plane.corners, of);
        let grid = range(&plane.points, of);
        assert!((low - grid[0] - 0.5 * longest).abs() < 1e-9 && (grid[1] - high - 0.5 * longest).abs() < 1e-9);
    }
    assert!(plane.points[0].x < plane.points[1].x && plane.points[0].y < plane.points[4].y);
    assert_eq!(plane.points[1].x, plane.points[5].x);
}

#[test]
fn threads_change_nothing() {
    let corners = [&gaussian(1, 0.2), &gaussian(2, 0.1), &gaussian(3, 0.1)];
    let settings = PlaneSettings { points: 3, samples: 3, ..PlaneSettings::default() };
    assert_eq!(measure(corners, Likelihood::Softmax, settings, 1), measure(corners, Likelihood::Softmax, settings, 3));
}

#[test]
fn what_spans_no_plane_is_refused() {
    let [a, b] = [gaussian(1, 0.0), gaussian(2, 0.0)];
    let mut middle = a.mean().clone();
    middle.add_scaled(1.0, b.mean()).unwrap();
    middle.scale(0.5);
    let middle = Gaussian::new(middle, a.std().clone()).unwrap();
    for corners in [[&a, &b, &b], [&a, &a, &b], [&a, &b, &a], [&a, &b, &middle], [&a, &a, &a]] {
        assert!(matches!(Triangle::new(corners), Err(Error::NoPlane { .. })), "{corners:?}");
    }
    for (points, margin) in [(1, 0.1), (3, -0.1), (3, f64::NAN), (3, f64::INFINITY)] {
        assert!(PlaneSettings { points, margin, ..PlaneSettings::default() }.check().is_err());
    }
}

#[test]
fn it_stops_when_told() {
    let corners = [&gaussian(1, 0.0), &gaussian(2, 0.0), &gaussian(3, 0.0)];
    let triangle = Triangle::new(corners).unwrap();
    let arch = arch();
    let mut predictor = Predictor::new(&arch, Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    let density = Density { arch: &arch, prior: PRIOR, temperature: 1.0, examples: 150 };
    for part in [0.0, 0.4, 0.8, 1.0] {
        let mut stop = |Progress { done, total, .. }: Progress<'_>| {
            if done as f64 >= part * total as f64 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let settings = PlaneSettings::default();
        let mut monitor = Monitor::new("", &mut stop);
        let found = Plane::through(&triangle, &mut predictor, &examples(150), settings, Some(density), &mut monitor);
        assert_eq!(found, Err(Error::Stopped), "{part}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The basis is orthonormal: distances in the plane are those of parameter space.
    #[test]
    fn coordinates_keep_distances(seed: u64, a in [-2.0..2.0f64, -2.0..2.0], b in [-2.0..2.0f64, -2.0..2.0]) {
        let corners = [gaussian(seed, 0.1), gaussian(seed ^ 1, 0.2), gaussian(seed ^ 2, 0.3)];
        let triangle = Triangle::new([&corners[0], &corners[1], &corners[2]]).unwrap();
        let [origin, second, third] = triangle.coordinates();
        prop_assert_eq!((origin, second[1]), ([0.0, 0.0], 0.0));
        prop_assert!(second[0] > 0.0 && third[1] > 0.0);
        let scaled = |at: [f64; 2]| at.map(|part| part * second[0]);
        let [a, b] = [scaled(a), scaled(b)];
        let means = [a, b].map(|at| triangle.mean(triangle.weights(at)));
        let expected = (a[0] - b[0]).hypot(a[1] - b[1]);
        prop_assert!((distance(&means[0], &means[1]) - expected).abs() < 1e-4 * second[0]);
        for (at, corner) in triangle.coordinates().into_iter().zip(&corners) {
            let found = triangle.at(triangle.weights(at)).unwrap();
            prop_assert!(distance(found.mean(), corner.mean()) < 1e-5 * second[0]);
            prop_assert!(distance(found.std(), corner.std()) < 1e-4);
        }
        // Outside of the triangle, too, no standard deviation leaves the range of those at the corners.
        let std = triangle.at(triangle.weights(a)).unwrap();
        prop_assert!(std.std().values().iter().all(|std| (0.0999..0.3001).contains(std)));
    }
}
