//! Barriers between posteriors: where there is none, what mirrors them, and how sure they are.

use onebasin::align;
use onebasin::arch::{Arch, Preset};
use onebasin::data::{Dataset, Examples, Scaling, Split, Standardisation, Subset};
use onebasin::error::Error;
use onebasin::measure::{BarrierSettings, Barriers, Curve, Curves, Point, Quality};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::path::{Geodesic, Path};
use onebasin::posterior::{Gaussian, Posterior, Predictor};
use onebasin::progress::{Monitor, Progress};
use onebasin::symmetry::{Permutations, Spec};
use onebasin::threads::pool;
use onebasin_kernels::ThreadPool;
use std::ops::ControlFlow;

const SETTINGS: BarrierSettings = BarrierSettings { points: 7, samples: 10, replicates: 20, seed: 3 };

/// Pieces are of 128 of these images, so there are two, the last of them not whole.
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

fn curves(from: &Gaussian, to: &Gaussian, settings: BarrierSettings, threads: usize) -> Curves {
    on(&examples(150), from, to, settings, threads)
}

fn on(examples: &Examples, from: &Gaussian, to: &Gaussian, settings: BarrierSettings, threads: usize) -> Curves {
    let mut predictor = Predictor::new(&arch(), Likelihood::Softmax, Precision::F32, &pool(threads).unwrap()).unwrap();
    let path = Geodesic::new(from, to).unwrap();
    Curves::along(&path, &mut predictor, examples, true, settings, &mut Monitor::silent()).unwrap()
}

fn all(curve: &Curve) -> [Barriers; 2] {
    [curve.loss, curve.error]
}

#[test]
fn between_equal_posteriors_there_is_no_barrier() {
    for std in [0.0, 0.3] {
        let Curves { path, mixture, .. } = curves(&gaussian(1, std), &gaussian(1, std), SETTINGS, 2);
        for curve in [path, mixture] {
            for Barriers { barrier, midpoint, instability } in all(&curve) {
                for rise in [barrier, midpoint, instability] {
                    assert_eq!(rise.value.to_bits(), 0.0f64.to_bits());
                    assert_eq!(rise.standard_error, (std > 0.0).then_some(0.0));
                }
            }
            assert!(
                curve
                    .points
                    .iter()
                    .all(|point| (point.loss, point.error) == (curve.points[0].loss, curve.points[0].error))
            );
        }
    }
}

