//! What each stage leaves, which of them are done again, and that neither threads nor places change the measures.

use crate::harness::Place;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn all_stages_leave_their_results_whatever_the_threads() {
    let place = Place::new();
    place.onebasin("run small.toml -o one --threads 1");
    place.onebasin("run small.toml -o three --threads 3");
    assert_eq!(place.text("one/measures.json"), place.text("three/measures.json"));

    let measures = place.json("one/measures.json");
    let cells = measures["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1);
    let id = cells[0]["id"].as_str().unwrap();
    let stages: Vec<&String> = cells[0]["stages"].as_object().unwrap().keys().collect();
    assert_eq!(
        stages,
        ["align/kl-coordinate-descent/0-1", "align/w2-coordinate-descent/0-1", "barrier/0-1", "plane/0-1"]
    );
    assert_eq!(cells[0]["stages"]["barrier/0-1"]["curves"].as_array().unwrap().len(), 8);
    assert!(!place.text("one/measures.json").contains("\"seconds\""));
    assert!(!place.text("one/measures.json").contains(place.path("").to_str().unwrap()));
    let times = place.json("one/times.json");
    let seconds = |stage: &str| times["seconds"][format!("cells/{id}/{stage}")].as_f64();
    assert!(seconds("barrier/0-1").is_some_and(|seconds| seconds > 0.0));
    assert!(seconds("align/w2-coordinate-descent/0-1/members/0/seconds").is_some_and(|seconds| seconds > 0.0));
    for posterior in cells[0]["posteriors"].as_array().unwrap() {
        let folder = format!("one/posteriors/{}", posterior["id"].as_str().unwrap());
        assert_eq!(place.json(&format!("{folder}/result.json")), posterior["result"]);
    }
    assert_eq!(place.json(&format!("one/cells/{id}/barrier/0-1/measures.json"))["data"], "digits half:a");
}

#[test]
fn what_is_done_is_not_done_again_and_what_has_changed_is() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    let before = place.files("out");
    let written = |name: &str| fs::metadata(place.path(name)).unwrap().modified().unwrap();
    let first = before.iter().find(|(path, _)| path.ends_with("posterior.safetensors")).unwrap();
    let posterior = format!("out/{}", first.0.display());
    let trained = written(&posterior);
    place.onebasin("run small.toml -o out");
    assert_eq!(place.files("out"), before);
    assert_eq!(written(&posterior), trained);

    // Another barrier: the same posteriors, another cell.
    place.onebasin("run small.toml -o out --set barrier.samples=7");
    assert_eq!(written(&posterior), trained);
    let measures = place.json("out/measures.json");
    let cell = &measures["cells"][0];
    assert_eq!(cell["stages"]["barrier/0-1"]["settings"]["samples"], 7);
    assert_eq!(
        fs::read_dir(place.path("out/posteriors"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().is_dir())
            .count(),
        2
    );

    // A posterior that is lost is inferred again, and is the same.
    fs::remove_file(place.path(&posterior)).unwrap();
    place.onebasin("run small.toml -o out");
    assert_eq!(fs::read(place.path(&posterior)).unwrap(), first.1);

    // A posterior that has become another one is measured again.
    place.onebasin("run small.toml -o other --set seeds=[7,8]");
    let others = place.files("other");
    let other = others.iter().find(|(path, _)| path.ends_with("posterior.safetensors")).unwrap();
    fs::write(place.path(&posterior), &other.1).unwrap();
    let barrier = || place.json("out/measures.json")["cells"][0]["stages"]["barrier/0-1"]["curves"][0].clone();
    let earlier = barrier();
    place.onebasin("run small.toml -o out");
    assert_ne!(barrier(), earlier);
}

#[test]
fn a_folder_can_be_moved_and_what_was_changed_in_it_is_measured_again() {
    let place = Place::new();
    let printed = place.onebasin("run small.toml -o digits --json");
    assert_eq!(printed, place.text("digits/measures.json"));
    fs::rename(place.path("digits"), place.path("moved")).unwrap();
    let stage = |name: &str| {
        let files = place.files("moved");
        let (path, _) = files.iter().find(|(path, _)| path.to_str().unwrap().ends_with(name)).unwrap();
        place.path("moved").join(path)
    };
    let measured = stage("barrier/0-1/measures.json");
    fs::write(&measured, fs::read_to_string(&measured).unwrap().replace("\"seed\": 0", "\"seed\": 1")).unwrap();
    let trained = stage("result.json");
    fs::write(&trained, "{").unwrap();
    place.onebasin("run small.toml -o moved");
    assert_eq!(place.text("moved/measures.json"), printed);
    assert_eq!(place.json("moved/measures.json")["cells"][0]["stages"]["barrier/0-1"]["data"], "digits half:a");
}

#[test]
fn the_name_of_the_folder_changes_no_measure() {
    let place = Place::new();
    place.onebasin("run small.toml -o runs/x");
    for folder in ["my-posteriors/x", "posteriors/posteriors"] {
        place.onebasin(&format!("run small.toml -o {folder}"));
        assert_eq!(place.text(&format!("{folder}/measures.json")), place.text("runs/x/measures.json"), "{folder}");
    }
}

/// Barrier and plane have no alignments of their own: they read the permutations that the stage `align` wrote.
#[test]
fn permutations_of_the_alignment_are_what_is_measured() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    let measured = |stage: &str| place.json("out/measures.json")["cells"][0]["stages"][stage].clone();
    let transpositions = || measured("barrier/0-1")["alignments"][1]["transpositions"].clone();
    let whole = place.text("out/measures.json");
    let aligned = measured("align/w2-coordinate-descent/0-1");
    let member = &aligned["members"][0];
    let groups = member["permutations"].as_array().unwrap().iter();
    assert_eq!(transpositions(), groups.map(|group| group["transpositions"].as_u64().unwrap()).sum::<u64>());

    let id = member["name"].as_str().unwrap();
    let file = place.file("out", &format!("w2-coordinate-descent/0-1/permutations/{id}.json"));
    let mut permutations: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let (before, plane) = (transpositions(), measured("plane/0-1"));
    permutations["hidden1"].as_array_mut().unwrap().swap(0, 1);
    fs::write(&file, permutations.to_string()).unwrap();
    place.onebasin("run small.toml -o out");
    assert_ne!(transpositions(), before);
    assert_ne!(measured("plane/0-1"), plane);
    assert_eq!(measured("align/w2-coordinate-descent/0-1"), aligned);

    // Permutations that are lost are found again.
    fs::remove_file(&file).unwrap();
    place.onebasin("run small.toml -o out");
    assert_eq!(place.text("out/measures.json"), whole);
}

