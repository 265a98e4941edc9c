//! A permuted copy is brought back, by every solver and criterion, for every kind of network.

use crate::posteriors::{CRITERIA, gaussian, mlp, networks, noisy, pair, permuted};
use onebasin::align;
use onebasin::align::{Alignment, Criterion, Settings, Solver};
use onebasin::arch::Arch;
use onebasin::data::{Dataset, Examples, Scaling, Standardisation};
use onebasin::error::Error;
use onebasin::model::Hidden;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::{Draws, Gaussian, Posterior};
use onebasin::progress::{Monitor, Progress};
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;
use rand_chacha::rand_core::Rng;
use std::ops::ControlFlow;

#[test]
fn a_permuted_copy_is_brought_back() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let original = gaussian(&arch, 1);
        let hidden = Permutations::random(&spec, 7);
        let copy = permuted(&spec, &hidden, &original);
        for criterion in CRITERIA {
            for solver in [Solver::Greedy, Solver::Best] {
                let found = pair(&spec, &original, &copy, criterion, solver);
                assert_eq!(found.permutations, hidden.inverse(), "{criterion:?} {solver:?}");
                if matches!(criterion, Criterion::Mean | Criterion::W2) {
                    assert!(found.bound - found.after.total <= 1e-5 * found.bound, "not tight: {criterion:?}");
                }
            }
        }
    }
}

/// Where the layers are tall enough, a start at the centre of the Birkhoff polytope finds what coordinate descent from the identity does not.
#[test]
fn a_noisy_copy_is_found_where_descent_is_lost() {
    let arch = mlp("8x8x1", &[64, 64, 64]);
    let spec = Spec::of(&arch);
    let original = gaussian(&arch, 1);
    let hidden = Permutations::random(&spec, 7);
    let copy = permuted(&spec, &hidden, &noisy(&original, &arch, 0.4, 2));
    let wanted = hidden.inverse();
    let recovered = |solver: Solver| {
        let found = pair(&spec, &original, &copy, Criterion::Mean, solver);
        let pairs = found.permutations.as_slice().iter().zip(wanted.as_slice());
        let units = pairs.flat_map(|(found, wanted)| found.as_slice().iter().zip(wanted.as_slice()));
        units.filter(|(found, wanted)| found == wanted).count() as f64 / (3.0 * 64.0)
    };
    let (descent, best) = (recovered(Solver::CoordinateDescent), recovered(Solver::Best));
    assert!(descent < 0.4 && best > 0.95, "descent {descent}, best {best}");
}

/// Random images of a network's shape.
fn images(arch: &Arch, count: usize) -> Examples {
    let shape = arch.input();
    let mut pixels = vec![0; count * shape.len()];
    Stream::new(3, "pixels", 0).generator().fill_bytes(&mut pixels);
    let dataset = Dataset::new("noise", shape, arch.classes(), 255, pixels, vec![0; count]).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(dataset, standardisation).unwrap()
}

fn by_activation(arch: &Arch, sides: &[Posterior; 2], examples: &Examples, threads: usize) -> Alignment {
    let sides: [&dyn Draws; 2] = [&sides[0], &sides[1]];
    let settings = Settings { criterion: Criterion::Activation, ..Settings::default() };
    let pool = ThreadPool::new(threads).unwrap();
    align::by_activation(arch, sides, (examples, 4), settings, &pool, &mut Monitor::silent()).unwrap()
}

#[test]
fn activations_bring_a_permuted_copy_back() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        // Initial values, so that hardly a unit is dead. Points, because draws of a permuted Gaussian are not permuted draws.
        let original = arch.initialise(1);
        let hidden = Permutations::random(&spec, 7);
        let copy = spec.apply(&hidden, &original).unwrap();
        let points = [original, copy].map(Posterior::Point);
        let found = by_activation(&arch, &points, &images(&arch, 40), 2);
        let wanted = hidden.inverse();
        let pairs = found.permutations.as_slice().iter().zip(wanted.as_slice());
        let units: Vec<_> = pairs.flat_map(|(found, wanted)| found.as_slice().iter().zip(wanted.as_slice())).collect();
        let equal = units.iter().filter(|(found, wanted)| found == wanted).count();
        // Units that are never active cannot be told apart.
        assert!(equal * 10 >= units.len() * 9, "{equal} of {}", units.len());
    }
}

