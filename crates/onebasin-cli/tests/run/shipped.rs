//! The experiments that are shipped: all can be read, and some are run, smaller.

use crate::harness::Place;
use onebasin::experiment::TrainConfig;
use onebasin::experiment::stages::planted::PlantedResult;
use onebasin::experiment::stages::transpositions::TranspositionsResult;
use std::fs;
use std::path::PathBuf;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[test]
fn each_says_what_to_expect_and_can_be_read() {
    let place = Place::new();
    let experiments = files(FOLDER);
    assert!(experiments.len() >= 12);
    for file in experiments {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# Expected: "), "{}", file.display());
        // Everything is checked before the number of threads.
        let said = place.refused(&format!("run {} --threads 0", file.display()));
        assert!(said.contains("threads"), "{}: {said}", file.display());
    }
    for file in files(&format!("{FOLDER}/train")) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# Expected: "), "{}", file.display());
        TrainConfig::from_toml(&file.display().to_string(), &text, &[]).unwrap();
    }
}

#[test]
fn planted_permutations_are_found_and_the_pool_is_never_below_descent() {
    let place = Place::new();
    place.onebasin(&format!(
        "run {FOLDER}/planted.toml -o out --set planted.arch.hidden=[24,24] --set planted.arch.input=4x6x1 \
         --set planted.instances=2 --set planted.correlations=[0.3,0.6,1.0]"
    ));
    let measures = place.json("out/measures.json");
    let planted = measures["cells"][0]["stages"]["planted"].clone();
    let PlantedResult { rows, .. } = serde_json::from_value(planted).unwrap();
    assert_eq!(rows.len(), 3 * 4);
    for solvers in rows.chunks(4) {
        assert!(solvers[3].objective >= solvers[0].objective);
    }
    assert!(rows[9..].iter().all(|row| row.recovered > 0.999), "{rows:?}");
}

#[test]
fn transpositions_are_followed() {
    let place = Place::new();
    let small = "--set transpositions.data.name=digits --set transpositions.arch.hidden=[16] \
        --set transpositions.infer.optimise.epochs=2 --set transpositions.train_examples=100 \
        --set transpositions.start.transpositions=[0,4,15] --set transpositions.line.points=3 \
        --set transpositions.dynamics.epochs=[0,2] --set transpositions.start.same_order=true";
    let line = format!("run {FOLDER}/transpositions.toml {small}");
    place.onebasin(&format!("{line} -o out"));
    let measures = place.json("out/measures.json");
    let cell = &measures["cells"][0];
    let found: TranspositionsResult = serde_json::from_value(cell["stages"]["transpositions"].clone()).unwrap();
    assert_eq!((found.starts.len(), found.line.len(), found.dynamics.len()), (6, 6, 4));
    // In the same order what was planted is found.
    for start in &found.starts {
        assert_eq!((start.off, start.pair.transpositions), (0, start.planted));
    }
    let folder = format!("out/cells/{}/transpositions", cell["id"].as_str().unwrap());
    for (name, lines) in [("starts.csv", 6), ("line.csv", 6), ("dynamics.csv", 4)] {
        let text = place.text(&format!("{folder}/{name}"));
        let columns = |line: &str| line.split(',').count();
        let title = columns(text.lines().next().unwrap());
        assert_eq!(text.lines().count(), 1 + lines, "{name}");
        assert!(text.lines().all(|line| columns(line) == title), "{name}: {text}");
    }
    for (setting, message) in [
        ("transpositions.runs=0", "`transpositions.runs` is 0; it must be at least 1"),
        ("transpositions.start.transpositions=[16]", "16"),
        ("transpositions.infer.method=vi", "unknown key `method`"),
        ("planted.instances=0", "missing key `correlations`"),
    ] {
        let said = place.refused(&format!("{line} -o other --set {setting}"));
        assert!(said.contains(message) && !place.path("other").exists(), "{said}");
    }
}

#[test]
fn samples_become_one_gaussian() {
    let place = Place::new();
    place.onebasin(&format!(
        "run {FOLDER}/digits-compact.toml -o out --set train.arch.hidden=[6] --set train.infer.burn_in=5 \
         --set train.infer.samples=8 --set train.infer.thin=1 --set compact.ranks=[0,3] --set compact.draws=4 \
         --set compact.distil=2"
    ));
    let measures = place.json("out/measures.json");
    let compact = &measures["cells"][0]["stages"]["compact"];
    assert_eq!((compact["samples"].as_u64(), compact["chains"].as_u64()), (Some(32), Some(4)));
    assert_eq!(compact["rows"].as_array().unwrap().len(), 1 + 4 * 3);
    for kind in ["rank", "stds-relabel", "pruning-mean"] {
        assert!(place.path(&format!("out/report/figures/compact-{kind}.svg")).exists(), "{kind}");
    }
}
