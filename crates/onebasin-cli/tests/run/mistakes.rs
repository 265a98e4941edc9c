//! Mistakes are named, with what to do, and leave no trace.

use crate::harness::Place;
use serde_json::{Value, json};
use std::fs;

#[test]
fn mistakes_are_named_and_leave_no_trace() {
    let place = Place::new();
    for (setting, messages) in [
        ("barrier.point=5", &["small.toml: in `barrier.point`", "unknown key `point`", "did you mean `points`?"][..]),
        ("barier.points=5", &["small.toml", "unknown table or key `barier`", "did you mean `barrier`?"]),
        ("train.infer.optimise.epoch=5", &["`train.infer.optimise.epoch`", "did you mean `epochs`?"]),
        // Names that were in use once.
        ("train.infer.optimise.rate=1", &["`train.infer.optimise.rate`", "`rate` is now `learning_rate`"]),
        ("train.evaluate.samples_on_the_way=1", &["`samples_on_the_way` is now `eval_samples`"]),
        ("align.channels=[\"w2\"]", &["`align.channels`", "`channels` is now `criteria`"]),
        ("barrier.channels=[\"w2\"]", &["`barrier.channels`", "`channels` is now `criteria`"]),
        ("plane.channel=w2", &["`plane.channel`", "`channel` is now `criterion`"]),
        ("barrier.images=9", &["`barrier.images`", "`images` is now `train_examples`, `test_examples`"]),
        ("barrier.test_images=9", &["`test_images` is now `test_examples`"]),
        ("align.leave_out_prior=0.1", &["`leave_out_prior` is now `exclude_prior`"]),
        ("compact.to=[\"none\"]", &["`compact.to`", "`to` is now `relabellings`"]),
        // Values, by the whole names of their keys.
        ("barrier.points=4", &["small.toml: `barrier.points` is 4", "odd"]),
        ("barrier.train_examples=0", &["`barrier.train_examples` is 0"]),
        ("barrier.splits=[]", &["`barrier.splits` is []"]),
        ("barrier.paths=[]", &["`barrier.paths` is []"]),
        ("plane.points=1", &["`plane.points` is 1"]),
        ("plane.splits=[]", &["`plane.splits` is []"]),
        ("align.criteria=[]", &["`align.criteria` is []"]),
        ("align={to=\"mean\",criteria=[\"kl\"]}", &["`align.criteria` is kl", "mean or w2"]),
        ("compact.ranks=[]", &["`compact.ranks` is []"]),
        ("compact.ranks=[3,3]", &["`compact.ranks` is a list with 3 twice"]),
        ("compact.relabellings=[]", &["`compact.relabellings` is []"]),
        ("compact.draws=0", &["`compact.draws` is 0"]),
        ("train.seed=3", &["`train.seed`", "`seeds` lists"]),
        ("seeds=[1]", &["[align]", "at least 2 seeds"]),
        ("seeds=[1,2,3]", &["`seeds` is a list of 3", "an even number", "pairs = \"all\""]),
        ("barrier.dataset=mnist", &["`barrier.dataset` is mnist, of 28x28x1", "a data set of 8x8x1 with 10 classes"]),
        ("compact.draws=3", &["`train.infer.method` is vi", "[compact] reads samples"]),
        ("train.infer={method=\"hmc\",burn_in=1,samples=1}", &["`train.infer.method` is hmc", "points or Gaussians"]),
        ("align.steps=0", &["`align.steps` is 0"]),
        ("align.exclude_prior=0.1 --set barrier.criteria=[\"activation\"]", &["`align.exclude_prior`"]),
        ("sweep=3", &["table of lists"]),
        ("sweep.train.prior.variance=3", &["`sweep.train.prior.variance` is not a list"]),
        ("sweep.train.prior.variance=[]", &["`sweep.train.prior.variance` is not a list"]),
        ("sweep.train.prior.variance=[1.0,1.0]", &["train.prior.variance = 1.0 twice"]),
        ("sweep.train.prior.varance=[1.0]", &["did you mean `variance`?"]),
        ("train.data.name=mnits", &["small.toml: there is no data set `mnits`"]),
        ("train.data.name=3", &["`train.data.name`"]),
        ("train.prior.variance=-1", &["`train.prior.variance` is -1"]),
        ("barrier.dataset=mnits", &["mnits"]),
        ("seeds=[0,1,0,1]", &["`seeds` is a list with 0 twice"]),
        ("barrier.paths=[\"natural\",\"natural\"]", &["`barrier.paths` is a list with \"natural\" twice"]),
        ("align.solvers=[\"best\",\"best\"]", &["`align.solvers`", "twice"]),
        ("barrier.points=9223372036854775807", &["`barrier.points`"]),
        ("barrier.samples=9223372036854775807", &["`barrier.samples`"]),
        ("plane.points=9223372036854775807", &["`plane.points`"]),
        ("swap={means=[[0,0],[0,0]],stds=[[1,1],[1,nan]]}", &["`swap.stds"]),
    ] {
        let said = place.refused(&format!("run small.toml -o out --set {setting}"));
        for message in messages {
            assert!(said.contains(message), "{setting}: {said}");
        }
        assert!(!place.path("out").exists(), "{setting}");
    }
    let said = place.refused("run nowhere.toml");
    assert!(said.contains("cannot read nowhere.toml"), "{said}");
    let said = place.refused("run small.toml -o out --threads 0");
    assert!(said.contains("threads"), "{said}");
}

#[test]
fn folders_of_others_are_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path("out")).unwrap();
    fs::write(place.path("out/precious"), "precious").unwrap();
    let said = place.refused("run small.toml -o out");
    assert!(said.contains("out: it is not empty, and not the folder of an experiment"), "{said}");
    assert_eq!(place.files("out").len(), 1);
    let said = place.refused("report out");
    assert!(said.contains("out: it has no measures.json"), "{said}");
}

#[test]
fn what_a_kill_leaves_at_the_very_beginning_is_no_obstacle() {
    let place = Place::new();
    fs::create_dir(place.path("out")).unwrap();
    fs::write(place.path("out/lock"), "").unwrap();
    fs::write(place.path("out/experiment.toml.tmp"), "tit").unwrap();
    place.onebasin("run small.toml -o out");
    let said = place.refused("run out/experiment.toml -o out");
    assert!(said.contains("choose another folder with -o"), "{said}");
}

#[test]
fn results_that_somebody_has_changed_are_an_error_that_names_them() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    let text = place.text("out/measures.json");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut measures: Value = serde_json::from_str(&text).unwrap();
        change(&mut measures["cells"][0]["stages"]);
        measures.to_string()
    };
    for (damaged, message) in [
        (text[..text.len() / 2].to_owned(), "measures.json"),
        (text.replace("\"curves\"", "\"curve\""), "barrier/0-1"),
        (text.replace("\"barrier/0-1\"", "\"surprise\""), "surprise"),
        (with(&|stages| stages["barrier/0-1"]["curves"][0]["points"] = json!([])), "barrier/0-1"),
        (with(&|stages| _ = stages["plane/0-1"]["planes"][0]["points"].as_array_mut().unwrap().pop()), "plane/0-1"),
    ] {
        fs::write(place.path("out/measures.json"), damaged).unwrap();
        let said = place.refused("report out");
        assert!(said.contains(message), "{said}");
    }
}
