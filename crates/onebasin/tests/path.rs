//! Geodesics are what the Wasserstein distance says they are, and exact where they should be.

use onebasin::params::{Layout, Params};
use onebasin::path::{Geodesic, Natural, Path, between, grid};
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use proptest::prelude::*;
use std::sync::Arc;

const LEN: usize = 24;

fn layout() -> Arc<Layout> {
    Arc::new(Layout::new([("a", &[LEN][..])]).unwrap())
}

fn of_values(mean: &[f32], std: &[f32]) -> Gaussian {
    let params = |values: &[f32]| Params::from_values(&layout(), values.to_vec()).unwrap();
    Gaussian::new(params(mean), params(std)).unwrap()
}

/// Values of many sizes, zeros of both signs among them.
fn gaussians() -> impl Strategy<Value = Gaussian> {
    let value = prop_oneof![4 => -3f32..3.0, 1 => -1e9f32..1e9, 1 => -1e-9f32..1e-9, 1 => Just(0.0), 1 => Just(-0.0)];
    let values = || prop::collection::vec(value.clone(), LEN);
    let std = prop::collection::vec(prop_oneof![4 => 0f32..2.0, 1 => Just(0.0), 1 => 0f32..1e-9], LEN);
    (values(), std).prop_map(|(mean, std)| of_values(&mean, &std))
}

/// Of sizes that are near each other.
fn normals() -> impl Strategy<Value = Gaussian> {
    let (mean, std) = (prop::collection::vec(-3f32..3.0, LEN), prop::collection::vec(0.1f32..2.0, LEN));
    (mean, std).prop_map(|(mean, std)| of_values(&mean, &std))
}

fn normal(seed: u64) -> Gaussian {
    let (mut mean, mut std) = ([0.0; LEN], [0.0; LEN]);
    Stream::new(seed, "mean", 0).fill_normal(&mut mean);
    Stream::new(seed, "std", 0).fill_normal(&mut std);
    of_values(&mean, &std.map(f32::abs))
}

fn bits(gaussian: &Gaussian) -> Vec<u32> {
    [gaussian.mean(), gaussian.std()].iter().flat_map(|part| part.values()).map(|value| value.to_bits()).collect()
}

fn at(from: &Gaussian, to: &Gaussian, tau: f64) -> Gaussian {
    Geodesic::new(from, to).unwrap().at(tau).unwrap()
}

/// The geodesic and the natural path.
fn both(from: &Gaussian, to: &Gaussian, tau: f64) -> [Gaussian; 2] {
    [at(from, to, tau), Natural::new(from, to).unwrap().at(tau).unwrap()]
}

proptest! {
    #[test]
    fn the_ends_of_a_path_are_its_ends(from in gaussians(), to in gaussians()) {
        for here in both(&from, &to, 0.0) {
            prop_assert_eq!(bits(&here), bits(&from));
        }
        for here in both(&from, &to, 1.0) {
            prop_assert_eq!(bits(&here), bits(&to));
        }
    }

    #[test]
    fn between_equal_ends_nothing_changes(end in gaussians(), tau in 0f64..=1.0) {
        for here in both(&end, &end, tau) {
            prop_assert_eq!(bits(&here), bits(&end));
        }
    }

    #[test]
    fn exchanged_ends_mirror_the_path(from in gaussians(), to in gaussians(), half in 1usize..40) {
        for tau in grid(2 * half + 1).unwrap() {
            let mirrored = both(&to, &from, 1.0 - tau);
            for (here, there) in both(&from, &to, tau).iter().zip(&mirrored) {
                prop_assert_eq!(here, there);
            }
        }
    }

    #[test]
    fn densities_of_the_natural_path_are_products(from in normals(), to in normals(), tau in 0.01f64..0.99) {
        // log q is (1 − τ) log q₀ + τ log q₁ but for a constant: so are its differences between two points.
        let here = Natural::new(&from, &to).unwrap().at(tau).unwrap();
        let log = |q: &Gaussian, at: usize, x: f64| {
            -0.5 * ((x - f64::from(q.mean().values()[at])) / f64::from(q.std().values()[at])).powi(2)
        };
        for place in 0..LEN {
            let rise = |q: &Gaussian| log(q, place, 1.3) - log(q, place, -0.4);
            let (expected, size) = ((1.0 - tau) * rise(&from) + tau * rise(&to), rise(&from).abs() + rise(&to).abs());
            prop_assert!((rise(&here) - expected).abs() <= 1e-5 * (1.0 + size), "{} {}", rise(&here), expected);
        }
    }

    #[test]
    fn a_grid_is_its_own_mirror_image(half in 1usize..500) {
        let grid = grid(2 * half + 1).unwrap();
        prop_assert_eq!((grid[0], grid[half], grid[2 * half]), (0.0, 0.5, 1.0));
        for (index, (tau, mirrored)) in grid.iter().zip(grid.iter().rev()).enumerate() {
            prop_assert_eq!(1.0 - tau, *mirrored);
            prop_assert!((tau - index as f64 / (2.0 * half as f64)).abs() < 1e-15);
        }
    }

    #[test]
    fn numbers_between_are_on_the_straight_line(from in -1e3f64..1e3, to in -1e3f64..1e3, tau in 0f64..=1.0) {
        let expected = (1.0 - tau) * from + tau * to;
        prop_assert!((between(from, to, tau) - expected).abs() < 1e-12);
    }
}

