//! Every method runs to its end, leaves what it should, and does not depend on the number of threads.

use crate::events::scalars;
use crate::harness::{ENSEMBLE, HMC, Place, VI};
use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;

const MAP: &str = r#"
    [infer]
    method = "map"
    optimise = { epochs = 30, batch = 40, learning_rate = 1e-2 }
"#;

const IVON: &str = r#"
    [infer]
    method = "ivon"
    hold = 1
    optimise = { epochs = 10, batch = 40, learning_rate = 1e-2 }
"#;

const MAP_BY_SGD: &str = r#"
    every = 10
    [log]
    every = 7
    [infer]
    method = "map"
    [infer.optimise]
    optimiser = "sgd"
    schedule = "cosine"
    momentum = 0.8
    warmup = 2.5
    epochs = 30
    batch = 64
    learning_rate = 0.1
"#;

const VI_BY_ONE: &str = r#"
    [infer]
    method = "vi"
    std = 0.02
    optimise = { epochs = 200, batch = 100, learning_rate = 1e-2 }
"#;

/// What a run must come to.
struct Expected {
    steps: u64,
    /// Points of the posterior averaged.
    averaged: u64,
    /// A number that the method writes down.
    measure: &'static str,
    /// Whether the posterior is of the right kind.
    kind: fn(&Posterior) -> bool,
}

/// Runs a configuration to its end and looks at all that it left.
fn check(place: &Place, expected: &Expected) {
    let ended = place.finish("run", &[]);
    for word in ["measure", "steps", "test accuracy", expected.measure] {
        assert!(ended.stdout.contains(word), "{word} in {}", ended.stdout);
    }
    let again = place.finish("run", &["--json"]);
    assert_eq!(again.stdout, std::fs::read_to_string(place.path("run").join("result.json")).unwrap());
    let (events, others): (Vec<String>, Vec<String>) =
        place.names("run").into_iter().partition(|name| name.starts_with("events.out.tfevents."));
    assert_eq!(events.len(), 1, "{events:?}");
    // The state is kept: more epochs or samples may be wanted.
    let expected_names =
        ["checkpoint.safetensors", "config.toml", "lock", "metrics.jsonl", "posterior.safetensors", "result.json"];
    assert_eq!(others, expected_names);

    let result = place.result("run");
    let test = &result["test"];
    assert_eq!(result["steps"], expected.steps);
    assert_eq!((&test["examples"], &test["samples"]), (&100.into(), &expected.averaged.into()));
    // Four classes: guessing errs on three of four, and costs ln 4.
    let (error, nll) = (test["error"].as_f64().unwrap(), test["nll"].as_f64().unwrap());
    assert!(error < 0.5 && nll < 4f64.ln(), "{result}");
    assert!(result["training"][expected.measure].is_number(), "{result}");

    let stored = StoredPosterior::read(&place.path("run").join("posterior.safetensors")).unwrap();
    assert!((expected.kind)(&stored.posterior), "{:?}", stored.posterior);
    assert_eq!(stored.provenance.data, "synthetic");
    assert_eq!(stored.provenance.config["arch"]["hidden"][0], 8);
    check_log(place, expected.steps);
}

/// Every line has a step and an epoch, neither ever goes back, the last step is there, and TensorBoard has the same numbers.
fn check_log(place: &Place, steps: u64) {
    let metrics = place.metrics("run");
    let steps_of: Vec<u64> = metrics.iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert!(metrics.iter().map(|line| line["epoch"].as_f64().unwrap()).is_sorted());
    assert!(steps_of.is_sorted());
    assert_eq!(steps_of.last(), Some(&steps));
    let logged: Vec<(u64, String)> = metrics
        .iter()
        .zip(&steps_of)
        .flat_map(|(line, step)| {
            let names = line.as_object().unwrap().keys().filter(|name| !["step", "epoch"].contains(&name.as_str()));
            names.map(|name| (*step, name.clone())).collect::<Vec<_>>()
        })
        .collect();
    let mut shown: Vec<(u64, String)> =
        scalars(&place.path("run")).into_iter().map(|scalar| (scalar.step, scalar.tag)).collect();
    let mut logged_sorted = logged.clone();
    logged_sorted.sort();
    shown.sort();
    assert_eq!(shown, logged_sorted);
    logged_sorted.dedup();
    assert_eq!(logged_sorted.len(), logged.len(), "no number of a step is there twice");
}

