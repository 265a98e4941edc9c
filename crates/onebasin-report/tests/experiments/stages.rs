//! The result of each stage becomes text, tables and figures.

use crate::{Folder, PAIR};
use onebasin::experiment::Measures;
use onebasin_report::{Report, stages};
use serde::de::DeserializeOwned;

/// Samples of two Markov chains, replaced by one Gaussian.
const SAMPLES: &str = r#"
    title = "Samples"
    seeds = [0]

    [train]
    data = { name = "digits", subsets = ["first:60"] }
    arch = { preset = "mlp", hidden = [5] }
    prior.variance = 0.3
    evaluate.samples = 4
    infer = { method = "hmc", chains = 2, burn_in = 10, samples = 12, step = 0.02, max_leapfrog_steps = 8 }

    [compact]
    relabellings = ["none", "mean"]
    ranks = [0, 2]
    draws = 4
    prune = true
"#;

/// The stages that need no posteriors.
const ALONE: &str = r#"
    title = "Alone"

    [swap]
    means = [[0.5, 0.5], [0.5, 0.5]]
    stds = [[1.0, 2.0], [2.0, 1.0]]

    [planted]
    instances = 1
    correlations = [0.5, 0.9]
    arch = { preset = "mlp", input = "2x2x1", classes = 3, hidden = [6] }

    [transpositions]
    runs = 2
    start.transpositions = [0, 3]
    line.points = 3
    dynamics.epochs = [0, 1]
    data = { name = "digits", subsets = ["first:100"] }
    arch = { preset = "mlp", hidden = [8] }
    prior.variance = 1.0
    infer.optimise = { epochs = 1, batch = 50, learning_rate = 1e-2 }
"#;

/// The result of a task of the only cell.
fn result<T: DeserializeOwned>(measures: &Measures, task: &str) -> T {
    serde_json::from_value(measures.cells[0].stages[task].clone()).unwrap()
}

/// Writes the report of an experiment, and checks its sections and figures.
fn written(folder: &Folder, sections: &[&str], figures: &[&str]) -> String {
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page")).unwrap();
    let text = folder.text("page/report.md");
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(titles, sections);
    for id in figures {
        assert!(text.contains(&format!("(figures/{id}.svg)")), "{id}: {text}");
    }
    text
}

#[test]
fn stages_of_a_pair() {
    let folder = Folder::new();
    let measures = folder.run("out", "pair.toml", PAIR, &[]);
    let sections = [
        "Barriers, seeds 0 and 1",
        "The plane through three posteriors, seeds 0 and 1",
        "Alignments",
        "Posteriors",
        "Provenance",
    ];
    written(&folder, &sections, &["barrier-0-1-loss", "plane-0-1-error-train", "plane-0-1-marginal-test"]);

    let text = stages::align::text(&result(&measures, "align/w2-coordinate-descent/0-1"));
    assert!(text.contains("share of possible gain") && text.contains("objective before"), "{text}");
    let table = folder.text("page/figures/alignments-table.csv");
    let share = text.lines().find_map(|line| line.strip_prefix("share of possible gain")).unwrap().trim();
    assert!(table.contains(&format!("\"w2, coordinate-descent\",{share},")), "{share}: {table}");

    let text = stages::barrier::table(&result(&measures, "barrier/0-1")).text();
    assert!(text.starts_with("curve ") && text.contains("w2, natural, calibrated"), "{text}");
    let text = stages::plane::text(&result(&measures, "plane/0-1"));
    assert!(text.contains("Loss of the network at each point, test"), "{text}");
    assert!(text.contains(" B aligned") && text.contains("distance towards B"), "{text}");
    let trained = &measures.cells[0].posteriors[0].result;
    let text = stages::train::table(trained).text();
    assert!(text.contains(&format!("{:.5}", trained.test.nll)), "{text}");
}

#[test]
fn posteriors_that_are_aligned_together_have_a_section() {
    let folder = Folder::new();
    let settings = ["align.to=\"mean\"", "align.criteria=[\"w2\"]", "barrier.calibrate=false"];
    let measures = folder.run("out", "pair.toml", PAIR, &settings);
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page.md")).unwrap();
    let text = folder.text("page.md");
    assert!(text.contains("## Alignment, w2-coordinate-descent, seeds 0 and 1\n"), "{text}");
    let text = stages::align::text(&result(&measures, "align/w2-coordinate-descent/0-1"));
    assert!(text.contains("W2 before") && text.contains("rounds"), "{text}");
}

#[test]
fn samples_and_their_gaussians() {
    let folder = Folder::new();
    let measures = folder.run("out", "samples.toml", SAMPLES, &[]);
    let figures = ["compact-rank", "compact-stds-none", "compact-stds-mean", "compact-pruning-mean"];
    let page =
        written(&folder, &["One Gaussian in place of samples", "Warnings", "Posteriors", "Provenance"], &figures);
    assert!(page.contains("Agreement, none, rank 0"), "{page}");
    let text = stages::compact::text(&result(&measures, "compact"));
    assert!(text.contains("largest R-hat") && text.contains("mean: % kept"), "{text}");
    let table = stages::train::table(&measures.cells[0].posteriors[0].result).text();
    assert!(table.contains("smallest effective sample size"), "{table}");
}

#[test]
fn stages_without_posteriors() {
    let folder = Folder::new();
    let measures = folder.run("out", "alone.toml", ALONE, &[]);
    let sections =
        ["Planted permutations", "Two weights that can be swapped", "The number of transpositions", "Provenance"];
    let figures = [
        "planted-recovered",
        "swap-ellipses",
        "transpositions-starts-barrier",
        "transpositions-line",
        "transpositions-dynamics-distance",
    ];
    let page = written(&folder, &sections, &figures);
    let cell = &measures.cells[0];
    for stage in cell.stages.keys() {
        let alone = Report::read(&[folder.path(&format!("out/cells/{}/{stage}", cell.id))]).unwrap();
        assert!(!alone.summary().is_empty(), "{stage}");
    }
    assert!(page.contains("Units recovered by best") && page.contains("transpositions between independent networks"));
}
