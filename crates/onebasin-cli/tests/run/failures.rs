//! Trainings that diverge are outcomes: everything else is measured and reported, and the exit code says so.

use crate::harness::Place;
use std::process::Output;

#[test]
fn a_sweep_goes_on_past_a_cell_that_diverges_and_names_it_by_its_settings() {
    let place = Place::new();
    let line = "run small.toml -o out --set sweep.train.infer.optimise.learning_rate=[1e-2,1e30,2e-2]";
    for _ in 0..2 {
        let Output { status, stdout, stderr } = place.command(line).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(said.contains("failed: learning_rate 1e30, seed 0: the training diverged at step "), "{said}");
        let left_out = "failed: barrier/0-1 of learning_rate 1e30: left out, because learning_rate 1e30, seed 0 failed";
        assert!(said.contains(left_out), "{said}");
        assert!(!stdout.is_empty());
        let measures = place.json("out/measures.json");
        let cells = measures["cells"].as_array().unwrap();
        let failures: Vec<usize> = cells.iter().map(|cell| cell["failures"].as_array().map_or(0, Vec::len)).collect();
        // Two trainings, and two alignments, a barrier and a plane that need them.
        assert_eq!(failures, [0, 6, 0]);
        assert!(cells[2]["stages"]["barrier/0-1"].is_object());
        let report = place.text("out/report/report.md");
        assert!(report.contains("Trainings failed or are not done in 1 of 3 cells."), "{report}");
        assert!(report.contains("learning_rate 1e30, seed 0"), "{report}");
    }
}

#[test]
fn chains_that_stand_still_end_with_their_own_exit_code() {
    let place = Place::new();
    let hmc = "--set train.infer={method=\"hmc\",chains=2,burn_in=2,samples=200,step=1e4,max_leapfrog_steps=2}";
    let line = format!("run small.toml -o out {hmc}");
    let bare: String = place.text("small.toml").split("[align]").next().unwrap().to_owned();
    std::fs::write(place.path("small.toml"), bare).unwrap();
    let Output { status, stderr, .. } = place.command(&line).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(
        said.contains("failed: seed 0: the chains stand still at step 102 of 202") && said.contains("`infer.step`"),
        "{said}"
    );
}
