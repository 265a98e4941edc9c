//! Writes elements of SVG, and guesses how wide text is.

use crate::escape;
use std::fmt::Write as _;

/// Elements, one to a line.
#[derive(Default)]
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Elements that are written already.
    pub(super) fn raw(&mut self, elements: &str) {
        self.out += elements;
    }

    /// Text at a point of its baseline, where it starts, ends or has its middle.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        let (x, y, text) = (px(x), px(y), escape::xml(text));
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor}{space}{attributes}>{text}</text>\n"));
    }

    /// A path, unless it is empty.
    pub(super) fn path(&mut self, attributes: &str, d: &str) {
        if !d.is_empty() {
            self.put(format_args!("<path {attributes} d=\"{d}\"/>\n"));
        }
    }

    pub(super) fn circle(&mut self, [x, y]: [f64; 2], radius: f64, attributes: &str) {
        self.put(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {attributes}/>\n", px(x), px(y), px(radius)));
    }

    fn put(&mut self, element: std::fmt::Arguments) {
        self.out.write_fmt(element).expect("a string takes all text");
    }
}

/// A coordinate to a tenth of a unit, which is finer than what is seen.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// How wide a line of text is, about, and rather more.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.43,
        '×' | '−' | '+' | '=' | '<' | '>' | '±' => 0.84,
        c if c.is_uppercase() => 0.72,
        c if c < '\u{2e80}' => 0.63,
        _ => 1.05, // the wide letters of East Asia, and pictures
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// Lines that are at most so wide, broken between words, or inside of a word that is wider.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                lines.push(String::new());
                for c in word.chars() {
                    let line = lines.last().expect("one was pushed");
                    if !line.is_empty() && width(&format!("{line}{c}"), size) > room {
                        lines.push(String::new());
                    }
                    lines.last_mut().expect("one was pushed").push(c);
                }
            }
        }
    }
    lines
}
