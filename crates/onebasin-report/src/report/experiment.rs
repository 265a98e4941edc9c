//! One experiment of a report: its measures and times, its command, its posteriors and its provenance.

use crate::draw;
use crate::error::{Error, Result};
use crate::page::{Block, Headline, Section};
use onebasin::experiment::{Measures, Times};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Key results and sections of an experiment.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) headlines: Vec<Headline>,
    pub(super) sections: Vec<Section>,
}

/// What an experiment left in its folder.
#[derive(Debug)]
pub(super) struct Experiment {
    pub(super) folder: PathBuf,
    pub(super) measures: Measures,
    pub(super) times: Times,
}

impl Experiment {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let (measures, times) = Measures::read(folder)?;
        Ok(Self { folder: folder.to_owned(), measures, times })
    }

    /// The command that makes these results.
    pub(super) fn command(&self) -> String {
        let Measures { file, command, overrides, .. } = &self.measures;
        let total: f64 = self.tasks().map(|(_, seconds)| seconds).sum();
        let time =
            if total > 0.0 { format!("  # {} of work, summed over all tasks", duration(total)) } else { String::new() };
        let set: String = overrides.iter().map(|setting| format!(" --set {}", quoted(setting))).collect();
        let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
        let file = if file.chars().all(plain) { file.clone() } else { quoted(file) };
        let command = command.clone().unwrap_or_else(|| format!("onebasin run {file}{set}"));
        format!("{command}{time}")
    }

    /// The seconds of each task.
    fn tasks(&self) -> impl Iterator<Item = (&str, f64)> {
        let seconds = self.times.seconds.iter().filter(|(place, _)| !place.ends_with("/seconds"));
        seconds.map(|(place, seconds)| (place.as_str(), *seconds))
    }

    /// The posteriors that were trained.
    pub(super) fn posteriors(&self, prefix: &str) -> Option<Section> {
        let numbers = ["seed", "parameters", "test error, %", "test NLL", "trained in"];
        let mut table = draw::table(&["posterior"], numbers);
        let mut seen: Vec<&str> = Vec::new();
        for posterior in self.measures.cells.iter().flat_map(|cell| &cell.posteriors) {
            if seen.contains(&posterior.id.as_str()) {
                continue;
            }
            seen.push(&posterior.id);
            let seconds = self.times.seconds.get(&format!("posteriors/{}", posterior.id));
            table.push([
                posterior.id.clone(),
                posterior.seed.to_string(),
                posterior.parameters.to_string(),
                format!("{:.2}", 100.0 * posterior.result.test.error),
                format!("{:.4}", posterior.result.test.nll),
                draw::or_dash(seconds, |seconds| duration(*seconds)),
            ]);
        }
        let block = Block::Table { id: format!("{prefix}posteriors"), caption: "Trained posteriors".to_owned(), table };
        let section = Section { id: format!("{prefix}trained"), title: "Posteriors".to_owned(), blocks: vec![block] };
        (!seen.is_empty()).then_some(section)
    }

    /// Version, machine, settings, checksums of data and times.
    pub(super) fn provenance(&self) -> Result<Vec<(String, String)>> {
        let Measures { version, experiment, data, .. } = &self.measures;
        let settings = |error: toml::ser::Error| Error::Settings(error.into());
        let table: toml::Table =
            serde_json::from_value(without_null(experiment.clone())).map_err(|error| Error::Settings(error.into()))?;
        let mut all = vec![
            ("version".to_owned(), format!("onebasin {version}")),
            ("machine".to_owned(), self.times.machine.clone()),
            ("experiment".to_owned(), toml::to_string(&table).map_err(settings)?),
        ];
        all.extend(data.iter().map(|(file, sum)| (file.clone(), format!("SHA-256 {sum}"))));
        all.extend(self.tasks().map(|(place, seconds)| (place.to_owned(), duration(seconds))));
        Ok(all)
    }
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
