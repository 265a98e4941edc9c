//! Learned matching: never worse than where it starts, the same bits for any number of threads and after an interruption.

use onebasin::align::{Alignment, Between, Candidate, Learning, Session, Tau, learn};
use onebasin::arch::{Arch, Preset};
use onebasin::data::{Examples, Scaling, Split, Standardisation};
use onebasin::infer::{Inference, Map, MapConfig, Optimise, Prior, Problem, State};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::symmetry::{Permutations, Spec};
use onebasin::threads::pool;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

const MLP: &str = r#"{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": [12, 7]}"#;
const RESNET: &str = r#"{"preset": "resnet", "input": "6x6x1", "classes": 4, "depth": 8, "normalisation": "frn"}"#;

struct Trained {
    arch: Arch,
    examples: Examples,
    gaussians: [Gaussian; 2],
}

fn trained(json: &str) -> Trained {
    let dataset = onebasin::data::load("synthetic", Split::Train, Path::new("")).unwrap();
    let dataset = dataset.select(&(0..200).collect::<Vec<_>>());
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    let arch = Arch::new(serde_json::from_str::<Preset>(json).unwrap()).unwrap();
    let examples = Examples::new(dataset, standardisation).unwrap();
    let problem = Problem {
        arch: arch.clone(),
        likelihood: Likelihood::Softmax,
        prior: Prior { variance: 0.3, scaling: onebasin::infer::Scaling::FanIn },
        temperature: 1.0,
        precision: Precision::F32,
        training: Arc::new(examples.clone()),
    };
    let optimise = Optimise::new(30.0, 20, 0.01);
    let gaussians = [1, 2].map(|seed| {
        let mut map = Map::new(&MapConfig { optimise }, &problem, seed, &pool(1).unwrap()).unwrap();
        while map.done() < map.total() {
            map.step();
        }
        let std = Params::from_values(arch.layout(), vec![0.01; arch.layout().len()]).unwrap();
        Gaussian::new(map.point().clone(), std).unwrap()
    });
    Trained { arch, examples, gaussians }
}

fn learning(repair: bool) -> Learning {
    let tau = if repair { Tau::Midpoint } else { Tau::Uniform };
    Learning { steps: 60, restarts: 1, batch: 32, learning_rate: 0.3, tau, repair, precision: Precision::F32, seed: 5 }
}

/// Learns for at most some steps, on so many threads; returns also the last state.
fn run(
    trained: &Trained,
    learning: Learning,
    threads: usize,
    (most, resume): (usize, Option<State>),
) -> (Alignment, Option<State>) {
    let spec = Spec::of(&trained.arch);
    let [fixed, moved] = &trained.gaussians;
    let (arch, examples) = (&trained.arch, &trained.examples);
    let between = Between { arch, likelihood: Likelihood::Softmax, fixed, moved, examples };
    let candidates = [Candidate { name: "random", permutations: Permutations::random(&spec, 3) }];
    let (mut last, left) = (None, Cell::new(most));
    let save = &mut |state: State| {
        last = Some(state);
        Ok(())
    };
    let expired = &|| left.replace(left.get().saturating_sub(1)) == 0;
    let mut session = Session { resume, save, expired };
    let found =
        learn(between, &candidates, learning, &mut session, &pool(threads).unwrap(), &mut Monitor::silent()).unwrap();
    (found, last)
}

#[test]
fn the_result_has_the_least_loss_of_all_attempts() {
    let mut gains = Vec::new();
    for (json, restore) in [(MLP, false), (MLP, true), (RESNET, true)] {
        let (found, _) = run(&trained(json), learning(restore), 2, (usize::MAX, None));
        let losses: Vec<f64> = found.attempts.iter().map(|attempt| -attempt.value.total).collect();
        assert!(losses.is_sorted(), "{losses:?}");
        assert_eq!(found.attempts.len(), 3);
        assert!(found.attempts.iter().all(|attempt| attempt.value.total <= found.after.total));
        let learned = found.attempts.iter().find(|attempt| attempt.solver == "learned").unwrap();
        assert!(learned.assignments > 0);
        assert!(found.after.total <= found.bound);
        gains.push(found.after.total - losses.iter().map(|loss| -loss).fold(f64::INFINITY, f64::min));
    }
    assert!(gains.iter().any(|gain| *gain > 0.01), "{gains:?}");
}

#[test]
fn an_interruption_and_the_number_of_threads_change_no_bit() {
    for (json, restore) in [(MLP, true), (RESNET, false)] {
        let trained = trained(json);
        let (whole, _) = run(&trained, learning(restore), 1, (usize::MAX, None));
        let (_, state) = run(&trained, learning(restore), 2, (70, None));
        let (continued, _) = run(&trained, learning(restore), 3, (usize::MAX, state));
        assert_eq!(whole.permutations, continued.permutations);
        assert_eq!(whole.after, continued.after);
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |change: fn(&mut Learning)| {
        let mut learning = learning(false);
        change(&mut learning);
        learning.check().unwrap_err().to_string()
    };
    assert!(refused(|learning| learning.steps = 0).contains("`steps`"));
    assert!(refused(|learning| learning.batch = 0).contains("`batch`"));
    assert!(refused(|learning| learning.learning_rate = f64::NAN).contains("`learning_rate`"));
}
