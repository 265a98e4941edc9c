//! One experiment of a report, or the result of one stage: its measures and times, its command, its posteriors and its provenance.

use super::names;
use crate::error::{Error, Result};
use crate::page::{Block, Headline, Section};
use crate::stages::{Found, Shown};
use crate::{draw, stages};
use onebasin::experiment::{Measures, Times};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What was found, key results and sections of an experiment.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) finding: Option<String>,
    pub(super) headlines: Vec<Headline>,
    pub(super) sections: Vec<Section>,
}

impl Parts {
    /// Appends a section. The first finding is that of the page; later ones stand in their sections.
    pub(super) fn push(&mut self, Shown { finding, headlines, mut section }: Shown) {
        if self.finding.is_none() {
            self.finding = finding;
        } else if !section.blocks.is_empty() {
            section.blocks.splice(0..0, finding.map(Block::Text));
        }
        self.headlines.extend(headlines);
        self.sections.push(section);
    }
}

/// What an experiment, or a stage, left in its folder.
#[derive(Debug)]
pub(super) struct Experiment {
    pub(super) folder: PathBuf,
    pub(super) measures: Measures,
    pub(super) times: Times,
    /// Whether the folder is that of a single stage.
    pub(super) is_stage: bool,
}

impl Experiment {
    /// Reads the measures of an experiment, or the result of a stage.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let damage = match Measures::read(folder) {
            Ok((measures, times)) => return Ok(Self { folder: folder.to_owned(), measures, times, is_stage: false }),
            Err(error) => error,
        };
        match stages::find(folder)? {
            Some(found) => {
                let measures = measures_of(folder, found)?;
                Ok(Self { folder: folder.to_owned(), measures, times: Times::default(), is_stage: true })
            }
            None if folder.join(onebasin::experiment::MEASURES).exists() => Err(damage.into()),
            None => Err(Error::NoResult { folder: folder.to_owned() }),
        }
    }

    /// Names of posteriors by the names of their folders.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        let cells = self.measures.cells.iter();
        let all =
            cells.flat_map(|cell| cell.posteriors.iter().map(move |it| (it.id.clone(), names::posterior(cell, it))));
        // A posterior that cells share has the settings of the first.
        all.rev().collect()
    }

    /// Where its report is written unless another place is named: in its folder, or beside that of a stage, which has only
    /// what the stage wrote.
    pub(super) fn output(&self) -> PathBuf {
        if !self.is_stage {
            return self.folder.join("report");
        }
        let folder = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        folder.with_file_name(format!("{name}-report"))
    }

    /// The command that makes these results; that of a stage is not known.
    pub(super) fn command(&self) -> Option<String> {
        let Measures { file, overrides, .. } = &self.measures;
        if self.is_stage {
            return None;
        }
        let total: f64 = self.tasks().map(|(_, seconds)| seconds).sum();
        let time =
            if total > 0.0 { format!("  # {} of work, summed over all tasks", duration(total)) } else { String::new() };
        let set: String = overrides.iter().map(|setting| format!(" --set {}", quoted(setting))).collect();
        let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
        let file = if file.chars().all(plain) { file.clone() } else { quoted(file) };
        let command = self.times.command.clone().unwrap_or_else(|| format!("onebasin run {file}{set}"));
        Some(format!("{command}{time}"))
    }

    /// The seconds of each task.
    fn tasks(&self) -> impl Iterator<Item = (&str, f64)> {
        let seconds = self.times.seconds.iter().filter(|(place, _)| !place.ends_with("/seconds"));
        seconds.map(|(place, seconds)| (place.as_str(), *seconds))
    }

    /// The posteriors that were trained.
    pub(super) fn posteriors(&self, prefix: &str) -> Option<Section> {
        let numbers = ["parameters", "test error, %", "test NLL", "test ECE", "trained in"];
        let mut table = draw::table(&["posterior"], numbers);
        let mut seen: Vec<&str> = Vec::new();
        let mut quality = None;
        for (cell, posterior) in
            self.measures.cells.iter().flat_map(|cell| cell.posteriors.iter().map(move |it| (cell, it)))
        {
            if seen.contains(&posterior.id.as_str()) {
                continue;
            }
            seen.push(&posterior.id);
            let seconds = self.times.seconds.get(&format!("posteriors/{}", posterior.id));
            let test = quality.insert(posterior.result.test);
            table.push([
                names::posterior(cell, posterior),
                posterior.parameters.to_string(),
                format!("{:.2}", 100.0 * test.error),
                format!("{:.4}", test.nll),
                draw::or_dash(posterior.result.calibration, |calibration| format!("{:.4}", calibration.ece)),
                draw::or_dash(seconds, |seconds| duration(*seconds)),
            ]);
        }
        let of = quality.map_or_else(String::new, |test| {
            let [examples, samples] = [(test.examples, "test example"), (test.samples, "sample")]
                .map(|(count, thing)| draw::count(count, thing));
            format!(": the quality of their predictions on {examples}, {samples} averaged")
        });
        let caption = format!("Trained posteriors{of}");
        let block = Block::Table { id: format!("{prefix}posteriors"), caption, table };
        let section = Section { id: format!("{prefix}trained"), title: "Posteriors".to_owned(), blocks: vec![block] };
        (!seen.is_empty()).then_some(section)
    }

    /// Version, machine, settings, checksums of data and times.
    pub(super) fn provenance(&self) -> Result<Vec<(String, String)>> {
        let Measures { version, experiment, data, .. } = &self.measures;
        let settings = |error: toml::ser::Error| Error::Settings(error.into());
        let table: toml::Table =
            serde_json::from_value(without_null(experiment.clone())).map_err(|error| Error::Settings(error.into()))?;
        let what = if self.is_stage { "settings" } else { "experiment" };
        let mut all = vec![
            ("version".to_owned(), format!("onebasin {version}")),
            ("machine".to_owned(), self.times.machine.clone()),
            (what.to_owned(), toml::to_string(&table).map_err(settings)?),
        ];
        all.extend(data.iter().map(|(file, sum)| (file.clone(), format!("SHA-256 {sum}"))));
        let cells = &self.measures.cells;
        all.extend(self.tasks().map(|(place, seconds)| (names::place(cells, place), duration(seconds))));
        all.retain(|(_, value)| !value.trim().is_empty());
        Ok(all)
    }
}

