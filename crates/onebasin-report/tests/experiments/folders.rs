//! Folders that reports are read from and written to: those of single stages too, and nothing foreign is replaced.

use crate::{Folder, PAIR};
use onebasin_report::{Error, Report};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// All files below a folder.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { open.push(entry) } else { found.push(entry) }
        }
    }
    found.sort();
    found
}

/// The page of a folder.
fn page(folder: &Folder, of: &str) -> String {
    let report = Report::read(&[folder.path(of)]).unwrap_or_else(|error| panic!("{of}: {error}"));
    let output = report.output().unwrap();
    assert!(!output.starts_with(folder.path(of).canonicalize().unwrap()), "{of}: a stage has only its own files");
    fs::read_to_string(report.write(&output).unwrap()).unwrap()
}

#[test]
fn the_folder_of_a_single_stage_has_a_page() {
    let folder = Folder::new();
    let measures = folder.run("out", "pair.toml", PAIR, &["align.criteria=[\"w2\"]"]);
    let cell = format!("out/cells/{}", measures.cells[0].id);
    let barrier = page(&folder, &format!("{cell}/barrier/0-1"));
    assert!(barrier.contains("Loss along the path") && barrier.contains("class=\"finding\">Alignment by w2 "));
    assert!(page(&folder, &format!("{cell}/plane/0-1")).contains("class=\"maps\""));
    let align = page(&folder, &format!("{cell}/align/w2-coordinate-descent/0-1"));
    assert!(align.contains("Permutations of ") && align.contains("share of possible gain"), "{align}");
    let train = page(&folder, &format!("out/posteriors/{}", measures.cells[0].posteriors[0].id));
    assert!(
        train.contains("hidden = [")
            && train.contains("Result of the training")
            && train.contains("class=\"finding\">The posterior predicts ")
    );
}

#[test]
fn a_file_that_no_report_wrote_is_not_replaced() {
    let folder = Folder::new();
    folder.run("out", "pair.toml", PAIR, &[]);
    let report = Report::read(&[folder.path("out")]).unwrap();
    for (output, foreign) in [
        ("page", "page/index.html"),
        ("other", "other/figures/barrier-0-1-loss.svg"),
        ("doc.md", "doc.md"),
        ("text.md", "text/barrier-0-1-loss.csv"),
        ("listed", "listed/report.json"),
    ] {
        let foreign = folder.path(foreign);
        fs::create_dir_all(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, "mine").unwrap();
        let before = files(folder.path(""));
        let error = report.write(&folder.path(output)).unwrap_err();
        assert!(matches!(&error, Error::Foreign { path } if *path == foreign), "{error}");
        assert!(error.to_string().contains("-o"), "{error}");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
        assert_eq!(files(folder.path("")), before);
    }
}

#[test]
fn a_report_replaces_an_earlier_one_unless_it_was_changed() {
    let folder = Folder::new();
    let write = |overrides: &[&str]| {
        folder.run("out", "pair.toml", PAIR, overrides);
        Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page"))
    };
    write(&[]).unwrap();
    // A killed report leaves files of both, and the list knows both.
    let old = folder.text("page/report.md");
    let list: Value = serde_json::from_str(&folder.text("page/report.json")).unwrap();
    write(&["title=Other"]).unwrap();
    assert!(folder.text("page/report.md").starts_with("# Other"));
    let mut both: Value = serde_json::from_str(&folder.text("page/report.json")).unwrap();
    let earlier = list["files"]["report.md"][0].clone();
    both["files"]["report.md"].as_array_mut().unwrap().push(earlier);
    fs::write(folder.path("page/report.json"), both.to_string()).unwrap();
    fs::write(folder.path("page/report.md"), old).unwrap();
    write(&["title=Third"]).unwrap();
    assert!(folder.text("page/report.md").starts_with("# Third"));
    // A file of the reader beside it stays.
    fs::write(folder.path("page/notes.txt"), "mine").unwrap();
    write(&["title=Fourth"]).unwrap();
    fs::write(folder.path("page/index.html"), "edited").unwrap();
    assert!(matches!(write(&["title=Fifth"]), Err(Error::Foreign { .. })));
    assert_eq!([folder.text("page/index.html"), folder.text("page/notes.txt")], ["edited", "mine"]);
}

#[test]
fn a_page_names_nothing_by_a_hash() {
    let folder = Folder::new();
    let sweep =
        ["sweep.train.prior.variance=[0.1,1.0]", "align.to=\"mean\"", "align.criteria=[\"w2\"]", "plane.points=2"];
    let measures = folder.run("out", "pair.toml", PAIR, &sweep);
    Report::read(&[folder.path("out")]).unwrap().write(&folder.path("page")).unwrap();
    let pages = ["page/index.html", "page/report.md"].map(|file| folder.text(file));
    let names: Vec<String> = files(folder.path("page")).iter().map(|file| file.display().to_string()).collect();
    for cell in &measures.cells {
        for id in cell.posteriors.iter().map(|posterior| &posterior.id).chain([&cell.id]) {
            assert!(pages.iter().chain(&names).all(|text| !text.contains(id.as_str())), "{id}");
        }
    }
    assert!(
        pages[1].contains("| seed 0, prior variance 0.1 ") && pages[1].contains("| training, seed 1, prior variance 1")
    );
}
