//! Pages hold all that they were given, in every form.

use crate::sample;
use onebasin_report::Block;
use onebasin_report::Page;

/// All text without its tags.
fn text_of(html: &str) -> String {
    let body = html.split_once("<body>").unwrap().1.split_once("<script").unwrap().0.replace(" disabled>", ">");
    let document = roxmltree::Document::parse(&body).unwrap();
    document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text()).collect::<Vec<_>>().join(" ")
}

fn said(page: &Page) -> Vec<String> {
    let mut all = vec![page.title.clone()];
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
            }
        }
    }
    all.retain(|text| !text.contains('"') && !text.contains(", "));
    all
}

#[test]
fn html_and_markdown_say_everything() {
    let page = sample::page();
    let (html, markdown) = (text_of(&page.html()), page.markdown("figures"));
    let all = said(&page);
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
fn html_asks_for_nothing_from_elsewhere() {
    let html = sample::page().html().replace("http://www.w3.org/2000/svg", "");
    for way in ["http:", "https:", "src=", "@import", "url(", "<link", "fetch("] {
        assert!(!html.contains(way), "{way}");
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
        summary: String::new(),
        headlines: vec![],
        sections: vec![],
        provenance: vec![],
    };
    assert_eq!(page.markdown(""), "# Nothing\n");
    assert!(text_of(&page.html()).contains("Nothing"));
}

#[test]
fn curves_in_the_terminal_have_numbers_at_their_ends_and_a_legend() {
    let points = (0..=40).map(|step| (f64::from(step) / 40.0, f64::from(step * (40 - step)) / 200.0, None));
    let axis = |label| sample::axis(label, onebasin_report::Scale::Linear);
    let figure = sample::lines("it", axis("λ"), axis("loss"), vec![sample::series("hump", "test", points)]);
    let expected = [
        "  loss",
        "2 │⠀⠀⠀⠀⠀⠀⣀⡤⠖⠚⠉⠉a⠉⠓⠲⢤⣀",
        "  │⠀⠀⠀⢀⡴⠚⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⠓⢦⡀",
        "  │⠀⢀⡴⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⢦⡀",
        "0 │⡠⠃⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠘⢄",
        "  └────────────────────────",
        "   0          λ           1",
        "  a hump (test)",
    ];
    assert_eq!(figure.text(24, 4).lines().collect::<Vec<_>>(), expected);
}
