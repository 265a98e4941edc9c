//! `onebasin init`: every template runs, and no file is lost.

use crate::harness::Place;

/// Overrides that make the templates quick.
const QUICK: &str = "--set train.arch.hidden=[6] --set train.evaluate.samples=1";

#[test]
fn every_template_of_a_training_runs() {
    let place = Place::new();
    for (kind, quick) in [
        ("map", "infer.optimise.epochs=1"),
        ("vi", "infer.optimise.epochs=1"),
        ("ivon", "infer.optimise.epochs=1"),
        ("ensemble", "infer.optimise.epochs=1"),
        ("hmc", "infer.burn_in=1 --set infer.step=0.005 --set infer.trajectory=0.01"),
    ] {
        let said = place.succeeds(&format!("init {kind}")).stderr;
        assert!(said.contains(&format!("`onebasin train {kind}.toml` runs it")), "{said}");
        let samples = if kind == "hmc" { " --set infer.samples=2" } else { "" };
        place.succeeds(&format!("train {kind}.toml --set arch.hidden=[6] --set {quick}{samples} -o {kind}"));
        assert!(place.path(kind).join("result.json").exists());
    }
}

#[test]
fn every_template_of_an_experiment_runs() {
    let place = Place::new();
    for (kind, quick) in [
        ("barrier", "--set train.infer.optimise.epochs=1 --set barrier.samples=2 --set barrier.points=3"),
        ("sweep", "--set train.infer.optimise.epochs=1 --set barrier.samples=2 --set barrier.points=3"),
        ("plane", "--set train.infer.optimise.epochs=1 --set plane.points=2"),
        (
            "compact",
            "--set train.infer.burn_in=1 --set train.infer.samples=4 --set train.infer.step=0.005 --set train.infer.trajectory=0.01 --set compact.draws=2",
        ),
    ] {
        let said = place.succeeds(&format!("init {kind} -o mine-{kind}.toml")).stderr;
        assert!(said.contains(&format!("`onebasin run mine-{kind}.toml` runs it")), "{said}");
        place.succeeds(&format!("run mine-{kind}.toml {QUICK} {quick} -o {kind}"));
        assert!(place.path(kind).join("report/index.html").exists());
    }
}

#[test]
fn a_file_is_replaced_only_by_force_and_a_dash_prints() {
    let place = Place::new();
    place.write("barrier.toml", "mine");
    let error = place.refused("init");
    assert!(error.contains("barrier.toml: the file is there already") && error.contains("--force"), "{error}");
    assert_eq!(place.read("barrier.toml"), "mine");
    let printed = place.succeeds("init -o -").stdout;
    assert!(printed.contains("\n[barrier]\n") && printed.contains("\n# points = 25\n"), "{printed}");
    place.succeeds("init --force");
    assert_eq!(place.read("barrier.toml"), printed);
}