/// The result of a stage as the measures of an experiment that has nothing else.
fn measures_of(folder: &Path, Found { stage, title, result }: Found) -> Result<Measures> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let own = name(&folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let posteriors = result.get("posteriors").and_then(Value::as_array).map(|files| {
        let called = |file: &Path| match file.parent() {
            Some(folder) if file.ends_with(onebasin::experiment::POSTERIOR) => name(folder),
            _ => name(file),
        };
        files.iter().filter_map(Value::as_str).map(|file| called(Path::new(file))).collect::<Vec<_>>().join(" and ")
    });
    let about = posteriors.as_ref().map(|posteriors| format!("Measured between {posteriors}, which are A and B."));
    let cell = json!({ "id": "", "settings": {}, "posteriors": [], "stages": { stage: result } });
    // A training has its settings in a file of their own.
    let config = || toml::from_str(&fs::read_to_string(folder.join("config.toml")).ok()?).ok();
    let settings = result.get("settings").cloned().or_else(config).unwrap_or_else(|| json!({}));
    let version = result.get("version").cloned().unwrap_or_else(|| json!(env!("CARGO_PKG_VERSION")));
    let measures = json!({
        "version": version, "name": own, "overrides": [], "title": format!("{title}: {}", posteriors.unwrap_or(own.clone())),
        "about": about.unwrap_or_default(), "experiment": settings, "data": {}, "cells": [cell],
    });
    serde_json::from_value(measures).map_err(|source| Error::Unreadable { task: stage.to_owned(), source })
}

/// An argument in quotes for a shell.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Seconds with the unit that suits them.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 1.0 => format!("{:.0} ms", 1000.0 * short),
        few if few < 120.0 => format!("{few:.1} s"),
        many if many < 7200.0 => format!("{:.0} min", many / 60.0),
        hours => format!("{:.1} h", hours / 3600.0),
    }
}

/// JSON without nulls, which TOML does not have.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, without_null(value))).collect())
        }
        Value::Array(values) => {
            Value::Array(values.into_iter().filter(|value| !value.is_null()).map(without_null).collect())
        }
        other => other,
    }
}
