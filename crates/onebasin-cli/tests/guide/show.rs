//! `onebasin show`: every kind of file and folder, and what is none.

use crate::harness::{HMC, Place, TRAINING};
use serde_json::Value;
use std::fs;

fn shown(place: &Place, path: &str, parts: &[&str]) {
    let text = place.succeeds(&format!("show {path}")).stdout;
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let plain: Value = serde_json::from_str(&place.succeeds(&format!("show {path} --json")).stdout).unwrap();
    assert_eq!(plain["path"], path);
    assert!(text.contains(plain["what"].as_str().unwrap()), "{plain}");
}

#[test]
fn posteriors_of_all_kinds_and_what_made_them_are_described() {
    let place = Place::with_posteriors();
    place.write("hmc.toml", &format!("{TRAINING}{HMC}"));
    place.succeeds("train hmc.toml -o hmc");
    place.write(
        "map.toml",
        &format!(
            "{TRAINING}infer = {{ method = \"map\", optimise = {{ epochs = 1, batch = 50, learning_rate = 1e-3 }} }}"
        ),
    );
    place.succeeds("train map.toml -o map");
    place.succeeds("compact hmc --ranks 0,2 --relabellings first --draws 2 -o compact");
    place.succeeds("align a b -o aligned");
    place.succeeds("align hmc --to relabel -o relabelled");
    place.succeeds("barrier a b --samples 2 --points 3 -o barrier");
    place.succeeds("plane a b --points 2 -o plane");
    place.succeeds("align a b --criteria w2,mean -o both");

    let network = "mlp, activation relu, classes 10, hidden [9,8], input 8x8x1";
    shown(
        &place,
        "a/posterior.safetensors",
        &[
            "a diagonal Gaussian",
            network,
            "method",
            "vi, ",
            "digits first:200",
            "σ 50 %",
            "hidden2.weight",
            "parameters",
            "seed",
        ],
    );
    shown(
        &place,
        "aligned/aligned/b.safetensors",
        &["aligned with", "a/posterior.safetensors", "criterion w2, solver best"],
    );
    shown(&place, "map/posterior.safetensors", &["a point estimate", "norm of the mean"]);
    shown(&place, "hmc", &["a training, finished", "12 samples of 2 chains", "largest R-hat", "σ 95 %"]);
    shown(&place, "compact/first-rank2.safetensors", &["a Gaussian of rank 2 plus a diagonal"]);
    shown(&place, "a/checkpoint.safetensors", &["a checkpoint", "steps done"]);
    shown(
        &place,
        "aligned",
        &["the result of an alignment", "share of possible gain", "SHA-256 of a/posterior.safetensors"],
    );
    shown(&place, "aligned/permutations/b.json", &["permutations of units", "hidden2", "NoT"]);
    shown(&place, "relabelled/permutations/hmc.jsonl", &["permutations of the units of samples", "12"]);
    shown(&place, "barrier", &["barriers between two posteriors", "loss barrier"]);
    shown(&place, "plane/measures.json", &["the plane through two posteriors"]);
    shown(&place, "compact", &["Gaussians in place of samples", "agreement"]);
    shown(&place, "both", &["alignments by several criteria", "mean-best"]);
    shown(&place, "a/result.json", &["the result of a training"]);
    shown(&place, "a/metrics.jsonl", &["the log of a training"]);
    shown(&place, "vi.toml", &["the configuration of a training", network]);

    // A training that is not finished.
    fs::remove_file(place.path("a/result.json")).unwrap();
    shown(&place, "a", &["a training, not finished", "steps done"]);
}

#[test]
fn experiments_are_described_finished_or_not() {
    let place = Place::new();
    place.succeeds("init sweep -o small.toml");
    shown(&place, "small.toml", &["an experiment, for `onebasin run`", "train.prior.variance", "posteriors  6"]);
    place.succeeds(
        "run small.toml --set train.arch.hidden=[5] --set train.infer.optimise.epochs=1 --set train.evaluate.samples=1 \
         --set barrier.samples=2 --set barrier.points=3 --set sweep.train.prior.variance=[0.1] -o out",
    );
    shown(
        &place,
        "out",
        &["an experiment, measured", "cells                     1", "report", "seconds of all stages"],
    );
    shown(&place, "out/measures.json", &["all measures of an experiment"]);
    fs::remove_file(place.path("out/measures.json")).unwrap();
    shown(&place, "out", &["not finished; `onebasin run` with the same file continues it"]);
}

#[test]
fn what_is_nothing_of_onebasin_is_refused() {
    let place = Place::new();
    place.write("notes.txt", "hello");
    place.write("other.json", "{\"a\": 1}");
    place.write("empty.safetensors", "");
    place.write("permutation.json", "{\"hidden1\": [0, 0]}");
    fs::create_dir(place.path("folder")).unwrap();
    for (path, reason) in [
        ("nothing", "there is no such file or folder"),
        ("notes.txt", "its name does not end like that of a file of onebasin"),
        ("other.json", "it is no result and no permutations of onebasin"),
        ("empty.safetensors", "the file is empty"),
        ("permutation.json", "not a permutation of 2 units"),
        ("folder", "it is no folder of onebasin"),
    ] {
        let error = place.refused(&format!("show {path}"));
        assert!(error.contains(reason) && error.contains(path), "{error}");
    }
}