#[test]
fn every_point_is_what_a_predictor_says_of_it() {
    let (from, to) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let found = curves(&from, &to, SETTINGS, 2);
    let examples = examples(150);
    let mut predictor = Predictor::new(&arch(), Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    let mut mean = |gaussian: Gaussian| {
        let posterior = Posterior::Gaussian(gaussian);
        predictor.mean(&posterior, &examples, SETTINGS.samples, SETTINGS.seed, &mut Monitor::silent()).unwrap()
    };
    let check = |point: &Point, probabilities: &[f64]| {
        let quality = Quality::of(probabilities, examples.dataset().labels(), SETTINGS.samples).unwrap();
        assert!((point.loss.value - quality.nll).abs() < 1e-13, "{} and {}", point.loss.value, quality.nll);
        assert_eq!(point.error.value, quality.error);
    };
    let ends = [mean(from.clone()), mean(to.clone())];
    for (point, mixed) in found.path.points.iter().zip(&found.mixture.points) {
        check(point, &mean(Geodesic::new(&from, &to).unwrap().at(point.tau).unwrap()));
        let mixture = ends[0].iter().zip(&ends[1]).map(|(a, b)| (1.0 - point.tau) * a + point.tau * b);
        check(mixed, &mixture.collect::<Vec<f64>>());
    }
    assert_eq!((found.examples, found.samples), (150, SETTINGS.samples));
}

#[test]
fn barriers_are_what_their_definitions_say() {
    let Curves { path, .. } = curves(&gaussian(1, 0.2), &gaussian(2, 0.3), SETTINGS, 1);
    let losses: Vec<f64> = path.points.iter().map(|point| point.loss.value).collect();
    let (first, last) = (losses[0], losses[6]);
    let over = |points: &[Point], base: &dyn Fn(f64) -> f64| {
        let rises = points.iter().map(|point| point.loss.value - base(point.tau));
        rises.fold(f64::NEG_INFINITY, f64::max)
    };
    let chord = |tau: f64| (1.0 - tau) * first + tau * last;
    assert!((path.loss.barrier.value - over(&path.points[1..6], &chord)).abs() < 1e-14);
    assert!((path.loss.barrier.value.max(0.0) - over(&path.points, &chord)).abs() < 1e-14);
    assert!((path.loss.instability.value - over(&path.points, &|_| f64::midpoint(first, last))).abs() < 1e-14);
    assert!((path.loss.midpoint.value - (losses[3] - f64::midpoint(first, last))).abs() < 1e-14);
    assert_eq!(path.loss.midpoint.at, 0.5);
    let highest = path.points.iter().find(|point| point.tau == path.loss.instability.at).unwrap();
    assert!(losses.iter().all(|loss| *loss <= highest.loss.value));
}

#[test]
fn exchanged_ends_mirror_the_curve() {
    let (a, b) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let (forth, back) = (curves(&a, &b, SETTINGS, 2), curves(&b, &a, SETTINGS, 2));
    for (forth, back) in [(forth.path, back.path), (forth.mixture, back.mixture)] {
        for (forth, back) in forth.points.iter().zip(back.points.iter().rev()) {
            assert_eq!((forth.tau, forth.loss, forth.error), (1.0 - back.tau, back.loss, back.error));
        }
        for (forth, back) in all(&forth).iter().zip(all(&back)) {
            assert_eq!(forth.barrier.value, back.barrier.value);
            assert_eq!(forth.barrier.standard_error, back.barrier.standard_error);
            assert_eq!((forth.midpoint, forth.instability.value), (back.midpoint, back.instability.value));
        }
    }
}

#[test]
fn a_mixture_loses_nothing() {
    for (seed, std) in [(2, 0.0), (3, 0.1), (4, 0.5)] {
        let Curves { mixture, path, .. } = curves(&gaussian(1, std), &gaussian(seed, std), SETTINGS, 2);
        // Its barrier is not clipped at zero, where it would have no error.
        assert!(mixture.loss.barrier.value < 0.0, "{}", mixture.loss.barrier.value);
        assert!(mixture.loss.barrier.standard_error.is_none_or(|error| error > 0.0));
        assert!(mixture.loss.midpoint.value < 0.0);
        for end in [0, SETTINGS.points - 1] {
            assert_eq!(mixture.points[end], path.points[end]);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (a, b) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let [one, two, three] = [1, 2, 3].map(|threads| curves(&a, &b, SETTINGS, threads));
    assert!(one == two && two == three);
    assert!(one != curves(&a, &b, BarrierSettings { seed: 4, ..SETTINGS }, 1));
}

#[test]
fn points_are_not_drawn_and_have_no_standard_error() {
    let (a, b) = (gaussian(1, 0.0), gaussian(2, 0.0));
    let found = curves(&a, &b, SETTINGS, 1);
    assert_eq!(found.samples, 1);
    assert_eq!(found, curves(&a, &b, BarrierSettings { seed: 9, samples: 1, ..SETTINGS }, 1));
    assert!(found.path.points.iter().all(|point| point.loss.standard_error.is_none()));
    assert!(all(&found.path).iter().all(|barriers| barriers.barrier.standard_error.is_none()));
    // One end with width is enough to draw at both.
    let mixed = curves(&a, &gaussian(2, 0.1), SETTINGS, 1);
    assert_eq!(mixed.samples, SETTINGS.samples);
    assert_eq!(mixed.path.points[0].error.standard_error, Some(0.0));
    assert!(mixed.path.points[6].loss.standard_error.unwrap() > 0.0);
}

#[test]
fn a_permuted_copy_has_a_barrier_until_it_is_aligned() {
    let spec = Spec::of(&arch());
    let a = gaussian(1, 0.05);
    let apply = |permutations: &Permutations, gaussian: &Gaussian| {
        let apply = |params: &Params| spec.apply(permutations, params).unwrap();
        Gaussian::new(apply(gaussian.mean()), apply(gaussian.std())).unwrap()
    };
    let b = apply(&Permutations::random(&spec, 5), &a);
    let rises = |to: &Gaussian| curves(&a, to, SETTINGS, 2).path.loss.instability.value;
    assert!(rises(&b).abs() > 1e-3, "{}", rises(&b));
    let pool = ThreadPool::new(2).unwrap();
    let found = align::pair(&spec, &a, &b, align::Settings::default(), &pool, &mut Monitor::silent()).unwrap();
    assert_eq!(rises(&apply(&found.permutations, &b)), 0.0);
}

/// The mean square of the standard errors against the variance over seeds.
///
/// For n seeds, K samples and B replicates, and measurements that are about normal, the variance over seeds has a relative
/// deviation of √(2/(n−1)), and that of a bootstrap of √(2/K + 2/B), of which the mean is taken; it is too small by 1/K.
#[test]
fn standard_errors_are_the_spread_over_seeds() {
    const SEEDS: usize = 100;
    let settings = BarrierSettings { points: 3, samples: 24, replicates: 50, seed: 0 };
    let (a, b) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let examples = examples(30);
    let measured = |seed: u64| on(&examples, &a, &b, BarrierSettings { seed, ..settings }, 1).path;
    let found: Vec<Curve> = (0..SEEDS as u64).map(measured).collect();
    let (n, k, b) = (SEEDS as f64, settings.samples as f64, settings.replicates as f64);
    let allowed = 4.5 * (2.0 / (n - 1.0) + (2.0 / k + 2.0 / b) / n).sqrt() + 1.0 / k;
    assert!(allowed < 0.75);
    let check = |what: &str, of: &dyn Fn(&Curve) -> (f64, Option<f64>)| {
        let mean = found.iter().map(|curve| of(curve).0).sum::<f64>() / n;
        let variance = found.iter().map(|curve| (of(curve).0 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let estimated = found.iter().map(|curve| of(curve).1.unwrap().powi(2)).sum::<f64>() / n;
        assert!((estimated / variance - 1.0).abs() < allowed, "{what}: {estimated} and {variance}");
    };
    check("loss at an end", &|curve| (curve.points[0].loss.value, curve.points[0].loss.standard_error));
    check("loss in the middle", &|curve| (curve.points[1].loss.value, curve.points[1].loss.standard_error));
    check("midpoint", &|curve| (curve.loss.midpoint.value, curve.loss.midpoint.standard_error));
    check("instability", &|curve| (curve.loss.instability.value, curve.loss.instability.standard_error));
}

#[test]
fn progress_is_told_and_may_break_off() {
    let (a, b) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let path = Geodesic::new(&a, &b).unwrap();
    let mut predictor = Predictor::new(&arch(), Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    let mut seen = Vec::new();
    let total = SETTINGS.points * SETTINGS.samples * 20;
    let mut watch = |progress: Progress<'_>| {
        assert_eq!(progress.total, total);
        seen.push(progress.done);
        ControlFlow::Continue(())
    };
    let mut monitor = Monitor::new("", &mut watch);
    // Calibration evaluates no more than what is measured.
    Curves::along(&path, &mut predictor, &examples(20), true, SETTINGS, &mut monitor).unwrap();
    assert!(seen.is_sorted() && seen[0] == 0 && seen[seen.len() - 1] == total);
    for stop in [0, total / 3, total - 1] {
        let mut watch = |progress: Progress<'_>| {
            if progress.done > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut monitor = Monitor::new("", &mut watch);
        let stopped = Curves::along(&path, &mut predictor, &examples(20), false, SETTINGS, &mut monitor);
        assert_eq!(stopped, Err(Error::Stopped));
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let a = gaussian(1, 0.2);
    let path = Geodesic::new(&a, &a).unwrap();
    let mut predictor = Predictor::new(&arch(), Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    for (settings, named) in [
        (BarrierSettings { points: 4, ..SETTINGS }, "points"),
        (BarrierSettings { samples: 0, ..SETTINGS }, "samples"),
        (BarrierSettings { replicates: 1, ..SETTINGS }, "replicates"),
    ] {
        let error =
            Curves::along(&path, &mut predictor, &examples(20), false, settings, &mut Monitor::silent()).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    let regression = examples(20).with_targets(vec![0.0; 20 * 4]).unwrap();
    let mut measured =
        |calibrate| Curves::along(&path, &mut predictor, &regression, calibrate, SETTINGS, &mut Monitor::silent());
    assert_eq!(measured(false).unwrap().calibrated, None);
    let error = measured(true).unwrap_err();
    assert!(error.to_string().contains("calibrate"), "{error}");
}

#[test]
fn json_gives_the_same_curves_back() {
    let written = curves(&gaussian(1, 0.2), &gaussian(2, 0.2), SETTINGS, 1);
    let read: Curves = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
    assert_eq!(read, written);
}

/// Against a second implementation, in `f64` and by Newton's method.
#[test]
fn a_calibrated_point_has_the_best_temperature_of_the_other_half() {
    let end = gaussian(1, 0.0);
    let given = examples(150);
    let mut predictor = Predictor::new(&arch(), Likelihood::Softmax, Precision::F32, &pool(1).unwrap()).unwrap();
    let posterior = Posterior::Gaussian(end.clone());
    let probabilities = predictor.mean(&posterior, &given, 1, 0, &mut Monitor::silent()).unwrap();
    let logits: Vec<[f64; 4]> = probabilities.chunks(4).map(|row| [0, 1, 2, 3].map(|class| row[class].ln())).collect();
    // Most labels are those that the network predicts, so that the best temperature lies within its range.
    let predicted = |index: usize| (0..4).max_by(|a, b| logits[index][*a].total_cmp(&logits[index][*b])).unwrap();
    let labels: Vec<usize> =
        (0..150).map(|index| if index % 5 == 0 { index / 5 % 4 } else { predicted(index) }).collect();
    let dataset = given.dataset();
    let classes: Vec<u32> = labels.iter().map(|label| *label as u32).collect();
    let pixels = dataset.pixels().to_vec();
    let relabelled = Dataset::new("relabelled", dataset.shape(), 4, dataset.full_scale(), pixels, classes).unwrap();
    let examples = Examples::new(relabelled, given.standardisation().clone()).unwrap();

    let half = |parity: usize| logits.iter().zip(&labels).skip(parity).step_by(2);
    let best = |parity: usize| {
        let mut log = 0.0_f64;
        for _ in 0..30 {
            let inverse = log.exp();
            let (mut slope, mut curvature) = (0.0, 0.0);
            for (z, label) in half(parity) {
                let moment = |power: i32| z.iter().map(|z| z.powi(power) * (inverse * z).exp()).sum::<f64>();
                let (sum, first, second) = (moment(0), moment(1), moment(2));
                slope += first / sum - z[*label];
                curvature += second / sum - (first / sum).powi(2);
            }
            log -= (inverse * slope + log) / (inverse.powi(2) * curvature + inverse * slope + 1.0);
        }
        log.exp()
    };
    let inverses = [best(1), best(0)];
    let losses = [0, 1].map(|parity| {
        let inverse = inverses[parity];
        let loss =
            |z: &[f64; 4], label: usize| z.map(|z| (inverse * z).exp()).iter().sum::<f64>().ln() - inverse * z[label];
        half(parity).map(|(z, label)| loss(z, *label)).sum::<f64>()
    });
    let temperature = (inverses[0] * inverses[1]).sqrt().recip();
    let loss = (losses[0] + losses[1]) / 150.0;

    let found = on(&examples, &end, &end, SETTINGS, 2).calibrated.unwrap();
    for (point, found) in found.path.points.iter().zip(&found.temperatures) {
        assert!((found / temperature - 1.0).abs() < 1e-3, "{found} and {temperature}");
        assert!((point.loss.value - loss).abs() < 3e-4, "{} and {loss}", point.loss.value);
    }
}

/// More images than are looked at together.
#[test]
fn the_same_images_many_times_give_the_same_curve() {
    let settings = BarrierSettings { points: 3, samples: 2, replicates: 4, seed: 0 };
    let some = examples(150);
    let repeated: Vec<u32> = (0..150).cycle().take(67 * 150).collect();
    let many = Examples::new(some.dataset().select(&repeated), some.standardisation().clone()).unwrap();
    assert!(many.len() > 10_000);
    let (from, to) = (gaussian(1, 0.2), gaussian(2, 0.3));
    let [once, often] = [&some, &many].map(|examples| on(examples, &from, &to, settings, 2));
    for (once, often) in [(&once.path, &often.path), (&once.mixture, &often.mixture)] {
        for (once, often) in once.points.iter().zip(&often.points) {
            for (once, often) in [(once.loss, often.loss), (once.error, often.error)] {
                assert!((once.value - often.value).abs() < 1e-12);
                let [once, often] = [once, often].map(|estimate| estimate.standard_error.unwrap());
                assert!((once - often).abs() < 1e-9, "{once} and {often}");
            }
        }
    }
    // Both blocks have nearly the same images in each half, so nearly the same temperatures, which one of them alone has, too.
    let one = Examples::new(some.dataset().select(&repeated[..5026]), some.standardisation().clone()).unwrap();
    let [one, both] = [on(&one, &from, &to, settings, 2), often].map(|curves| curves.calibrated.unwrap().temperatures);
    for (one, both) in one.iter().zip(&both) {
        assert!((one / both - 1.0).abs() < 0.02, "{one} and {both}");
    }
}
