//! All that an experiment measured, in one file that is the same whenever and wherever it is run; and apart from it, how
//! long that took.

use super::inputs::POSTERIOR;
use super::literature::Literature;
use super::read::{Cell, Experiment, POSTERIORS};
use super::stage::{Stage, Task};
use super::stages::barrier::{Barrier, BarrierResult};
use super::stages::over_pairs::{OverPairs, PAIRS_HEADER, over_pairs, pair_lines};
use super::stages::train::TrainResult;
use crate::arch::Arch;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The file of all measures.
pub const MEASURES: &str = "measures.json";
/// The file of all times.
pub const TIMES: &str = "times.json";

/// All measures of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Version of onebasin.
    pub version: String,
    /// File of the experiment.
    #[serde(default)]
    pub file: String,
    /// Name of that file, without its ending.
    pub name: String,
    /// Settings that were overridden.
    pub overrides: Vec<String>,
    /// Title of the report.
    pub title: String,
    /// What is asked, and what the answer means.
    pub about: String,
    /// Numbers of other work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub literature: Vec<Literature>,
    /// The experiment with its overrides.
    pub experiment: Value,
    /// SHA-256 of the files of data sets.
    pub data: BTreeMap<String, String>,
    /// What was measured in each cell.
    pub cells: Vec<Measured>,
}

/// What was measured in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the cell's folder.
    pub id: String,
    /// Settings that are swept, by their whole names, and their values here.
    pub settings: BTreeMap<String, Value>,
    /// Posteriors that were trained.
    pub posteriors: Vec<Trained>,
    /// Results of the stages by their folders, such as `barrier/0-1`.
    pub stages: BTreeMap<String, Value>,
    /// Barriers over pairs of posteriors, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers_over_pairs: Vec<OverPairs>,
    /// Tasks without a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// A task without a result: it diverged, or needs one that did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What a person calls the task.
    pub task: String,
    /// What happened.
    pub reason: String,
}

/// A posterior that was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// Name of its folder.
    pub id: String,
    /// Seed of its training.
    pub seed: u64,
    /// Number of its parameters.
    pub parameters: usize,
    /// Result of its training.
    pub result: TrainResult,
}

/// What is not the same each time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What the seconds depend on.
    pub machine: String,
    /// The command that was typed, if that is not `onebasin run` with the file and the overrides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Seconds of each stage, and of what it says took time, by its place in the measures.
    pub seconds: BTreeMap<String, f64>,
}

impl Measures {
    /// Reads the results of all tasks, which are done but for those that failed, by their folders.
    pub(super) fn collect(
        experiment: &Experiment,
        folder: &Path,
        data: BTreeMap<String, String>,
        failures: &BTreeMap<PathBuf, Failure>,
        times: &mut Times,
    ) -> Result<Self> {
        let cells = experiment.cells.iter().map(|cell| Measured::collect(cell, folder, failures, times));
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: experiment.file.clone(),
            name: experiment.name.clone(),
            overrides: experiment.overrides.clone(),
            title: experiment.title.clone(),
            about: experiment.about.clone(),
            literature: experiment.literature.clone(),
            experiment: serde_json::to_value(&experiment.table).expect("a table is plain data"),
            data,
            cells: cells.collect::<Result<_>>()?,
        })
    }

    /// Reads what a finished experiment left in its folder, with the times, if they are there.
    pub fn read(folder: &Path) -> Result<(Self, Times)> {
        let file = folder.join(MEASURES);
        let text = fs::read_to_string(&file).map_err(|_| Error::Folder {
            path: folder.to_owned(),
            reason: format!("it has no {MEASURES}, so it is not the folder of a finished experiment"),
        })?;
        let measures = serde_json::from_str(&text).map_err(|error| Error::damaged(&file, &error))?;
        let times = fs::read_to_string(folder.join(TIMES)).ok();
        let times = times.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok((measures, times))
    }
}

