//! Measures that somebody changed are refused with the reason, or shown without harm.

use crate::{Folder, PAIR};
use onebasin_report::{Error, Report};
use serde_json::{Value, json};
use std::error::Error as _;
use std::fs;

const SWAP: &str = r#"
    title = "Swap"
    swap = { means = [[0.5, 0.5], [0.5, 0.5]], stds = [[1.0, 2.0], [2.0, 1.0]] }
"#;

/// The folder of an experiment whose stages were replaced.
fn changed(change: impl FnOnce(&mut Value)) -> Folder {
    changed_of(SWAP, &[], change)
}

fn changed_of(experiment: &str, overrides: &[&str], change: impl FnOnce(&mut Value)) -> Folder {
    let folder = Folder::new();
    folder.run("out", "changed.toml", experiment, overrides);
    let mut measures: Value = serde_json::from_str(&folder.text("out/measures.json")).unwrap();
    change(&mut measures["cells"][0]["stages"]);
    fs::write(folder.path("out/measures.json"), measures.to_string()).unwrap();
    folder
}

/// The reason why there is no report.
fn refused(change: impl FnOnce(&mut Value)) -> Error {
    let folder = changed(change);
    match Report::read(&[folder.path("out")]).unwrap_err() {
        Error::Experiment { folder: named, source } => {
            assert_eq!(named, folder.path("out"));
            *source
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_result_that_cannot_be_read_is_named() {
    let error = refused(|stages| stages["swap"]["after"] = json!({ "kl": 1.0 }));
    assert_eq!(error.to_string(), "the result of `swap` cannot be read");
    assert!(error.source().unwrap().to_string().contains("missing field"), "{error:?}");
    let error = refused(|stages| stages["barter/0-1"] = json!({}));
    assert_eq!(error.to_string(), "there is no stage `barter`");
}

#[test]
fn a_folder_without_measures_is_named() {
    let folder = Folder::new();
    let error = Report::read(&[folder.path("none")]).unwrap_err().to_string();
    assert!(error.contains("none") && error.contains("measures.json"), "{error}");
}

#[test]
fn no_name_of_a_stage_leads_out_of_the_folder() {
    let folder = changed(|stages| {
        let swap = stages["swap"].clone();
        *stages = json!({ "swap/../../../up": swap });
    });
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("a/b/page")).unwrap();
    let files: Vec<_> =
        fs::read_dir(folder.path("a/b/page/figures")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files.len(), 4, "{files:?}");
}

#[test]
fn pairs_whose_curves_differ_are_shown() {
    let folder = changed_of(PAIR, &["seeds=[0,1,2,3]"], |stages| {
        let curves = stages["barrier/2-3"]["curves"].as_array_mut().unwrap();
        curves.remove(0);
        curves[0]["points"].as_array_mut().unwrap().truncate(2);
        curves[1]["loss"]["barrier"]["value"] = Value::Null;
        curves[2]["points"][1]["loss"]["value"] = Value::Null;
    });
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page")).unwrap();
    let table = folder.text("page/figures/barriers-table.csv");
    assert!(table.contains(",1,") && table.contains(",2,") && table.contains("NaN"), "{table}");
}
