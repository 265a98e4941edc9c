//! A method that is stopped at any step and continued elsewhere, on other threads, ends with the same bits.

use onebasin::arch::{Activation, Arch, Mlp};
use onebasin::data::{Examples, Scaling, Split, Standardisation};
use onebasin::infer::{
    Ensemble, EnsembleConfig, HmcConfig, Inference, IvonConfig, Map, MapConfig, Method, Optimise, Optimiser, Prior,
    Problem, Schedule, State, ViConfig,
};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::posterior::Posterior;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use rand_chacha::rand_core::Rng;
use std::path::Path;
use std::sync::Arc;

const SEED: u64 = 77;

fn problem() -> Problem {
    let dataset = onebasin::data::load("synthetic", Split::Train, Path::new("")).unwrap();
    let dataset = dataset.select(&(0..70).collect::<Vec<_>>());
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    let (input, classes) = (dataset.shape(), dataset.classes());
    Problem {
        // More parameters than one block of random numbers holds.
        arch: Arch::new(Mlp { input, classes, hidden: vec![130, 9], activation: Activation::Tanh }).unwrap(),
        likelihood: Likelihood::Softmax,
        prior: Prior { variance: 0.3, scaling: onebasin::infer::Scaling::FanIn },
        temperature: 0.8,
        precision: Precision::F32,
        training: Arc::new(Examples::new(dataset, standardisation).unwrap()),
    }
}

/// Twelve steps in which batches, epochs and the warm-up end at different times.
fn optimise(optimiser: Optimiser) -> Optimise {
    Optimise { optimiser, schedule: Schedule::Cosine, warmup: 0.9, ..Optimise::new(4.0, 23, 0.01) }
}

fn methods() -> Vec<Method> {
    let mut methods = Vec::new();
    for optimiser in [Optimiser::Adam, Optimiser::Sgd] {
        let optimise = optimise(optimiser);
        // Shorter than about half of the gradients.
        let (nesterov, schedule) = (optimiser == Optimiser::Sgd, Schedule::Linear);
        let clipped = Optimise { nesterov, weight_decay: 0.3, clip_norm: Some(0.7), schedule, ..optimise };
        for optimise in [optimise, clipped] {
            methods.push(Method::Map(MapConfig { optimise }));
            methods
                .extend([1, 3].map(|samples| Method::Vi(ViConfig { optimise, std: Some(0.05), moped: None, samples })));
        }
        // An ensemble takes ten steps at a time.
        let optimise = Optimise { epochs: 16.0, ..optimise };
        let ivon = IvonConfig { optimise, hessian: 0.5, hessian_decay: 0.99, hold: 0.5, clip: Some(10.0), samples: 2 };
        if optimise.optimiser == Optimiser::Adam {
            methods.push(Method::Ivon(ivon));
        }
        methods.push(Method::Ensemble(EnsembleConfig { members: 3, optimise }));
    }
    for step in [None, Some(0.02)] {
        methods.push(Method::Hmc(HmcConfig {
            chains: 3,
            burn_in: 5,
            samples: 3,
            thin: 2,
            trajectory: Some(0.1),
            jitter: 0.2,
            step,
            acceptance: 0.8,
            max_leapfrog_steps: 20,
        }));
    }
    methods
}

/// All that a run leaves behind from some step on.
#[derive(Debug, PartialEq)]
struct Rest {
    samples: Vec<(usize, Params)>,
    state: State,
    posterior: Option<Posterior>,
    info: onebasin::infer::Info,
    epoch: f64,
}

fn rest(mut inference: Box<dyn Inference>) -> Rest {
    let mut samples = Vec::new();
    while inference.done() < inference.total() {
        inference.step();
        samples.extend(inference.fresh());
    }
    let (state, posterior, epoch) = (inference.state(), inference.posterior(), inference.epoch());
    Rest { samples, state, posterior, info: inference.info(), epoch }
}

#[test]
fn a_run_continued_at_any_step_on_any_threads_has_the_same_bits() {
    let problem = problem();
    for method in methods() {
        let begin = |threads: usize| method.start(&problem, SEED, &pool(threads).unwrap(), None).unwrap();
        for stop in 0..begin(1).total() {
            let mut whole = begin(1);
            (0..stop).for_each(|_| whole.step());
            let mut continued = begin(3);
            continued.restore(&whole.state()).unwrap();
            assert_eq!((continued.done(), continued.total()), (whole.done(), whole.total()));
            assert!(rest(continued) == rest(whole), "stopped after {stop}: {method:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let problem = problem();
    for method in methods() {
        let of = |threads: usize| rest(method.start(&problem, SEED, &pool(threads).unwrap(), None).unwrap());
        let one = of(1);
        for threads in [2, 5] {
            assert!(of(threads) == one, "{threads} threads: {method:?}");
        }
    }
}

#[test]
fn a_run_forgets_what_it_was_before_it_is_restored() {
    let problem = problem();
    for method in methods() {
        let begin = || method.start(&problem, SEED, &pool(1).unwrap(), None).unwrap();
        let mut early = begin();
        early.step();
        let state = early.state();
        let mut late = begin();
        (0..late.total()).for_each(|_| late.step());
        late.restore(&state).unwrap();
        assert!(rest(late) == rest(early), "{method:?}");
    }
}

#[test]
fn a_state_of_another_method_is_refused() {
    let problem = problem();
    let all = methods();
    let begin = |method: &Method| method.start(&problem, SEED, &pool(1).unwrap(), None).unwrap();
    let kind = |method: &Method| std::mem::discriminant(method);
    for method in &all {
        for other in all.iter().filter(|other| kind(other) != kind(method)) {
            assert!(begin(method).restore(&begin(other).state()).is_err(), "{method:?} took a state of {other:?}");
        }
    }
}

/// The points of an ensemble that ran to its end.
fn members(config: &EnsembleConfig, problem: &Problem, threads: usize) -> Vec<Params> {
    let mut ensemble = Ensemble::new(config, problem, SEED, &pool(threads).unwrap()).unwrap();
    (0..ensemble.total()).for_each(|_| ensemble.step());
    let Some(Posterior::Samples(samples)) = ensemble.posterior() else { panic!("no samples") };
    samples.points().to_vec()
}

#[test]
fn a_member_of_an_ensemble_is_the_most_probable_point_of_its_seed() {
    let problem = problem();
    for optimiser in [Optimiser::Adam, Optimiser::Sgd] {
        let optimise = optimise(optimiser);
        let points = members(&EnsembleConfig { members: 4, optimise }, &problem, 2);
        for (member, point) in points.iter().enumerate() {
            let seed = Stream::new(SEED, "member", member as u64).generator().next_u64();
            let mut map = Map::new(&MapConfig { optimise }, &problem, seed, &pool(1).unwrap()).unwrap();
            // Twelve steps, though the ensemble takes ten at a time.
            assert_eq!(map.total(), 12);
            (0..map.total()).for_each(|_| map.step());
            assert!(map.point() == point, "member {member}");
            assert!(points[..member].iter().all(|other| other != point), "member {member} is another's twin");
        }
        // A member does not depend on how many there are.
        assert!(members(&EnsembleConfig { members: 2, optimise }, &problem, 1)[..] == points[..2]);
    }
}
