//! A page as one HTML file that needs nothing else: complete as it is, while its script hides curves and reads numbers.

use super::Block;
use super::Page;
use super::paragraphs;
use crate::escape;
use crate::escape::xml;
use crate::figure::Axis;
use crate::figure::Chart;
use crate::figure::Figure;
use crate::figure::Lines;
use crate::scale::Range;
use crate::scale::Scale;
use crate::svg::Drawing;
use crate::svg::Frame;
use crate::svg::key;
use crate::svg::styles;
use serde_json::Value;
use serde_json::json;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Page {
    /// The page as one file.
    pub fn html(&self) -> String {
        let mut body = Body::default();
        for section in &self.sections {
            body.put(&format!("<section id=\"{}\">\n<h2>{}</h2>\n", xml(&section.id), xml(&section.title)));
            for block in &section.blocks {
                body.block(block);
            }
            body.put("</section>\n");
        }
        let title = xml(&self.title);
        [
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            &format!("<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"),
            &format!("<header>\n<h1>{title}</h1>\n{}</header>\n", text(&self.summary)),
            &self.cards(),
            &self.contents(),
            &body.html,
            &self.origin(),
            "</main>\n",
            &format!(
                "<script type=\"application/json\" id=\"data\">{}</script>\n",
                escape::json(&Value::Array(body.data))
            ),
            &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"),
        ]
        .concat()
    }

    /// The headlines, large.
    fn cards(&self) -> String {
        let card = |(label, value, note): (&str, &str, &str)| {
            let note = if note.is_empty() { String::new() } else { format!("<dd class=\"note\">{}</dd>", xml(note)) };
            format!("<div><dt>{}</dt><dd class=\"value\">{}</dd>{note}</div>\n", xml(label), xml(value))
        };
        let cards: String = self.headlines.iter().map(|it| card((&it.label, &it.value, &it.note))).collect();
        if cards.is_empty() { cards } else { format!("<dl class=\"cards\">\n{cards}</dl>\n") }
    }

    fn contents(&self) -> String {
        if self.sections.len() < 2 {
            return String::new();
        }
        let entry = |(id, title): (&str, &str)| format!("<li><a href=\"#{}\">{}</a></li>\n", xml(id), xml(title));
        let entries: String = self.sections.iter().map(|section| entry((&section.id, &section.title))).collect();
        format!("<nav aria-label=\"Contents\">\n<ul>\n{entries}</ul>\n</nav>\n")
    }

    fn origin(&self) -> String {
        if self.provenance.is_empty() {
            return String::new();
        }
        let row = |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", xml(name), xml(value));
        let rows: String = self.provenance.iter().map(row).collect();
        format!("<details class=\"provenance\">\n<summary>Provenance</summary>\n<dl>\n{rows}</dl>\n</details>\n")
    }
}

/// What is written so far, and the data behind its tables and figures, in their order.
#[derive(Default)]
struct Body {
    html: String,
    data: Vec<Value>,
}

impl Body {
    fn put(&mut self, html: &str) {
        self.html += html;
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(paragraphs) => self.put(&text(paragraphs)),
            Block::Code(command) => self.put(&format!("<pre><code>{}</code></pre>\n", xml(command))),
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

    /// A table or a figure: the script finds its data by its number.
    fn item(&mut self, kind: &str, id: &str, html: &str) {
        let (tag, number) = (if kind == "figure" { kind } else { "div" }, self.data.len());
        self.put(&format!(
            "<{tag} class=\"{kind}\" id=\"{kind}-{}\" data-item=\"{number}\">\n{html}</{tag}>\n",
            xml(id)
        ));
    }
}

fn text(text: &str) -> String {
    paragraphs(text).map(|paragraph| format!("<p>{}</p>\n", xml(paragraph))).collect()
}

/// A button for each curve, and one for each group if there are several. They do nothing before the script enables them.
fn legend(lines: &Lines) -> String {
    let mut out = "<div class=\"legend\">\n<ul>\n".to_owned();
    for (index, (series, style)) in lines.series.iter().zip(styles(lines)).enumerate() {
        out += &format!(
            "<li><button type=\"button\" class=\"{}\" data-toggle=\"{index}\" disabled>{}\
             <span>{}</span></button></li>\n",
            style.class,
            key(&style),
            xml(&series.label())
        );
    }
    out += "</ul>\n";
    let groups = lines.groups();
    if groups.iter().filter(|group| !group.is_empty()).count() > 1 {
        out += "<div class=\"groups\" role=\"group\" aria-label=\"Groups\">\n";
        for group in groups.iter().filter(|group| !group.is_empty()) {
            let group = xml(group);
            out += &format!("<button type=\"button\" data-group=\"{group}\" disabled>{group}</button>\n");
        }
        out += "</div>\n";
    }
    out + "</div>\n"
}

/// What the script needs to find the point under the pointer; the numbers themselves are those of the file for others.
fn data(figure: &Figure, frame: &Frame) -> Value {
    let area = &frame.area;
    let axis = |axis: &Axis, range: &Range, from: f64, to: f64| {
        let (log, ends) = (range.scale == Scale::Log, [range.low, range.high]);
        json!({"label": axis.label, "log": log, "range": ends, "at": [from, to]})
    };
    let (x, y, value) = match &figure.chart {
        Chart::Lines(lines) => (&lines.x, &lines.y, None),
        Chart::Heat(heat) => (&heat.x, &heat.y, Some(&heat.value.label)),
    };
    let one = |label: &str, group: &str, points: usize| json!({"label": label, "group": group, "points": points});
    let series: Vec<Value> = match &figure.chart {
        Chart::Lines(lines) => lines.series.iter().map(|it| one(&it.label(), &it.group, it.points.len())).collect(),
        Chart::Heat(heat) => vec![one("", "", heat.values.len())],
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
