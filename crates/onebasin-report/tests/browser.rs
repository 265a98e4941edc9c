//! Opens a page in a browser, at the widths of a phone and of a desktop, light and dark, and uses its buttons and tooltips.

#![allow(clippy::format_push_string, reason = "as in the crate")]

#[path = "sample/mod.rs"]
mod sample;

use onebasin_report::{Chart, HeatMap, Lines, Series};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOOKS: &str = include_str!("browser/hooks.js");
const DRIVER: &str = include_str!("browser/driver.js");
const DARK: &str = "@media screen and (prefers-color-scheme: dark)";

/// Width and colour scheme of a window.
struct View {
    name: &'static str,
    width: u32,
    dark: bool,
}

const VIEWS: [View; 4] = [
    View { name: "phone", width: 375, dark: false },
    View { name: "phone-dark", width: 375, dark: true },
    View { name: "desktop", width: 1280, dark: false },
    View { name: "desktop-dark", width: 1280, dark: true },
];

/// Returns the browser that `ONEBASIN_BROWSER` names, or one on the path.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("ONEBASIN_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let files = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .flat_map(|name| folders.iter().map(move |it| it.join(name)));
    files.into_iter().find(|file| file.is_file())
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

/// Returns a page with the sample in a frame for each view; frames can be narrower than any window.
fn frames(html: &str) -> String {
    let mut out = "<!DOCTYPE html><meta charset=\"utf-8\">\n".to_owned();
    for View { name, .. } in VIEWS {
        out += &format!("<pre id=\"{name}\"></pre>\n");
    }
    for View { name, width, dark } in VIEWS {
        // The preferred scheme cannot be set from here, so each view has one scheme only.
        assert_eq!(html.matches(DARK).count(), 1);
        let page = html.replace(DARK, if dark { "@media screen" } else { "@media not all" });
        let page = page.replacen("<head>", &format!("<head><script>{HOOKS}</script>"), 1);
        let page = page.replacen("</body>", &format!("<script>{DRIVER}</script></body>"), 1);
        let page = attribute(&page);
        out += &format!(
            "<iframe data-report=\"{name}\" style=\"width:{width}px;height:900px;border:0\" srcdoc=\"{page}\"></iframe>\n"
        );
    }
    out
}

/// Returns the document that the browser made of a page, and its log.
fn opened(browser: &Path, html: &str) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frames.html");
    std::fs::write(&file, html).unwrap();
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=20000", "--window-size=1400,900", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", browser.display()));
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn report(document: &str, log: &str, name: &str) -> Value {
    let start = format!("<pre id=\"{name}\">");
    let text = document.split_once(&start).and_then(|(_, rest)| rest.split_once("</pre>")).map_or("", |(text, _)| text);
    let json = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{name}: {error} in {text:?}\n{log}"))
}

/// Returns all numbers after the colons of a tooltip.
fn numbers(said: &Value) -> Vec<f64> {
    let said = said.as_str().expect("a tooltip is shown").replace('−', "-");
    let values = said.lines().filter_map(|line| line.rsplit_once(": "));
    values
        .flat_map(|(_, value)| value.split(" ± ").map(|number| number.parse().unwrap()).collect::<Vec<f64>>())
        .collect()
}

fn close(said: &[f64], expected: &[f64]) -> bool {
    said.len() == expected.len() && said.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 5e-3 * b.abs())
}

fn check_lines(seen: &Value, lines: &Lines, name: &str) {
    let distinct = |of: fn(&Series) -> &String| {
        let mut all: Vec<&String> = Vec::new();
        lines.series.iter().map(of).for_each(|it| {
            if !all.contains(&it) {
                all.push(it);
            }
        });
        all
    };
    // A button for each name, then one for each group, if there are several.
    let (names, mut groups) = (distinct(|series| &series.name), distinct(|series| &series.group));
    groups.retain(|_| lines.series.iter().any(|series| series.group != lines.series[0].group));
    for (kind, labels) in [("names", names), ("groups", groups)] {
        let buttons = seen[kind].as_array().unwrap();
        assert_eq!(buttons.len(), labels.len(), "{name}");
        for (button, label) in buttons.iter().zip(labels) {
            assert!(button["label"].as_str().unwrap().contains(label), "{name}: {button}");
            let own = |series: &Series| if kind == "names" { &series.name == label } else { &series.group == label };
            let members: Vec<usize> = (0..lines.series.len()).filter(|index| own(&lines.series[*index])).collect();
            assert_eq!(button["gone"], serde_json::json!(members), "{name}: {button}");
            let pressed = serde_json::json!(["false", "true"]);
            assert_eq!((&button["back"], &button["pressed"]), (&true.into(), &pressed), "{name}");
        }
    }
    let point = lines.series[0].points[0];
    let expected: Vec<f64> = [point.x, point.y].into_iter().chain(point.error).collect();
    assert!(close(&numbers(&seen["first"]), &expected), "{name}: {} is not {point:?}", seen["first"]);
    let read = seen["series"].as_array().unwrap();
    assert_eq!(read.len(), 3 * lines.series.len());
    for hover in read {
        let series = &lines.series[hover["series"].as_u64().unwrap() as usize];
        // Points that coincide are one point of the path.
        if hover["of"] == series.points.len() {
            let point = series.points[hover["point"].as_u64().unwrap() as usize];
            let expected: Vec<f64> = [point.x, point.y].into_iter().chain(point.error).collect();
            assert!(close(&numbers(&hover["said"]), &expected), "{name}: {hover} is not {point:?}");
            assert!(hover["said"].as_str().unwrap().contains(&series.name), "{name}: {hover}");
        }
    }
}

