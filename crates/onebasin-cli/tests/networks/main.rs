//! Aligns, checks and measures checkpoints that PyTorch wrote, of a network that it exported (see make.py).

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder with the files of make.py; gone when the test ends.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks");
        for name in ["a.pt", "b.ckpt", "net.onnx", "net.pt2", "x.npy", "y.npy"] {
            fs::copy(files.join(name), place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Exit code, standard output and standard error.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        let output = command.args(line.split(' ')).current_dir(self.0.path()).env_clear().output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), stdout, stderr)
    }

    fn good(&self, line: &str) -> (String, String) {
        let (code, stdout, stderr) = self.run(line);
        assert_eq!(code, Some(0), "{line}: {stderr}");
        (stdout, stderr)
    }

    /// What is said of a mistake, which leaves nothing behind.
    fn wrong(&self, line: &str) -> String {
        let before = self.names();
        let (code, _, stderr) = self.run(line);
        assert_eq!(code, Some(2), "{line}: {stderr}");
        assert_eq!(self.names(), before, "{line}");
        stderr
    }

    fn names(&self) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

#[test]
fn an_aligned_checkpoint_has_the_same_name_size_and_function() {
    let place = Place::new();
    let (stdout, stderr) = place.good("align a.pt b.ckpt --network net.onnx -o aligned");
    assert!(stderr.contains("which is rounding"), "{stderr}");
    assert!(stdout.contains("stem") && stdout.contains("PyTorch"), "{stdout}");
    let [before, after] = ["b.ckpt", "aligned/b.ckpt"].map(|name| fs::read(place.path(name)).unwrap());
    assert_eq!(before.len(), after.len());
    assert_ne!(before, after);
    let result: Value =
        serde_json::from_str(&fs::read_to_string(place.path("aligned/alignment.json")).unwrap()).unwrap();
    let member = &result["members"][0];
    assert!(member["w2"]["after"].as_f64() < member["w2"]["before"].as_f64(), "{member}");
    assert!(member["checked"]["change"].as_f64().unwrap() < 1e-5, "{member}");
    // Once aligned, there is nothing left to do: the same bytes again.
    place.good("align a.pt aligned/b.ckpt --network net.onnx -o again");
    assert_eq!(fs::read(place.path("again/b.ckpt")).unwrap(), after);
    // The same command finds its result up to date.
    let (_, stderr) = place.good("align a.pt b.ckpt --network net.onnx -o aligned");
    assert!(stderr.contains("up to date"), "{stderr}");
}

