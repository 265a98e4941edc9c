//! Runs the shipped experiment on transpositions, smaller and on digits, and looks at all it leaves.

mod binary;

use binary::command;
use binary::onebasin;
use insta::assert_snapshot;
use onebasin::experiment::Transpositions;
use std::fs;
use std::process::Output;
use tempfile::TempDir;

const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/transpositions.toml");
const SMALL: &str = "--set data.name=digits --set arch.hidden=[16] --set infer.optimise.epochs=2 --set images=100 \
    --set start.transpositions=[0,4,15] --set line.points=3 --set dynamics.epochs=[0,2]";

fn small(options: &str) -> Output {
    command(&format!("transpositions {CONFIG} {SMALL} {options}")).output().unwrap()
}

fn measured(options: &str) -> String {
    let output = small(options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help() {
    assert_snapshot!(onebasin("transpositions --help"), @r"
        exit code: 0
        ----- stdout -----
        Follow the number of transpositions: what it takes to align networks that had a start in common, or
        nothing

        Trains networks that begin as permuted copies of one, and says whether that permutation is still
        there in the end; trains networks that have nothing in common, and aligns them at several times, and
        the points of the line between them with both. The number of transpositions of a permutation is the
        smallest number of swaps that make it.

        Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing
        written).

        Usage: onebasin transpositions [OPTIONS] <CONFIG.toml>

        Arguments:
          <CONFIG.toml>
                  The configuration, such as experiments/transpositions.toml

        Options:
              --set <A.B=C>
                  Change one setting of the configuration; may be given several times

          -o, --output <DIR>
                  The folder that is written: measures.json, starts.csv, line.csv and dynamics.csv [default:
                  none]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Replace what an earlier measurement left in the folder

              --json
                  Print measures.json instead of tables

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin transpositions experiments/transpositions.toml --set runs=5 -o runs/transpositions
    ");
}

#[test]
fn what_is_printed_is_what_is_written_whatever_the_threads() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("out");
    let output = format!("-o {}", folder.display());
    let table = measured(&format!("{output} --threads 1"));
    for line in ["16 units; 12.6 transpositions", "\nAfter training", "\ncorrelation ", "\nOn the line", "\n2 "] {
        let line = line.trim_start_matches('\n');
        assert!(table.lines().any(|printed| printed.trim_start().starts_with(line)), "{line}: {table}");
    }
    let written = || fs::read_to_string(folder.join("measures.json")).unwrap();
    let one = written();
    assert_eq!(measured(&format!("{output} --threads 3 --force --json")), one);
    assert_eq!(written(), one);

    let found: Transpositions = serde_json::from_str(&one).unwrap();
    assert_eq!((found.starts.len(), found.line.len(), found.dynamics.len()), (6, 6, 4));
    for (name, lines) in [("starts.csv", 6), ("line.csv", 6), ("dynamics.csv", 4)] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let columns = |line: &str| line.split(',').count();
        let title = columns(text.lines().next().unwrap());
        assert_eq!(text.lines().count(), 1 + lines, "{name}");
        assert!(text.lines().all(|line| columns(line) == title), "{name}: {text}");
    }
    let first = &found.starts[1];
    let text = fs::read_to_string(folder.join("starts.csv")).unwrap();
    let begins =
        format!("0,4,{},{},{},{},", first.recovered, first.off, first.pair.transpositions, first.pair.distance_before);
    assert!(text.lines().nth(2).unwrap().starts_with(&begins), "{begins}: {text}");
    assert_eq!(folder.read_dir().unwrap().count(), 4);
}

#[test]
fn in_the_same_order_what_was_planted_is_found() {
    let found: Transpositions = serde_json::from_str(&measured("--set start.same_order=true --json")).unwrap();
    for start in found.starts {
        assert_eq!((start.off, start.pair.transpositions), (0, start.planted));
    }
}

#[test]
fn mistakes_are_named_and_leave_no_trace() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("out");
    for (options, message) in [
        ("--set runs=0", "runs is 0; it must be at least 1"),
        ("--set start.transpositions=[16]", "16 where 15 are possible"),
        ("--set line.points=4", "odd"),
        ("--set infer.method=vi", "unknown field `method`"),
        ("--set data.name=mnist --data nowhere", "onebasin data get mnist"),
        ("--threads 0", "threads"),
    ] {
        let output = small(&format!("{options} -o {}", folder.display()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(message), "{options}: {said}");
        assert!(output.stdout.is_empty() && !folder.exists());
    }
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("precious"), "precious").unwrap();
    for force in ["", " --force"] {
        let output = small(&format!("-o {}{force}", folder.display()));
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(folder.read_dir().unwrap().count(), 1);
}

/// An experiment that would take minutes.
#[cfg(unix)]
#[test]
fn an_interruption_leaves_nothing() {
    use std::process::Command;
    use std::process::Stdio;
    use std::time::Duration;
    let place = TempDir::new().unwrap();
    let folder = place.path().join("out");
    let line = format!("transpositions {CONFIG} {SMALL} --set infer.optimise.epochs=100000 -o {}", folder.display());
    let mut patience = Duration::from_millis(250);
    let output = loop {
        let child = command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(patience);
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        // On a slow machine it may not listen yet.
        if output.status.code().is_some() {
            break output;
        }
        patience *= 2;
    };
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "stopped; nothing was written\n");
    assert!(output.stdout.is_empty() && !folder.exists());
}
