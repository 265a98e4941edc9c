//! The same command again: up to date, refused for other settings, made again after an interruption.

use crate::harness::{HMC, Place, TRAINING};
use std::fs;

#[test]
fn a_finished_result_is_up_to_date_and_printed_again() {
    let place = Place::with_posteriors();
    place.write("hmc.toml", &format!("{TRAINING}{HMC}"));
    place.succeeds("train hmc.toml -o hmc");
    for (line, result) in [
        ("align a b -o out/align", "out/align/alignment.json"),
        ("barrier a b --samples 2 --points 3 -o out/barrier", "out/barrier/measures.json"),
        ("plane a b --points 2 -o out/plane", "out/plane/measures.json"),
        ("compact hmc --draws 2 -o out/compact", "out/compact/measures.json"),
    ] {
        let first = place.succeeds(line);
        let before = (place.read(result), fs::metadata(place.path(result)).unwrap().modified().unwrap());
        let again = place.succeeds(line);
        assert!(again.stderr.contains(&format!("result, up to date: {result}")), "{line}: {}", again.stderr);
        assert_eq!(again.stdout, first.stdout, "{line}");
        assert_eq!(
            (place.read(result), fs::metadata(place.path(result)).unwrap().modified().unwrap()),
            before,
            "{line}"
        );
    }
    assert!(place.succeeds("train hmc.toml -o hmc").stderr.contains("hmc: up to date"));
}

#[test]
fn other_settings_or_inputs_are_refused_with_the_remedy() {
    let place = Place::with_posteriors();
    place.succeeds("barrier a b --samples 2 --points 3 -o out");
    for (line, reason) in [
        ("barrier a b --samples 3 --points 3 -o out", "of other settings (`samples` was 2, and is 3 now)"),
        ("barrier b a --samples 2 --points 3 -o out", "is of a/posterior.safetensors, not of b/posterior.safetensors"),
        ("plane a b --points 2 -o out", "it holds a result of `barrier`"),
    ] {
        let error = place.refused(line);
        assert!(
            error.contains(reason) && error.contains("another folder with -o") && error.contains("--force"),
            "{error}"
        );
    }
    place.succeeds("train vi.toml --set seed=7 -o b --force");
    let error = place.refused("barrier a b --samples 2 --points 3 -o out");
    assert!(error.contains("is older than the contents of b/posterior.safetensors"), "{error}");
    let new = place.succeeds("barrier a b --samples 2 --points 3 -o out --force");
    assert!(!new.stderr.contains("up to date"), "{}", new.stderr);
}

#[test]
fn an_interrupted_result_is_made_again_without_force_and_a_changed_one_is_not() {
    let place = Place::with_posteriors();
    let line = "align a b --criteria w2,kl --solvers greedy -o out";
    let whole = place.succeeds(line);
    let folder = "out/kl-greedy";
    // As a kill leaves it: what it is made of is written first, the result last.
    let made = place.read(&format!("{folder}/made.json"));
    let mut unfinished: serde_json::Value = serde_json::from_str(&made).unwrap();
    unfinished["outputs"] = serde_json::Value::Null;
    place.write(&format!("{folder}/made.json"), &unfinished.to_string());
    fs::remove_file(place.path(&format!("{folder}/alignment.json"))).unwrap();
    let again = place.succeeds(line);
    assert!(again.stderr.contains("result, up to date: out/w2-greedy/alignment.json"), "{}", again.stderr);
    assert!(again.stderr.contains("result: out/kl-greedy/alignment.json"), "{}", again.stderr);
    let without_seconds = |text: &str| text.lines().filter(|line| !line.contains("seconds")).collect::<String>();
    assert_eq!(without_seconds(&again.stdout), without_seconds(&whole.stdout));

    fs::remove_file(place.path(&format!("{folder}/aligned/b.safetensors"))).unwrap();
    place.succeeds(line);
    assert!(place.path(&format!("{folder}/aligned/b.safetensors")).exists());

    place.write(&format!("{folder}/alignment.json"), "{}");
    let error = place.refused(line);
    assert!(
        error.contains("alignment.json was changed since `align` wrote it") && error.contains("--force"),
        "{error}"
    );
    place.succeeds(&format!("{line} --force"));
}
