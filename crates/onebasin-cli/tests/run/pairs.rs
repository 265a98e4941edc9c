//! Which posteriors are compared, in experiments and by `onebasin barrier`, and how the folders of posteriors are called.

use crate::harness::Place;
use std::fs;

/// Few points, draws and examples.
const QUICK: &str = "--points 3 --samples 2 --replicates 5 --train-examples 50 --solver greedy";

/// Names of the folders in a folder.
fn folders(place: &Place, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap().map(Result::unwrap);
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn all_pairs_of_an_experiment_and_of_given_posteriors_are_measured() {
    let place = Place::new();
    let quick = "--set barrier.samples=2 --set barrier.points=3 --set plane.points=2 --set align.criteria=[\"w2\"]";
    let said = place.refused("run small.toml -o out --set seeds=[1,2,3]");
    assert!(said.contains("`seeds` is a list of 3") && said.contains("pairs = \"all\""), "{said}");
    let said = place.refused("run small.toml -o out --set pairs=[[0,7]]");
    assert!(said.contains("`pairs` is a list with 7"), "{said}");

    place.onebasin(&format!("run small.toml -o out --set seeds=[1,2,3] --set pairs=all {quick}"));
    let measures = place.json("out/measures.json");
    let stages = measures["cells"][0]["stages"].as_object().unwrap();
    let pairs: Vec<&str> = stages.keys().filter_map(|name| name.strip_prefix("barrier/")).collect();
    assert_eq!(pairs, ["1-2", "1-3", "2-3"]);
    let table = place.text("out/pairs.csv");
    assert!(table.starts_with("settings,a,b,curve,split,loss_barrier,"), "{table}");
    // Three curves (none, and two paths of w2) on two parts of the data set for each pair.
    assert_eq!(table.lines().count(), 1 + 3 * 3 * 2);
    assert!(table.contains("\"2\",\"3\",\"w2, natural\",test,"), "{table}");

    // A matrix of barriers for each curve and of distances for each alignment, as map, table and values.
    let report = place.text("out/report/report.md");
    assert!(report.contains("## All pairs") && report.contains("Wasserstein distances, w2"), "{report}");
    for kind in ["loss-0", "loss-2", "w2-1"] {
        for file in [format!("matrix-{kind}.svg"), format!("matrix-{kind}.csv"), format!("matrix-{kind}-table.csv")] {
            assert!(place.path(&format!("out/report/figures/{file}")).exists(), "{file}");
        }
    }

    // Named by what they are.
    assert_eq!(folders(&place, "out/cells"), ["single"]);
    let posteriors = folders(&place, "out/posteriors");
    assert!(
        posteriors.iter().zip(1..).all(|(name, seed)| name.starts_with(&format!("seed-{seed}-"))),
        "{posteriors:?}"
    );

    // The same by hand.
    for (name, seed) in posteriors.iter().zip(1..) {
        fs::copy(
            place.path(&format!("out/posteriors/{name}/posterior.safetensors")),
            place.path(&format!("p{seed}.safetensors")),
        )
        .unwrap();
    }
    let all = "p1.safetensors p2.safetensors p3.safetensors";
    let said = place.refused(&format!("barrier {all} {QUICK}"));
    assert!(said.contains("--output <DIR>"), "{said}");
    for reference in ["pairwise", "first", "universe"] {
        place.onebasin(&format!("barrier {all} {QUICK} --reference {reference} -o {reference}"));
    }
    let barrier = |folder: &str, pair: &str| {
        place.json(&format!("{folder}/measures.json"))["cells"][0]["stages"][format!("barrier/{pair}")].clone()
    };
    for pair in ["p1--p2", "p1--p3"] {
        assert_eq!(barrier("pairwise", pair)["curves"], barrier("first", pair)["curves"], "{pair}");
    }
    // Permuted by the composition of both permutations: one that was found for another pair is not better than its own.
    let distance = |folder: &str| barrier(folder, "p2--p3")["alignments"][1]["w2"].as_f64().unwrap();
    assert!(distance("pairwise") <= distance("first") + 1e-9);
    let unaligned = barrier("first", "p2--p3")["alignments"][0]["w2"].as_f64().unwrap();
    assert!(distance("first") < unaligned && distance("universe") < unaligned);
    // Names that are the same in several folders.
    for (folder, seed) in [("x", 1), ("y", 2), ("z", 3)] {
        fs::create_dir(place.path(folder)).unwrap();
        fs::copy(place.path(&format!("p{seed}.safetensors")), place.path(&format!("{folder}/p.safetensors"))).unwrap();
    }
    place.onebasin(&format!("barrier x/p.safetensors y/p.safetensors z/p.safetensors {QUICK} -o same"));
    assert_eq!(barrier("same", "p-2--p-3")["curves"], barrier("pairwise", "p2--p3")["curves"]);
    // The same command has nothing left to do.
    let before = place.files("universe");
    place.onebasin(&format!("barrier {all} {QUICK} --reference universe -o universe"));
    assert_eq!(place.files("universe"), before);
}

#[test]
fn folders_are_named_by_swept_settings_and_posteriors_keep_when_the_sweep_changes() {
    let place = Place::new();
    let bare: String = place.text("small.toml").split("[align]").next().unwrap().to_owned();
    fs::write(place.path("bare.toml"), bare).unwrap();
    place.onebasin("run bare.toml -o out");
    let names = folders(&place, "out/posteriors");
    assert!(names[0].starts_with("seed-0-") && names.len() == 2, "{names:?}");
    let posterior = place.files(&format!("out/posteriors/{}", names[0]));

    place.onebasin("run bare.toml -o out --set sweep.train.prior.variance=[0.1,0.2]");
    let names = folders(&place, "out/posteriors");
    let starts = ["variance-0.1-seed-0-", "variance-0.1-seed-1-", "variance-0.2-seed-0-", "variance-0.2-seed-1-"];
    assert!(names.len() == 4 && names.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{names:?}");
    assert_eq!(place.files(&format!("out/posteriors/{}", names[0])), posterior, "it was not trained again");

    place.onebasin("run small.toml -o small --set sweep.align.seed=[3,4] --set barrier.samples=2 --set plane.points=2");
    let cells = folders(&place, "small/cells");
    assert!(cells[0].starts_with("seed-3-") && cells[1].starts_with("seed-4-"), "{cells:?}");
}
