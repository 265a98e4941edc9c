//! Every method finds what it should of a posterior that is known: its mode, the best diagonal Gaussian, or all of it.

use crate::exact::{CLASSES, Exact, IMAGES, PARAMETERS, PRIOR, ROWS, cholesky, problem, solve};
use onebasin::infer::{
    Hmc, HmcConfig, Inference, Map, MapConfig, Optimise, Optimiser, Problem, Scaling, Schedule, Teacher, Vi, ViConfig,
    diagnostics,
};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::threads::pool;

/// The problems that each method is tried on: plain, scaled by fan-in, cold and warm.
const CASES: [(Scaling, f64); 4] =
    [(Scaling::One, 1.0), (Scaling::FanIn, 1.0), (Scaling::One, 0.1), (Scaling::FanIn, 3.0)];

/// Whole batches, so that one step is one epoch.
fn optimise(steps: u64, rate: f64) -> Optimise {
    Optimise { schedule: Schedule::Cosine, ..Optimise::new(steps as f64, IMAGES, rate) }
}

fn run(mut inference: impl Inference) -> impl Inference {
    while inference.done() < inference.total() {
        inference.step();
    }
    inference
}

#[test]
fn map_finds_the_exact_mean() {
    for (scaling, temperature) in CASES {
        for optimiser in [Optimiser::Adam, Optimiser::Sgd] {
            let problem = problem(scaling, temperature);
            let rate = if optimiser == Optimiser::Adam { 0.01 } else { 0.01 * temperature };
            let optimise = Optimise { optimiser, ..optimise(6000, rate) };
            let map = run(Map::new(&MapConfig { optimise }, &problem, 5, &pool(1).unwrap()).unwrap());
            let Some(onebasin::posterior::Posterior::Point(point)) = map.posterior() else { panic!("no point") };
            // Nothing is random here: what remains is the rounding of parameters around 0.3 and of gradients.
            for (found, exact) in point.values().iter().zip(Exact::of(&problem).mean) {
                assert!((f64::from(*found) - exact).abs() < 1e-6, "{optimiser:?}, {temperature}: {found}, not {exact}");
            }
        }
    }
}

/// The best diagonal Gaussian for a Gaussian target has its mean, and the inverse roots of the diagonal of its precision as
/// standard deviations; both in the tempered posterior, whose precision is A / T.
///
/// How close can it come? In units of a standard deviation σ, the gradient in μ has the noise s ≈ 1 / √K of K draws and
/// the curvature h ≥ 0.3 (the smallest eigenvalue of the correlations), and Adam divides its steps by s / σ. At rate η an error decays within
/// x = s σ / (η h) steps and the noise leaves a variance of s² / (2 h x). The rate ends like η (π x / 2 n)², x steps before
/// the end of n, so noise freezes where both agree, at x = (4 n² s σ / (π² η h))^⅓. With n = 8000, K = 10, σ ≥ 0.04 and η = 0.005
/// this is x ≥ 1200: an error of √(0.1 / 720) = 0.012 σ. For ln σ, h = 2 and s ≈ √(2/K) leave less. Five errors are 0.06.
#[test]
fn vi_finds_the_best_diagonal_gaussian() {
    for (scaling, temperature) in CASES {
        let problem = problem(scaling, temperature);
        let exact = Exact::of(&problem);
        let config = ViConfig { optimise: optimise(8000, 0.005), std: Some(0.05), moped: None, samples: 10 };
        let vi = run(Vi::new(&config, &problem, 3, &pool(1).unwrap(), None).unwrap());
        let Some(onebasin::posterior::Posterior::Gaussian(found)) = vi.posterior() else { panic!("no Gaussian") };
        for index in 0..PARAMETERS {
            let std = (temperature / exact.precision[index / CLASSES][index / CLASSES]).sqrt();
            let off = (f64::from(found.mean().values()[index]) - exact.mean[index]) / std;
            let wider = f64::from(found.std().values()[index]) / std - 1.0;
            assert!(off.abs() < 0.06, "{scaling:?}, {temperature}: mean {index} is off by {off} standard deviations");
            assert!(wider.abs() < 0.06, "{scaling:?}, {temperature}: standard deviation {index} is off by {wider}");
        }
    }
}

