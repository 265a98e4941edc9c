//! One Gaussian in the place of samples: what it keeps of them, and what is measured of it.

use onebasin::align::Transformed;
use onebasin::arch::Arch;
use onebasin::measure::prune::KeptBy;
use onebasin::measure::{Agreement, mixing, prune};
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::{Draws, Fit, Gaussian, LowRank, Posterior, Samples};
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Scales, Spec, relative_change};
use onebasin::threads::pool;
use onebasin_kernels::ThreadPool;
use proptest::prelude::*;

fn arch() -> Arch {
    let json = r#"{"preset": "mlp", "input": "2x2x1", "classes": 3, "hidden": [4], "activation": "relu"}"#;
    Arch::new(serde_json::from_str::<onebasin::arch::Preset>(json).unwrap()).unwrap()
}

/// Points that differ most along a few directions.
fn points(arch: &Arch, count: usize, seed: u64) -> Vec<Params> {
    let normal = |label: &str, index: usize| {
        let mut values = vec![0.0; arch.layout().len()];
        Stream::new(seed, label, index as u64).fill_normal(&mut values);
        Params::from_values(arch.layout(), values).unwrap()
    };
    let directions: Vec<Params> = (0..3).map(|index| normal("direction", index)).collect();
    (0..count)
        .map(|index| {
            let mut point = normal("noise", index);
            point.scale(0.3);
            for (direction, factor) in directions.iter().zip(normal("factor", index).values()) {
                point.add_scaled(*factor, direction).unwrap();
            }
            point.add_scaled(1.0, &normal("centre", 0)).unwrap();
            point
        })
        .collect()
}

fn samples(arch: &Arch, count: usize, seed: u64) -> Posterior {
    Posterior::Samples(Samples::new(points(arch, count, seed), 1).unwrap())
}

fn fit(posterior: &dyn Draws, rank: usize) -> Fit {
    Fit::new(posterior, rank, &ThreadPool::alone()).unwrap()
}

