//! Units are matched by their activations on data: `--criteria activation`.

use crate::harness::{Place, contents};
use onebasin::data::{Examples, Split, Subset};
use onebasin::posterior::Posterior;
use onebasin::progress::Monitor;
use onebasin::symmetry::{Permutations, Spec};
use onebasin::{align, threads};
use serde_json::Value;
use std::fs;

const CRITERION: [&str; 2] = ["--criteria", "activation"];

/// Of a network whose units are not constant on all examples, as those of a relu network may be.
#[test]
fn a_permuted_copy_is_brought_back() {
    let place = Place::new();
    place.train("a", &["arch.activation=tanh"]);
    let point = Posterior::Point(place.gaussian("a/posterior.safetensors").mean().clone());
    let spec = Spec::of(&place.arch());
    let permutations = Permutations::random(&spec, 3);
    place.write("b.safetensors", point.map(|params| spec.apply(&permutations, params)).unwrap());
    place.write("point.safetensors", point.clone());
    let report = place.align(&[&["point.safetensors", "b.safetensors", "-o", "out"], &CRITERION[..]].concat());
    assert!(place.read("out/aligned/b.safetensors").posterior == point);
    let settings = &report["settings"];
    assert_eq!((&settings["examples"], &settings["draws"]), (&5000.into(), &10.into()));
    assert_eq!(place.read("out/aligned/b.safetensors").provenance.aligned.unwrap().criterion, "activation");
}

/// With the subsets and the standardisation of the training, and the numbers of examples and draws that were asked for.
#[test]
fn the_examples_are_the_first_of_those_that_the_first_posterior_was_trained_on() {
    let place = Place::new();
    let data = r#"data={ name = "synthetic", subsets = ["half:b"], scaling = "standard" }"#;
    place.train("a", &[data]);
    place.train("b", &[data, "seed=1"]);
    let [a, b] = ["a", "b"].map(|name| place.read(&format!("{name}/posterior.safetensors")));
    let whole = onebasin::data::load("synthetic", Split::Train, std::path::Path::new("")).unwrap();
    let half = "half:b".parse::<Subset>().unwrap().apply(&whole).unwrap();
    let standardisation = a.provenance.standardisation.clone();
    let (arch, spec) = (place.arch(), Spec::of(&place.arch()));
    let settings = align::Settings { criterion: align::Criterion::Activation, ..align::Settings::default() };
    for (count, draws) in [(30, 2), (150, 3)] {
        let examples = Subset::First(count).apply(&half).unwrap();
        let examples = Examples::new(examples, standardisation.clone()).unwrap();
        let sides: [&dyn onebasin::posterior::Draws; 2] = [&a.posterior, &b.posterior];
        let pool = threads::pool(1).unwrap();
        let expected =
            align::by_activation(&arch, sides, (&examples, draws), settings, &pool, &mut Monitor::silent()).unwrap();
        let [count, draws] = [count, draws].map(|number| number.to_string());
        let numbers = ["--examples", &count, "--draws", &draws, "-o", "out", "--force"];
        let report = place.align(&[&["a", "b"], &CRITERION[..], &numbers].concat());
        let text = fs::read_to_string(place.path("out/permutations/b.json")).unwrap();
        assert_eq!(Permutations::from_json(&spec, &text).unwrap(), expected.permutations);
        assert_eq!(report["members"][0]["objective"]["after"], expected.after.total);
        assert_eq!(report["members"][0]["masked_units"], 0);
    }
}

#[test]
fn threads_change_nothing() {
    let place = Place::with_two();
    let [one, three] = ["1", "3"].map(|threads| {
        let rest = ["a", "b", "-o", "out", "--force", "--balance", "--threads", threads];
        let mut report = place.align(&[&rest, &CRITERION[..]].concat());
        report["members"][0]["seconds"] = Value::Null;
        let mut files = contents(&place.path("out"));
        // Both name seconds, one of them by a checksum.
        files.retain(|file, _| !file.ends_with("alignment.json") && !file.ends_with("made.json"));
        (report.to_string(), files)
    });
    assert!(one == three);
}

#[test]
fn what_cannot_be_compared_on_examples_is_refused() {
    let place = Place::with_two();
    place.train("scaled", &["data.scaling=standard"]);
    let with = |rest: &[&'static str]| [&["a", "b", "-o", "out"], rest].concat();
    place.refused(
        &["a", "b", "scaled", "-o", "out", CRITERION[0], CRITERION[1]],
        &["scaled/", "a/", "scales its inputs"],
    );
    for to in ["mean", "universe", "relabel"] {
        place.refused(&with(&["--criteria", "activation", "--to", to]), &["--criteria is activation", "`to` is first"]);
    }
    place.refused(&with(&["--criteria", "activation", "--examples", "0"]), &["--examples", "at least 1"]);
    place.refused(&with(&["--criteria", "activation", "--draws", "0"]), &["--draws", "at least 1"]);
    place
        .refused(&with(&["--criteria", "activation", "--exclude-prior", "1"]), &["--exclude-prior is 1", "activation"]);
    let mut elsewhere = place.read("a/posterior.safetensors");
    elsewhere.provenance.config["data"]["name"] = "mnist".into();
    elsewhere.write(&place.path("mnist.safetensors")).unwrap();
    let arguments = ["mnist.safetensors", "a", "-o", "out", "--criteria", "activation", "--data", "nowhere"];
    place.refused(&arguments, &["mnist.safetensors", "nowhere", "onebasin data get mnist"]);
    elsewhere.provenance.config = Value::Null;
    elsewhere.write(&place.path("unknown.safetensors")).unwrap();
    place.refused(&["unknown.safetensors", "a", "-o", "out", CRITERION[0], CRITERION[1]], &["unknown.safetensors"]);
}
