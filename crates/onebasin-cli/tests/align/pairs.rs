//! Each posterior is aligned with the first: what is found, what is written and what is said.

use crate::harness::{Place, contents, names};
use onebasin::data::{Split, Standardisation};
use onebasin::net::{Net, Precision};
use onebasin::params::Params;
use onebasin::posterior::{Posterior, Predictor};
use onebasin::progress::Monitor;
use onebasin::symmetry::{Permutations, Scales, Spec};
use onebasin::threads::pool;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn a_permuted_copy_is_brought_back() {
    let place = Place::new();
    place.train("a", &[]);
    let spec = Spec::of(&place.arch());
    let permutations = Permutations::random(&spec, 3);
    let a = place.read("a/posterior.safetensors");
    place.write("b.safetensors", a.posterior.map(|params| spec.apply(&permutations, params)).unwrap());
    for criterion in ["mean", "w2", "kl", "jeffreys", "snr", "mahalanobis"] {
        let report = place.align(&["a", "b.safetensors", "--criteria", criterion, "-o", criterion]);
        let member = &report["members"][0];
        assert!(member["w2"]["before"].as_f64().unwrap() > 0.1, "{member}");
        assert_eq!(member["w2"]["after"], 0.0, "{member}");
        assert!(member["change_of_function"].as_f64().unwrap() < 1e-5, "{member}");
        let json = fs::read_to_string(place.path(criterion).join("permutations/b.json")).unwrap();
        assert_eq!(Permutations::from_json(&spec, &json).unwrap(), permutations.inverse());
        let aligned = place.read(&format!("{criterion}/aligned/b.safetensors"));
        assert_eq!(aligned.posterior, a.posterior);
        let record = aligned.provenance.aligned.clone().unwrap();
        assert_eq!(
            (&record.to[..], &record.criterion[..], &record.solver[..]),
            ("a/posterior.safetensors", criterion, "best")
        );
        let mut provenance = aligned.provenance;
        provenance.aligned = None;
        assert_eq!(provenance, a.provenance);
    }
}

#[test]
fn every_posterior_is_aligned_with_the_first_and_predicts_what_it_did() {
    let place = Place::new();
    for (name, seed) in [("a", "seed=0"), ("b", "seed=1"), ("other/b", "seed=2")] {
        place.train(name, &[seed]);
    }
    let report = place.align(&["a", "b", "other/b/posterior.safetensors", "-o", "out", "--seed", "5"]);
    let found: Vec<&str> = report["members"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(found, ["b", "b-2"]);
    let written = [
        "aligned/b-2.safetensors",
        "aligned/b.safetensors",
        "alignment.json",
        "permutations/b-2.json",
        "permutations/b.json",
    ];
    assert_eq!(names(&place.path("out")), written);

    let arch = place.arch();
    let images = onebasin::data::load("synthetic", Split::Test, Path::new("")).unwrap();
    let a = place.gaussian("a/posterior.safetensors");
    for (index, (source, name)) in [("b", "b"), ("other/b", "b-2")].into_iter().enumerate() {
        let before = place.read(&format!("{source}/posterior.safetensors"));
        let after = place.read(&format!("out/aligned/{name}.safetensors"));
        let standardisation: &Standardisation = &after.provenance.standardisation;
        let examples = onebasin::data::Examples::new(images.clone(), standardisation.clone()).unwrap();
        let (images, labels) = examples.all();
        let logits = |posterior: &Posterior| {
            let mut logits = vec![0.0; labels.len() * arch.classes()];
            Net::new(&arch, &pool(1).unwrap())
                .unwrap()
                .logits(posterior.gaussian().mean(), &images, &mut logits)
                .unwrap();
            logits
        };
        let (one, other) = (logits(&before.posterior), logits(&after.posterior));
        assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-5));
        let member = &report["members"][index];
        let distance = a.distance(&after.posterior.gaussian()).unwrap();
        assert_eq!(member["w2"]["after"], distance);
        assert!(distance < a.distance(&before.posterior.gaussian()).unwrap());
    }
}

