//! The README's numbers of digits are those that its commands print: to the last digit with AVX-512, with which they were made, and
//! within their errors with other instruction sets.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
static README: LazyLock<String> = LazyLock::new(|| std::fs::read_to_string(ROOT.join("README.md")).unwrap());

/// What a command prints, run in `folder` with the instruction set that the tests have.
fn onebasin(folder: &Path, line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
    command.args(line.split_whitespace()).current_dir(folder).env_clear();
    if let Ok(name) = std::env::var("ONEBASIN_ISA") {
        command.env("ONEBASIN_ISA", name);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the README from the one that begins so to the end of its block.
fn block(beginning: &str) -> Vec<&'static str> {
    let lines: Vec<&str> = README.lines().skip_while(|line| !line.starts_with(beginning)).collect();
    lines.into_iter().take_while(|line| !line.starts_with("```")).collect()
}

/// Whether the numbers must be the same to the last digit.
fn is_exact(folder: &Path) -> bool {
    onebasin(folder, "--version --verbose").contains("instruction set: AVX-512\n")
}

/// A value and its error in front of and behind each `±` of a line, the others with an error of nothing.
fn numbers(line: &str) -> Vec<(f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| words.get(index)?.parse::<f64>().ok();
    let is = |index: usize, text: &str| words.get(index).is_some_and(|word| *word == text);
    let value = |index: usize| {
        let value = number(index).filter(|_| index == 0 || !is(index - 1, "±"))?;
        Some((value, if is(index + 1, "±") { number(index + 2)? } else { 0.0 }))
    };
    (0..words.len()).filter_map(value).collect()
}

#[test]
fn the_table_of_digits_is_that_of_the_readme() {
    let folder = TempDir::new().unwrap();
    let printed = onebasin(folder.path(), "run -o out");
    let table = block("curve                 examples");
    assert_eq!(table.len(), 11);
    for line in &table {
        let (name, rest) = line.split_at(28);
        let found =
            printed.lines().find(|found| found.starts_with(name)).unwrap_or_else(|| panic!("{name}: {printed}"));
        if is_exact(folder.path()) {
            assert_eq!(found, *line);
        }
        for ((expected, error), (value, other)) in numbers(rest).into_iter().zip(numbers(&found[28..])) {
            // Of losses without an error, the rounding of a training that took other last bits.
            let most = if error == 0.0 { 0.02 * expected.abs() } else { 3.0 * error.hypot(other) };
            assert!((value - expected).abs() <= most, "{found}\nwhere the README has\n{line}");
        }
    }
}

#[test]
fn the_table_of_digits_is_what_the_rest_of_the_readme_says() {
    let barrier = |name: &str| {
        let line = block("curve                 examples").into_iter().find(|line| line.starts_with(name)).unwrap();
        let (value, error) = numbers(&line[28..])[3];
        format!("{value:.3} ± {error:.3}")
    };
    let curves = [
        "no alignment          test",
        "w2                    test",
        "w2, natural-rescaled  test",
        "w2, rescaled-moments  test",
    ];
    let [none, aligned, natural, moments] = curves.map(barrier);
    assert!(README.contains(&format!("loss rises by **{none}** nats")));
    assert!(README.contains(&format!("it rises by **{aligned}**")));
    assert!(README.contains(&format!("(`natural-rescaled`) by **{natural}** (`cargo run")));
    assert!(README.contains(&format!("(experiments/digits.toml), MLP | {none} | {aligned} | {natural} | {moments} |")));
    let experiment = std::fs::read_to_string(ROOT.join("experiments/digits.toml")).unwrap();
    let values = [none, aligned, moments].map(|text| text[..5].to_owned());
    let [none, aligned, moments] = values;
    let said = format!("{none} nats between two posteriors, {aligned} aligned, {moments} aligned and rescaled");
    assert!(experiment.lines().next().unwrap().contains(&said), "{said}");
}

#[test]
fn the_alignment_of_the_readme_is_what_its_commands_print() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir_all(folder.path().join("experiments/train")).unwrap();
    let training = "experiments/train/digits-vi.toml";
    std::fs::copy(ROOT.join(training), folder.path().join(training)).unwrap();
    let commands = block("$ onebasin train experiments/train/digits-vi.toml --set seed=1");
    let printed: Vec<String> = commands
        .iter()
        .filter_map(|line| line.strip_prefix("$ onebasin "))
        .map(|line| onebasin(folder.path(), line))
        .collect();
    let printed = printed.last().unwrap();
    // What goes to standard error comes first; seconds are other ones each time.
    let table = commands
        .iter()
        .skip_while(|line| !line.starts_with("permutation of"))
        .filter(|line| !line.starts_with("seconds"));
    for line in table {
        let name = line.split("  ").next().unwrap();
        let mut found = printed.lines().filter(|found| found.split("  ").next() == Some(name));
        if is_exact(folder.path()) {
            assert!(found.any(|found| found == *line), "{line}\n{printed}");
        } else {
            assert!(found.next().is_some(), "{line}\n{printed}");
        }
    }
}
