//! Measures barriers between posteriors that the real binary trained and aligned, and looks at all it leaves.

use onebasin::data::{Examples, Split, Subset};
use onebasin::measure::{BarrierSettings, Curve, Curves};
use onebasin::net::Precision;
use onebasin::path::Geodesic;
use onebasin::posterior::{LowRank, Posterior, Predictor, Samples};
use onebasin::progress::Monitor;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::{Permutations, Spec};
use onebasin::threads::pool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Few steps: enough that both networks know something, and not the same.
const VI: &str = r#"
    data = { name = "digits", subsets = ["half:a"], scaling = "standard" }
    arch = { preset = "mlp", hidden = [14, 11] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", std = 0.05, optimise = { epochs = 8, batch = 50, learning_rate = 1e-2 } }
"#;

/// Few points, draws and examples.
const QUICK: [&str; 8] = ["--points", "5", "--samples", "6", "--replicates", "10", "--train-examples", "80"];

/// A folder with two posteriors, `a` and `b`; gone when the test ends.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        fs::write(place.path("vi.toml"), VI).unwrap();
        place.train("a", &[]);
        place.train("b", &["seed=1"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.args(arguments).current_dir(self.0.path()).env_clear();
        command
    }

    /// Exit code, standard output and standard error.
    fn onebasin(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(arguments).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), stdout, stderr)
    }

    fn train(&self, name: &str, settings: &[&str]) {
        let mut arguments = vec!["train", "vi.toml", "--threads", "1", "-o", name];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let (code, _, stderr) = self.onebasin(&arguments);
        assert_eq!(code, Some(0), "{stderr}");
    }

    /// `onebasin barrier`, which must go well; returns what it prints.
    fn barrier(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.onebasin(&[&["barrier"], arguments, &QUICK].concat());
        assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
        stdout
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.barrier(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// Makes sure that these arguments are refused with a message that has all of `named` in it, and change nothing.
    fn refused(&self, arguments: &[&str], named: &[&str]) {
        let before = contents(self.0.path());
        let (code, stdout, stderr) = self.onebasin(&[&["barrier"], arguments].concat());
        assert_eq!((code, &stdout[..]), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: "), "{arguments:?}: {stderr}");
        for named in named {
            assert!(stderr.contains(named), "{arguments:?}: {stderr}");
        }
        assert!(contents(self.0.path()) == before, "{arguments:?} left a trace");
    }

    fn read(&self, name: &str) -> StoredPosterior {
        StoredPosterior::read(&self.path(name)).unwrap()
    }

    /// Writes a posterior with the provenance of `a`.
    fn write(&self, name: &str, posterior: Posterior) {
        let provenance = self.read("a/posterior.safetensors").provenance;
        StoredPosterior { posterior, provenance }.write(&self.path(name)).unwrap();
    }
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut contents(&path));
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    all
}

/// The curve of this name on this part of the data set.
fn curve(report: &Value, name: &str, split: &str) -> Curve {
    let curves = report["curves"].as_array().unwrap();
    let found = curves.iter().find(|curve| curve["curve"] == name && curve["split"] == split);
    serde_json::from_value(found.unwrap_or_else(|| panic!("no {name} on {split} in {report}")).clone()).unwrap()
}

/// Without the times, which are never the same.
fn timeless(mut report: Value) -> Value {
    for curve in report["curves"].as_array_mut().unwrap() {
        curve["seconds"] = Value::Null;
    }
    report
}

#[test]
fn a_permuted_copy_has_no_barrier_once_it_is_aligned() {
    let place = Place::new();
    let a = place.read("a/posterior.safetensors");
    let spec = Spec::of(&a.provenance.network().unwrap());
    let permutations = Permutations::random(&spec, 3);
    place.write("copy.safetensors", a.posterior.map(|params| spec.apply(&permutations, params)).unwrap());
    let report = place.json(&["a", "copy.safetensors", "--criteria", "w2,mean", "--criteria", "kl"]);
    for split in ["train", "test"] {
        assert!(curve(&report, "no alignment", split).loss.barrier.value > 0.01);
        for criterion in ["w2", "mean", "kl"] {
            let aligned = curve(&report, criterion, split);
            assert_eq!((aligned.loss.barrier.value, aligned.error.instability.value), (0.0, 0.0));
        }
        assert!(curve(&report, "mixture", split).loss.barrier.value < 1e-12);
    }
    assert_eq!(report["alignments"][1]["w2"], 0.0);
    assert_eq!(report["alignments"][1]["transpositions"], permutations.transpositions());
}

/// With the subsets and the standardisation of the training.
#[test]
fn the_curve_is_that_of_the_library_on_the_examples_of_the_training() {
    let place = Place::new();
    let report = place.json(&["a", "b", "--no-criteria", "--seed", "4"]);
    let [a, b] = ["a", "b"].map(|name| place.read(&format!("{name}/posterior.safetensors")));
    let load = |split| onebasin::data::load("digits", split, Path::new("")).unwrap();
    let half = "half:a".parse::<Subset>().unwrap().apply(&load(Split::Train)).unwrap();
    let settings = BarrierSettings { points: 5, samples: 6, replicates: 10, seed: 4 };
    let arch = a.provenance.network().unwrap();
    let mut predictor = Predictor::new(&arch, a.provenance.likelihood, Precision::F32, &pool(1).unwrap()).unwrap();
    for (split, images) in [("train", Subset::First(80).apply(&half).unwrap()), ("test", load(Split::Test))] {
        let examples = Examples::new(images, a.provenance.standardisation.clone()).unwrap();
        let (from, to) = (a.posterior.gaussian(), b.posterior.gaussian());
        let path = Geodesic::new(&from, &to).unwrap();
        let found = Curves::along(&path, &mut predictor, &examples, false, settings, &mut Monitor::silent()).unwrap();
        assert_eq!(curve(&report, "no alignment", split), found.path);
        assert_eq!(curve(&report, "mixture", split), found.mixture);
    }
    assert_eq!((report["curves"].as_array().unwrap().len(), &report["data"]), (4, &"digits half:a".into()));
}

/// All paths have the same ends; calibrated curves have their own.
#[test]
fn paths_differ_between_their_ends_only() {
    let place = Place::new();
    let names = "geodesic,natural,rescaled,rescaled-moments,rescaled-data,natural-rescaled,scale-only,repair";
    let report = place.json(&["a", "b", "--splits", "test", "--paths", names, "--calibrate"]);
    let reference = curve(&report, "w2", "test");
    let tempered = curve(&report, "w2, calibrated", "test");
    let mut middles = vec![reference.points[2].loss.value];
    for name in names.split(',').skip(1) {
        let found = curve(&report, &format!("w2, {name}"), "test");
        let calibrated = curve(&report, &format!("w2, {name}, calibrated"), "test");
        for end in [0, 4] {
            assert_eq!(found.points[end], reference.points[end], "{name}");
            assert_eq!(calibrated.points[end], tempered.points[end], "{name}");
        }
        middles.push(found.points[2].loss.value);
    }
    middles.sort_by(f64::total_cmp);
    assert!(middles.windows(2).all(|pair| pair[0] < pair[1]), "{middles:?}");
    let curves = report["curves"].as_array().unwrap();
    let temperatures = curves.iter().filter_map(|curve| curve["temperatures"].as_array());
    assert_eq!(temperatures.map(Vec::len).collect::<Vec<_>>(), [5; 9]);
    // Eight paths and no alignment, each also calibrated, and the mixture.
    assert_eq!(curves.len(), 19);
}

#[test]
fn alignments_that_were_written_are_used() {
    let place = Place::new();
    let (code, _, stderr) = place.onebasin(&["align", "a", "b", "-o", "out"]);
    assert_eq!(code, Some(0), "{stderr}");
    let now = place.json(&["a", "b"]);
    let aligned = place.json(&["a", "out/aligned/b.safetensors", "--no-criteria"]);
    for file in ["out/alignment.json", "out/permutations/b.json"] {
        let report = place.json(&["a", "b", "--alignment", file]);
        for split in ["train", "test"] {
            assert_eq!(curve(&report, file, split), curve(&now, "w2", split));
            assert_eq!(curve(&report, file, split), curve(&aligned, "no alignment", split));
            assert_eq!(curve(&report, "no alignment", split), curve(&now, "no alignment", split));
        }
    }
    for file in ["out/alignment.json", "out/permutations/b.json"] {
        place.refused(&["b", "a", "--alignment", file], &[file, "a/", "b/"]);
    }
    let permuted = ["a", "out/aligned/b.safetensors", "--alignment", "out/alignment.json"];
    place.refused(&permuted, &["out/alignment.json", "b/posterior.safetensors", "out/aligned/b.safetensors"]);
    fs::write(place.path("short.json"), r#"{"hidden1": [0, 1]}"#).unwrap();
    for file in ["short.json", "absent.json", "vi.toml"] {
        place.refused(&["a", "b", "--alignment", file], &[file]);
    }
}

#[test]
fn what_is_printed_is_what_is_written_whatever_the_threads() {
    let place = Place::new();
    let table = place.barrier(&["a", "b", "-o", "out", "--threads", "1"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 7, "{table}");
    for (line, begins) in
        lines.iter().zip(["curve ", "no alignment ", "no alignment ", "w2 ", "w2 ", "mixture ", "mixture "])
    {
        assert!(
            line.starts_with(begins) && line.contains(if begins == "curve " { "loss barrier" } else { " ± " }),
            "{table}"
        );
    }
    let written = || fs::read_to_string(place.path("out/measures.json")).unwrap();
    let one: Value = serde_json::from_str(&written()).unwrap();
    let csv = fs::read_to_string(place.path("out/curves.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 6 * 5);
    let first = &curve(&one, "no alignment", "train").points[0];
    let [loss, error] = [first.loss, first.error].map(|it| format!("{},{}", it.value, it.standard_error.unwrap()));
    assert_eq!(csv.lines().nth(1).unwrap(), format!("\"no alignment\",train,0,{loss},{error}"));

    let three = place.json(&["a", "b", "-o", "out", "--force", "--threads", "3"]);
    assert_eq!(three, serde_json::from_str::<Value>(&written()).unwrap());
    assert_eq!(timeless(three), timeless(one));
    assert_eq!(fs::read_to_string(place.path("out/curves.csv")).unwrap(), csv);
    assert_eq!(place.path("out").read_dir().unwrap().count(), 3);
}

#[test]
fn points_have_no_standard_error() {
    let place = Place::new();
    for name in ["a", "b"] {
        let mean = place.read(&format!("{name}/posterior.safetensors")).posterior.gaussian().mean().clone();
        place.write(&format!("{name}.safetensors"), Posterior::Point(mean));
    }
    let table = place.barrier(&["a.safetensors", "b.safetensors", "--splits", "test", "-o", "out"]);
    assert!(!table.contains('±') && table.lines().count() == 4, "{table}");
    let csv = fs::read_to_string(place.path("out/curves.csv")).unwrap();
    assert!(csv.lines().skip(1).all(|line| line.ends_with(',') && line.split(',').count() == 7), "{csv}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = Place::new();
    place.train("wide", &["arch.hidden=[14, 12]"]);
    place.train("unit", &["data.scaling=unit"]);
    place.train("gaussian", &["likelihood={ gaussian = { variance = 0.5 } }"]);
    place.refused(&["a", "wide"], &["wide/posterior.safetensors", "`arch.hidden`"]);
    place.refused(&["a", "unit"], &["unit/", "a/", "scales its inputs"]);
    place.refused(&["a", "gaussian"], &["gaussian/", "a/", "likelihood"]);
    let mean = place.read("a/posterior.safetensors").posterior.gaussian().mean().clone();
    let low_rank =
        LowRank::new(place.read("a/posterior.safetensors").posterior.gaussian().into_owned(), vec![mean.clone()]);
    place.write("rank.safetensors", Posterior::LowRank(low_rank.unwrap()));
    place.refused(&["a", "rank.safetensors"], &["rank.safetensors", "rank 1", "`onebasin compact`"]);
    place.write("samples.safetensors", Posterior::Samples(Samples::new(vec![mean.clone(), mean], 2).unwrap()));
    place.refused(&["a", "samples.safetensors"], &["samples.safetensors", "`onebasin align`"]);
    place.refused(&["samples.safetensors", "a"], &["samples.safetensors", "2 samples"]);
    place.refused(&["a", "absent"], &["absent"]);
    place.refused(&["a"], &["<B>"]);
    place.refused(&["a", "b", "--points", "4"], &["--points is 4", "odd"]);
    place.refused(&["a", "b", "--samples", "0"], &["--samples is 0"]);
    place.refused(&["a", "b", "--train-examples", "0"], &["--train-examples is 0"]);
    place.refused(&["a", "b", "--test-examples", "0"], &["--test-examples is 0"]);
    place.refused(&["a", "b", "--threads", "0"], &["threads"]);
    place.refused(&["a", "b", "--dataset", "nowhere"], &["nowhere", "digits"]);
    place.refused(&["a", "b", "--dataset", "synthetic"], &["synthetic", "6x6x1"]);
    place.refused(&["a", "b", "--criteria", "w2", "--no-criteria"], &["--no-criteria"]);
    place.refused(&["a", "b", "--force"], &["--force", "-o"]);
    place.refused(&["a", "b", "-o", "a"], &["a: the folder is not empty", "-o", "--force"]);
    place.refused(&["a", "b", "-o", "a", "--force"], &["a/checkpoint.safetensors", "did not write it"]);
    let mut elsewhere = place.read("a/posterior.safetensors");
    elsewhere.provenance.config["data"]["name"] = "mnist".into();
    elsewhere.write(&place.path("mnist.safetensors")).unwrap();
    place.refused(&["mnist.safetensors", "a", "--data", "nowhere"], &["mnist.safetensors", "onebasin data get mnist"]);
}

#[test]
fn a_folder_with_something_in_it_needs_force_and_must_be_of_measures() {
    let place = Place::new();
    place.barrier(&["a", "b", "-o", "out", "--no-criteria"]);
    place.refused(&["a", "b", "-o", "out"], &["out", "--force"]);
    fs::write(place.path("out/precious"), "precious").unwrap();
    place.refused(&["a", "b", "-o", "out", "--force"], &["out/precious"]);
    fs::remove_file(place.path("out/precious")).unwrap();
    // What a kill in the middle of a write leaves.
    fs::write(place.path("out/curves.csv.tmp"), "remains").unwrap();
    place.barrier(&["a", "b", "-o", "out", "--no-criteria", "--force"]);
    assert_eq!(place.path("out").read_dir().unwrap().count(), 3);
}

/// A measurement of many draws, which would take minutes.
#[cfg(unix)]
#[test]
fn an_interruption_leaves_nothing() {
    use std::process::Stdio;
    use std::time::Duration;
    let place = Place::new();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let arguments = ["barrier", "a", "b", "-o", "out", "--points", "99", "--samples", "20000"];
        let mut patience = Duration::from_millis(250);
        let output = loop {
            let child = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(patience);
            let kill = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let output = child.wait_with_output().unwrap();
            // On a slow machine it may not listen yet.
            if output.status.code().is_some() {
                break output;
            }
            patience *= 2;
        };
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "out: stopped; nothing was written\n");
        assert!(output.stdout.is_empty() && !place.path("out").exists());
    }
}

#[test]
fn a_measurement_that_was_killed_goes_on_from_the_curves_that_it_has() {
    let place = Place::new();
    let arguments = ["a", "b", "--points", "9", "--samples", "300", "--paths", "geodesic,natural,rescaled"];
    let measured = |folder: &str| {
        let (code, _, stderr) = place.onebasin(&[&["barrier"], &arguments[..], &["-o", folder]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        let result: Value =
            serde_json::from_slice(&fs::read(place.path(folder).join("measures.json")).unwrap()).unwrap();
        (result, fs::read(place.path(folder).join("curves.csv")).unwrap())
    };
    let (_, whole) = measured("whole");
    let mut child = place.command(&[&["barrier"], &arguments[..], &["-o", "killed"]].concat()).spawn().unwrap();
    let first = place.path("killed/unfinished/curve1.json");
    while child.try_wait().unwrap().is_none() && !first.exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Told from a curve that is measured again by seconds that nothing takes.
    if let Ok(text) = fs::read_to_string(&first) {
        let mut part: Value = serde_json::from_str(&text).unwrap();
        part["value"][0]["seconds"] = 12345.0.into();
        fs::write(&first, part.to_string()).unwrap();
        let (result, curves) = measured("killed");
        assert!(curves == whole);
        assert_eq!(result["curves"][0]["seconds"], 12345.0);
        assert!(!place.path("killed/unfinished").exists());
    }
}

#[test]
fn a_folder_that_cannot_be_written_or_is_taken_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let endless = ["--points", "99", "--samples", "100000"];
    fs::write(place.path("file"), "").unwrap();
    place.refused(&[&["a", "b", "-o", "file/out"], &endless[..]].concat(), &["file/out"]);
    let arguments = [&["barrier", "a", "b", "-o", "deep/out"], &endless[..]].concat();
    let mut child = place.command(&arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !place.path("deep/out/lock").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let (code, _, stderr) = place.onebasin(&arguments);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("another process writes the result of `barrier` into it"), "{stderr}");
    // What a kill leaves is in nobody's way.
    place.barrier(&["a", "b", "-o", "deep/out"]);
    assert!(!place.path("deep/out/lock").exists() && place.path("deep/out/measures.json").exists());
}
