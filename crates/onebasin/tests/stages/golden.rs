//! Compares results with golden files.

use onebasin::experiment::stages::planted::PlantedSettings;
use onebasin::experiment::stages::swap::SwapSettings;
use onebasin::experiment::stages::transpositions::TranspositionsSettings;
use onebasin::experiment::{
    Align, AlignNetwork, Barrier, BarrierNetwork, Compact, CompactNetwork, Context, Existing, Plane, PlaneNetwork,
    Silent, Stage, Train,
};
use onebasin::threads::pool;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Relative difference of floating-point numbers that another machine may make.
const RELATIVE: f64 = 1e-3;
/// Absolute difference of numbers that are nothing but rounding.
const ABSOLUTE: f64 = 1e-5;
/// Keys whose values differ between runs, or repeat what the test says.
const LEFT_OUT: [&str; 3] = ["seconds", "settings", "version"];

/// What the error of wrong settings says, and how they come to be wrong.
pub(crate) type Mistake<T> = (&'static str, fn(&mut T));

/// Runs a stage in `folder/name`, compares its result with the golden file `name.json`, and reads it back from its folder.
pub(crate) fn check<S: Stage>(name: &str, stage: &S, folder: &Path) -> S::Result {
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let own = folder.join(name);
    let result = stage.run_in(&own, Existing::Refuse, &context).unwrap();
    let value = serde_json::to_value(&result).unwrap();
    let text = fs::read_to_string(own.join(S::RESULT)).unwrap();
    let read: S::Result = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value, "the result of {} is not read as it was written", S::NAME);

    let file = golden().join(format!("{name}.json"));
    let found = json!({ "stage": S::NAME, "revision": S::REVISION, "result": reduced(value, folder) });
    if writes() {
        fs::write(&file, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let expected: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    if let Err(difference) = compare(name, &expected["result"], &found["result"]) {
        panic!(
            "the results of stage {} changed ({difference}): raise its REVISION and make the golden file again \
             (ONEBASIN_GOLDEN=write)",
            S::NAME
        );
    }
    result
}

/// Whether golden files are made again.
fn writes() -> bool {
    std::env::var_os("ONEBASIN_GOLDEN").is_some_and(|wish| wish == "write")
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stages/golden")
}

/// The part of a result that is the same in every run, with paths relative to `folder`.
fn reduced(value: Value, folder: &Path) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()));
            kept.map(|(key, value)| (key, reduced(value, folder))).collect()
        }
        Value::Array(values) => values.into_iter().map(|value| reduced(value, folder)).collect(),
        Value::String(text) => Value::String(text.replace(&format!("{}/", folder.display()), "")),
        other => other,
    }
}

/// The first difference, and where it is.
fn compare(place: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let differ = || Err(format!("{place} is {found}, not {expected}"));
    match (expected, found) {
        (Value::Object(ours), Value::Object(theirs)) => {
            if !ours.keys().eq(theirs.keys()) {
                let [found, expected] = [theirs, ours].map(|fields| fields.keys().collect::<Vec<_>>());
                return Err(format!("{place} has the keys {found:?}, not {expected:?}"));
            }
            ours.iter().try_for_each(|(key, value)| compare(&format!("{place}.{key}"), value, &theirs[key]))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            if ours.len() != theirs.len() {
                return Err(format!("{place} has {} values, not {}", theirs.len(), ours.len()));
            }
            let pairs = ours.iter().zip(theirs).enumerate();
            pairs.into_iter().try_for_each(|(index, (a, b))| compare(&format!("{place}[{index}]"), a, b))
        }
        (Value::Number(ours), Value::Number(theirs)) if ours.is_f64() && theirs.is_f64() => {
            let [ours, theirs] = [ours, theirs].map(|number| number.as_f64().unwrap());
            let tolerance = RELATIVE * ours.abs().max(theirs.abs()) + ABSOLUTE;
            if (ours - theirs).abs() <= tolerance { Ok(()) } else { differ() }
        }
        (ours, theirs) => {
            if ours == theirs {
                Ok(())
            } else {
                differ()
            }
        }
    }
}

#[test]
fn every_stage_has_golden_files_of_its_revision() {
    if writes() {
        // Other tests are just making them.
        return;
    }
    let mut stages = vec![
        (Train::NAME, Train::REVISION),
        (Align::NAME, Align::REVISION),
        (Barrier::NAME, Barrier::REVISION),
        (Plane::NAME, Plane::REVISION),
        (Compact::NAME, Compact::REVISION),
        (TranspositionsSettings::NAME, TranspositionsSettings::REVISION),
        (PlantedSettings::NAME, PlantedSettings::REVISION),
        (SwapSettings::NAME, SwapSettings::REVISION),
        (AlignNetwork::NAME, AlignNetwork::REVISION),
        (BarrierNetwork::NAME, BarrierNetwork::REVISION),
        (PlaneNetwork::NAME, PlaneNetwork::REVISION),
        (CompactNetwork::NAME, CompactNetwork::REVISION),
    ];
    let all = stages.clone();
    for entry in fs::read_dir(golden()).unwrap() {
        let path = entry.unwrap().path();
        let golden: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let (name, revision) = all.iter().find(|(name, _)| golden["stage"] == *name).unwrap();
        assert_eq!(
            golden["revision"],
            *revision,
            "{}: make it again, for revision {revision} of {name}",
            path.display()
        );
        stages.retain(|(other, _)| other != name);
    }
    assert!(stages.is_empty(), "stages without golden file: {stages:?}");
}

#[test]
fn a_difference_is_named() {
    let expected = json!({ "a": [1, 2.0], "b": "x" });
    assert_eq!(compare("r", &expected, &json!({ "a": [1, 2.001], "b": "x" })), Ok(()));
    for (found, place) in [
        (json!({ "a": [1, 2.01], "b": "x" }), "r.a[1] is 2.01, not 2.0"),
        (json!({ "a": [2, 2.0], "b": "x" }), "r.a[0] is 2, not 1"),
        (json!({ "a": [1, 2.0], "b": "y" }), "r.b is \"y\", not \"x\""),
        (json!({ "a": [1, 2.0] }), "r has the keys [\"a\"], not [\"a\", \"b\"]"),
        (json!({ "a": [1], "b": "x" }), "r.a has 1 values, not 2"),
    ] {
        assert_eq!(compare("r", &expected, &found), Err(place.to_owned()));
    }
}
