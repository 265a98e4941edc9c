//! Pages show what was measured, and how to measure it.

use crate::{Folder, PAIR};
use onebasin::experiment::stages::barrier::BarrierResult;
use onebasin::measure::Estimate;
use onebasin_report::Report;
use std::fs;
use std::path::{Path, PathBuf};

fn barriers(result: &serde_json::Value) -> BarrierResult {
    serde_json::from_value(result.clone()).unwrap()
}

#[test]
fn a_page_shows_what_was_measured() {
    let folder = Folder::new();
    let measures = folder.run("out", "small/pair.toml", PAIR, &[]);
    let report = Report::read(&[folder.path("out")]).unwrap();
    assert_eq!(report.measures().collect::<Vec<_>>(), [&measures]);
    assert_eq!(report.write(&folder.path("v1.0")).unwrap(), folder.path("v1.0/index.html"));
    let [page, markdown] = ["v1.0/index.html", "v1.0/report.md"].map(|file| folder.text(file));
    let printed = report.summary();
    assert!(page.contains("<title>Pair</title>") && markdown.starts_with("# Pair\n"));
    let found = barriers(&measures.cells[0].stages["barrier/0-1"]);
    for row in &found.curves {
        let barrier = format!("{:.5}", row.measured.loss.barrier.value);
        for text in [&page, &markdown, &printed] {
            assert!(text.contains(&barrier), "{barrier} of {} is missing in {text}", row.curve);
        }
    }
    // Nothing is fetched from anywhere.
    for word in ["http://", "https://", "src=\"/", "@import"] {
        assert!(!page.replace("http://www.w3.org/", "").contains(word), "{word}");
    }
    for id in ["barrier-0-1-loss", "barrier-0-1-error", "plane-0-1-loss-test", "plane-0-1-posterior-train"] {
        for ending in ["svg", "png", "csv"] {
            assert!(folder.path(&format!("v1.0/figures/{id}.{ending}")).exists(), "{id}.{ending}");
        }
        assert!(markdown.contains(&format!("(figures/{id}.svg)")), "{id}");
    }
    let table = folder.text("v1.0/figures/barrier-0-1-table.csv");
    assert_eq!(table.lines().count(), 1 + found.curves.len());
    let posteriors = folder.text("v1.0/figures/posteriors.csv");
    assert!(posteriors.contains(&format!("{:.4}", measures.cells[0].posteriors[1].result.test.nll)), "{posteriors}");
}

#[test]
fn headlines_are_of_the_first_the_first_aligned_and_the_lowest_curve() {
    let folder = Folder::new();
    let measures = folder.run("out", "pair.toml", PAIR, &[]);
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page.md")).unwrap();
    let text = folder.text("page.md");
    let found = barriers(&measures.cells[0].stages["barrier/0-1"]);
    // Calibrated curves of posteriors without an alignment are not aligned either.
    for curve in ["no alignment", "w2"] {
        let row = found.curves.iter().rfind(|row| row.curve == curve).unwrap();
        let headline = format!("Loss barrier, {curve} ");
        let line = text.lines().find(|line| line.contains(&headline)).unwrap_or_else(|| panic!("{headline}: {text}"));
        assert!(line.contains(&format!(" {:.4} ± ", row.measured.loss.barrier.value)), "{line}");
    }
}

#[test]
fn several_experiments_are_on_one_page_with_the_commands_that_were_run() {
    let folder = Folder::new();
    folder.run("first", "my experiments/pair.toml", PAIR, &[]);
    folder.run("second", "other/pair.toml", PAIR, &["title=Other", "seeds=[5,6]"]);
    let report = Report::read(&["first", "second"].map(|name| folder.path(name))).unwrap();
    assert_eq!(report.write(&folder.path("docs/results.md")).unwrap(), folder.path("docs/results.md"));
    let text = folder.text("docs/results.md");
    assert!(text.contains("## Pair") && text.contains("## Other"), "{text}");
    assert!(text.contains("\nonebasin run 'my experiments/pair.toml'\n"), "{text}");
    assert!(text.contains("\nonebasin run other/pair.toml --set 'title=Other' --set 'seeds=[5,6]'\n"), "{text}");
    assert!(text.contains("(results/pair-barrier-0-1-loss.svg)"), "{text}");
    assert!(folder.path("docs/results/pair-2-barrier-5-6-loss.svg").exists());
}

#[test]
fn the_page_of_results_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let results = fs::read_dir(root.join("experiments/results")).unwrap().map(|entry| entry.unwrap().path());
    let mut results: Vec<PathBuf> = results.collect();
    results.sort();
    let report = Report::read(&results).unwrap();
    for measures in report.measures() {
        assert!(root.join(&measures.file).exists(), "{} is not the file of an experiment", measures.file);
    }
    let folder = Folder::new();
    report.write(&folder.path("results.md")).unwrap();
    let page = fs::read_to_string(root.join("docs/results.md")).unwrap();
    assert!(
        folder.text("results.md") == page,
        "docs/results.md is not current: onebasin report experiments/results/* -o docs/results.md"
    );
}

