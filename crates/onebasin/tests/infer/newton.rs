//! IVON: one step against its equations in f64, and the exact mean-field posterior of linear regression.

use crate::exact::{self, CLASSES, Data, Exact, IMAGES, PARAMETERS, ROWS};
use onebasin::infer::{Inference, Ivon, IvonConfig, Method, Scaling};
use onebasin::rng::Stream;
use onebasin::threads::pool;

fn config(text: &str) -> IvonConfig {
    let text = format!("method = \"ivon\"\n{text}");
    match toml::from_str(&text).unwrap() {
        Method::Ivon(config) => config,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_step_is_that_of_the_equations() {
    let (temperature, h0, beta1, beta2, rate) = (0.7_f64, 2.0_f64, 0.8_f64, 0.99_f64, 0.05_f64);
    let problem = exact::problem(Scaling::FanIn, temperature);
    let text = "hessian = 2.0\nhessian_decay = 0.99\nclip = 0.4\n\
                optimise = { epochs = 9, batch = 24, learning_rate = 0.05, momentum = 0.8 }";
    let mut ivon = Ivon::new(config(text), &problem, 3, &pool(1).unwrap(), None).unwrap();
    let start = problem.arch.initialise(3);
    ivon.step();
    let state = ivon.state();

    let (data, exact) = (Data::of(&problem), Exact::of(&problem));
    let lambda = IMAGES as f64 / temperature;
    let mut noise = Vec::new();
    for tensor in problem.arch.layout().tensors() {
        let mut values = vec![0.0; tensor.range().len()];
        Stream::new(3, &format!("ivon/{}", tensor.name()), 0).fill_normal(&mut values);
        noise.extend(values);
    }
    let mean: Vec<f64> = start.values().iter().map(|value| f64::from(*value)).collect();
    let delta: Vec<f64> = (0..PARAMETERS).map(|index| exact.prior[index / CLASSES] / IMAGES as f64).collect();
    let away: Vec<f64> =
        (0..PARAMETERS).map(|index| f64::from(noise[index]) / (lambda * (h0 + delta[index])).sqrt()).collect();
    let point: Vec<f64> = mean.iter().zip(&away).map(|(mean, away)| mean + away).collect();
    let gradient = data.gradient(&point);
    for index in 0..PARAMETERS {
        let (g, delta) = (-gradient[index] / IMAGES as f64, delta[index]);
        let u = (1.0 - beta1) * g;
        let f = lambda * (h0 + delta) * away[index] * g;
        let h = beta2 * h0 + (1.0 - beta2) * f + 0.5 * (1.0 - beta2).powi(2) * (h0 - f).powi(2) / (h0 + delta);
        let step = ((u / (1.0 - beta1) + delta * mean[index]) / (h + delta)).clamp(-0.4, 0.4);
        let m = mean[index] - rate * (h0 + delta) * step;
        for (name, expected) in [("momentum", u), ("hessian", h), ("mean", m)] {
            let got = f64::from(state.vectors[name][index]);
            assert!((got - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{name}[{index}]: {got}, not {expected}");
        }
    }
}

#[test]
fn the_exact_mean_field_posterior_is_found() {
    for (scaling, temperature) in [(Scaling::One, 1.0), (Scaling::FanIn, 0.5)] {
        let problem = exact::problem(scaling, temperature);
        let text = "hessian_decay = 0.999\nsamples = 4\n\
                    optimise = { epochs = 20000, batch = 24, learning_rate = 0.1, schedule = 'cosine' }";
        let mut ivon = Ivon::new(config(text), &problem, 0, &pool(1).unwrap(), None).unwrap();
        while ivon.done() < ivon.total() {
            ivon.step();
        }
        let (gaussian, exact) = (ivon.gaussian(), Exact::of(&problem));
        for index in 0..PARAMETERS {
            let row = index / CLASSES;
            let std = (temperature / exact.precision[row][row]).sqrt();
            let (mean, found) = (f64::from(gaussian.mean().values()[index]), f64::from(gaussian.std().values()[index]));
            assert!((mean - exact.mean[index]).abs() < 0.05 * std, "mean {index}: {mean}, not {}", exact.mean[index]);
            assert!((found / std - 1.0).abs() < 0.05, "σ {index} of {ROWS} rows: {found}, not {std}");
        }
    }
}

#[test]
fn the_standard_deviations_stay_while_they_are_held() {
    let problem = exact::problem(Scaling::One, 1.0);
    let text = "hold = 5.0\noptimise = { epochs = 9, batch = 24, learning_rate = 0.1 }";
    let mut ivon = Ivon::new(config(text), &problem, 0, &pool(1).unwrap(), None).unwrap();
    let start = ivon.gaussian();
    (0..5).for_each(|_| ivon.step());
    assert_eq!(ivon.gaussian().std(), start.std());
    assert_ne!(ivon.gaussian().mean(), start.mean());
    ivon.step();
    assert_ne!(ivon.gaussian().std(), start.std());
}