/// The sum over all hidden layers of the correlations of units with the same number; in f64, from the means over draws.
fn correlation(arch: &Arch, sides: &[Posterior; 2], examples: &Examples) -> f64 {
    let (mut images, mut labels) = (vec![0.0; examples.len() * examples.shape().len()], vec![0; examples.len()]);
    examples.range(0, &mut images, &mut labels);
    let mut net = Net::new(arch, &ThreadPool::alone()).unwrap();
    let [fixed, moved] = [0, 1].map(|side: usize| {
        let mut means: Vec<Vec<f64>> = Vec::new();
        for index in 0..4 {
            let mut point = Params::zeros(arch.layout());
            sides[side].draw(side as u64, index, 4, &mut point).unwrap();
            let see = |hidden: Hidden<'_>| {
                means.resize(means.len().max(hidden.index + 1), Vec::new());
                let means = &mut means[hidden.index];
                means.resize(examples.len() * hidden.shape.len(), 0.0);
                let here = means[hidden.first * hidden.shape.len()..].iter_mut();
                here.zip(hidden.after).for_each(|(mean, value)| *mean += f64::from(*value) / 4.0);
            };
            net.activations(&point, &images, see).unwrap();
        }
        means
    });
    let mut total = 0.0;
    for (index, (_, node)) in arch.hidden().enumerate() {
        let channels = node.shape.channels;
        for unit in 0..channels {
            let [fixed, moved] = [&fixed, &moved].map(|side| {
                let values: Vec<f64> = side[index].iter().skip(unit).step_by(channels).copied().collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                values.iter().map(|value| value - mean).collect::<Vec<f64>>()
            });
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let variances = product(&fixed, &fixed) * product(&moved, &moved);
            total += if variances > 0.0 { product(&fixed, &moved) / variances.sqrt() } else { 0.0 };
        }
    }
    total
}

#[test]
fn the_objective_of_activations_is_the_sum_of_their_correlations_on_any_number_of_threads() {
    // More than are looked at together.
    for arch in networks() {
        let sides = [1, 2].map(|seed| {
            let std = Params::from_values(arch.layout(), vec![0.02; arch.layout().len()]).unwrap();
            Posterior::Gaussian(Gaussian::new(arch.initialise(seed), std).unwrap())
        });
        let examples = images(&arch, 600);
        let found = by_activation(&arch, &sides, &examples, 1);
        let expected = correlation(&arch, &sides, &examples);
        assert!((found.before.total - expected).abs() < 1e-4, "{}, not {expected}", found.before.total);
        for threads in [2, 3] {
            let again = by_activation(&arch, &sides, &examples, threads);
            assert_eq!((&again.permutations, again.after.total), (&found.permutations, found.after.total));
        }
    }
}

#[test]
fn activations_can_be_stopped() {
    let arch = mlp("4x3x1", &[9]);
    let points = [1, 2].map(|seed| Posterior::Point(arch.initialise(seed)));
    let settings = Settings { criterion: Criterion::Activation, ..Settings::default() };
    let mut tasks = Vec::new();
    let mut callback = |progress: Progress<'_>| {
        tasks.push((progress.task.to_owned(), progress.done, progress.total));
        if tasks.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let monitor = &mut Monitor::new("align", &mut callback);
    let data = (&images(&arch, 40), 4);
    let found = align::by_activation(&arch, [&points[0], &points[1]], data, settings, &ThreadPool::alone(), monitor);
    assert_eq!(found.unwrap_err(), Error::Stopped);
    // Once for all examples, then for the first assignment problem.
    assert_eq!(tasks, [("align: activations".to_owned(), 0, 40), ("align: greedy".to_owned(), 1, 0)]);
}

/// Units without a mean have no correlation unless their noise has.
#[test]
fn independent_noise_has_no_correlation() {
    let arch = mlp("4x3x1", &[64]);
    let std = Params::from_values(arch.layout(), vec![1.0; arch.layout().len()]).unwrap();
    let noise = Posterior::Gaussian(Gaussian::new(Params::zeros(arch.layout()), std).unwrap());
    let found = by_activation(&arch, &[noise.clone(), noise], &images(&arch, 40), 2);
    assert!(found.before.total.abs() < 0.25 * 64.0, "{}", found.before.total);
}