#[test]
fn exports_and_symmetry_files_lead_to_the_same_permutations() {
    let place = Place::new();
    let (symmetry, stderr) = place.good("symmetry net.pt2");
    assert!(stderr.contains("6 units can be permuted, in 1 group"), "{stderr}");
    assert!(symmetry.contains(r#"name = "head.weight", shape = [3, 6], axes = ["-", "stem"]"#), "{symmetry}");
    fs::write(place.path("net.toml"), symmetry).unwrap();
    let mut permutations = Vec::new();
    for network in ["net.onnx", "net.pt2", "net.toml"] {
        let (_, stderr) = place.good(&format!("align a.pt b.ckpt --network {network} -o {network}.out"));
        assert_eq!(stderr.contains("was not run"), network != "net.onnx", "{stderr}");
        permutations.push(fs::read(place.path(&format!("{network}.out/permutations/b.json"))).unwrap());
    }
    assert!(permutations.iter().all(|own| *own == permutations[0]));
}

#[test]
fn random_permutations_do_not_change_outputs() {
    let place = Place::new();
    let (stdout, _) = place.good("symmetry --check net.onnx a.pt b.ckpt --seed 3");
    assert_eq!(stdout.matches("which is rounding").count(), 2, "{stdout}");
}

#[test]
fn barriers_planes_and_gaussians_are_measured_on_own_examples() {
    let place = Place::new();
    let data = "--network net.onnx --inputs x.npy --labels y.npy";
    let (json, stderr) = place.good(&format!("barrier a.pt b.ckpt {data} --points 5 --json"));
    assert!(stderr.contains("statistics of batch normalisations are measured on 90 examples"), "{stderr}");
    let result: Value = serde_json::from_str(&json).unwrap();
    let barrier = |index: usize| result["curves"][index]["loss"]["barrier"]["value"].as_f64().unwrap();
    assert_eq!(result["curves"][0]["curve"], "no alignment");
    assert!(barrier(0).is_finite() && barrier(1).is_finite() && barrier(0) != barrier(1), "{result}");
    // Permuted units are the same function, and so are the ends of both curves.
    let end = |index: usize| result["curves"][index]["points"][4]["loss"]["value"].as_f64().unwrap();
    assert!((end(0) - end(1)).abs() < 1e-5, "{} {}", end(0), end(1));
    let w2 = |index: usize| result["alignments"][index]["w2"].as_f64().unwrap();
    assert!(w2(1) < w2(0), "{} {}", w2(1), w2(0));
    let (interpolated, stderr) =
        place.good(&format!("barrier a.pt b.ckpt {data} --points 5 --json --batchnorm interpolate"));
    assert!(!stderr.contains("batch normalisations"), "{stderr}");
    assert_ne!(json, interpolated);
    place.good(&format!("plane a.pt b.ckpt {data} --points 5 --splits test -o plane"));
    assert!(place.path("plane/plane.csv").exists());
    let (stdout, _) = place.good(&format!("compact a.pt b.ckpt {data} --ranks 0 --draws 5 -o compact"));
    assert!(stdout.contains("samples"), "{stdout}");
    assert!(place.path("compact/mean.safetensors").exists());
    // The same numbers on any number of threads.
    let one = place.good(&format!("barrier a.pt b.ckpt {data} --points 5 --calibrate --threads 1 -o one"));
    let three = place.good(&format!("barrier a.pt b.ckpt {data} --points 5 --calibrate --threads 3 -o three"));
    let curves = |folder: &str| fs::read_to_string(place.path(&format!("{folder}/curves.csv"))).unwrap();
    assert_eq!(curves("one"), curves("three"), "{one:?} {three:?}");
    assert_eq!(curves("one").matches("\"w2, calibrated\"").count(), 5, "{}", curves("one"));
}

#[test]
fn what_does_not_fit_is_named_with_its_file() {
    let place = Place::new();
    let (symmetry, _) = place.good("symmetry net.pt2");
    let write = |name: &str, from: &str, to: &str| fs::write(place.path(name), symmetry.replace(from, to)).unwrap();
    write("wrong.toml", r#"["-", "stem"]"#, r#"["-", "stems"]"#);
    let error = place.wrong("align a.pt b.ckpt --network wrong.toml -o out");
    assert!(error.contains("wrong.toml: tensor `head.weight`: `stems` names no group: `stems`"), "{error}");
    write("missing.toml", "head.weight", "tail.weight");
    let error = place.wrong("align a.pt b.ckpt --network missing.toml -o out");
    assert!(error.contains("a.pt: ") && error.contains("`tail.weight`"), "{error}");
    write("transposed.toml", r#"shape = [3, 6], axes = ["-", "stem"]"#, r#"shape = [6, 3], axes = ["stem", "-"]"#);
    let error = place.wrong("align a.pt b.ckpt --network transposed.toml -o out");
    assert!(error.contains("`head.weight` has the shape [3, 6]") && error.contains("it is transposed"), "{error}");
    let error = place.wrong("align a.pt --network net.onnx -o out");
    assert!(error.contains("at least 2 checkpoints"), "{error}");
    let error = place.wrong("align a.pt x.npy --network net.onnx -o out");
    assert!(error.contains("x.npy: "), "{error}");
    let error = place.wrong("align a.pt b.ckpt --network a.pt -o out");
    assert!(error.contains("a.pt: it should be an ONNX file"), "{error}");
    let error = place.wrong("align a.pt b.ckpt --network net.onnx --criteria activation -o out");
    assert!(error.contains("--criteria is activation"), "{error}");
    let error = place.wrong("align a.pt b.ckpt --network net.onnx --format blits -o out");
    assert!(error.contains("`blits`") && error.contains("blitz"), "{error}");
    let error = place.wrong("barrier a.pt b.ckpt --network net.onnx --inputs y.npy --labels y.npy");
    assert!(error.contains("y.npy"), "{error}");
    let error = place.wrong("barrier a.pt b.ckpt --network net.onnx --inputs x.npy --targets y.npy --calibrate");
    assert!(error.contains("--calibrate") && error.contains("regression"), "{error}");
    let error = place.wrong("barrier a.pt b.ckpt --network net.pt2 --inputs x.npy --labels y.npy");
    assert!(error.contains("net.pt2: it cannot be measured: only an ONNX file can be run"), "{error}");
    for name in ["net.onnx", "b.ckpt"] {
        let bytes = fs::read(place.path(name)).unwrap();
        fs::write(place.path(name), &bytes[..bytes.len() / 2]).unwrap();
        let error = place.wrong("align a.pt b.ckpt --network net.onnx -o out");
        assert!(error.contains(name), "{error}");
        fs::write(place.path(name), &bytes).unwrap();
    }
}