fn is_point(posterior: &Posterior) -> bool {
    matches!(posterior, Posterior::Point(_))
}

fn is_gaussian(posterior: &Posterior) -> bool {
    matches!(posterior, Posterior::Gaussian(gaussian) if gaussian.std().values().iter().all(|std| *std > 0.0))
}

#[test]
fn the_most_probable_point_by_adam() {
    check(&Place::new(MAP), &Expected { steps: 300, averaged: 1, measure: "log_prior", kind: is_point });
}

#[test]
fn the_most_probable_point_by_gradient_ascent_with_warmup_and_cosine() {
    let place = Place::new(MAP_BY_SGD);
    check(&place, &Expected { steps: 188, averaged: 1, measure: "learning_rate", kind: is_point });
    let metrics = place.metrics("run");
    let rates: Vec<f64> = metrics.iter().filter_map(|line| line["learning_rate"].as_f64()).collect();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    assert!(rates[0] < 0.9 * highest && highest <= 0.1 && rates[rates.len() - 1] < 1e-3, "{rates:?}");
    let evaluated =
        metrics.iter().filter(|line| line["test_nll"].is_number()).map(|line| line["step"].as_u64().unwrap());
    // Every ten epochs of 6.25 steps, but not at the end, which has an evaluation of its own.
    assert_eq!(evaluated.collect::<Vec<_>>(), [63, 125, 188][..2]);
}

#[test]
fn variational_inference_with_one_draw() {
    check(&Place::new(VI_BY_ONE), &Expected { steps: 800, averaged: 16, measure: "elbo", kind: is_gaussian });
}

#[test]
fn variational_inference_with_several_draws() {
    let place = Place::new(&VI_BY_ONE.replace("std = 0.02", "samples = 3"));
    check(&place, &Expected { steps: 800, averaged: 16, measure: "elbo", kind: is_gaussian });
}

#[test]
fn an_ensemble() {
    let three = |posterior: &Posterior| matches!(posterior, Posterior::Samples(samples) if (samples.points().len(), samples.chains()) == (3, 3));
    check(&Place::new(ENSEMBLE), &Expected { steps: 396, averaged: 3, measure: "nll", kind: three });
}

#[test]
fn chains_yield_their_samples_and_whether_they_agree() {
    let thirty = |posterior: &Posterior| matches!(posterior, Posterior::Samples(samples) if (samples.points().len(), samples.chains()) == (30, 2));
    let place = Place::new(HMC);
    check(&place, &Expected { steps: 40, averaged: 16, measure: "acceptance", kind: thirty });
    let chains = &place.result("run")["chains"];
    assert_eq!((&chains["samples"], &chains["quantities"]), (&15.into(), &400.into()));
    for name in ["max_rhat", "median_rhat", "min_ess", "median_ess"] {
        assert!(chains[name].as_f64().unwrap() > 0.0, "{chains}");
    }
}