/// All distances are rounded once for each of the f32 values of a point on the path, by at most 2⁻²⁴ of about 3.
const ROUNDING: f64 = 1e-5;

#[test]
fn a_path_has_constant_speed() {
    let (from, to) = (normal(1), normal(2));
    let whole = from.distance(&to).unwrap();
    assert!(whole > 1.0);
    for tau in grid(9).unwrap() {
        let here = at(&from, &to, tau);
        assert!((from.distance(&here).unwrap() - tau * whole).abs() < ROUNDING);
        assert!((here.distance(&to).unwrap() - (1.0 - tau) * whole).abs() < ROUNDING);
    }
    // Were it variances that go straight, the way would be longer.
    let detour: Vec<f32> =
        from.std().values().iter().zip(to.std().values()).map(|(a, b)| f32::hypot(*a, *b) / 2f32.sqrt()).collect();
    let wrong = of_values(at(&from, &to, 0.5).mean().values(), &detour);
    assert!(from.distance(&wrong).unwrap() + wrong.distance(&to).unwrap() > whole + 0.01);
}

/// The weighted sum of squared distances.
fn spread(corners: &[(f64, &Gaussian)], here: &Gaussian) -> f64 {
    corners.iter().map(|(weight, corner)| weight * here.distance(corner).unwrap().powi(2)).sum()
}

#[test]
fn nothing_is_nearer_than_the_middle() {
    let (a, b) = (normal(1), normal(2));
    let (ends, middle) = ([(0.5, &a), (0.5, &b)], at(&a, &b, 0.5));
    let least = spread(&ends, &middle);
    for seed in 10..40 {
        let noise = normal(seed);
        for size in [0.01, 0.1, 1.0] {
            let moved = |values: &Params, by: &Params, lowest: f32| -> Vec<f32> {
                values.values().iter().zip(by.values()).map(|(value, by)| (value + size * by).max(lowest)).collect()
            };
            let mean = moved(middle.mean(), noise.mean(), f32::NEG_INFINITY);
            let other = of_values(&mean, &moved(middle.std(), noise.mean(), 0.0));
            // For a quadratic function of the mean and the standard deviation, this is an identity.
            let expected = least + middle.distance(&other).unwrap().powi(2);
            assert!((spread(&ends, &other) - expected).abs() < ROUNDING * expected);
            assert!(spread(&ends, &other) > least);
        }
    }
}

#[test]
fn what_is_not_a_path_is_refused() {
    let (a, b) = (normal(1), normal(2));
    let said = |result: Result<Gaussian, onebasin::error::Error>| result.unwrap_err().to_string();
    for tau in [-0.1, 1.1, f64::NAN] {
        assert!(said(Geodesic::new(&a, &b).unwrap().at(tau)).contains("from 0 to 1"));
    }
    let other = Arc::new(Layout::new([("b", &[LEN][..])]).unwrap());
    let other = Gaussian::new(Params::zeros(&other), Params::zeros(&other)).unwrap();
    assert!(Geodesic::new(&a, &other).is_err());
    for points in [0, 1, 2, 24] {
        assert!(grid(points).unwrap_err().to_string().contains("odd"));
    }
}
