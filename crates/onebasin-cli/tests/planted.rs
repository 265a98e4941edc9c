//! Runs the shipped experiment on planted problems, smaller, and makes the mistakes one can make.

mod binary;

use binary::command;
use binary::onebasin;
use insta::assert_snapshot;
use std::path::Path;

const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/planted.toml");
const SMALL: &str = "--set arch.hidden=[24,24] --set arch.input=4x6x1 --set instances=2";

fn rows(options: &str) -> Vec<serde_json::Value> {
    let output = command(&format!("planted {CONFIG} {SMALL} --json {options}")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn help() {
    assert_snapshot!(onebasin("planted --help"), @r"
        exit code: 0
        ----- stdout -----
        Solve alignment problems whose solution is known, and say how much of it each solver finds

        A network of normal parameters is aligned with a copy of which only a part is kept, the rest is
        noise, and whose units are permuted.

        Usage: onebasin planted [OPTIONS] <CONFIG.toml>

        Arguments:
          <CONFIG.toml>
                  The configuration, such as experiments/planted.toml

        Options:
              --set <A.B=C>
                  Change one setting of the configuration; may be given several times

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --json
                  Print JSON

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin planted experiments/planted.toml --set instances=10
    ");
}

#[test]
fn easy_problems_are_solved_and_the_pool_is_never_below_descent() {
    let rows = rows("--set correlations=[0.3,0.6,1.0]");
    assert_eq!(rows.len(), 3 * 4);
    for solvers in rows.chunks(4) {
        let objective = |name: &str| {
            solvers.iter().find(|row| row["solver"] == name).and_then(|row| row["objective"].as_f64()).unwrap()
        };
        assert!(objective("best") >= objective("descent"));
    }
    for row in &rows[8..] {
        let solved = row["recovered"].as_f64().unwrap();
        assert!(solved > 0.999 || row["solver"] == "descent", "{row}");
    }
}

#[test]
fn threads_change_nothing() {
    assert_eq!(rows("--threads 1"), rows("--threads 3"));
}

#[test]
fn mistakes_are_named() {
    for (options, message) in [
        ("--set instances=0", "instances is 0; it must be at least 1"),
        ("--set correlations=[2.0]", "a number of correlations is 2; it must be from 0 to 1"),
        ("--set arch.width=3", "unknown field `width`"),
    ] {
        let output = command(&format!("planted {CONFIG} {options}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(message), "{said}");
    }
    let missing = Path::new(CONFIG).with_file_name("nowhere.toml");
    let said = onebasin(&format!("planted {}", missing.display()));
    assert!(said.starts_with("exit code: 2\n") && said.contains("cannot read the configuration"), "{said}");
}
