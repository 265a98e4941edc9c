//! All that an experiment measured, in one file that is the same whenever and wherever it is run; and apart from it, how long
//! that took.

use super::experiment::Cell;
use super::experiment::Experiment;
use super::plan::POSTERIORS;
use super::plan::Plan;
use crate::commands::members::POSTERIOR;
use anyhow::Context;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The file of all measures.
pub(crate) const MEASURES: &str = "measures.json";
/// The file of all times.
pub(crate) const TIMES: &str = "times.json";

/// All measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measures {
    pub(crate) version: String,
    /// Of the file of the experiment, without its ending.
    pub(crate) name: String,
    /// What was changed on the command line.
    pub(crate) overrides: Vec<String>,
    pub(crate) title: String,
    pub(crate) about: String,
    /// As it was written, with what was changed on the command line.
    pub(crate) experiment: Value,
    /// SHA-256 of the files of data sets.
    pub(crate) data: BTreeMap<String, String>,
    pub(crate) cells: Vec<Measured>,
}

/// What was measured in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) id: String,
    /// What is swept, by its whole name, and its value here.
    pub(crate) settings: BTreeMap<String, Value>,
    pub(crate) posteriors: Vec<Trained>,
    /// The reports of the stages by their folders, such as `barrier/0-1`.
    pub(crate) stages: BTreeMap<String, Value>,
}

/// A posterior that was inferred.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Trained {
    pub(crate) id: String,
    pub(crate) seed: u64,
    pub(crate) parameters: usize,
    pub(crate) result: Value,
}

/// What is not the same each time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) machine: String,
    /// Seconds of each stage, and of what it says took time, by its place in the measures.
    pub(crate) seconds: BTreeMap<String, f64>,
}

/// Reads the results of all stages, which are done.
pub(super) fn collect(
    experiment: &Experiment,
    plan: &Plan,
    data: BTreeMap<String, String>,
    machine: String,
) -> anyhow::Result<(Measures, Times)> {
    let mut times = Times { machine, seconds: BTreeMap::new() };
    let mut cells = Vec::new();
    for cell in &experiment.cells {
        cells.push(measured(cell, plan, &mut times)?);
    }
    let measures = Measures {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: experiment.name.clone(),
        overrides: experiment.overrides.clone(),
        title: experiment.title.clone(),
        about: experiment.about.clone(),
        experiment: serde_json::to_value(&experiment.table)?,
        data,
        cells,
    };
    Ok((measures, times))
}

fn measured(cell: &Cell, plan: &Plan, times: &mut Times) -> anyhow::Result<Measured> {
    let mut posteriors = Vec::new();
    for posterior in &cell.posteriors {
        let stage = plan.training(posterior)?;
        let result = read(&stage.folder.join(stage.report))?;
        if let Some(record) = stage.record() {
            times.seconds.insert(format!("posteriors/{}", posterior.id), record.seconds);
        }
        posteriors.push(Trained {
            id: posterior.id.clone(),
            seed: posterior.config.seed,
            parameters: onebasin::arch::Arch::new(posterior.config.arch.clone())?.layout().len(),
            result,
        });
    }
    let mut stages = BTreeMap::new();
    for (name, stage) in plan.stages(cell)? {
        let place = format!("cells/{}/{name}", cell.id);
        let mut report = read(&stage.folder.join(stage.report))?;
        if let Some(record) = stage.record() {
            times.seconds.insert(place.clone(), record.seconds);
        }
        normalise(&mut report, &place, times);
        stages.insert(name, report);
    }
    let settings = cell.settings.iter().map(|(key, value)| Ok((key.clone(), serde_json::to_value(value)?)));
    Ok(Measured { id: cell.id.clone(), settings: settings.collect::<anyhow::Result<_>>()?, posteriors, stages })
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Moves seconds to the times, and makes paths of posteriors relative to the folder of the experiment.
fn normalise(value: &mut Value, place: &str, times: &mut Times) {
    match value {
        Value::Object(fields) => {
            if let Some(seconds) = fields.remove("seconds").and_then(|seconds| seconds.as_f64()) {
                times.seconds.insert(format!("{place}/seconds"), seconds);
            }
            let fields: &mut Map<String, Value> = fields;
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
            if let Some(inside) = text.find(POSTERIORS).filter(|_| text.ends_with(POSTERIOR)) {
                *text = text.split_off(inside);
            }
        }
        _ => {}
    }
}
