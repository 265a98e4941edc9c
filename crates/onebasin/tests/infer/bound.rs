//! The evidence lower bound: what is reported of it, and the direction in which it is climbed.

use crate::exact::{CLASSES, Data, Exact, IMAGES, NOISE, PARAMETERS, ROWS, problem};
use onebasin::data::Batches;
use onebasin::infer::{Inference, Info, Optimise, Optimiser, Problem, Scaling, Vi, ViConfig};
use onebasin::net::Likelihood;
use onebasin::rng::Stream;
use onebasin::threads::pool;

/// Plain gradient ascent.
fn optimise(batch: usize, rate: f64) -> Optimise {
    Optimise { optimiser: Optimiser::Sgd, momentum: 0.0, ..Optimise::new(1e6, batch, rate) }
}

fn value(info: &Info, name: &str) -> f64 {
    info.0.iter().find(|(known, _)| *known == name).unwrap().1
}

/// Log-evidence minus divergence from the exact posterior is the lower bound, whatever the Gaussian.
#[test]
fn the_bound_reported_is_the_evidence_minus_the_divergence_from_the_posterior() {
    const STEPS: usize = 4000;
    const STD: f64 = 0.2;
    for scaling in [Scaling::One, Scaling::FanIn] {
        let problem = problem(scaling, 1.0);
        let (exact, data) = (Exact::of(&problem), Data::of(&problem));
        // A rate that changes nothing: all steps draw from one Gaussian.
        let config = ViConfig { optimise: optimise(IMAGES, 1e-30), std: Some(STD), moped: None, samples: 1 };
        let mut vi = Vi::new(&config, &problem, 4, &pool(1).unwrap(), None).unwrap();
        let mean: Vec<f64> = vi.gaussian().mean().values().iter().map(|value| f64::from(*value)).collect();
        (0..STEPS).for_each(|_| vi.step());
        let moved = |(now, then): (&f32, &f64)| (f64::from(*now) - then).abs() > 1e-20;
        assert!(!vi.gaussian().mean().values().iter().zip(&mean).any(moved));
        let info = vi.info();

        // KL(q ‖ p) = ½ Σ over classes of (tr(A S) + dᵀ A d − rows − log |A S|), S = σ² 1, d = μ − exact mean.
        let distance: Vec<f64> = mean.iter().zip(&exact.mean).map(|(mean, exact)| mean - exact).collect();
        let trace: f64 = (0..ROWS).map(|row| exact.precision[row][row]).sum();
        let mut divergence = 0.5 * CLASSES as f64 * (STD * STD * trace - ROWS as f64 - exact.log_determinant);
        divergence -= PARAMETERS as f64 * STD.ln();
        for class in 0..CLASSES {
            let of_class: [f64; ROWS] = std::array::from_fn(|row| distance[row * CLASSES + class]);
            divergence += 0.5 * quadratic(&exact, of_class);
        }
        let expected = exact.log_evidence(&data) - divergence;

        // The noise is in the log-likelihood alone: b · δ − ½ δᵀ M δ with δ normal has variance σ² |b|² + ½ σ⁴ tr(M²).
        let slope: f64 = data.gradient(&mean).iter().map(|slope| slope * slope).sum();
        let curvature: f64 = (0..ROWS)
            .flat_map(|row| (0..ROWS).map(move |column| (row, column)))
            .map(|(row, column)| {
                let prior = if row == column { exact.prior[row] } else { 0.0 };
                (exact.precision[row][column] - prior).powi(2)
            })
            .sum();
        let variance = STD.powi(2) * slope + 0.5 * CLASSES as f64 * STD.powi(4) * curvature;
        let error = (variance / STEPS as f64).sqrt();
        let found = value(&info, "elbo") * IMAGES as f64;
        assert!((found - expected).abs() < 5.0 * error + 1e-4, "{scaling:?}: {found}, not {expected} ± {error}");
        assert!(error < 0.02 * expected.abs(), "too coarse: {error} of {expected}");

        // Its two parts: the divergence from the prior has no noise.
        let mut from_prior = 0.0;
        for (index, mean) in mean.iter().enumerate() {
            let precision = exact.prior[index / CLASSES];
            from_prior += 0.5 * (precision * (STD * STD + mean * mean) - 1.0 - (precision * STD * STD).ln());
        }
        let found = value(&info, "kl") * IMAGES as f64;
        assert!((found / from_prior - 1.0).abs() < 1e-6, "{found}, not {from_prior}");
        let sum = -value(&info, "nll") - value(&info, "kl");
        assert!((value(&info, "elbo") - sum).abs() < 1e-12 * sum.abs());
    }
}

/// xᵀ A x
fn quadratic(exact: &Exact, x: [f64; ROWS]) -> f64 {
    (0..ROWS).map(|row| x[row] * (0..ROWS).map(|column| exact.precision[row][column] * x[column]).sum::<f64>()).sum()
}

/// At temperature T, likelihood and prior count for 1/T of what they do, and the entropy for all.
#[test]
fn the_bound_reported_is_tempered() {
    let info = |temperature: f64| {
        let config = ViConfig { optimise: optimise(IMAGES, 1e-30), std: Some(0.2), moped: None, samples: 1 };
        let mut vi = Vi::new(&config, &problem(Scaling::One, temperature), 4, &pool(1).unwrap(), None).unwrap();
        vi.step();
        vi.info()
    };
    let (one, cold) = (info(1.0), info(0.25));
    // −kl = entropy + prior, and the entropy is known.
    let entropy = PARAMETERS as f64 * (0.5 * (std::f64::consts::TAU.ln() + 1.0) + 0.2f64.ln()) / IMAGES as f64;
    let prior = -value(&one, "kl") - entropy;
    let expected = 4.0 * (prior - value(&one, "nll")) + entropy;
    assert!(
        (value(&cold, "elbo") - expected).abs() < 1e-6 * expected.abs(),
        "{}, not {expected}",
        value(&cold, "elbo")
    );
    assert_eq!((value(&cold, "nll"), value(&cold, "kl")), (value(&one, "nll"), value(&one, "kl")));
}