#[test]
fn a_stage_that_was_made_of_something_else_is_run_again() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    let whole = place.text("out/measures.json");
    let [barrier, plane] = ["barrier", "plane"].map(|stage| place.file("out", &format!("{stage}/0-1.stage.json")));
    let read = |file: &Path| -> Value { serde_json::from_slice(&fs::read(file).unwrap()).unwrap() };
    let (record, other) = (read(&barrier), fs::read(&plane).unwrap());
    // As another revision of the stage, or other inputs, would have left it.
    let mut stale = record.clone();
    stale["inputs"] = "0".repeat(64).into();
    fs::write(&barrier, stale.to_string()).unwrap();
    fs::write(barrier.with_file_name("0-1/curves.csv"), "of an earlier revision").unwrap();
    place.onebasin("run small.toml -o out");
    assert_eq!(read(&barrier)["inputs"], record["inputs"]);
    assert!(fs::read_to_string(barrier.with_file_name("0-1/curves.csv")).unwrap().starts_with("curve,split,"));
    assert_eq!(fs::read(&plane).unwrap(), other, "another stage was run again");
    assert_eq!(place.text("out/measures.json"), whole);
}

#[test]
fn a_sweep_has_a_cell_for_each_combination() {
    let place = Place::new();
    let line = "run small.toml -o out --set sweep.train.prior.variance=[0.1,1.0] --set sweep.barrier.samples=[2,3]";
    place.onebasin(&format!("{line} --set plane.points=2"));
    let measures = place.json("out/measures.json");
    let cells = measures["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        let samples = &cell["settings"]["barrier.samples"];
        assert_eq!(&cell["stages"]["barrier/0-1"]["settings"]["samples"], samples);
    }
    // Posteriors do not depend on the draws of the barrier.
    let trained = |cell: &serde_json::Value| cell["posteriors"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(trained(&cells[0]), trained(&cells[2]));
    assert_ne!(trained(&cells[0]), trained(&cells[1]));

    // The cells that were there keep their names when there are more.
    let ids = |measures: &serde_json::Value| -> Vec<String> {
        measures["cells"].as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap().to_owned()).collect()
    };
    let before = ids(&measures);
    let more = "run small.toml -o out --set sweep.train.prior.variance=[1.0,0.1] --set sweep.barrier.samples=[2,3,4]";
    place.onebasin(&format!("{more} --set plane.points=2"));
    let after = ids(&place.json("out/measures.json"));
    assert_eq!(after.len(), 6);
    assert!(before.iter().all(|id| after.contains(id)));
    let csv = place.text("out/report/figures/cells.csv");
    // For each cell three curves on two parts of the data set, below the titles.
    assert_eq!(csv.lines().count(), 1 + 6 * 3 * 2, "{csv}");
}
