//! Nesterov's momentum, decoupled weight decay and clipped gradients: steps of MAP and VI against plain loops in f64.

use crate::exact::{self, CLASSES, Data, Exact, IMAGES, PARAMETERS};
use onebasin::infer::{Inference, Map, MapConfig, Optimise, Optimiser, Scaling, Vi, ViConfig};
use onebasin::rng::Stream;
use onebasin::threads::pool;

const SEED: u64 = 3;
const TEMPERATURE: f64 = 0.7;
const RATE: f64 = 0.1;
const MOMENTUM: f64 = 0.8;
const DECAY: f64 = 0.9;
const STEPS: u64 = 4;

/// What is optimised in f64: values, and the moments of each.
struct Plain {
    optimise: Optimise,
    values: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Plain {
    fn new(optimise: Optimise, values: Vec<f64>) -> Self {
        let zeros = vec![0.0; values.len()];
        Self { optimise, first: zeros.clone(), second: zeros, values }
    }

    /// One step along `slopes`; the first `decayed` values shrink apart from it. Returns the norm before it is clipped.
    fn step(&mut self, number: i32, mut slopes: Vec<f64>, decayed: usize) -> f64 {
        let norm = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
        if let Some(largest) = self.optimise.clip_norm.filter(|largest| norm > *largest) {
            for slope in &mut slopes {
                *slope *= largest / norm;
            }
        }
        for (index, slope) in slopes.into_iter().enumerate() {
            let (first, second) = (&mut self.first[index], &mut self.second[index]);
            let along = if self.optimise.optimiser == Optimiser::Sgd {
                *first = MOMENTUM * *first + slope;
                if self.optimise.nesterov { slope + MOMENTUM * *first } else { *first }
            } else {
                *first = 0.9 * *first + 0.1 * slope;
                *second = 0.999 * *second + 0.001 * slope * slope;
                let root = (*second / (1.0 - 0.999f64.powi(number))).sqrt();
                *first / (1.0 - 0.9f64.powi(number)) / (root + 1e-8)
            };
            let decay = if index < decayed { self.optimise.weight_decay } else { 0.0 };
            self.values[index] += RATE * (along - decay * self.values[index]);
        }
        norm
    }
}

/// Every new setting alone and all together.
fn settings() -> Vec<Optimise> {
    let plain = Optimise { momentum: MOMENTUM, ..Optimise::new(1e3, IMAGES, RATE) };
    let sgd = Optimise { optimiser: Optimiser::Sgd, ..plain };
    let nesterov = Optimise { nesterov: true, ..sgd };
    let (weight_decay, clip_norm) = (DECAY, Some(0.5));
    vec![
        nesterov,
        Optimise { weight_decay, ..sgd },
        Optimise { weight_decay, ..plain },
        Optimise { clip_norm, ..sgd },
        Optimise { clip_norm, weight_decay, ..plain },
        Optimise { clip_norm, weight_decay, ..nesterov },
        // Longer than any gradient.
        Optimise { clip_norm: Some(1e3), ..nesterov },
    ]
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn check(found: &[f32], expected: &[f64], what: &str, optimise: &Optimise) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let off = (f64::from(*found) - expected).abs();
        assert!(off < 1e-5 * (1.0 + expected.abs()), "{what}[{index}]: {found}, not {expected}: {optimise:?}");
    }
}

#[test]
fn steps_of_a_point_are_those_of_the_formulas() {
    let problem = exact::problem(Scaling::FanIn, TEMPERATURE);
    let (data, exact) = (Data::of(&problem), Exact::of(&problem));
    for optimise in settings() {
        let mut map = Map::new(&MapConfig { optimise }, &problem, SEED, &pool(1).unwrap()).unwrap();
        let mut plain = Plain::new(optimise, wide(map.point().values()));
        for step in 1..=STEPS {
            map.step();
            let gradient = data.gradient(&plain.values);
            let slope = |index: usize| {
                let prior = exact.prior[index / CLASSES] * plain.values[index];
                (gradient[index] - prior) / (IMAGES as f64 * TEMPERATURE)
            };
            let norm = plain.step(step as i32, (0..PARAMETERS).map(slope).collect(), PARAMETERS);
            assert!((0.5..1e3).contains(&norm), "the first clip is reached, the second is not: {norm}");
            check(map.point().values(), &plain.values, "point", &optimise);
        }
    }
}

#[test]
fn steps_of_a_gaussian_are_those_of_the_formulas() {
    let problem = exact::problem(Scaling::One, TEMPERATURE);
    let (data, exact) = (Data::of(&problem), Exact::of(&problem));
    let scale = 1.0 / (IMAGES as f64 * TEMPERATURE);
    for (optimise, samples) in settings().into_iter().flat_map(|optimise| [1, 2].map(|samples| (optimise, samples))) {
        let config = ViConfig { optimise, std: Some(0.2), moped: None, samples };
        let mut vi = Vi::new(&config, &problem, SEED, &pool(1).unwrap(), None).unwrap();
        let state = vi.state();
        // Means, then ρ.
        let mut plain = Plain::new(optimise, wide(&[&state.vectors["mean"][..], &state.vectors["rho"]].concat()));
        for step in 1..=STEPS {
            vi.step();
            let (mean, rho) = plain.values.split_at(PARAMETERS);
            let std: Vec<f64> = rho.iter().map(|rho| rho.exp().ln_1p()).collect();
            let mut slopes = vec![0.0; 2 * PARAMETERS];
            for sample in 0..samples as u64 {
                let mut noise = Vec::new();
                for tensor in problem.arch.layout().tensors() {
                    let mut values = vec![0.0; tensor.range().len()];
                    let index = (step - 1) * samples as u64 + sample;
                    Stream::new(SEED, &format!("vi/{}", tensor.name()), index).fill_normal(&mut values);
                    noise.extend(wide(&values));
                }
                let point: Vec<f64> = (0..PARAMETERS).map(|index| mean[index] + std[index] * noise[index]).collect();
                for (index, gradient) in data.gradient(&point).into_iter().enumerate() {
                    slopes[index] += scale * gradient / samples as f64;
                    slopes[PARAMETERS + index] += scale * gradient * noise[index] / samples as f64;
                }
            }
            for index in 0..PARAMETERS {
                let prior = exact.prior[index / CLASSES];
                slopes[index] -= scale * prior * mean[index];
                let of_std =
                    slopes[PARAMETERS + index] - scale * prior * std[index] + 1.0 / (IMAGES as f64 * std[index]);
                slopes[PARAMETERS + index] = of_std / (1.0 + (-rho[index]).exp());
            }
            plain.step(step as i32, slopes, PARAMETERS);
            let state = vi.state();
            check(&state.vectors["mean"], &plain.values[..PARAMETERS], "mean", &optimise);
            check(&state.vectors["rho"], &plain.values[PARAMETERS..], "rho", &optimise);
        }
    }
}
