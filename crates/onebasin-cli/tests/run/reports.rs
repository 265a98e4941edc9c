//! What stands in reports is what was measured.

use crate::harness::Place;
use std::fs;

#[test]
fn the_page_shows_what_was_measured() {
    let place = Place::new();
    let printed = place.onebasin("run small.toml -o out");
    let measures = place.json("out/measures.json");
    let page = place.text("out/report/index.html");
    let markdown = place.text("out/report/report.md");
    assert!(page.contains("<title>Small</title>") && markdown.starts_with("# Small\n"));
    let curves = measures["cells"][0]["stages"]["barrier/0-1"]["curves"].as_array().unwrap();
    for curve in curves {
        let barrier = format!("{:.5}", curve["loss"]["barrier"]["value"].as_f64().unwrap());
        for text in [&page, &markdown, &printed] {
            assert!(text.contains(&barrier), "{barrier} of {} is missing in {text}", curve["curve"]);
        }
    }
    let headline = curves.iter().find(|curve| curve["curve"] == "no alignment" && curve["split"] == "test").unwrap();
    let headline = format!("{:.4} ± ", headline["loss"]["barrier"]["value"].as_f64().unwrap());
    assert!(page.contains(&headline), "{headline}");
    // Nothing is fetched from anywhere.
    for word in ["http://", "https://", "src=\"/", "@import"] {
        let own = page.replace("http://www.w3.org/", "");
        assert!(!own.contains(word), "{word}");
    }
    for kind in ["barrier-0-1-loss", "barrier-0-1-error", "plane-0-1-loss-test", "plane-0-1-posterior-train"] {
        for ending in ["svg", "png", "csv"] {
            assert!(place.path(&format!("out/report/figures/{kind}.{ending}")).exists(), "{kind}.{ending}");
        }
        assert!(markdown.contains(&format!("(figures/{kind}.svg)")), "{kind}");
    }
    // Again, from the measures alone.
    place.onebasin("report out -o again");
    assert_eq!(place.text("again/index.html"), page);
}

#[test]
fn several_experiments_come_onto_one_page() {
    let place = Place::new();
    place.onebasin("run small.toml -o first");
    place.onebasin("run small.toml -o second --set title=Other --set seeds=[5,6]");
    let said = place.refused("report first second");
    assert!(said.contains("name one with -o"), "{said}");
    place.onebasin("report first second -o docs/results.md");
    let text = place.text("docs/results.md");
    assert!(text.contains("## Small") && text.contains("## Other"), "{text}");
    assert!(text.contains("(results/small-barrier-0-1-loss.svg)"), "{text}");
    assert!(place.path("docs/results/small-2-barrier-5-6-loss.svg").exists());
    let all: serde_json::Value = serde_json::from_str(&place.onebasin("report first second -o page --json")).unwrap();
    assert_eq!(all, serde_json::json!([place.json("first/measures.json"), place.json("second/measures.json")]));
}

#[test]
fn a_single_stage_has_a_report_beside_its_folder() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    let cells = place.json("out/measures.json")["cells"][0].clone();
    let barrier = format!("out/cells/{}/barrier/0-1", cells["id"].as_str().unwrap());
    let printed = place.onebasin(&format!("report {barrier}"));
    assert!(printed.contains("loss barrier") && printed.contains("Alignment by w2 "), "{printed}");
    assert!(place.text(&format!("{barrier}-report/index.html")).contains("class=\"finding\">Alignment by w2 "));
    // The folder of the stage has nothing new, so the experiment is up to date, and its own report is made again.
    let before = place.text("out/report/index.html");
    place.onebasin("run small.toml -o out");
    assert_eq!(place.text("out/report/index.html"), before);
}

#[test]
fn a_foreign_file_is_not_replaced_by_a_report() {
    let place = Place::new();
    place.onebasin("run small.toml -o out");
    fs::create_dir(place.path("mine")).unwrap();
    fs::write(place.path("mine/index.html"), "mine").unwrap();
    let said = place.refused("report out -o mine");
    assert!(said.contains("mine/index.html") && said.contains("-o"), "{said}");
    assert_eq!(place.text("mine/index.html"), "mine");
    assert!(!place.path("mine/figures").exists());
    let said = place.refused("report mine -o page");
    assert!(said.contains("mine: it has no measures.json"), "{said}");
}
