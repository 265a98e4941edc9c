//! What each stage leaves, which of them are done again, and that neither threads nor places change the measures.

use crate::harness::Place;
use std::fs;

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
    assert_eq!(stages, ["align/kl-descent/0-1", "align/w2-descent/0-1", "barrier/0-1", "plane/0-1"]);
    assert_eq!(cells[0]["stages"]["barrier/0-1"]["curves"].as_array().unwrap().len(), 8);
    assert!(!place.text("one/measures.json").contains("\"seconds\""));
    assert!(!place.text("one/measures.json").contains(place.path("").to_str().unwrap()));
    let times = place.json("one/times.json");
    let seconds = |stage: &str| times["seconds"][format!("cells/{id}/{stage}")].as_f64();
    assert!(seconds("barrier/0-1").is_some_and(|seconds| seconds > 0.0));
    assert!(seconds("align/w2-descent/0-1/members/0/seconds").is_some_and(|seconds| seconds > 0.0));
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
    // For each cell three curves on two kinds of images, below the titles.
    assert_eq!(csv.lines().count(), 1 + 6 * 3 * 2, "{csv}");
}