/// The lower bound divided by the number of images, with the noise given: `mean` and `rho` (row, class), `noise` (draw, row, class).
fn bound(problem: &Problem, batch: &Data, exact: &Exact, mean: &[f64], rho: &[f64], noise: &[Vec<f64>]) -> f64 {
    let std: Vec<f64> = rho.iter().map(|rho| rho.exp().ln_1p()).collect();
    let mut likelihood = 0.0;
    for noise in noise {
        let point: Vec<f64> = (0..PARAMETERS).map(|index| mean[index] + std[index] * noise[index]).collect();
        likelihood += match problem.likelihood {
            Likelihood::Gaussian { variance } => {
                assert_eq!(variance, NOISE);
                batch.log_likelihood(&point)
            }
            Likelihood::Softmax => log_softmax(batch, &point),
        };
    }
    let mut sum = likelihood / (problem.temperature * (noise.len() * batch.inputs.len()) as f64);
    for index in 0..PARAMETERS {
        let squares = mean[index].powi(2) + std[index].powi(2);
        sum += (std[index].ln() - 0.5 * exact.prior[index / CLASSES] * squares / problem.temperature) / IMAGES as f64;
    }
    sum
}

/// The log-likelihood of labels as logits.
fn log_softmax(data: &Data, point: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (inputs, targets) in data.inputs.iter().zip(&data.targets) {
        let logit = |class: usize| -> f64 {
            inputs.iter().enumerate().map(|(row, input)| input * point[row * CLASSES + class]).sum()
        };
        let normaliser = (0..CLASSES).map(|class| logit(class).exp()).sum::<f64>().ln();
        sum += (0..CLASSES).map(|class| targets[class] * (logit(class) - normaliser)).sum::<f64>();
    }
    sum
}

/// The noise of draw number `index`: a stream for each tensor, which lie one behind the other.
fn noise(problem: &Problem, seed: u64, index: u64) -> Vec<f64> {
    let mut all = Vec::new();
    for tensor in problem.arch.layout().tensors() {
        let mut values = vec![0.0; tensor.range().len()];
        Stream::new(seed, &format!("vi/{}", tensor.name()), index).fill_normal(&mut values);
        all.extend(values.into_iter().map(f64::from));
    }
    all
}

/// Two steps of plain ascent move mean and ρ by the rate times the slope of the bound with the noise of that step.
#[test]
fn a_step_goes_along_the_slope_of_the_bound_with_its_noise() {
    const BATCH: usize = 10;
    const SEED: u64 = 12;
    const RATE: f64 = 0.5;
    for likelihood in [Likelihood::Gaussian { variance: NOISE }, Likelihood::Softmax] {
        for samples in [1, 3] {
            let problem = Problem { likelihood, ..problem(Scaling::FanIn, 0.7) };
            let (exact, data) = (Exact::of(&problem), Data::of(&problem));
            let config = ViConfig { optimise: optimise(BATCH, RATE), std: Some(0.3), moped: None, samples };
            let mut vi = Vi::new(&config, &problem, SEED, &pool(1).unwrap(), None).unwrap();
            let mut batches = Batches::new(IMAGES, BATCH, SEED).unwrap();
            for step in 0..3u64 {
                let state = |vi: &Vi, name: &str| -> Vec<f64> {
                    vi.state().vectors[name].iter().map(|value| f64::from(*value)).collect()
                };
                let (mean, rho) = (state(&vi, "mean"), state(&vi, "rho"));
                vi.step();
                let (new_mean, new_rho) = (state(&vi, "mean"), state(&vi, "rho"));

                let chosen = batches.indices(step);
                let batch = Data {
                    inputs: chosen.iter().map(|image| data.inputs[*image as usize]).collect(),
                    targets: chosen.iter().map(|image| data.targets[*image as usize]).collect(),
                };
                let noise: Vec<Vec<f64>> =
                    (0..samples as u64).map(|sample| noise(&problem, SEED, step * samples as u64 + sample)).collect();
                let at = |mean: &[f64], rho: &[f64]| bound(&problem, &batch, &exact, mean, rho, &noise);
                for index in 0..PARAMETERS {
                    let slope = |of_rho: bool| {
                        let moved = |by: f64| {
                            let (mut mean, mut rho) = (mean.clone(), rho.clone());
                            if of_rho {
                                rho[index] += by;
                            } else {
                                mean[index] += by;
                            }
                            at(&mean, &rho)
                        };
                        (moved(1e-4) - moved(-1e-4)) / 2e-4
                    };
                    for (new, old, of_rho) in [(&new_mean, &mean, false), (&new_rho, &rho, true)] {
                        let (found, expected) = ((new[index] - old[index]) / RATE, slope(of_rho));
                        // f32 against differences: the terms of a slope are up to 10 in size.
                        assert!(
                            (found - expected).abs() < 2e-5,
                            "{likelihood:?}, {samples}, {step}: {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
}
