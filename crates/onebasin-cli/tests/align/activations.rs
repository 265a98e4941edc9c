//! Units are alike that do the same on data: `--channel activation`.

use crate::harness::Place;
use crate::harness::contents;
use onebasin::align;
use onebasin::data::Examples;
use onebasin::data::Split;
use onebasin::data::Subset;
use onebasin::kernels::Team;
use onebasin::posterior::Posterior;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use serde_json::Value;
use serde_json::json;
use std::fs;

const CHANNEL: [&str; 2] = ["--channel", "activation"];

/// Of a network whose units are not constant on all images, as those of a relu network may be.
#[test]
fn a_permuted_copy_is_brought_back() {
    let place = Place::new();
    place.train("a", &["arch.activation=tanh"]);
    let point = Posterior::Point(place.gaussian("a/posterior.safetensors").mean().clone());
    let spec = Spec::of(&place.arch());
    let permutations = Permutations::random(&spec, 3);
    place.write("b.safetensors", point.map(|params| spec.apply(&permutations, params)).unwrap());
    place.write("point.safetensors", point.clone());
    let report = place.align(&[&["point.safetensors", "b.safetensors", "-o", "out"], &CHANNEL[..]].concat());
    assert!(place.read("out/aligned/b.safetensors").posterior == point);
    assert_eq!(report["settings"]["activation"], json!({ "images": 5000, "draws": 10 }));
    assert_eq!(place.read("out/aligned/b.safetensors").provenance.aligned.unwrap().channel, "activation");
}

/// With the subsets and the pixels of the run, and the numbers of images and draws that were asked for.
#[test]
fn the_images_are_the_first_of_those_that_the_first_posterior_was_trained_on() {
    let place = Place::new();
    let data = r#"data={ name = "synthetic", subsets = ["half:b"], scaling = "standard" }"#;
    place.train("a", &[data]);
    place.train("b", &[data, "seed=1"]);
    let [a, b] = ["a", "b"].map(|name| place.read(&format!("{name}/posterior.safetensors")));
    let whole = onebasin::data::load("synthetic", Split::Train, std::path::Path::new("")).unwrap();
    let half = "half:b".parse::<Subset>().unwrap().apply(&whole).unwrap();
    let standardisation = a.provenance.standardisation.clone();
    let (arch, spec) = (place.arch(), Spec::of(&place.arch()));
    let settings = align::Settings { channel: align::Channel::Activation, ..align::Settings::default() };
    for (images, draws) in [(30, 2), (150, 3)] {
        let examples = Subset::First(images).apply(&half).unwrap();
        let examples = Examples::new(examples, standardisation.clone()).unwrap();
        let sides: [&dyn onebasin::posterior::Draws; 2] = [&a.posterior, &b.posterior];
        let team = Team::new(1).unwrap();
        let expected = align::by_activation(&arch, sides, (&examples, draws), settings, &team, &mut |_| {}).unwrap();
        let [images, draws] = [images, draws].map(|number| number.to_string());
        let numbers = ["--images", &images, "--draws", &draws, "-o", "out", "--force"];
        let report = place.align(&[&["a", "b"], &CHANNEL[..], &numbers].concat());
        let text = fs::read_to_string(place.path("out/permutations/b.json")).unwrap();
        assert_eq!(Permutations::from_json(&spec, &text).unwrap(), expected.permutations);
        assert_eq!(report["members"][0]["objective"]["after"], expected.after.total);
        assert_eq!(report["members"][0]["silent_units"], 0);
    }
}

#[test]
fn threads_change_nothing() {
    let place = Place::with_two();
    let [one, three] = ["1", "3"].map(|threads| {
        let rest = ["a", "b", "-o", "out", "--force", "--balance", "--threads", threads];
        let mut report = place.align(&[&rest, &CHANNEL[..]].concat());
        report["members"][0]["seconds"] = Value::Null;
        let mut files = contents(&place.path("out"));
        files.remove(&place.path("out/alignment.json"));
        (report.to_string(), files)
    });
    assert!(one == three);
}

#[test]
fn what_cannot_be_compared_on_images_is_refused() {
    let place = Place::with_two();
    place.train("scaled", &["data.scaling=standard"]);
    let with = |rest: &[&'static str]| [&["a", "b", "-o", "out"], rest].concat();
    place.refused(&["a", "b", "scaled", "-o", "out", CHANNEL[0], CHANNEL[1]], &["scaled/", "a/", "pixels"]);
    for to in ["mean", "universe", "relabel"] {
        place.refused(&with(&["--channel", "activation", "--to", to]), &["activation", "--to first"]);
    }
    place.refused(&with(&["--images", "5"]), &["--images", "activation"]);
    place.refused(&with(&["--draws", "5", "--channel", "kl"]), &["--draws", "activation"]);
    place.refused(&with(&["--channel", "activation", "--images", "0"]), &["--images", "at least 1"]);
    place.refused(&with(&["--channel", "activation", "--draws", "0"]), &["--draws", "at least 1"]);
    place.refused(&with(&["--channel", "activation", "--leave-out-prior", "1"]), &["--leave-out-prior", "weights"]);
    let mut elsewhere = place.read("a/posterior.safetensors");
    elsewhere.provenance.config["data"]["name"] = "mnist".into();
    elsewhere.write(&place.path("mnist.safetensors")).unwrap();
    let arguments = ["mnist.safetensors", "a", "-o", "out", "--channel", "activation", "--data", "nowhere"];
    place.refused(&arguments, &["mnist.safetensors", "nowhere", "onebasin data get mnist"]);
    elsewhere.provenance.config = Value::Null;
    elsewhere.write(&place.path("unknown.safetensors")).unwrap();
    place.refused(&["unknown.safetensors", "a", "-o", "out", CHANNEL[0], CHANNEL[1]], &["unknown.safetensors"]);
}
