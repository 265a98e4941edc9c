//! Measures planes through posteriors that the real binary trained and aligned, and looks at all it leaves.

use onebasin::measure::Plane;
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const VI: &str = r#"
    data = { name = "digits", subsets = ["half:a"], scaling = "standard" }
    arch = { preset = "mlp", hidden = [14] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", std = 0.05, optimise = { epochs = 8, batch = 50, learning_rate = 1e-2 } }
"#;

/// A folder with two posteriors, `a` and `b`; gone when the test ends.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        fs::write(place.path("vi.toml"), VI).unwrap();
        for seed in ["0 -o a", "1 -o b"] {
            place.good(&format!("train vi.toml --threads 1 --set seed={seed}"));
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.args(line.split(' ')).current_dir(self.0.path()).env_clear();
        command
    }

    /// Exit code, standard output and standard error.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let output = self.command(line).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), stdout, stderr)
    }

    fn good(&self, line: &str) -> String {
        let (code, stdout, stderr) = self.run(line);
        assert_eq!(code, Some(0), "{line}: {stderr}");
        stdout
    }

    fn planes(&self, line: &str) -> (Value, Vec<Plane>) {
        let report: Value = serde_json::from_str(&self.good(&format!("plane a b --points 5 --json {line}"))).unwrap();
        let planes = serde_json::from_value(report["planes"].clone()).unwrap();
        (report, planes)
    }
}

#[test]
fn the_corners_are_where_the_posteriors_are() {
    let place = Place::new();
    let (report, planes) = place.planes("--samples 4");
    let [a, b] = ["a", "b"].map(|name| StoredPosterior::read(&place.path(name).join("posterior.safetensors")).unwrap());
    let [a, b] = [a.posterior.gaussian().into_owned(), b.posterior.gaussian().into_owned()];
    let mut difference = a.mean().clone();
    difference.add_scaled(-1.0, b.mean()).unwrap();
    assert_eq!(report["data"], "digits half:a");
    for (plane, split) in planes.iter().zip(["train", "test"]) {
        let [first, second, third] = plane.corners;
        assert_eq!((first.x, first.y, second.y), (0.0, 0.0, 0.0));
        assert!((second.x - difference.norm()).abs() < 1e-4 * second.x);
        // Aligned, it is nearer, and computes the same.
        assert!(third.x.hypot(third.y) < second.x);
        assert!((third.loss - second.loss).abs() < 1e-4 && (third.error - second.error).abs() < 0.01);
        assert_eq!((plane.samples, plane.points.len()), (4, 25));
        for point in plane.corners.iter().chain(&plane.points) {
            assert!(point.marginal.is_some() && point.log_posterior.is_some() == (split == "train"));
        }
    }
    // Trained, it is more probable than anything at the edge.
    let log_posterior = |index: usize| planes[0].points[index].log_posterior.unwrap();
    assert!([0, 4, 20, 24].into_iter().all(|edge| log_posterior(edge) < planes[0].corners[0].log_posterior.unwrap()));
}

#[test]
fn alignments_that_were_written_are_used() {
    let place = Place::new();
    place.good("align a b -o out");
    let (_, now) = place.planes("--criterion w2");
    for file in ["out/alignment.json", "out/permutations/b.json"] {
        let (report, planes) = place.planes(&format!("--alignment {file}"));
        assert_eq!((&report["alignment"], planes), (&file.into(), now.clone()));
    }
}

#[test]
fn what_is_printed_is_what_is_written_whatever_the_threads() {
    let place = Place::new();
    let text = place.good("plane a b --points 5 -o out --threads 1");
    let (rows, map) = text.split_once("\n\n").unwrap();
    let grid: Vec<&str> = map.lines().filter_map(|line| Some(line.split_once('│')?.1)).collect();
    assert_eq!((rows.lines().count(), grid.len()), (1 + 6, 5), "{text}");
    for mark in ['A', 'B', 'C'] {
        assert_eq!(grid.concat().chars().filter(|cell| *cell == mark).count(), 1, "{map}");
    }
    let timeless = |text: &str| {
        let mut report: Value = serde_json::from_str(text).unwrap();
        for plane in report["planes"].as_array_mut().unwrap() {
            plane["seconds"] = Value::Null;
        }
        report
    };
    let written = || fs::read_to_string(place.path("out/measures.json")).unwrap();
    let (one, csv) = (timeless(&written()), fs::read_to_string(place.path("out/plane.csv")).unwrap());
    let printed = place.good("plane a b --points 5 -o out --threads 3 --force --json");
    assert_eq!(printed, written());
    assert_eq!(timeless(&printed), one);
    assert_eq!(fs::read_to_string(place.path("out/plane.csv")).unwrap(), csv);
    assert_eq!(csv.lines().count(), 1 + 2 * (3 + 25));
    assert!(csv.lines().all(|line| line.split(',').count() == 9), "{csv}");
    assert_eq!(place.path("out").read_dir().unwrap().count(), 3);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = Place::new();
    for (line, named) in [
        ("a a", "on one line"),
        ("a b --points 1", "--points is 1"),
        ("a b --margin=-1", "--margin is -1"),
        ("a b --train-examples 0", "--train-examples is 0"),
        ("a b --threads 0", "threads"),
        ("a b --criterion w2 --alignment x.json", "--alignment"),
        ("a b --alignment x.json", "x.json"),
        ("a b --force", "--force needs"),
        ("a b -o a", "the folder is not empty"),
        ("a b -o a --force", "did not write it"),
        ("a nowhere", "nowhere"),
    ] {
        let (code, stdout, stderr) = place.run(&format!("plane {line}"));
        assert_eq!((code, &stdout[..]), (Some(2), ""), "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(named), "{line}: {stderr}");
    }
    assert!(!place.path("out").exists());
}

/// A measurement of many draws, which would take minutes.
#[cfg(unix)]
#[test]
fn an_interruption_leaves_nothing() {
    use std::process::Stdio;
    use std::time::Duration;
    let place = Place::new();
    let mut patience = Duration::from_millis(250);
    let output = loop {
        let mut command = place.command("plane a b -o out --points 99 --samples 2000");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(patience);
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        // On a slow machine it may not listen yet.
        if output.status.code().is_some() {
            break output;
        }
        patience *= 2;
    };
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "out: stopped; nothing was written\n");
    assert!(output.stdout.is_empty() && !place.path("out").exists());
}