#[test]
fn samples_are_permuted_together() {
    let place = Place::new();
    let ensemble =
        r#"infer={ method = "ensemble", members = 3, optimise = { epochs = 2, batch = 100, learning_rate = 1e-2 } }"#;
    place.train("a", &[ensemble]);
    place.train("b", &[ensemble, "seed=7"]);
    place.align(&["a", "b", "-o", "out"]);
    let [before, after] = ["b/posterior.safetensors", "out/aligned/b.safetensors"].map(|name| place.read(name));
    assert_ne!(before.posterior, after.posterior);
    let images = onebasin::data::load("synthetic", Split::Test, Path::new("")).unwrap();
    let examples = onebasin::data::Examples::new(images, after.provenance.standardisation.clone()).unwrap();
    let mut predictor =
        Predictor::new(&place.arch(), after.provenance.likelihood, Precision::F32, &pool(1).unwrap()).unwrap();
    let [one, other] = [before, after]
        .map(|stored| predictor.mean(&stored.posterior, &examples, 3, 0, &mut Monitor::silent()).unwrap());
    assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-5));
}

#[test]
fn the_report_has_every_number() {
    let place = Place::with_two();
    let report = place.align(&["a", "b", "-o", "out", "--seed", "5"]);
    let on_disk = fs::read_to_string(place.path("out/alignment.json")).unwrap();
    assert_eq!(report, serde_json::from_str::<Value>(&on_disk).unwrap());
    let settings = serde_json::json!({
        "to": "first", "criteria": ["w2"], "solvers": ["best"], "start": "identity", "seed": 5, "balance": false,
        "exclude_prior": null, "examples": 5000, "draws": 10, "steps": 250, "restarts": 0, "batch": 256,
        "learning_rate": 0.2, "tau": "midpoint", "repair": false, "seconds": null,
    });
    assert_eq!(report["settings"], settings);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["reference"]["source"], "a/posterior.safetensors");
    assert_eq!(report["reference"]["file"], Value::Null);
    let member = &report["members"][0];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {member}"));
    let objective = &member["objective"];
    assert!(number(&objective["before"]) < number(&objective["after"]));
    assert!(number(&objective["after"]) <= number(&objective["bound"]));
    assert!(number(&member["seconds"]) >= 0.0);
    let list = |name: &str| member[name].as_array().unwrap();
    let sum = |name: &str, when: &str| list(name).iter().map(|part| number(&part["objective"][when])).sum::<f64>();
    for when in ["before", "after"] {
        assert!((sum("tensors", when) - number(&objective[when])).abs() < 1e-9);
    }
    let permutations = list("permutations");
    assert_eq!(permutations.len(), 2);
    assert_eq!((&permutations[0]["name"], &permutations[0]["size"]), (&"hidden1".into(), &12.into()));
    for permutation in permutations {
        let [size, moved, fixed] =
            ["size", "transpositions", "fixed_points"].map(|name| permutation[name].as_u64().unwrap());
        assert!(moved < size && fixed <= size);
    }
    let attempts = list("attempts");
    let solvers: Vec<&str> = attempts.iter().map(|attempt| attempt["solver"].as_str().unwrap()).collect();
    for solver in ["greedy", "frank-wolfe", "greedy-backward", "coordinate-descent"] {
        assert!(solvers.contains(&solver), "{solvers:?}");
    }
    assert_eq!(attempts[0]["objective"], objective["after"]);
    let assignments = attempts.iter().map(|attempt| attempt["assignments"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(member["assignments"], assignments);
}

#[test]
fn tables_have_one_line_for_each_permutation_and_then_the_totals() {
    let place = Place::with_two();
    let ended = place.onebasin(&["align", "a", "b", "-o", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let firsts: Vec<&str> = ended.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let expected = [
        "permutation of b",
        "hidden1",
        "hidden2",
        "",
        "total",
        "objective before",
        "objective after",
        "upper bound",
        "share of possible gain",
        "W2 distance before",
        "W2 distance after",
        "assignment problems",
        "seconds",
        "change of the function",
    ];
    assert_eq!(firsts, expected);
    for file in ["out/aligned/b.safetensors", "out/alignment.json"] {
        assert!(ended.stderr.contains(file), "{}", ended.stderr);
    }
}

#[test]
fn the_number_of_threads_changes_nothing_but_the_seconds() {
    let place = Place::with_two();
    let [one, three] = ["1", "3"].map(|threads| {
        let mut report = place.align(&["a", "b", "-o", "out", "--force", "--threads", threads]);
        report["members"][0]["seconds"] = Value::Null;
        let mut files = contents(&place.path("out"));
        // Both name seconds, one of them by a checksum.
        files.retain(|file, _| !file.ends_with("alignment.json") && !file.ends_with("made.json"));
        (report.to_string(), files)
    });
    assert!(one == three);
}

#[test]
fn balanced_posteriors_are_written_all_and_are_the_same_functions() {
    let place = Place::with_two();
    let report = place.align(&["a", "b", "-o", "out", "--balance"]);
    assert_eq!(report["reference"]["file"], "aligned/a.safetensors");
    for change in [&report["reference"]["change_of_function"], &report["members"][0]["change_of_function"]] {
        assert!(change.as_f64().unwrap() < 1e-5, "{report}");
    }
    let scales = Scales::of(&place.arch()).unwrap();
    for name in ["a", "b"] {
        let balanced = place.gaussian(&format!("out/aligned/{name}.safetensors"));
        let mut energy = Params::zeros(balanced.mean().layout());
        let moments = balanced.mean().values().iter().zip(balanced.std().values());
        let energies = energy.values_mut().iter_mut().zip(moments);
        energies.for_each(|(energy, (mean, std))| *energy = mean * mean + std * std);
        let factors = scales.balance(&energy).unwrap();
        assert!(factors.iter().flatten().all(|factor| (factor - 1.0).abs() < 1e-3), "{factors:?}");
        assert!(place.read(&format!("out/aligned/{name}.safetensors")).provenance.aligned.unwrap().balanced);
    }
}

#[test]
fn units_like_the_prior_are_masked() {
    let place = Place::with_two();
    let all = place.align(&["a", "b", "-o", "all", "--exclude-prior", "1e9"]);
    let some = place.align(&["a", "b", "-o", "none", "--exclude-prior", "1e-9"]);
    assert_eq!((&all["reference"]["masked_units"], &all["members"][0]["masked_units"]), (&21.into(), &21.into()));
    assert_eq!((&some["reference"]["masked_units"], &some["members"][0]["masked_units"]), (&0.into(), &0.into()));
    // All that is left is what no unit has: the biases of the classes.
    assert_eq!(all["members"][0]["objective"]["after"], all["members"][0]["objective"]["before"]);
    assert!(place.read("all/aligned/b.safetensors").provenance.aligned.is_some());
    for wrong in ["0", "-1", "nan", "inf"] {
        place.refused(&["a", "b", "-o", "out", &format!("--exclude-prior={wrong}")], &["--exclude-prior"]);
    }
}

#[test]
fn several_criteria_and_solvers_give_a_folder_each() {
    let place = Place::with_two();
    let lists = ["--criteria", "w2,kl", "--solvers", "greedy,best"];
    let ended = place.onebasin(&[&["align", "a", "b", "-o", "out"], &lists[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let all = ["kl-best", "kl-greedy", "w2-best", "w2-greedy"];
    let files = ["aligned/b.safetensors", "alignment.json", "permutations/b.json"];
    let expected: Vec<String> = all.iter().flat_map(|name| files.map(|file| format!("{name}/{file}"))).collect();
    assert_eq!(names(&place.path("out")), expected);
    for name in all {
        let (criterion, solver) = name.split_once('-').unwrap();
        let alone = place.align(&["a", "b", "-o", "alone", "--force", "--criteria", criterion, "--solvers", solver]);
        let text = fs::read_to_string(place.path(&format!("out/{name}/alignment.json"))).unwrap();
        let [mut one, mut other] = [alone, serde_json::from_str(&text).unwrap()];
        for report in [&mut one, &mut other] {
            report["members"][0]["seconds"] = Value::Null;
        }
        assert_eq!(one, other);
    }
    place.refused(&["a", "b", "-o", "new", "--criteria", "w2,w2"], &["--criteria", "\"w2\" twice"]);
    place.refused(&["a", "b", "-o", "new", "--solvers", "best,best"], &["--solvers", "\"best\" twice"]);
}