/// A teacher who is unsure of two labels teaches the mean of what both would: the posterior's mean is linear in the labels. With
/// weight w, `A = w XᵀX / noise + P`, and the mean is `A⁻¹ (w Xᵀy / noise + P m)`.
#[test]
fn a_distilled_gaussian_learns_predictions_around_the_gaussian_of_its_teacher() {
    let problem = problem(Scaling::One, 1.0);
    let exact = Exact::of(&problem);
    let layout = problem.arch.layout();
    let labels = problem.training.dataset().labels();
    let mut predictions = vec![0.0; IMAGES * CLASSES];
    for (row, label) in predictions.chunks_exact_mut(CLASSES).zip(labels) {
        row[*label as usize] = 0.75;
        row[(*label as usize + 1) % CLASSES] = 0.25;
    }
    let mut mean = vec![0.0; PARAMETERS];
    Stream::new(4, "mean", 0).fill_normal(&mut mean);
    let known = Gaussian::new(
        Params::from_values(layout, mean.clone()).unwrap(),
        Params::from_values(layout, vec![PRIOR.sqrt() as f32; PARAMETERS]).unwrap(),
    )
    .unwrap();
    for weight in [1.0, 3.0] {
        let teacher = Teacher { gaussian: &known, predictions: &predictions, weight };
        let config = ViConfig { optimise: optimise(16000, 0.01), std: Some(0.2), moped: None, samples: 10 };
        let vi = run(Vi::distil(&config, &problem, teacher, 3, &pool(1).unwrap()).unwrap());
        let Some(onebasin::posterior::Posterior::Gaussian(found)) = vi.posterior() else { panic!("no Gaussian") };
        let mut precision = exact.precision;
        for (row, values) in precision.iter_mut().enumerate() {
            for value in values.iter_mut() {
                *value *= weight;
            }
            values[row] += (1.0 - weight) * exact.prior[row];
        }
        let factor = cholesky(&precision);
        for class in 0..CLASSES {
            let before = (class + CLASSES - 1) % CLASSES;
            let right = std::array::from_fn(|row| {
                let distilled = |other: usize| {
                    0.75 * exact.mean[other * CLASSES + class] + 0.25 * exact.mean[other * CLASSES + before]
                };
                let products: f64 = (0..ROWS).map(|other| exact.precision[row][other] * distilled(other)).sum();
                weight * products + exact.prior[row] * f64::from(mean[row * CLASSES + class])
            });
            for (row, expected) in solve(&factor, right).into_iter().enumerate() {
                let (index, std) = (row * CLASSES + class, precision[row][row].sqrt().recip());
                let off = (f64::from(found.mean().values()[index]) - expected) / std;
                let wider = f64::from(found.std().values()[index]) / std - 1.0;
                // Labels are random too, three times in a prediction's weight, so the mean is less certain than above.
                assert!(off.abs() < 0.1 * weight, "weight {weight}, {index}: the mean is off by {off}");
                assert!(wider.abs() < 0.06, "weight {weight}, {index}: the standard deviation is off by {wider}");
            }
        }
    }
}

