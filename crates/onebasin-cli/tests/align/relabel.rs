//! Samples are permuted one by one: `--to relabel`.

use crate::harness::{Place, contents, names};
use onebasin::params::Params;
use onebasin::posterior::{Posterior, Samples};
use onebasin::symmetry::{Permutations, Spec};
use serde_json::Value;
use std::fs;

/// Ensembles `a`, of four, and `b`, of two.
fn with_ensembles() -> Place {
    let place = Place::new();
    for (name, members, seed) in [("a", 4, 0), ("b", 2, 7)] {
        let optimise = "optimise = { epochs = 2, batch = 100, learning_rate = 1e-2 }";
        let ensemble = format!("infer={{ method = \"ensemble\", members = {members}, {optimise} }}");
        place.train(name, &[&ensemble, &format!("seed={seed}")]);
    }
    place
}

fn samples(place: &Place, name: &str) -> Samples {
    match place.read(name).posterior {
        Posterior::Samples(samples) => samples,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn permuted_copies_are_brought_back() {
    let place = Place::new();
    place.train("a", &[]);
    let spec = Spec::of(&place.arch());
    let point = place.gaussian("a/posterior.safetensors").mean().clone();
    let copies: Vec<Params> =
        (0..6).map(|seed| spec.apply(&Permutations::random(&spec, seed), &point).unwrap()).collect();
    place.write("copies.safetensors", Posterior::Samples(Samples::new(copies.clone(), 2).unwrap()));
    let report = place.align(&["copies.safetensors", "--to", "relabel", "-o", "out"]);
    let aligned = samples(&place, "out/aligned/copies.safetensors");
    assert_eq!(aligned.chains(), 2);
    assert!(aligned.points().iter().all(|sample| *sample == copies[0]));
    assert_eq!((&report["members"][0]["samples"], &report["members"][0]["changed"]), (&6.into(), &5.into()));
    let gaussian = place.gaussian("out/gaussian.safetensors");
    let pairs = gaussian.mean().values().iter().zip(copies[0].values());
    assert!(pairs.into_iter().all(|(mean, value)| (mean - value).abs() <= 1e-6 * value.abs()));
    assert!(gaussian.std().values().iter().all(|std| *std < 1e-6));
}

#[test]
fn every_sample_has_its_own_line_of_permutations() {
    let place = with_ensembles();
    let report = place.align(&["a", "b", "--to", "relabel", "-o", "out"]);
    let written = [
        "aligned/a.safetensors",
        "aligned/b.safetensors",
        "alignment.json",
        "gaussian.safetensors",
        "permutations/a.jsonl",
        "permutations/b.jsonl",
    ];
    assert_eq!(names(&place.path("out")), written);
    let spec = Spec::of(&place.arch());
    let mut all = Vec::new();
    for (index, name) in ["a", "b"].into_iter().enumerate() {
        let before = samples(&place, &format!("{name}/posterior.safetensors"));
        let after = samples(&place, &format!("out/aligned/{name}.safetensors"));
        assert_eq!(before.chains(), after.chains());
        let text = fs::read_to_string(place.path(&format!("out/permutations/{name}.jsonl"))).unwrap();
        let permutations: Vec<Permutations> =
            text.lines().map(|line| Permutations::from_json(&spec, line).unwrap()).collect();
        assert_eq!((permutations.len(), after.points().len()), (before.points().len(), before.points().len()));
        for ((own, before), after) in permutations.iter().zip(before.points()).zip(after.points()) {
            assert!(spec.apply(own, before).unwrap() == *after);
        }
        let member = &report["members"][index];
        assert_eq!(member["samples"], before.points().len());
        assert_eq!(member["changed"], permutations.iter().filter(|own| own.transpositions() > 0).count());
        let means = member["permutations"].as_array().unwrap().iter();
        let mean: f64 = means.map(|group| group["mean_transpositions"].as_f64().unwrap()).sum();
        let total: usize = permutations.iter().map(Permutations::transpositions).sum();
        assert!((mean * permutations.len() as f64 - total as f64).abs() < 1e-9);
        assert!(member["change_of_function"].as_f64().unwrap() < 1e-5);
        all.extend(after.points().iter().cloned());
    }
    assert!(all[0] == samples(&place, "a/posterior.safetensors").points()[0]);

    let fitted = place.read("out/gaussian.safetensors");
    assert_eq!(report["gaussian"], "gaussian.safetensors");
    assert!(fitted.provenance.aligned.unwrap().to.starts_with("relabel of a/posterior.safetensors, b/"));
    let moments = Posterior::Samples(Samples::new(all, 1).unwrap()).gaussian().into_owned();
    let fitted = fitted.posterior.gaussian();
    for (fitted, expected) in [(fitted.mean(), moments.mean()), (fitted.std(), moments.std())] {
        let pairs = fitted.values().iter().zip(expected.values());
        assert!(pairs.into_iter().all(|(fitted, expected)| (fitted - expected).abs() < 1e-5));
    }
    let history = report["together"]["history"].as_array().unwrap();
    let history: Vec<f64> = history.iter().map(|value| value.as_f64().unwrap()).collect();
    assert!(history.is_sorted() && history[0] < history[history.len() - 1], "{history:?}");
    assert_eq!(report["together"]["method"], "relabel");
}

#[test]
fn tables_have_one_line_for_each_file_and_then_the_totals() {
    let place = with_ensembles();
    let ended = place.onebasin(&["align", "a", "--to", "relabel", "-o", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let firsts: Vec<&str> = ended.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let totals = ["total", "objective before", "objective after", "rounds", "assignment problems", "seconds"];
    assert_eq!(firsts, [&["posterior", "a", ""][..], &totals].concat());
    assert!(ended.stdout.lines().next().unwrap().ends_with("mean NoT hidden1  mean NoT hidden2"), "{}", ended.stdout);
}

#[test]
fn threads_and_what_an_earlier_relabelling_left_change_nothing() {
    let place = with_ensembles();
    let [one, three] = ["1", "3"].map(|threads| {
        let mut report = place.align(&["a", "b", "--to", "relabel", "-o", "out", "--force", "--threads", threads]);
        report["together"]["seconds"] = Value::Null;
        let mut files = contents(&place.path("out"));
        // Both name seconds, one of them by a checksum.
        files.retain(|file, _| !file.ends_with("alignment.json") && !file.ends_with("made.json"));
        // What a kill in the middle of a write leaves.
        for remains in ["aligned/chain0.samples", "gaussian.safetensors.tmp", "permutations/a.jsonl.tmp"] {
            fs::write(place.path("out").join(remains), "remains").unwrap();
        }
        (report.to_string(), files)
    });
    assert!(one == three);
    place.align(&["a", "b", "-o", "out", "--force"]);
    assert_eq!(names(&place.path("out")), ["aligned/b.safetensors", "alignment.json", "permutations/b.json"]);
}

#[test]
fn what_cannot_be_relabelled_is_refused() {
    let place = with_ensembles();
    place.train("vi", &[]);
    let relabel = |rest: &[&'static str]| [&["--to", "relabel", "-o", "out"], rest].concat();
    place.refused(&relabel(&["vi"]), &["vi/posterior.safetensors", "no samples"]);
    place.refused(&relabel(&["a", "vi"]), &["vi/posterior.safetensors", "no samples"]);
    place.refused(&relabel(&["a", "--balance"]), &["--balance", "relabel"]);
    place.refused(&relabel(&["a", "--exclude-prior", "0.02"]), &["--exclude-prior", "`to` is first"]);
    place.refused(&relabel(&["a", "--criteria", "kl"]), &["kl", "mean or w2"]);
    let mut points = samples(&place, "a/posterior.safetensors").points().to_vec();
    place.write("one.safetensors", Posterior::Samples(Samples::new(points[..1].to_vec(), 1).unwrap()));
    place.refused(&relabel(&["one.safetensors"]), &["at least 2"]);
    points[2].view_mut("hidden1.bias").unwrap()[1] = f32::INFINITY;
    place.write("wild.safetensors", Posterior::Samples(Samples::new(points, 1).unwrap()));
    place.refused(&relabel(&["a", "wild.safetensors"]), &["wild.safetensors", "sample 2", "`hidden1.bias`", "inf"]);
}
