//! Configurations with comments: a template says which keys are set, the reference what each means and which others there are.

#![allow(clippy::format_push_string, reason = "texts are small, and a string can always be written to")]

use super::render::wrapped;
use super::{Default, Key, KeyTable, Reference};

/// Width of the comments.
const WIDTH: usize = 100;

/// A template with a comment above each key, and with the keys that it leaves out as comments.
///
/// A template has one key in a line, no key with a dot, and its tables as headers. Its own comments stay.
pub fn commented(template: &str) -> String {
    let reference = Reference::new();
    let blocks = blocks(template);
    let is_experiment = blocks.iter().any(|block| block.name == "train" || block.name.starts_with("train."));
    let place = Place { reference: &reference, is_experiment };
    let mut text = String::new();
    for block in &blocks {
        let table = place.table(block);
        if !block.name.is_empty() {
            text += &format!("\n{}[{}]\n", comment(&about(&place, block, table), ""), block.name);
        }
        for line in &block.lines {
            let known =
                key_of(line).and_then(|name| table.and_then(|table| table.keys.iter().find(|key| key.name == name)));
            text += &known.map_or_else(String::new, |key| comment(&described(key), ""));
            text += &format!("{line}\n");
        }
        let Some(table) = table else { continue };
        let unset = |key: &&Key| !key.is_table && block.lines.iter().all(|line| key_of(line) != Some(&key.name));
        let given_elsewhere = |key: &&Key| place.is_given_elsewhere(block.name, &key.name);
        for key in table.keys.iter().filter(unset).filter(|key| !given_elsewhere(key)) {
            text += &left_out(key, "");
        }
    }
    for block in &blocks {
        for (name, table) in place.tables_left_out(block, &blocks) {
            text += &format!("\n{}# [{name}]\n", comment(&table.about, ""));
            for key in table.keys.iter().filter(|key| !key.is_table) {
                text += &left_out(key, "# ");
            }
        }
    }
    if is_experiment {
        let unused = |key: &&Key| key.is_table && blocks.iter().all(|block| block.name != key.name);
        let others: Vec<String> =
            reference.experiment[0].keys.iter().filter(unused).map(|key| format!("[{}]", key.name)).collect();
        let rest = format!("Other tables: {}. `onebasin help keys` describes their keys.", others.join(", "));
        text += &format!("\n{}", comment(&rest, ""));
    }
    text
}

/// A table of a template.
struct Block<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
}

/// Which reference a template is of.
struct Place<'a> {
    reference: &'a Reference,
    is_experiment: bool,
}

impl<'a> Place<'a> {
    /// What is known of a table.
    fn table(&self, block: &Block<'_>) -> Option<&'a KeyTable> {
        let (tables, name) = self.tables(block.name);
        let chosen = |table: &&KeyTable| match &table.choice {
            None => true,
            Some((key, value)) => {
                block.lines.iter().any(|line| key_of(line) == Some(key) && line.contains(&format!("\"{value}\"")))
            }
        };
        tables.iter().filter(|table| table.name == name).find(chosen)
    }

    /// The tables of the kind of configuration that a table is in, and its name there.
    fn tables<'b>(&self, name: &'b str) -> (&'a [KeyTable], &'b str) {
        match name.strip_prefix("train") {
            Some(inner) if self.is_experiment => (&self.reference.training, inner.trim_start_matches('.')),
            _ if self.is_experiment => (&self.reference.experiment, name),
            _ => (&self.reference.training, name),
        }
    }

    /// Whether a key of a training is given by another one of the experiment.
    fn is_given_elsewhere(&self, table: &str, key: &str) -> bool {
        self.is_experiment && table == "train" && key == "seed"
    }

    /// The tables inside one of a template that the template leaves out, by their whole names.
    fn tables_left_out(&self, block: &Block<'_>, all: &[Block<'_>]) -> Vec<(String, &'a KeyTable)> {
        let top_of_experiment = self.is_experiment && block.name.is_empty();
        let Some(table) = self.table(block).filter(|_| !top_of_experiment) else { return Vec::new() };
        let inner = table.keys.iter().filter(|key| key.is_table);
        let named = inner.filter_map(|key| {
            let name = if block.name.is_empty() { key.name.clone() } else { format!("{}.{}", block.name, key.name) };
            let (tables, inside) = self.tables(&name);
            let table = tables.iter().find(|table| table.name == inside && table.choice.is_none())?;
            Some((name, table))
        });
        named.filter(|(name, _)| all.iter().all(|block| block.name != name)).collect()
    }
}

fn blocks(template: &str) -> Vec<Block<'_>> {
    let mut all = vec![Block { name: "", lines: Vec::new() }];
    for line in template.lines().filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => all.push(Block { name, lines: Vec::new() }),
            None => all.last_mut().expect("there is a first block").lines.push(line),
        }
    }
    all
}

/// The key of a line, if it has one.
fn key_of(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    (!line.starts_with('#')).then_some(key)
}

/// What a table of a template is for: the key of the table around it says so best.
fn about(place: &Place<'_>, block: &Block<'_>, table: Option<&KeyTable>) -> String {
    let (tables, name) = place.tables(block.name);
    if name.is_empty() {
        return "How posteriors are trained.".to_owned();
    }
    let chosen = table.filter(|table| table.choice.is_some()).map(|table| table.about.clone());
    let outer = tables.iter().find_map(|table| table.keys.iter().find(|key| key.is_table && table.whole(key) == name));
    chosen.or_else(|| outer.map(|key| key.meaning.clone())).unwrap_or_default()
}

/// The meaning of a key, its unit, and its values.
fn described(key: &Key) -> String {
    let unit = key.unit.as_ref().map_or_else(String::new, |unit| format!(" Unit: {unit}."));
    format!("{}{unit}", key.explained("\""))
}

/// A key that is left out, as a comment.
fn left_out(key: &Key, prefix: &str) -> String {
    let (value, words) = match &key.default {
        Default::Value(value) => (value.as_str(), String::new()),
        Default::Words(words) => ("...", format!(" Default: {words}.")),
        Default::Required => ("...", String::new()),
        Default::None => ("...", format!(" A {}, not set by default.", key.kind)),
    };
    format!("{}# {prefix}{} = {value}\n", comment(&format!("{}{words}", described(key)), prefix), key.name)
}

fn comment(text: &str, prefix: &str) -> String {
    wrapped(text, &format!("# {prefix}"), WIDTH)
}
