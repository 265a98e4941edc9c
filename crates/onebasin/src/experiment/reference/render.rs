//! The reference of all keys as a page of Markdown, and as text for a terminal.

#![allow(clippy::format_push_string, reason = "texts are small, and a string can always be written to")]

use super::{Default, Key, KeyTable, Reference};
use std::fmt::Write as _;

/// What the page begins with.
const INTRODUCTION: &str = "\
# Configuration

All keys of the TOML files that `onebasin run` and `onebasin train` read. This page is made from the structs that read
them; `onebasin help keys` prints it, and `onebasin help keys barrier` a part of it. `onebasin init` writes a file with
comments. `--set A.B=C` changes a key for one command. The table of a stage has the same names as the flags of its
command: `train_examples` is `--train-examples`.
";

/// Both kinds of configuration, with what their parts begin with.
const PARTS: [&str; 2] = [
    "## A training\n\nA file for `onebasin train FILE`, and the table `[train]` of an experiment.\n",
    "## An experiment\n\nA file for `onebasin run FILE`.\n",
];

impl Reference {
    /// A page of Markdown.
    pub fn markdown(&self) -> String {
        let mut page = INTRODUCTION.to_owned();
        for (part, tables) in PARTS.iter().zip([&self.training, &self.experiment]) {
            page += &format!("\n{part}");
            for table in tables.iter().filter(|table| !table.keys.is_empty()) {
                page += &format!("\n### {}\n\n", table.title());
                if !table.about.is_empty() {
                    page += &format!("{}\n\n", table.about);
                }
                page += "| Key | Type | Default | Unit | Meaning |\n|---|---|---|---|---|\n";
                for key in &table.keys {
                    let default = match &key.default {
                        Default::Required => "*required*".to_owned(),
                        Default::Value(value) => format!("`{value}`"),
                        Default::Words(words) => words.clone(),
                        Default::None => "–".to_owned(),
                    };
                    let unit = key.unit.as_deref().unwrap_or("–");
                    let cells = [&format!("`{}`", key.name), &key.kind, &default, unit, &key.explained("`")];
                    page += &format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
                }
            }
        }
        page
    }

    /// Text for a terminal that is `width` characters wide.
    pub fn text(&self, width: usize) -> String {
        let mut all = String::new();
        for (part, tables) in ["A training", "An experiment"].iter().zip([&self.training, &self.experiment]) {
            if tables.is_empty() {
                continue;
            }
            let separator = if all.is_empty() { "" } else { "\n" };
            writeln!(all, "{separator}===== {part} =====").expect("a string can be written to");
            for table in tables {
                all += &format!("\n{}\n", table.title().replace('`', ""));
                all += &wrapped(&table.about, "", width);
                for key in &table.keys {
                    let default = match &key.default {
                        Default::Required => "required".to_owned(),
                        Default::Value(value) => format!("default {value}"),
                        Default::Words(words) => format!("default: {words}"),
                        Default::None => "no default".to_owned(),
                    };
                    let unit = key.unit.as_ref().map_or_else(String::new, |unit| format!(" of {unit}"));
                    all += &wrapped(&format!("{}: {}{unit}, {default}", table.whole(key), key.kind), "  ", width);
                    all += &wrapped(&key.explained("`"), "      ", width);
                }
            }
        }
        all
    }
}

impl KeyTable {
    /// How the table is written, and in which form.
    fn title(&self) -> String {
        let name = match &self.name {
            name if name.is_empty() => "Top of the file".to_owned(),
            name if self.is_list => format!("`[[{name}]]`"),
            name => format!("`[{name}]`"),
        };
        match &self.choice {
            Some((key, value)) => format!("{name} with `{key} = \"{value}\"`"),
            None => name,
        }
    }
}

impl Key {
    /// The meaning, then that of each value.
    pub(super) fn explained(&self, quote: &str) -> String {
        let values = self.values.iter().map(|(name, meaning)| {
            let meaning = meaning.trim_end_matches('.');
            if meaning.is_empty() {
                format!("{quote}{name}{quote}")
            } else {
                format!("{quote}{name}{quote}: {meaning}")
            }
        });
        let values = values.collect::<Vec<_>>().join("; ");
        if values.is_empty() { self.meaning.clone() } else { format!("{} {values}.", self.meaning).trim().to_owned() }
    }
}

/// Words in lines of at most `width` characters, each behind a prefix; nothing for no words.
pub(super) fn wrapped(text: &str, prefix: &str, width: usize) -> String {
    let mut all = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && prefix.chars().count() + line.chars().count() + 1 + word.chars().count() > width {
            all += &format!("{prefix}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    if line.is_empty() { all } else { all + &format!("{prefix}{line}\n") }
}
