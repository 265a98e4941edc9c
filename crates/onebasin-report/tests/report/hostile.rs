//! Text with markup of HTML, XML, Markdown or JSON stays text in every format.

use crate::sample;
use onebasin_report::Alignment::Left;
use onebasin_report::{Block, Chart, Headline, Page, Section, Table};

const HOSTILE: &str = "</script><script>alert(\"1\")</script> 'a' & b | c \\| <!-- ]]> \u{0}\u{b}";

/// Returns a page with hostile text wherever a page has text.
fn page() -> Page {
    let text = || HOSTILE.to_owned();
    let mut table = Table::new([(HOSTILE, Left), ("plain", Left)]);
    table.push([HOSTILE, "2"]);
    let mut blocks =
        vec![Block::Text(text()), Block::Code(text()), Block::Table { id: text(), caption: text(), table }];
    for mut figure in [sample::barrier(), sample::plane()] {
        (figure.id, figure.title, figure.caption) = (text(), text(), text());
        match &mut figure.chart {
            Chart::Lines(lines) => {
                (lines.x.label, lines.y.label) = (text(), text());
                lines
                    .series
                    .iter_mut()
                    .for_each(|series| (series.name, series.group) = (text(), format!("{HOSTILE}{}", series.group)));
            }
            Chart::HeatMap(map) => {
                (map.x.label, map.y.label, map.value.label) = (text(), text(), text());
                map.annotations.iter_mut().for_each(|it| it.name = text());
            }
            _ => panic!("an unknown chart"),
        }
        blocks.push(Block::Figure(figure));
    }
    Page {
        title: text(),
        finding: text(),
        summary: text(),
        headlines: vec![Headline { label: text(), value: text(), note: text() }],
        sections: vec![Section { id: text(), title: text(), blocks }],
        provenance: vec![(text(), text())],
    }
}

/// Returns the hostile text without the characters that XML does not allow.
fn visible() -> String {
    HOSTILE.replace(['\u{0}', '\u{b}'], "")
}

#[test]
fn figures_are_well_formed_and_hold_their_texts() {
    for figure in page().figures() {
        let svg = figure.svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let labels = document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text());
        assert!(labels.clone().any(|label| label == visible()), "{:?}", labels.collect::<Vec<_>>());
        assert!(document.root_element().attribute("aria-label").unwrap().starts_with(&visible()));
        assert!(figure.png(200).is_ok());
    }
}

#[test]
fn pages_have_only_their_own_scripts() {
    let html = page().html();
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(html.matches("alert(\"").count(), 0);
    // The data element holds JSON with the original texts.
    let (_, data) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data[0]["file"], HOSTILE);
    assert_eq!(data[1]["x"]["label"], HOSTILE);
    // The body before the scripts is well-formed XML but for attributes without values.
    let body = html.split_once("<body>").unwrap().1.split_once("<script").unwrap().0.replace(" disabled>", ">");
    let document = roxmltree::Document::parse(&body).unwrap();
    let cells = document.descendants().filter(|node| node.has_tag_name("td")).map(|node| node.text().unwrap());
    assert_eq!(cells.collect::<Vec<_>>(), [&visible(), "2"]);
}

#[test]
fn pipes_do_not_end_cells_of_markdown() {
    let mut table = Table::new([("a|b", Left), ("c", Left)]);
    table.push(["x \\| y\\", "`|` *z* <b>"]);
    table.push(["two\nlines", "-1 < 2"]);
    let expected = [r"| a\|b | c |", r"| x \\\| y\\ | \`\|\` \*z\* &lt;b> |", r"| two lines | -1 < 2 |"];
    let markdown = table.markdown();
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = markdown.lines().filter(|line| !line.contains("--")).map(squeezed).collect();
    assert_eq!(lines, expected);
}

#[test]
fn paragraphs_of_markdown_begin_nothing_else() {
    let said = ["# one", "- two", "3. three", "-4 is a number", "5 of 6"];
    let (finding, summary) = ("# found".to_owned(), said.join("\n\n"));
    let page = Page { finding, summary, headlines: vec![], sections: vec![], provenance: vec![], ..sample::page() };
    let markdown = page.markdown("");
    let paragraphs: Vec<&str> = markdown.trim_end().split("\n\n").skip(1).collect();
    assert_eq!(paragraphs, [r"**\# found**", r"\# one", r"\- two", r"3\. three", r"\-4 is a number", "5 of 6"]);
}

#[test]
fn no_line_of_markdown_holds_html_or_an_open_fence() {
    let markdown = page().markdown("figures/");
    let outside: String = markdown.split("```").step_by(2).collect();
    assert!(!outside.contains("<script") && !outside.contains("</script") && !outside.contains("<!--"), "{outside}");
    let links: Vec<&str> =
        outside.lines().filter_map(|line| line.strip_prefix("![")?.split_once("](")).map(|it| it.1).collect();
    assert_eq!(links.len(), 2);
    assert!(
        links.iter().all(|link| !link.contains([' ', '<', '(']) && link.find(')') == Some(link.len() - 1)),
        "{links:?}"
    );
    for line in outside.lines().filter(|line| line.starts_with('|')) {
        let bare = line.replace("\\\\", "").replace("\\|", "");
        assert!([3, 4].contains(&bare.matches('|').count()), "{line}");
    }
}
