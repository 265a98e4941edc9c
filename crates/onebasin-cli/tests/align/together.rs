//! All posteriors are aligned with each other: `--to mean` and `--to universe`.

use crate::harness::{Place, names};
use onebasin::posterior::Gaussian;
use onebasin::symmetry::{Permutations, Spec};
use serde_json::Value;
use std::fs;

/// Three posteriors, `a`, `b` and `c`, from different seeds.
fn with_three() -> Place {
    let place = Place::with_two();
    place.train("c", &["seed=2"]);
    place
}

/// Σ over pairs of the products of means and of standard deviations.
fn objective(members: &[Gaussian]) -> f64 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let mut total = 0.0;
    for (index, a) in members.iter().enumerate() {
        for b in &members[index + 1..] {
            total += product(a.mean().values(), b.mean().values()) + product(a.std().values(), b.std().values());
        }
    }
    total
}

#[test]
fn permuted_copies_are_brought_back() {
    let place = Place::new();
    place.train("a", &[]);
    let spec = Spec::of(&place.arch());
    let a = place.read("a/posterior.safetensors");
    for (seed, name) in [(1, "b.safetensors"), (2, "c.safetensors")] {
        let permutations = Permutations::random(&spec, seed);
        place.write(name, a.posterior.map(|params| spec.apply(&permutations, params)).unwrap());
    }
    for to in ["mean", "universe"] {
        for criterion in ["mean", "w2"] {
            let out = format!("{to}-{criterion}");
            let arguments = ["a", "b.safetensors", "c.safetensors", "--to", to, "--criteria", criterion, "-o", &out];
            let report = place.align(&arguments);
            for (index, name) in ["b", "c"].into_iter().enumerate() {
                let aligned = place.read(&format!("{out}/aligned/{name}.safetensors"));
                assert!(aligned.posterior == a.posterior, "{out} {name}");
                assert_eq!(report["members"][index]["w2"]["after"], 0.0);
            }
        }
    }
}

#[test]
fn the_objective_is_that_of_the_files_and_never_decreases() {
    let place = with_three();
    let spec = Spec::of(&place.arch());
    for to in ["mean", "universe"] {
        let report = place.align(&["a", "b", "c", "-o", to, "--to", to]);
        let written = [
            "aligned/b.safetensors",
            "aligned/c.safetensors",
            "alignment.json",
            "permutations/b.json",
            "permutations/c.json",
        ];
        assert_eq!(names(&place.path(to)), written);
        let together = &report["together"];
        assert_eq!(together["method"], to);
        assert!(together["assignments"].as_u64().unwrap() > 0 && together["seconds"].as_f64().unwrap() >= 0.0);
        let history: Vec<f64> =
            together["history"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        assert!(history.is_sorted() && history[0] < history[history.len() - 1], "{history:?}");
        let first = place.gaussian("a/posterior.safetensors");
        let files = |of: &dyn Fn(&str) -> String| -> Vec<Gaussian> {
            std::iter::once(first.clone()).chain(["b", "c"].map(|name| place.gaussian(&of(name)))).collect()
        };
        let before = files(&|name| format!("{name}/posterior.safetensors"));
        let after = files(&|name| format!("{to}/aligned/{name}.safetensors"));
        for (found, members) in [(history[0], &before), (history[history.len() - 1], &after)] {
            assert!((found / objective(members) - 1.0).abs() < 1e-6, "{found} is not {}", objective(members));
        }
        for (index, name) in ["b", "c"].into_iter().enumerate() {
            let member = &report["members"][index];
            assert_eq!(member["name"], name);
            assert_eq!(member["w2"]["after"], first.distance(&after[index + 1]).unwrap());
            assert!(member["change_of_function"].as_f64().unwrap() < 1e-5);
            let text = fs::read_to_string(place.path(&format!("{to}/permutations/{name}.json"))).unwrap();
            let permutations = Permutations::from_json(&spec, &text).unwrap();
            assert!(spec.apply(&permutations, before[index + 1].mean()).unwrap() == *after[index + 1].mean());
            let sum = |key: &str| -> u64 {
                member["permutations"].as_array().unwrap().iter().map(|own| own[key].as_u64().unwrap()).sum()
            };
            assert_eq!(sum("transpositions"), permutations.transpositions() as u64);
            assert_eq!(sum("size"), 21);
            let provenance = place.read(&format!("{to}/aligned/{name}.safetensors")).provenance.aligned.unwrap();
            for file in ["a", "b", "c"].map(|name| format!("{name}/posterior.safetensors")) {
                assert!(provenance.to.starts_with(to) && provenance.to.contains(&file), "{}", provenance.to);
            }
        }
        assert_eq!(report["reference"]["name"], "a");
        assert_eq!(report["members"][0]["attempts"], Value::Null);
    }
}

#[test]
fn tables_have_one_line_for_each_posterior_and_then_the_totals() {
    let place = with_three();
    let ended = place.onebasin(&["align", "a", "b", "c", "--to", "mean", "-o", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let firsts: Vec<&str> = ended.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let expected = [
        "posterior",
        "b",
        "c",
        "",
        "total",
        "objective before",
        "objective after",
        "rounds",
        "assignment problems",
        "seconds",
    ];
    assert_eq!(firsts, expected);
    assert!(ended.stdout.lines().next().unwrap().ends_with("NoT hidden1  NoT hidden2"), "{}", ended.stdout);
}

#[test]
fn balanced_posteriors_are_brought_together_too() {
    let place = with_three();
    let report = place.align(&["a", "b", "c", "--to", "universe", "--balance", "-o", "out"]);
    assert_eq!(report["reference"]["file"], "aligned/a.safetensors");
    assert_eq!(names(&place.path("out/aligned")), ["a.safetensors", "b.safetensors", "c.safetensors"]);
}

#[test]
fn what_only_pairs_can_is_refused() {
    let place = Place::with_two();
    for to in ["mean", "universe"] {
        for criterion in ["kl", "jeffreys"] {
            place.refused(&["a", "b", "-o", "out", "--to", to, "--criteria", criterion], &[criterion, "mean or w2"]);
        }
        let arguments = ["a", "b", "-o", "out", "--to", to, "--exclude-prior", "0.02"];
        place.refused(&arguments, &["--exclude-prior", "`to` is first"]);
        place.refused(&["a", "-o", "out", "--to", to], &["at least 2 posteriors, not 1"]);
    }
}
