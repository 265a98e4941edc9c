//! A page as one self-contained HTML file. It is complete without its script, which hides series and shows numbers.

use super::{Block, Headline, Page, Section, paragraphs};
use crate::escape::xml;
use crate::figure::{Axis, Chart, Figure, Lines};
use crate::scale::{Range, Scale};
use crate::svg::{Drawing, Frame, key, styles};
use serde_json::{Value, json};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Page {
    /// Returns the page as one self-contained HTML file.
    pub fn html(&self) -> String {
        let mut body = Body::default();
        for section in &self.sections {
            body.html += &format!("<section id=\"{}\">\n<h2>{}</h2>\n", xml(&section.id), xml(&section.title));
            for block in &section.blocks {
                body.block(block);
            }
            body.html += "</section>\n";
        }
        let title = xml(&self.title);
        // `<` occurs only in strings.
        let data = Value::Array(body.data).to_string().replace('<', "\\u003c");
        [
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            &format!("<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"),
            &format!("<header>\n<h1>{title}</h1>\n{}</header>\n", text(&self.summary)),
            &self.cards(),
            &self.contents(),
            &body.html,
            &self.provenance(),
            "</main>\n",
            &format!("<script type=\"application/json\" id=\"data\">{data}</script>\n"),
            &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"),
        ]
        .concat()
    }

    /// Returns the key results.
    fn cards(&self) -> String {
        let card = |Headline { label, value, note }: &Headline| {
            let note = if note.is_empty() { String::new() } else { format!("<dd class=\"note\">{}</dd>", xml(note)) };
            format!("<div><dt>{}</dt><dd class=\"value\">{}</dd>{note}</div>\n", xml(label), xml(value))
        };
        enclosed("<dl class=\"cards\">\n", self.headlines.iter().map(card), "</dl>\n")
    }

    /// Returns links to the sections, if there are several.
    fn contents(&self) -> String {
        let entry =
            |Section { id, title, .. }: &Section| format!("<li><a href=\"#{}\">{}</a></li>\n", xml(id), xml(title));
        let sections = if self.sections.len() < 2 { &[] } else { &self.sections[..] };
        enclosed("<nav aria-label=\"Contents\">\n<ul>\n", sections.iter().map(entry), "</ul>\n</nav>\n")
    }

    fn provenance(&self) -> String {
        let row = |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", xml(name), xml(value));
        let open = "<details class=\"provenance\">\n<summary>Provenance</summary>\n<dl>\n";
        enclosed(open, self.provenance.iter().map(row), "</dl>\n</details>\n")
    }
}

/// Returns all items between an opening and a closing tag, or nothing if there are none.
fn enclosed(open: &str, items: impl Iterator<Item = String>, close: &str) -> String {
    let items: String = items.collect();
    if items.is_empty() { items } else { [open, &items, close].concat() }
}

/// HTML of the sections, and the data of their tables and figures in the same order.
#[derive(Default)]
struct Body {
    html: String,
    data: Vec<Value>,
}

impl Body {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(paragraphs) => self.html += &text(paragraphs),
            Block::Code(command) => self.html += &format!("<pre><code>{}</code></pre>\n", xml(command)),
            Block::Table { id, caption, table } => {
                let html = format!("<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n", table.html(caption));
                self.item("table", id, &html);
                self.data.push(json!({"file": id, "csv": table.csv()}));
            }
            Block::Figure(figure) => {
                let drawing = Drawing::of(figure);
                let plot = format!("<div class=\"plot\">\n{}\n</div>\n", drawing.inline(figure));
                let legend = match &figure.chart {
                    Chart::Lines(lines) if lines.needs_legend() => legend(lines),
                    _ => String::new(),
                };
                let [title, caption] = [&figure.title, &figure.caption].map(|text| xml(text));
                let caption = format!("<figcaption><strong>{title}</strong> {caption}</figcaption>\n");
                self.item("figure", &figure.id, &format!("<div class=\"panel\">\n{plot}{legend}</div>\n{caption}"));
                self.data.push(data(figure, &drawing.frame));
            }
        }
    }

    /// Appends a table or a figure. The script finds its data by its number.
    fn item(&mut self, kind: &str, id: &str, html: &str) {
        let (tag, number) = (if kind == "figure" { kind } else { "div" }, self.data.len());
        self.html +=
            &format!("<{tag} class=\"{kind}\" id=\"{kind}-{}\" data-item=\"{number}\">\n{html}</{tag}>\n", xml(id));
    }
}

fn text(text: &str) -> String {
    paragraphs(text).map(|paragraph| format!("<p>{}</p>\n", xml(paragraph))).collect()
}

/// Returns a button for each series, and one for each group if there are several. The script enables them.
fn legend(lines: &Lines) -> String {
    let entries = lines.series.iter().zip(styles(lines)).enumerate().map(|(index, (series, style))| {
        let (class, key, label) = (style.class, key(&style), xml(&series.label()));
        format!(
            "<li><button type=\"button\" class=\"{class}\" data-toggle=\"{index}\" disabled>{key}\
             <span>{label}</span></button></li>\n"
        )
    });
    let mut groups = lines.groups();
    groups.retain(|group| !group.is_empty());
    let shown = if groups.len() < 2 { &[] } else { &groups[..] };
    let buttons = shown
        .iter()
        .map(|group| xml(group))
        .map(|group| format!("<button type=\"button\" data-group=\"{group}\" disabled>{group}</button>\n"));
    let groups = enclosed("<div class=\"groups\" role=\"group\" aria-label=\"Groups\">\n", buttons, "</div>\n");
    format!("<div class=\"legend\">\n<ul>\n{}</ul>\n{groups}</div>\n", entries.collect::<String>())
}

/// Returns what the script needs to find the point under the pointer. The numbers themselves are those of the CSV file.
fn data(figure: &Figure, frame: &Frame) -> Value {
    let area = &frame.area;
    let axis = |axis: &Axis, range: &Range, from: f64, to: f64| {
        let (log, ends) = (range.scale == Scale::Log, [range.low, range.high]);
        json!({"label": axis.label, "log": log, "range": ends, "at": [from, to]})
    };
    let one = |label: &str, group: &str, points: usize| json!({"label": label, "group": group, "points": points});
    let (x, y, value, series) = match &figure.chart {
        Chart::Lines(lines) => {
            let all: Vec<Value> = lines.series.iter().map(|it| one(&it.label(), &it.group, it.points.len())).collect();
            (&lines.x, &lines.y, None, all)
        }
        Chart::HeatMap(map) => (&map.x, &map.y, Some(&map.value.label), vec![one("", "", map.values.len())]),
    };
    json!({
        "file": figure.id,
        "csv": figure.csv(),
        "x": axis(x, &frame.x, area.left, area.right()),
        "y": axis(y, &frame.y, area.bottom(), area.top),
        "value": value,
        "series": series,
    })
}
