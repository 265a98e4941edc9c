//! Pages hold all their data in every format.

use crate::sample;
use onebasin_report::{Annotation, Block, HeatMap, Page};

/// Returns the text of a page without its tags.
fn text_of(html: &str) -> String {
    let body = html.split_once("<body>").unwrap().1.split_once("<script").unwrap().0.replace(" disabled>", ">");
    let document = roxmltree::Document::parse(&body).unwrap();
    document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text()).collect::<Vec<_>>().join(" ")
}

fn texts(page: &Page) -> Vec<String> {
    let mut all = vec![page.title.clone(), page.finding.clone()];
    all.extend(page.headlines.iter().flat_map(|it| [it.label.clone(), it.value.clone(), it.note.clone()]));
    all.extend(page.provenance.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
    for section in &page.sections {
        all.push(section.title.clone());
        for block in &section.blocks {
            match block {
                Block::Text(text) | Block::Code(text) => all.push(text.clone()),
                Block::Table { caption, table, .. } => {
                    all.push(caption.clone());
                    all.extend(
                        table.csv().lines().flat_map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>()),
                    );
                }
                Block::Figure(figure) => all.extend([figure.title.clone(), figure.caption.clone()]),
                _ => panic!("an unknown block"),
            }
        }
    }
    all.retain(|text| !text.contains('"') && !text.contains(", "));
    all
}

#[test]
fn html_and_markdown_hold_all_texts() {
    let page = sample::page();
    let (html, markdown) = (text_of(&page.html()), page.markdown("figures"));
    let all = texts(&page);
    assert!(all.len() > 30);
    for text in all {
        assert!(html.contains(&text), "{text}");
        assert!(markdown.contains(&text), "{text}");
    }
    for figure in page.figures() {
        assert!(markdown.contains(&format!("![{}](figures/{}.svg)", figure.title, figure.id)));
    }
}

#[test]
fn html_is_self_contained() {
    let html = sample::page().html().replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "src=", "@import", "url(", "<link", "fetch("] {
        assert!(!html.contains(reference), "{reference}");
    }
    assert!(html.contains("<html lang=\"en\">") && html.contains("name=\"viewport\""));
}

#[test]
fn pages_and_figures_are_the_same_each_time() {
    assert_eq!(sample::page().html(), sample::page().html());
    assert_eq!(sample::page().markdown(""), sample::page().markdown(""));
}

#[test]
fn an_empty_page_is_a_page() {
    let page = Page {
        title: "Nothing".to_owned(),
        finding: String::new(),
        summary: String::new(),
        headlines: vec![],
        sections: vec![],
        provenance: vec![],
    };
    assert_eq!(page.markdown(""), "# Nothing\n");
    assert!(text_of(&page.html()).contains("Nothing"));
}

#[test]
fn lines_in_plain_text_have_numbers_at_the_ends_of_axes_and_a_legend() {
    let points = (0..=40).map(|step| (f64::from(step) / 40.0, f64::from(step * (40 - step)) / 200.0, None));
    let axis = |label| sample::axis(label, onebasin_report::Scale::Linear);
    let figure = sample::lines("it", axis("λ"), axis("loss"), vec![sample::series("barrier", "test", points)]);
    let expected = [
        "  loss",
        "2 │⠀⠀⠀⠀⠀⠀⣀⡤⠖⠚⠉⠉a⠉⠓⠲⢤⣀",
        "  │⠀⠀⠀⢀⡴⠚⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⠓⢦⡀",
        "  │⠀⢀⡴⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⢦⡀",
        "0 │⡠⠃⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠘⢄",
        "  └────────────────────────",
        "   0          λ           1",
        "  a barrier (test)",
    ];
    assert_eq!(figure.text(24, 4).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_heat_map_in_plain_text_shows_each_cell_and_marks_annotations() {
    let axis = |label| sample::axis(label, onebasin_report::Scale::Linear);
    let annotation = |name: &str, x, y| Annotation { name: name.to_owned(), x, y };
    let figure = sample::heat_map(HeatMap {
        x: axis("x"),
        y: axis("y"),
        xs: vec![0.0, 1.0, 2.0, 3.0],
        ys: vec![0.0, 1.0, 2.0],
        equal: false,
        value: axis("loss"),
        limits: None,
        values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN, 7.0, 8.0, 9.0, 10.0, 11.0],
        annotations: vec![annotation("B", 0.0, 0.0), annotation("B aligned", 1.0, 1.0), annotation("C", 3.0, 2.0)],
    });
    let expected = [
        "     y",
        " 2.5 │##%%@@@C",
        "     │==+A  **",
        "−0.5 │.B..::--",
        "     └────────",
        "      −0.5x3.5",
        "  . 0 to @ 11: loss",
        "  A B aligned",
    ];
    assert_eq!(figure.text(8, 3).lines().collect::<Vec<_>>(), expected);
}