#[test]
fn a_sweep_shows_means_over_pairs() {
    let folder = Folder::new();
    let sweep = ["seeds=[0,1,2,3]", "sweep.train.prior.variance=[0.1,1.0]", "plane.points=2"];
    let measures = folder.run("out", "pair.toml", PAIR, &sweep);
    let report = Report::read(&[folder.path("out")]).unwrap();
    report.write(&folder.path("page")).unwrap();
    let table = folder.text("page/figures/cells.csv");
    assert!(table.starts_with("prior variance,curve,examples,pairs,loss barrier,"), "{table}");
    for cell in &measures.cells {
        let pairs = ["barrier/0-1", "barrier/2-3"].map(|name| barriers(&cell.stages[name]));
        let values = pairs.each_ref().map(|pair| pair.curves[0].measured.loss.barrier.value);
        let Estimate { value, standard_error } = Estimate::mean_of(&values);
        let split = pairs[0].curves[0].split;
        let variance = &cell.settings["train.prior.variance"];
        let line = format!("{variance},no alignment,{split},2,{value:.4} ± {:.4},", standard_error.unwrap());
        assert!(table.contains(&line), "{line}\n{table}");
    }
    for id in ["sweep-loss", "sweep-error", "alignment-seconds"] {
        assert!(folder.path(&format!("page/figures/{id}.svg")).exists(), "{id}");
    }
    assert!(
        folder.text("page/report.md").contains("The plane through three posteriors, seeds 0 and 1, prior variance 1")
    );
    // Two criteria by the solver of [align], and the alignment of [barrier] and [plane]; for each pair in each cell.
    let alignments = folder.text("page/figures/alignments-table.csv");
    assert_eq!(alignments.lines().count(), 1 + 3 * 2 * 2, "{alignments}");
}

#[test]
fn several_pairs_have_a_section_with_their_mean_and_spread() {
    let folder = Folder::new();
    let measures = folder.run("out", "pair.toml", PAIR, &["seeds=[0,1,2,3]"]);
    let report = Report::read(&[folder.path("out")]).unwrap();
    report.write(&folder.path("page")).unwrap();
    let [text, table] = ["page/report.md", "page/figures/barriers-table.csv"].map(|file| folder.text(file));
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).take(3).collect();
    assert_eq!(titles, ["Barriers over pairs", "Barriers, seeds 0 and 1", "Barriers, seeds 2 and 3"]);
    let pairs = ["barrier/0-1", "barrier/2-3"].map(|name| barriers(&measures.cells[0].stages[name]));
    let over = &measures.cells[0].barriers_over_pairs;
    assert_eq!(over.len(), pairs[0].curves.iter().filter(|row| row.path.is_some()).count());
    assert_eq!(table.lines().count(), 1 + over.len());
    for (row, over) in over.iter().enumerate() {
        let [a, b] = pairs.each_ref().map(|pair| pair.curves[row].measured.loss.barrier.value);
        let (mean, deviation) = (0.5 * (a + b), (a - b).abs() / 2_f64.sqrt());
        assert!((over.loss.mean - mean).abs() < 1e-12, "{over:?}");
        let name = if over.curve.contains(',') { format!("\"{}\"", over.curve) } else { over.curve.clone() };
        let line = format!("{name},{},2,{mean:.4},{deviation:.4},{:.4},{:.4},", over.split, a.min(b), a.max(b));
        assert!(table.contains(&line), "{line}\n{table}");
    }
    // Headlines are means over pairs, and only those.
    let headlines: Vec<&str> = text.lines().filter(|line| line.starts_with("| Loss barrier, ")).collect();
    assert!((2..=3).contains(&headlines.len()), "{headlines:?}");
    assert!(headlines.iter().all(|line| line.contains("mean of 2 pairs")), "{headlines:?}");
    let printed = report.summary();
    assert!(printed.contains("MC error") && printed.contains("\nmisalignment "), "{printed}");
    for id in ["barriers-loss", "barriers-error"] {
        assert!(folder.path(&format!("page/figures/{id}.svg")).exists(), "{id}");
    }
}

#[test]
fn the_parts_of_a_barrier_are_on_the_page_and_printed() {
    let folder = Folder::new();
    let measures = folder.run("out", "pair.toml", PAIR, &["barrier.paths=[\"geodesic\",\"rescaled\"]"]);
    let report = Report::read(&[folder.path("out")]).unwrap();
    report.write(&folder.path("page")).unwrap();
    let table = folder.text("page/figures/barrier-0-1-table2.csv");
    let parts = ["misalignment", "variance collapse", "calibration", "left"];
    let found: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(found, [parts, parts].concat(), "{table}");
    let printed = report.summary();
    assert!(parts.iter().all(|part| printed.contains(&format!("\n{part} "))), "{printed}");
    assert!(measures.cells[0].barriers_over_pairs.is_empty());
}

#[test]
fn numbers_of_other_work_stand_after_the_barriers() {
    let folder = Folder::new();
    let settings = "literature=[{what=\"a | b\",value=0.97,source=\"<i>\"},{what=\"c\",value=\"1 / 2\",source=\"d\"}]";
    let sections = |overrides: &[&str], output: &str| {
        let measures = folder.run(output, "pair.toml", PAIR, overrides);
        assert_eq!(measures.literature.len(), 2);
        let page = format!("{output}-page");
        Report::read(&[folder.path(output)]).unwrap().write(&folder.path(&page)).unwrap();
        let text = folder.text(&format!("{page}/report.md"));
        assert!(folder.text(&format!("{page}/figures/literature-table.csv")).ends_with("c,1 / 2,d\n"), "{text}");
        assert!(!folder.text(&format!("{page}/index.html")).contains("<i>"));
        text.lines().filter_map(|line| line.strip_prefix("## ")).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sections(&[settings], "one"), ["Barriers, seeds 0 and 1", "From the literature"]);
    let sweep = [settings, "sweep.train.prior.variance=[0.1,1.0]"];
    assert_eq!(sections(&sweep, "sweep"), ["Barriers against prior variance", "From the literature"]);
}