/// The unbiased covariance of two parameters.
fn covariance(points: &[Params], a: usize, b: usize) -> f64 {
    let values = |at: usize| points.iter().map(move |point| f64::from(point.values()[at]));
    let count = points.len() as f64;
    let (mean_a, mean_b) = (values(a).sum::<f64>() / count, values(b).sum::<f64>() / count);
    values(a).zip(values(b)).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>() / (count - 1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn means_and_variances_are_those_of_the_samples_at_every_rank(count in 2usize..30, rank in 0usize..40, seed: u64) {
        let samples = samples(&arch(), count, seed);
        let expected = samples.gaussian();
        let fitted = fit(&samples, rank).posterior(rank).unwrap();
        prop_assert_eq!(matches!(fitted, Posterior::Gaussian(_)), rank == 0);
        let fitted = fitted.gaussian();
        for (fitted, expected) in [(fitted.mean(), expected.mean()), (fitted.std(), expected.std())] {
            for (fitted, expected) in fitted.values().iter().zip(expected.values()) {
                prop_assert!((fitted - expected).abs() <= 2e-6 * expected.abs().max(0.1), "{} instead of {}", fitted, expected);
            }
        }
    }

    #[test]
    fn with_all_directions_the_covariance_is_that_of_the_samples(count in 2usize..20, seed: u64) {
        let arch = arch();
        let points = points(&arch, count, seed);
        let samples = Posterior::Samples(Samples::new(points.clone(), 1).unwrap());
        let Posterior::LowRank(fitted) = fit(&samples, 100).posterior(100).unwrap() else { panic!("it has directions") };
        prop_assert_eq!(fitted.factor().len(), count - 1);
        for (a, b) in [(0, 0), (0, 1), (3, 17), (20, 34), (5, 5)] {
            let product = |direction: &Params| f64::from(direction.values()[a]) * f64::from(direction.values()[b]);
            let mut explained: f64 = fitted.factor().iter().map(product).sum();
            if a == b {
                explained += f64::from(fitted.rest().std().values()[a]).powi(2);
            }
            let expected = covariance(&points, a, b);
            prop_assert!((explained - expected).abs() <= 1e-4 * covariance(&points, a, a).max(1.0), "{} instead of {}", explained, expected);
        }
    }

    #[test]
    fn total_variation_is_a_metric(values in prop::collection::vec(0.01f64..1.0, 36)) {
        let normalised: Vec<f64> = values.chunks_exact(4).flat_map(|row| row.iter().map(|value| value / row.iter().sum::<f64>())).collect();
        let [p, q, r] = [&normalised[..12], &normalised[12..24], &normalised[24..]];
        let distance = |a: &[f64], b: &[f64]| Agreement::of(a, b, 4).unwrap();
        prop_assert_eq!(distance(p, p), Agreement { agreement: 1.0, total_variation: 0.0 });
        prop_assert_eq!(distance(p, q), distance(q, p));
        prop_assert!(distance(p, q).total_variation <= 1.0);
        prop_assert!(distance(p, r).total_variation <= distance(p, q).total_variation + distance(q, r).total_variation + 1e-12);
    }
}

#[test]
fn directions_of_a_smaller_rank_are_the_first_ones() {
    let samples = samples(&arch(), 60, 3);
    let whole = fit(&samples, 8);
    let few = fit(&samples, 3);
    let factor = |fit: &Fit| match fit.posterior(3).unwrap() {
        Posterior::LowRank(low_rank) => low_rank.factor().to_vec(),
        other => panic!("{other:?}"),
    };
    for (one, other) in factor(&whole).iter().zip(&factor(&few)) {
        let cosine = one.dot(other).unwrap() / one.norm() / other.norm();
        assert!((cosine.abs() - 1.0).abs() < 1e-3, "{cosine}");
    }
}

#[test]
fn draws_have_the_covariance_of_factor_and_rest() {
    let arch = arch();
    let [mean, mut std, first, second] = [0, 1, 2, 3].map(|index| points(&arch, 4, 11).swap_remove(index));
    std.values_mut().iter_mut().for_each(|std| *std = std.abs());
    let rest = Gaussian::new(mean.clone(), std.clone()).unwrap();
    let low_rank = LowRank::new(rest, vec![first.clone(), second.clone()]).unwrap();
    let posterior = Posterior::LowRank(low_rank);
    let count = 20_000;
    assert_eq!(posterior.draws(count), count);
    let mut point = Params::zeros(arch.layout());
    let drawn: Vec<Params> = (0..count)
        .map(|index| {
            posterior.draw(5, index, count, &mut point).unwrap();
            point.clone()
        })
        .collect();
    for (a, b) in [(0, 0), (0, 9), (4, 30), (12, 12)] {
        let product = |params: &Params| f64::from(params.values()[a]) * f64::from(params.values()[b]);
        let expected = product(&first) + product(&second) + if a == b { product(&std) } else { 0.0 };
        let size = posterior.gaussian().std().values()[a] * posterior.gaussian().std().values()[b];
        let found = covariance(&drawn, a, b);
        assert!((found - expected).abs() < 0.05 * f64::from(size), "{found} instead of {expected}");
    }
}

#[test]
fn threads_change_no_bit() {
    let samples = samples(&arch(), 50, 1);
    let [one, three] = [1, 3].map(|threads| {
        let fit = Fit::new(&samples, 2, &ThreadPool::new(threads).unwrap()).unwrap();
        fit.posterior(2).unwrap()
    });
    assert!(one == three);
}

#[test]
fn one_point_has_no_width_to_fit() {
    let arch = arch();
    let error = Fit::new(&samples(&arch, 1, 0), 0, &ThreadPool::alone()).unwrap_err();
    assert!(error.to_string().contains("at least 2"), "{error}");
    let gaussian = Posterior::Gaussian(samples(&arch, 5, 0).gaussian().into_owned());
    assert!(Fit::new(&gaussian, 0, &ThreadPool::alone()).is_err());
    assert!(LowRank::new(gaussian.gaussian().into_owned(), Vec::new()).is_err());
}

#[test]
fn permutations_reach_the_factor() {
    let arch = arch();
    let spec = Spec::of(&arch);
    let own = Permutations::random(&spec, 5);
    let Posterior::LowRank(before) = fit(&samples(&arch, 9, 2), 3).posterior(3).unwrap() else {
        panic!("it has directions");
    };
    let moved = Posterior::LowRank(before.clone()).map(|params| spec.apply(&own, params)).unwrap();
    let Posterior::LowRank(after) = &moved else { panic!("it is another kind") };
    for (before, after) in before.factor().iter().zip(after.factor()) {
        assert!(spec.apply(&own, before).unwrap() == *after);
    }
    assert!(spec.apply(&own, before.rest().mean()).unwrap() == *after.rest().mean());
    assert!(spec.apply(&own, before.marginals().std()).unwrap() == *moved.gaussian().std());
}

#[test]
fn samples_with_other_labels_and_scales_are_the_same_functions() {
    let arch = arch();
    let (spec, scales) = (Spec::of(&arch), Scales::of(&arch).unwrap());
    let samples = samples(&arch, 6, 4);
    let permutations: Vec<Permutations> = (0..6).map(|seed| Permutations::random(&spec, seed)).collect();
    let balanced = Transformed::balanced(&samples, &scales).unwrap();
    let both = Transformed::relabelled(&balanced, &spec, &permutations).unwrap();
    let mut images = vec![0.0; 20 * 4];
    Stream::new(0, "images", 0).fill_normal(&mut images);
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    let mut logits = |params: &Params| {
        let mut logits = vec![0.0; 20 * 3];
        net.logits(params, &images, &mut logits).unwrap();
        logits
    };
    let [mut before, mut after] = [Params::zeros(arch.layout()), Params::zeros(arch.layout())];
    for index in 0..6 {
        samples.draw(0, index, 6, &mut before).unwrap();
        both.draw(0, index, 6, &mut after).unwrap();
        assert!(before != after && after.norm() < before.norm());
        assert!(relative_change(&logits(&before), &logits(&after)) < 1e-5);
    }
    assert!(Transformed::relabelled(&samples, &spec, &permutations[..5]).is_err());
}

#[test]
fn chains_with_other_labels_do_not_mix_until_they_are_relabelled() {
    let arch = arch();
    let spec = Spec::of(&arch);
    // All of one posterior, but each of four chains with labels of its own.
    let centre = arch.initialise(0);
    let labels: Vec<Permutations> = (0..4).map(|chain| Permutations::random(&spec, chain)).collect();
    let switched: Vec<Params> = (0..80)
        .map(|index| {
            let mut point = Params::zeros(arch.layout());
            Stream::new(9, "sample", index).fill_normal(point.values_mut());
            point.scale(0.05);
            point.add_scaled(1.0, &centre).unwrap();
            spec.apply(&labels[index as usize / 20], &point).unwrap()
        })
        .collect();
    let switched = Posterior::Samples(Samples::new(switched, 4).unwrap());
    let back: Vec<Permutations> = (0..80).map(|index| labels[index / 20].inverse()).collect();
    let before = mixing(&switched, 4).unwrap();
    let after = mixing(&Transformed::relabelled(&switched, &spec, &back).unwrap(), 4).unwrap();
    assert_eq!((before.quantities, before.samples, before.undefined), (arch.layout().len(), 20, 0));
    assert!(before.median_rhat > 1.5 && after.max_rhat < 1.3, "{before:?} {after:?}");
    assert!(before.median_ess < 10.0 && after.median_ess > 40.0, "{before:?} {after:?}");
}

#[test]
fn pruning_keeps_what_the_posterior_is_surest_of() {
    let arch = arch();
    let count = arch.layout().len();
    let numbers =
        |value: &dyn Fn(usize) -> f32| Params::from_values(arch.layout(), (0..count).map(value).collect()).unwrap();
    // The later a parameter, the wider; its signal is largest at the end all the same.
    let posterior = Gaussian::new(numbers(&|at| (at * at) as f32), numbers(&|at| 1.0 + at as f32)).unwrap();
    let ones = numbers(&|_| 1.0);
    for (by, first) in [(KeptBy::SmallestStd, true), (KeptBy::LargestSignal, false)] {
        let order = prune::order(&posterior, by);
        let (whole, kept) = prune::prune(&ones, &order, 100.0);
        assert!(whole == ones && kept == count);
        let (pruned, kept) = prune::prune(&ones, &order, 40.0);
        assert_eq!(kept, (0.4 * count as f64).round() as usize);
        for (at, value) in pruned.values().iter().enumerate() {
            let expected = if first { at < kept } else { at >= count - kept };
            assert_eq!(*value == 1.0, expected, "{by:?} at {at}");
        }
        assert!(prune::prune(&ones, &order, 0.0).0 == Params::zeros(arch.layout()));
    }
}