#[test]
fn a_teacher_must_predict_all_images_and_count() {
    let problem = problem(Scaling::One, 1.0);
    let known = Gaussian::new(Params::zeros(problem.arch.layout()), Params::zeros(problem.arch.layout())).unwrap();
    let teacher = Teacher { gaussian: &known, predictions: &[0.5; CLASSES], weight: 1.0 };
    let config = ViConfig { optimise: optimise(1, 0.01), std: Some(0.2), moped: None, samples: 1 };
    let error = Vi::distil(&config, &problem, teacher, 3, &pool(1).unwrap()).unwrap_err().to_string();
    assert!(error.contains("the array of predictions"), "{error}");
    for (prediction, weight, named) in [
        (0.5, 0.0, "`weight`"),
        (f64::NAN, 1.0, "`predictions` is NaN"),
        (-0.5, 1.0, "`predictions` is -0.5"),
        (0.0, 1.0, "`predictions` is 0"),
    ] {
        let teacher = Teacher { gaussian: &known, predictions: &[prediction; IMAGES * CLASSES], weight };
        let error = Vi::distil(&config, &problem, teacher, 3, &pool(1).unwrap()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// The samples of all chains, (parameter, chain, sample), less the exact mean.
fn centred_samples(problem: &Problem, exact: &Exact, config: HmcConfig) -> Vec<Vec<Vec<f64>>> {
    let mut hmc = Hmc::new(config, problem, 8, &pool(1).unwrap(), None).unwrap();
    let mut samples = vec![vec![Vec::new(); hmc.chains()]; PARAMETERS];
    while hmc.done() < hmc.total() {
        hmc.step();
        for (chain, point) in hmc.fresh() {
            for (index, value) in point.values().iter().enumerate() {
                samples[index][chain].push(f64::from(*value) - exact.mean[index]);
            }
        }
    }
    samples
}

/// How many standard errors the mean over `chains` is from `expected`; the error is that of as many independent samples as the
/// effective sample size says.
fn errors_off(chains: &[Vec<f64>], expected: f64) -> f64 {
    let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
    let all: Vec<f64> = chains.iter().flatten().copied().collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / all.len() as f64;
    (mean - expected) / (variance / diagnostics::ess(&slices)).sqrt()
}

#[test]
fn hmc_samples_the_exact_posterior() {
    for (scaling, temperature) in CASES {
        let problem = problem(scaling, temperature);
        let exact = Exact::of(&problem);
        let config = HmcConfig {
            chains: 4,
            burn_in: 200,
            samples: 2500,
            thin: 1,
            // About a quarter of the longest period, at every temperature.
            trajectory: Some(0.25 * temperature.sqrt()),
            jitter: 0.2,
            step: None,
            acceptance: 0.8,
            max_leapfrog_steps: 100,
        };
        let samples = centred_samples(&problem, &exact, config);
        let mut squares = Vec::new();
        // Some 300 numbers are compared in all: five standard errors are beyond chance.
        let mut check = |what: &str, chains: &[Vec<f64>], expected: f64| {
            let off = errors_off(chains, expected);
            assert!(off.abs() < 5.0, "{scaling:?}, {temperature}: {what} is off by {off} standard errors");
            squares.push(off * off);
        };
        for first in 0..PARAMETERS {
            let rhat = diagnostics::rank_rhat(&samples[first].iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert!(rhat < 1.02, "parameter {first}: R-hat {rhat}");
            check(&format!("mean {first}"), &samples[first], 0.0);
            // Itself, its neighbours in row and class, and one that is neither.
            for second in
                [first, first + 1, first + CLASSES, first + CLASSES + 1].into_iter().filter(|at| *at < PARAMETERS)
            {
                let rows = (first / CLASSES, second / CLASSES);
                let same = first % CLASSES == second % CLASSES;
                let expected = if same { temperature * exact.inverse[rows.0][rows.1] } else { 0.0 };
                let products: Vec<Vec<f64>> = samples[first]
                    .iter()
                    .zip(&samples[second])
                    .map(|(one, other)| one.iter().zip(other).map(|(one, other)| one * other).collect())
                    .collect();
                check(&format!("covariance of {first} and {second}"), &products, expected);
            }
        }
        // Their mean is one if all is right, and within a sixth of it with twenty other seeds: it sees a small bias everywhere.
        let square = squares.iter().sum::<f64>() / squares.len() as f64;
        assert!(
            (0.4..1.7).contains(&square),
            "{scaling:?}, {temperature}: off by √{square} standard errors everywhere"
        );
    }
}
