//! A page as one self-contained HTML file. It is complete without its script, which hides series and shows numbers.

use super::{Block, Headline, Page, Section, paragraphs};
use crate::escape::xml;
use crate::figure::{Axis, Chart, Figure, Lines, Series};
use crate::scale::{Range, Scale};
use crate::svg::{Drawing, Entry, Frame, Legend, key};
use serde_json::{Value, json};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Page {
    /// Returns the page as one self-contained HTML file.
    pub fn html(&self) -> String {
        let mut body = Body::default();
        for section in &self.sections {
            body.html += &format!("<section id=\"{}\">\n<h2>{}</h2>\n", xml(&section.id), xml(&section.title));
            for part in section.side_by_side() {
                let maps = part[0].is_map();
                body.html += if maps { "<div class=\"maps\">\n" } else { "" };
                for block in part {
                    body.block(block);
                }
                body.html += if maps { "</div>\n" } else { "" };
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
            &format!("<header>\n<h1>{title}</h1>\n{}{}</header>\n", self.finding(), text(&self.summary)),
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

    /// Returns what was found.
    fn finding(&self) -> String {
        let finding = xml(&self.finding);
        if finding.is_empty() { finding } else { format!("<p class=\"finding\">{finding}</p>\n") }
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

/// Returns a button for each name, and one for each group if there are several. The script enables them.
fn legend(lines: &Lines) -> String {
    let Legend { names, groups, joined } = Legend::of(lines);
    let button = |kind: &str, Entry { style, label, series }: &Entry| {
        let series = series.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let (class, key, label) = (style.class, key(style, joined), xml(label));
        format!(
            "<li><button type=\"button\" class=\"{class}\" data-{kind}=\"{series}\" disabled>{key}<span>{label}</span>\
             </button></li>\n"
        )
    };
    let names: String = names.iter().map(|entry| button("name", entry)).collect();
    let groups = groups.iter().map(|entry| button("group", entry));
    let groups = enclosed("<ul class=\"groups\" aria-label=\"Groups\">\n", groups, "</ul>\n");
    format!("<div class=\"legend\">\n<ul>\n{names}</ul>\n{groups}</div>\n")
}

/// Returns what the script needs to find the point under the pointer. The numbers themselves are those of the CSV file.
fn data(figure: &Figure, frame: &Frame) -> Value {
    let area = &frame.area;
    let axis = |axis: &Axis, range: &Range, from: f64, to: f64| {
        let (log, ends) = (range.scale == Scale::Log, [range.low, range.high]);
        json!({"label": axis.label, "log": log, "range": ends, "at": [from, to], "kinds": axis.categories})
    };
    let one = |label: &str, points: usize, shift: f64| json!({"label": label, "points": points, "shift": shift});
    let (x, y, value, series) = match &figure.chart {
        Chart::Lines(lines) => {
            let all = |(index, it): (usize, &Series)| one(&it.label(), it.points.len(), lines.shift(index));
            (&lines.x, &lines.y, None, lines.series.iter().enumerate().map(all).collect())
        }
        Chart::HeatMap(map) => (&map.x, &map.y, Some(&map.value.label), vec![one("", map.values.len(), 0.0)]),
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
