//! Input that cannot be aligned, folders that cannot be written, and alignments that were killed.

use crate::harness::{Place, contents, names};
use onebasin::posterior::{Gaussian, Posterior};
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn other_networks_are_refused_by_the_setting_that_differs() {
    let place = Place::new();
    place.train("a", &[]);
    place.train("wide", &["arch.hidden=[12, 10]"]);
    place.train("tanh", &["arch.activation=tanh"]);
    place.train("cnn", &[r#"arch={ preset = "cnn", stack = ["4"] }"#]);
    place.refused(&["a", "wide", "-o", "out"], &["wide/posterior.safetensors", "`arch.hidden` is [12,10], not [12,9]"]);
    place.refused(&["a", "tanh", "-o", "out"], &["tanh/posterior.safetensors", "`arch.activation`", "tanh", "relu"]);
    place.refused(&["a", "cnn", "-o", "out"], &["cnn/posterior.safetensors", "`arch.preset`"]);
    place.refused(&["tanh", "tanh", "--balance", "-o", "out"], &["tanh", "scale"]);
    place.align(&["tanh", "tanh", "-o", "tanh-out"]);
}

#[test]
fn posteriors_that_cannot_be_aligned_are_refused_by_name() {
    let place = Place::new();
    place.train("a", &[]);
    let gaussian = place.gaussian("a/posterior.safetensors");
    let (mean, mut std) = (gaussian.mean().clone(), gaussian.std().clone());
    place.write("point.safetensors", Posterior::Point(mean.clone()));
    std.view_mut("hidden2.bias").unwrap()[3] = f32::NAN;
    place.write("nan.safetensors", Posterior::Gaussian(Gaussian::new(mean, std).unwrap()));
    fs::write(place.path("text.safetensors"), "text").unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    for criterion in ["mean", "w2"] {
        let out = format!("out-{criterion}");
        place.refused(
            &["a", "nan.safetensors", "-o", "out", "--criteria", criterion],
            &["nan.safetensors", "`hidden2.bias`", "NaN"],
        );
        place.refused(
            &["nan.safetensors", "a", "-o", "out", "--criteria", criterion],
            &["nan.safetensors", "`hidden2.bias`", "NaN"],
        );
        place.align(&["a", "point.safetensors", "-o", &out, "--criteria", criterion]);
    }
    for (criterion, order) in [("kl", ["point.safetensors", "a"]), ("jeffreys", ["a", "point.safetensors"])] {
        let arguments = [&order[..], &["-o", "out", "--criteria", criterion]].concat();
        place.refused(&arguments, &["point.safetensors", "divides by it"]);
    }
    place.refused(&["a", "absent.safetensors", "-o", "out"], &["absent.safetensors"]);
    place.refused(&["a", "text.safetensors", "-o", "out"], &["text.safetensors"]);
    place.refused(&["a", "empty", "-o", "out"], &["empty", "posterior.safetensors"]);
    place.refused(&["a", "-o", "out"], &["at least 2 posteriors, not 1"]);
    place.refused(&["-o", "out"], &["POSTERIOR"]);
    place.refused(&["a", "a"], &["--output"]);
    place.refused(&["a", "a", "-o", "out", "--threads", "0"], &["threads"]);
}

#[test]
fn a_folder_with_something_in_it_needs_force_and_must_be_an_alignment() {
    let place = Place::with_two();
    place.align(&["a", "b", "-o", "out"]);
    place.refused(
        &["b", "a", "-o", "out"],
        &["its result is of a/posterior.safetensors, not of b/posterior.safetensors", "--force"],
    );
    place.align(&["b", "a", "-o", "out", "--force"]);
    assert_eq!(names(&place.path("out")), ["aligned/a.safetensors", "alignment.json", "permutations/a.json"]);
    for precious in ["out/precious", "out/aligned/precious", "out/permutations/precious"] {
        fs::write(place.path(precious), "precious").unwrap();
        place.refused(&["a", "b", "-o", "out", "--force"], &[precious]);
        fs::remove_file(place.path(precious)).unwrap();
    }
    // What a kill in the middle of a write leaves.
    fs::write(place.path("out/aligned/a.safetensors.tmp"), "remains").unwrap();
    place.align(&["a", "b", "-o", "out", "--force"]);
    assert_eq!(names(&place.path("out")), ["aligned/b.safetensors", "alignment.json", "permutations/b.json"]);
}

#[test]
fn an_output_that_holds_an_input_or_cannot_be_a_folder_is_refused() {
    let place = Place::with_two();
    for force in [&[][..], &["--force"]] {
        for output in ["a", "b", ".", "a/../b"] {
            place.refused(&[&["a", "b", "-o", output], force].concat(), &[output]);
        }
    }
    fs::write(place.path("file"), "precious").unwrap();
    place.refused(&["a", "b", "-o", "file"], &["file"]);
    place.refused(&["a", "b", "-o", "file/below"], &["file/below"]);
    place.align(&["a", "b", "-o", "out"]);
    place.refused(&["a", "out/aligned/b.safetensors", "-o", "out", "--force"], &["out/aligned/b.safetensors"]);
}

/// So large that the logits are infinite, and nobody can say that they are what they were.
#[test]
fn a_function_that_cannot_be_compared_is_a_problem() {
    let place = Place::new();
    place.train("a", &[]);
    let mut mean = place.gaussian("a/posterior.safetensors").mean().clone();
    mean.scale(1e15);
    place.write("large.safetensors", Posterior::Point(mean));
    let ended = place.onebasin(&["align", "large.safetensors", "large.safetensors", "-o", "out"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("NOT the same function"), "{}", ended.stderr);
}

#[test]
fn whatever_a_kill_leaves_is_whole_and_is_replaced() {
    let place = Place::with_two();
    for milliseconds in (0..100).step_by(7) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.args(["align", "a", "b", "-o", "out", "--force"]).current_dir(place.path(".")).env_clear();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        if !place.path("out").exists() {
            continue;
        }
        for (path, bytes) in contents(&place.path("out")) {
            match path.extension().map_or("", |ending| ending.to_str().unwrap()) {
                "" => assert!(path.ends_with("lock"), "{}", path.display()),
                "safetensors" => assert!(StoredPosterior::read(&path).is_ok(), "{}", path.display()),
                "json" => assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "{}", path.display()),
                other => assert_eq!(other, "tmp"),
            }
        }
        if place.path("out/alignment.json").exists() {
            assert_eq!(names(&place.path("out")).len(), 3);
        }
    }
    place.align(&["a", "b", "-o", "out", "--force"]);
    assert_eq!(names(&place.path("out")), ["aligned/b.safetensors", "alignment.json", "permutations/b.json"]);
}

#[test]
fn learned_matching_that_was_killed_goes_on_to_the_same_result() {
    let place = Place::with_two();
    let learned =
        ["a", "b", "--criteria", "learned", "--steps", "600", "--batch", "8", "--examples", "50", "--draws", "2"];
    let whole = place.align(&[&learned[..], &["-o", "whole"]].concat());
    let state = place.path("killed/unfinished/b.safetensors");
    let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
    command.arg("align").args(learned).args(["-o", "killed"]).current_dir(place.path(".")).env_clear();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && !state.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if !place.path("killed/alignment.json").exists() {
        assert!(names(&place.path("killed")).iter().all(|name| name.starts_with("unfinished/b.safetensors")));
        let continued = place.align(&[&learned[..], &["-o", "killed"]].concat());
        assert_eq!(continued["members"][0]["attempts"], whole["members"][0]["attempts"]);
        assert_eq!(names(&place.path("killed")), names(&place.path("whole")));
    }
    for file in ["aligned/b.safetensors", "permutations/b.json"] {
        let [killed, whole] = ["killed", "whole"].map(|folder| fs::read(place.path(folder).join(file)).unwrap());
        assert!(killed == whole, "{file}");
    }
}