fn check_heat_map(seen: &Value, map: &HeatMap, name: &str) {
    let annotations = seen["annotations"].as_array().unwrap();
    assert_eq!(annotations.len(), map.annotations.len(), "{name}");
    for (said, annotation) in annotations.iter().zip(&map.annotations) {
        let nearest = |all: &[f64], at: f64| {
            (0..all.len()).min_by(|&a, &b| (all[a] - at).abs().total_cmp(&(all[b] - at).abs())).unwrap()
        };
        let (column, row) = (nearest(&map.xs, annotation.x), nearest(&map.ys, annotation.y));
        let expected = [map.xs[column], map.ys[row], map.values[row * map.xs.len() + column]];
        assert!(close(&numbers(said), &expected), "{name}: {said} is not {expected:?}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the reader of the log must know what was not tested")]
fn a_browser_shows_the_numbers_of_the_page() {
    let Some(browser) = browser() else {
        eprintln!("no Chromium on the path and none in ONEBASIN_BROWSER: pages were not opened");
        return;
    };
    let page = sample::page();
    let [document, log] = opened(&browser, &frames(&page.html()));
    assert!(!log.contains("CONSOLE"), "{log}");
    for View { name, dark, .. } in VIEWS {
        let seen = report(&document, &log, name);
        assert_eq!(seen["problems"], serde_json::json!([]), "{name}");
        assert!(seen["overflow"].as_i64().unwrap() <= 0, "{name} is too wide by {}", seen["overflow"]);
        let bright = |colour: &Value| {
            colour
                .as_str()
                .unwrap()
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|it| it.parse::<u32>().ok())
                .sum::<u32>()
        };
        let [background, text] = [bright(&seen["colours"][0]), bright(&seen["colours"][1])];
        assert_eq!(background < text, dark, "{name}: {}", seen["colours"]);
        assert!(background.abs_diff(text) > 400, "{name}: {}", seen["colours"]);

        let cards: Vec<Vec<&str>> = page.headlines.iter().map(|it| vec![&*it.label, &it.value, &it.note]).collect();
        assert_eq!(seen["cards"], serde_json::json!(cards), "{name}");
        assert_eq!(seen["finding"], serde_json::json!([page.finding]), "{name}");
        // The table is wider than a phone, and a shadow says so.
        let is_phone = name.starts_with("phone");
        assert_eq!(seen["scrolling"], serde_json::json!([[is_phone, true]]), "{name}");
        // Maps stand side by side if there is space.
        let maps: Vec<[f64; 2]> = serde_json::from_value(seen["maps"].clone()).unwrap();
        assert_eq!(maps.len(), 2, "{name}");
        assert_eq!((maps[0][0] < maps[1][0], maps[0][1] == maps[1][1]), (!is_phone, !is_phone), "{name}: {maps:?}");
        let table = sample::results().csv();
        let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
        let shown: Vec<Vec<String>> = serde_json::from_value(seen["tables"][0].clone()).unwrap();
        // The titles hold commas, which this test does not parse.
        assert_eq!(shown[0].len(), 6, "{name}");
        assert_eq!(shown[1..], cells[1..], "{name}");

        for (figure, seen) in page.figures().zip(seen["figures"].as_array().unwrap()) {
            assert_eq!(seen["id"], format!("figure-{}", figure.id));
            assert_eq!(seen["files"][1]["text"], figure.csv(), "{name}");
            // The file is the figure itself, up to the order of attributes.
            let file = seen["files"][0]["text"].as_str().unwrap();
            let [ours, theirs] = [&*figure.svg(), file].map(|svg| {
                let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error} in {svg}"));
                let describe = |node: roxmltree::Node| {
                    let mut attributes: Vec<String> =
                        node.attributes().map(|it| format!("{}={}", it.name(), it.value())).collect();
                    attributes.sort();
                    format!("{:?} {attributes:?} {:?}", node.tag_name().name(), node.text().map(str::trim))
                };
                document.descendants().filter(roxmltree::Node::is_element).map(describe).collect::<Vec<_>>()
            });
            assert_eq!(ours, theirs, "{name}");
            match &figure.chart {
                Chart::Lines(lines) => check_lines(seen, lines, name),
                Chart::HeatMap(map) => check_heat_map(seen, map, name),
                _ => panic!("an unknown chart"),
            }
        }
    }
}