impl Measured {
    fn collect(cell: &Cell, folder: &Path, failures: &BTreeMap<PathBuf, Failure>, times: &mut Times) -> Result<Self> {
        let (mut posteriors, mut stages, mut barriers, mut failed) =
            (Vec::new(), BTreeMap::new(), Vec::new(), Vec::new());
        // The trainings come first, in the order of the posteriors.
        for (index, task) in cell.tasks(folder)?.into_iter().enumerate() {
            if let Some(failure) = failures.get(&task.folder) {
                failed.push(failure.clone());
                continue;
            }
            let trained = cell.posteriors.get(index);
            let place = if trained.is_some() { task.name.clone() } else { format!("cells/{}/{}", cell.id, task.name) };
            if let Some(record) = task.record() {
                times.seconds.insert(place.clone(), record.seconds);
            }
            let mut result = task.result()?;
            let Some(posterior) = trained else {
                normalise(&mut result, &place, times);
                if task.name.starts_with(Barrier::NAME) {
                    barriers.push(read::<BarrierResult>(&result, &task)?);
                }
                stages.insert(task.name.clone(), result);
                continue;
            };
            posteriors.push(Trained {
                id: posterior.id.clone(),
                seed: posterior.config.seed,
                parameters: Arch::new(posterior.config.arch.clone())?.layout().len(),
                result: read(&result, &task)?,
            });
        }
        let settings = cell
            .settings
            .iter()
            .map(|(key, value)| (key.clone(), serde_json::to_value(value).expect("a setting is plain data")));
        let barriers_over_pairs = if barriers.len() > 1 { over_pairs(&barriers) } else { Vec::new() };
        Ok(Self {
            id: cell.id.clone(),
            settings: settings.collect(),
            posteriors,
            stages,
            barriers_over_pairs,
            failures: failed,
        })
    }

    /// The barriers of all pairs, by the names of the pairs, such as `0-1`.
    pub fn pairs(&self) -> Result<Vec<(String, BarrierResult)>> {
        let pair_of = |task: &str| Some(task.strip_prefix(Barrier::NAME)?.strip_prefix('/')?.to_owned());
        let pairs = self.stages.iter().filter_map(|(task, result)| Some((pair_of(task)?, task, result)));
        let read = |(pair, task, result): (String, &String, &Value)| {
            let result = BarrierResult::deserialize(result);
            Ok((pair, result.map_err(|error| Error::damaged(Path::new(task), &error))?))
        };
        pairs.map(read).collect()
    }
}

/// The barriers and distances of all pairs of all cells as comma-separated values; nothing if there is no cell of several pairs.
pub(super) fn pairs_table(measures: &Measures) -> Result<Option<String>> {
    let several = measures.cells.iter().any(|cell| !cell.barriers_over_pairs.is_empty());
    let mut text = format!("settings,{PAIRS_HEADER}\n");
    for cell in &measures.cells {
        let settings: Vec<String> = cell.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let settings = settings.join(", ").replace('"', "\"\"");
        for (pair, result) in cell.pairs()? {
            for line in pair_lines(&pair, &result) {
                writeln!(text, "\"{settings}\",{line}").expect("a string can be written to");
            }
        }
    }
    Ok(several.then_some(text))
}

/// The result of a task in its own type.
fn read<T: DeserializeOwned>(result: &Value, task: &Task) -> Result<T> {
    T::deserialize(result).map_err(|error| Error::damaged(&task.folder, &error))
}

/// Moves seconds to the times, and makes paths of posteriors relative to the folder of the experiment.
fn normalise(value: &mut Value, place: &str, times: &mut Times) {
    match value {
        Value::Object(fields) => {
            if let Some(seconds) = fields.remove("seconds").and_then(|seconds| seconds.as_f64()) {
                times.seconds.insert(format!("{place}/seconds"), seconds);
            }
            for (key, value) in fields {
                normalise(value, &format!("{place}/{key}"), times);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                normalise(value, &format!("{place}/{index}"), times);
            }
        }
        Value::String(text) => {
            // The same on every platform.
            let slashes = text.replace(std::path::MAIN_SEPARATOR, "/");
            // The last one: the experiment may itself lie in a folder of such a name.
            if let Some(inside) = slashes.rfind(&format!("{POSTERIORS}/")).filter(|_| slashes.ends_with(POSTERIOR)) {
                slashes[inside..].clone_into(text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_named_like_posteriors_changes_no_measure() {
        let mut times = Times::default();
        for folder in ["runs/x", "my-posteriors/x", "posteriors/posteriors/x"] {
            let mut value = Value::String(format!("{folder}/posteriors/0a1b/{POSTERIOR}"));
            normalise(&mut value, "", &mut times);
            assert_eq!(value, Value::String(format!("posteriors/0a1b/{POSTERIOR}")), "{folder}");
        }
    }
}
