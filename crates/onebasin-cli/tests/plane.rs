//! Measures planes through posteriors that the real binary trained and aligned, and looks at all it leaves.

mod binary;

use binary::command;
use binary::onebasin;
use insta::assert_snapshot;
use onebasin::measure::Plane;
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const VI: &str = r#"
    data = { name = "digits", subsets = ["half:a"], scaling = "standard" }
    arch = { preset = "mlp", hidden = [14] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", std = 0.05, optimise = { epochs = 8, batch = 50, rate = 1e-2 } }
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

    /// Exit code, standard output and standard error.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let output = command(line).current_dir(self.0.path()).output().unwrap();
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
fn help() {
    assert_snapshot!(onebasin("plane --help"), @r"
        exit code: 0
        ----- stdout -----
        Measure a plane: loss, error and log posterior around two posteriors and the second one aligned

        The plane goes through the means of A, of B, and of B with its units permuted to be where their like
        is in A. On a grid, and at these three places themselves, looks at the network at that place and,
        with --samples, at the predictive distribution of the Gaussian there: its standard deviations are
        those of the three, mixed by their barycentric coordinates, of which those below zero, outside of
        the triangle, count as zero.

        Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing
        written).

        Usage: onebasin plane [OPTIONS] <A> <B>

        Arguments:
          <A>
                  The posterior that stays: a file, or the folder of a run

          <B>
                  The posterior whose units are permuted

        Options:
          -o, --output <DIR>
                  The folder that is written: measures.json and all points as comma-separated values
                  [default: none]

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --alignment <FILE>
                  Permutations of B that `onebasin align` wrote, or its alignment.json

              --seed <N>
                  Of draws and the search for permutations

                  [default: 0]

              --split <NAMES>
                  Which images to measure on

                  [default: train,test]
                  [possible values: train, test]

              --images <N>
                  At most so many training images, from the first on

                  [default: 10000]

              --test-images <N>
                  At most so many test images, from the first on [default: all]

              --dataset <NAME>
                  Another data set than the one that A was trained on

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Replace what an earlier measurement left in the folder

              --json
                  Print measures.json instead of a table

              --channel <NAME>
                  What makes two units alike

                  [default: w2]
                  [possible values: mean, w2, kl, jeffreys]

              --points <N>
                  Points of the grid along each axis

                  [default: 21]

              --margin <PART>
                  How far the grid goes beyond the three, as a part of the longer side of the rectangle
                  around them

                  [default: 0.25]

              --samples <N>
                  Draws for the predictive distribution at each point; 0 for none

                  [default: 0]

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin plane runs/seed1 runs/seed2 -o runs/plane
    ");
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
    let (_, now) = place.planes("--channel w2");
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
    assert_eq!((rows.lines().count(), map.lines().count()), (1 + 6, 1 + 5), "{text}");
    for mark in ['A', 'B', 'P'] {
        assert_eq!(map.lines().skip(1).flat_map(str::chars).filter(|cell| *cell == mark).count(), 1, "{map}");
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
    assert_eq!(place.path("out").read_dir().unwrap().count(), 2);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = Place::new();
    for (line, named) in [
        ("a a", "on one line"),
        ("a b --points 1", "points"),
        ("a b --margin=-1", "margin"),
        ("a b --images 0", "the number of images"),
        ("a b --threads 0", "threads"),
        ("a b --channel w2 --alignment x.json", "--alignment"),
        ("a b --alignment x.json", "x.json"),
        ("a b --force", "--output"),
        ("a b -o a", "lies in"),
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
    use std::process::Command;
    use std::process::Stdio;
    use std::time::Duration;
    let place = Place::new();
    let mut patience = Duration::from_millis(250);
    let output = loop {
        let mut command = command("plane a b -o out --points 99 --samples 2000");
        command.current_dir(place.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
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
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "stopped; nothing was written\n");
    assert!(output.stdout.is_empty() && !place.path("out").exists());
}