#[test]
fn chains_can_begin_at_a_posterior() {
    let elsewhere = Place::new(MAP);
    elsewhere.finish("run", &[]);
    let start = format!("start={}", elsewhere.path("run").join("posterior.safetensors").display());
    // So short that they stay where they begin.
    let place = Place::new(&format!("{HMC}\n    trajectory = 1e-4\n    step = 1e-4\n"));
    place.finish("warm", &["--set", &start]);
    place.finish("cold", &[]);
    let first = |name| place.metrics(name)[0]["nll"].as_f64().unwrap();
    let reached = elsewhere.result("run")["training"]["nll"].as_f64().unwrap();
    assert!((first("warm") - reached).abs() < 0.1, "{} and {reached}", first("warm"));
    assert!(first("cold") > 1.0, "{}", first("cold"));
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let cnn = MAP.replace("epochs = 30", "epochs = 3");
    for (rest, network) in [(MAP_BY_SGD, ""), (VI, ""), (ENSEMBLE, ""), (HMC, ""), (&cnn, "cnn")] {
        let place = Place::new(rest);
        let network: &[&str] = match network {
            "cnn" => &["--set", r#"arch={ preset = "cnn", stack = ["8", "max"] }"#],
            _ => &[],
        };
        for threads in ["1", "2", "3"] {
            place.finish(threads, &[network, &["--threads", threads]].concat());
        }
        place.assert_same("1", "2");
        place.assert_same("1", "3");
    }
}

/// It ends with a code of its own, names step and cause, and keeps the state of the last step that was finite.
#[test]
fn a_run_that_diverges_says_so_and_keeps_the_state_of_before() {
    for rest in [MAP, VI_BY_ONE, ENSEMBLE, IVON] {
        let place = Place::new(&rest.replace("learning_rate = 1e-2", "learning_rate = 1e30"));
        let mut said = Vec::new();
        for save_every in ["0", "30", "0"] {
            let ended = place.train("run", &["--save-every", save_every]);
            assert_eq!(ended.code, Some(3), "{rest}: {}", ended.stderr);
            let (_, error) = ended.stderr.split_once("error: ").unwrap();
            assert!(error.starts_with(place.path("run").to_str().unwrap()), "{error}");
            assert!(error.contains("the training diverged at step ") && error.contains("learning_rate"), "{error}");
            assert_eq!(ended.stdout, "");
            said.push(error.split([';', '(']).next().unwrap().trim_end().to_owned());
            let names = place.names("run");
            assert!(!names.iter().any(|name| name == "result.json" || name == "posterior.safetensors"), "{names:?}");
        }
        assert_eq!(said[0], said[2], "the same run diverges at the same step, from the start or from a state");
        let state = place.path("run").join("checkpoint.safetensors");
        if state.exists() {
            let state = onebasin::store::Checkpoint::read(&state).unwrap().state;
            assert!(state.vectors.values().flatten().all(|value| value.is_finite()));
        }
    }
}

#[test]
fn too_long_a_memory_of_the_hessian_is_a_warning() {
    let place = Place::new(IVON);
    let ended = place.finish("run", &[]);
    let said = "1/(1 - hessian_decay) = 10000 updates, of which fewer than 5 fit into the 90 updates after `infer.hold`; \
                lower `infer.hessian_decay` to 0.944444 or less, or train for longer";
    assert!(ended.stderr.contains("warning: ") && ended.stderr.contains(said), "{}", ended.stderr);
    assert!(place.result("run")["warnings"][0].as_str().unwrap().contains(said), "{}", place.result("run"));
    let ended = place.finish("short", &["--set", "infer.hessian_decay=0.9444"]);
    assert!(!ended.stderr.contains("warning") && place.result("short").get("warnings").is_none(), "{}", ended.stderr);
}

#[test]
fn methods_can_start_where_another_ended() {
    let place = Place::new(VI_BY_ONE);
    place.finish("vi", &[]);
    let start = format!("start={}", place.path("vi").display());
    let reached = place.result("vi")["training"]["nll"].as_f64().unwrap();
    let map = "infer={ method = 'map', optimise = { epochs = 1, batch = 40, learning_rate = 1e-6 } }";
    let vi = "infer={ method = 'vi', optimise = { epochs = 1, batch = 40, learning_rate = 1e-6 } }";
    let ivon = "infer={ method = 'ivon', optimise = { epochs = 1, batch = 40, learning_rate = 1e-6 } }";
    for (name, infer) in [("map", map), ("vi-again", vi), ("ivon", ivon)] {
        place.finish(name, &["--set", infer, "--set", &start]);
        let first = place.metrics(name)[0]["nll"].as_f64().unwrap();
        // A MAP estimate starts at the mean, where there is no noise.
        assert!(first < reached + 0.1, "{name}: {first} and {reached}");
    }
    let other = place.train("other", &["--set", &start, "--set", "arch.hidden=[9]"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("`start`, ") && other.stderr.contains("posterior.safetensors"), "{}", other.stderr);
    assert!(!place.path("other").exists());
}

#[test]
fn chains_too_short_to_judge_are_finished_like_any_other() {
    let place = Place::new(&HMC.replace("samples = 15", "samples = 1"));
    place.finish("run", &[]);
    assert!(place.result("run")["chains"]["max_rhat"].is_null());
    let again = place.finish("run", &[]);
    assert!(again.stderr.contains(": up to date"), "{}", again.stderr);
}
