//! `onebasin show`: what a file or folder is, and what is in it.

mod facts;
mod files;
mod folders;
mod posterior;

use crate::printer::{ExitStatus, Printer};
use anyhow::bail;
use onebasin::experiment::json;
use onebasin_report::Alignment::{Left, Right};
use onebasin_report::Table;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// File or folder
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let shown = describe(&args.path)?;
    printer.data(&if args.json { json(&shown) } else { shown.text() })?;
    Ok(ExitStatus::Success)
}

/// Says what a file or folder of onebasin is, and what is in it.
pub fn text_of(path: &Path) -> anyhow::Result<String> {
    Ok(describe(path)?.text())
}

fn describe(path: &Path) -> anyhow::Result<Description> {
    if path.is_dir() { folders::describe(path) } else { files::describe(path) }
}

/// What is known of a file or folder.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    /// What it is.
    what: String,
    /// Where it is.
    path: PathBuf,
    /// Facts by their names.
    facts: Map<String, Value>,
    /// The names of the facts in the order of the text.
    #[serde(skip)]
    order: Vec<String>,
    /// The tensors of a posterior.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tensors: Vec<posterior::TensorFacts>,
    /// The whole result of a stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// Its tables, as the command prints them that wrote it.
    #[serde(skip)]
    tables: Vec<String>,
    /// What lies inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Description>,
}

impl Description {
    fn new(path: &Path, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            path: path.to_owned(),
            facts: Map::new(),
            order: Vec::new(),
            tensors: Vec::new(),
            result: None,
            tables: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Says what it is.
    fn call(&mut self, what: &str) {
        what.clone_into(&mut self.what);
    }

    /// Adds a fact.
    fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.order.push(name.to_owned());
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Adds a fact that is known.
    fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.fact(name, value);
        }
    }

    /// Adds the result of a stage and its tables.
    fn result(&mut self, result: &impl Serialize, table: String) {
        self.result = serde_json::to_value(result).ok();
        self.tables.push(table);
    }

    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.path.display(), self.what);
        let mut facts = Table::new([("", Left), ("", Left)]);
        for name in &self.order {
            facts.push([name.clone(), words(&self.facts[name])]);
        }
        let facts = facts.text();
        text += facts.strip_prefix('\n').unwrap_or(&facts);
        let tensors = (!self.tensors.is_empty()).then(|| posterior::table(&self.tensors).text());
        let parts = self.parts.iter().map(Self::text);
        let all: Vec<String> = tensors.into_iter().chain(self.tables.iter().cloned()).chain(parts).collect();
        std::iter::once(text).chain(all).collect::<Vec<_>>().join("\n")
    }
}

/// A value as a person reads it.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(entries) => {
            // What chooses all else comes first.
            let first = |key: &str| ["preset", "method", "name"].contains(&key);
            let mut known: Vec<_> = entries.iter().filter(|(_, value)| !value.is_null()).collect();
            known.sort_by_key(|(key, _)| !first(key));
            let entries = known.iter().map(|(key, value)| match value {
                Value::Object(_) => format!("{key} ({})", words(value)),
                value if first(key) => words(value),
                value => format!("{key} {}", words(value)),
            });
            entries.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The size of a file, or of all files in a folder.
fn bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return fs::metadata(path).map_or(0, |file| file.len()) };
    entries.flatten().map(|entry| bytes(&entry.path())).sum()
}

/// A size in words.
fn size(path: &Path) -> String {
    indicatif::BinaryBytes(bytes(path)).to_string()
}

/// Refuses what is nothing of onebasin.
fn unknown<T>(path: &Path, reason: &str) -> anyhow::Result<T> {
    bail!(
        "{}: {reason}; `onebasin show` knows posteriors, checkpoints, permutations, results, configurations, and the \
         folders of trainings, alignments, measurements and experiments",
        path.display()
    )
}

/// A column of numbers.
fn numbers<'a>(first: &'a str, others: &[&'a str]) -> Table {
    Table::new(std::iter::once((first, Left)).chain(others.iter().map(|name| (*name, Right))))
}
