//! Methods that start at a posterior: at which mean, with which standard deviations, and what is refused.

use crate::exact::{self, IMAGES, PARAMETERS};
use onebasin::infer::{Inference, Method, Problem, Scaling};
use onebasin::params::{Layout, Params};
use onebasin::posterior::{Gaussian, Posterior, Samples};
use onebasin::threads::pool;
use std::sync::Arc;

fn problem() -> Problem {
    exact::problem(Scaling::FanIn, 0.5)
}

fn params(value: impl Fn(usize) -> f32) -> Params {
    Params::from_values(problem().arch.layout(), (0..PARAMETERS).map(value).collect()).unwrap()
}

/// Means of both signs, one of them zero.
fn mean() -> Params {
    params(|index| index as f32 - 5.0)
}

fn gaussian(std: impl Fn(usize) -> f32) -> Posterior {
    Posterior::Gaussian(Gaussian::new(mean(), params(std)).unwrap())
}

fn start(method: &str, from: Option<&Posterior>) -> Result<Box<dyn Inference>, String> {
    let optimise = "optimise = { epochs = 9, batch = 24, learning_rate = 0.1 }";
    let method: Method = toml::from_str(&format!("{method}\n{optimise}")).unwrap();
    method.start(&problem(), 1, &pool(1).unwrap(), from).map_err(|error| error.to_string())
}

/// The Gaussian at which a method starts.
fn started(method: &str, from: &Posterior) -> Gaussian {
    start(method, Some(from)).unwrap().posterior().unwrap().gaussian().into_owned()
}

fn assert_close(found: &Params, expected: impl Fn(usize) -> f32) {
    for (index, found) in found.values().iter().enumerate() {
        let expected = expected(index);
        assert!((found / expected - 1.0).abs() < 1e-5, "{index}: {found}, not {expected}");
    }
}

const MAP: &str = "method = 'map'";
const VI: &str = "method = 'vi'";
const IVON: &str = "method = 'ivon'\nhessian = 2.0";

#[test]
fn the_mean_is_that_of_the_posterior() {
    let other = params(|index| 2.0 * index as f32 - 10.0);
    let samples = Samples::new(vec![other, params(|_| 0.0)], 1).unwrap();
    for method in [MAP, VI, IVON] {
        for from in [Posterior::Point(mean()), gaussian(|_| 0.1), Posterior::Samples(samples.clone())] {
            assert_eq!(started(method, &from).mean(), &mean(), "{method} at {from:?}");
        }
    }
}

#[test]
fn variational_inference_takes_the_standard_deviations_unless_it_is_told_others() {
    let std = |index: usize| 0.01 + 0.3 * index as f32;
    assert_close(started(VI, &gaussian(std)).std(), std);
    assert_close(started(&format!("{VI}\nstd = 0.2"), &gaussian(std)).std(), |_| 0.2);
    // A point has none.
    assert_close(started(VI, &Posterior::Point(mean())).std(), |_| 0.01);
    assert_close(started(&format!("{VI}\nstd = 0.2"), &Posterior::Point(mean())).std(), |_| 0.2);
    assert_close(started(VI, &gaussian(|index| if index == 3 { 0.0 } else { 0.5 })).std(), |index| {
        if index == 3 { 0.01 } else { 0.5 }
    });
}

#[test]
fn moped_takes_a_share_of_the_mean_with_a_floor() {
    let squares: f32 = mean().values().iter().map(|mean| mean * mean).sum();
    let least = 0.01 * (squares / PARAMETERS as f32).sqrt();
    assert!(mean().values().contains(&0.0) && least < 1.0);
    for from in [Posterior::Point(mean()), gaussian(|_| 7.0)] {
        let found = started(&format!("{VI}\nmoped = 0.2"), &from);
        assert_close(found.std(), |index| 0.2 * mean().values()[index].abs().max(least));
    }
}

#[test]
fn ivon_takes_the_standard_deviations_that_the_prior_allows() {
    let problem = problem();
    let (lambda, variance) = (IMAGES as f32 / 0.5, 0.1);
    // Those of the prior, in the order of weights (5 inputs, 3 classes) and biases.
    let prior = |index: usize| (0.5f32 * variance / if index < 15 { 5.0 } else { 1.0 }).sqrt();
    assert_eq!(problem.arch.layout().tensors()[0].range().len(), 15);
    let narrow = |index: usize| prior(index) * (0.05 + 0.05 * index as f32);
    assert_close(started(IVON, &gaussian(narrow)).std(), narrow);
    for from in [gaussian(|index| 3.0 * prior(index)), gaussian(prior)] {
        assert_close(started(IVON, &from).std(), |index| prior(index) / 1.01f32.sqrt());
    }
    let of_hessian = |index: usize| 1.0 / (2.0 * lambda + prior(index).powi(-2)).sqrt();
    assert_close(started(IVON, &Posterior::Point(mean())).std(), of_hessian);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let zeros = Posterior::Point(params(|_| 0.0));
    for (method, from, said) in [
        ("method = 'ensemble'\nmembers = 2", Some(&zeros), "`ensemble` cannot start at a posterior"),
        ("method = 'vi'\nmoped = 0.1", None, "`infer.moped` is 0.1; it must be left out without a posterior"),
        ("method = 'vi'\nmoped = 0.1", Some(&zeros), "whose means are all zero"),
        ("method = 'vi'\nmoped = 0.1\nstd = 0.1", Some(&zeros), "left out where `std` is given"),
    ] {
        let error = start(method, from).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let elsewhere = Arc::new(Layout::new([("other", &[PARAMETERS][..])]).unwrap());
    let elsewhere = Posterior::Point(Params::zeros(&elsewhere));
    for method in [MAP, VI, IVON] {
        let error = start(method, Some(&elsewhere)).unwrap_err();
        assert!(error.contains("the parameters do not have the layout that is needed"), "{error}");
    }
}
