//! The results of the stages as tables, figures and key results: one file for each stage, and one line in the list below.

use crate::error::{Error, Result};
use crate::figure::Figure;
use crate::page::{Block, Headline, Section};
use crate::table::Table;
use onebasin::experiment::Stage;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a page shows of the result of a stage.
pub(crate) trait StageReport: DeserializeOwned {
    /// Title of the section.
    const TITLE: &'static str;

    /// Reason why the result cannot be drawn, if there is one.
    fn fault(&self) -> Option<&'static str> {
        None
    }

    /// What was found, in one sentence with the numbers.
    fn finding(&self) -> Option<String> {
        None
    }

    /// Text above the figures: what is shown, and of how many samples, points and examples; may be empty.
    fn introduction(&self) -> String {
        String::new()
    }

    /// Replaces the names of folders by names that say more.
    fn rename(&mut self, _names: &BTreeMap<String, String>) {}

    /// Key results.
    fn headlines(&self) -> Vec<Headline> {
        Vec::new()
    }

    /// Figures, whose identifiers begin with `id`.
    fn figures(&self, _id: &str) -> Vec<Figure> {
        Vec::new()
    }

    /// Tables with their captions.
    fn tables(&self) -> Vec<(String, Table)>;
}

/// The result of a task as a part of a page.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// What was found, in one sentence.
    pub(crate) finding: Option<String>,
    pub(crate) headlines: Vec<Headline>,
    pub(crate) section: Section,
}

/// Declares the module of each stage, and the functions that find a stage by its name or by its result.
macro_rules! stages {
    ($($name:ident: $Stage:ident,)*) => {
        $(pub mod $name;)*

        /// The result of a task, such as `barrier/0-1`; its identifiers begin with `prefix`.
        pub(crate) fn show(task: &str, result: &Value, prefix: &str, names: &BTreeMap<String, String>) -> Result<Shown> {
            match stage_of(task) {
                $(onebasin::experiment::stages::$name::$Stage::NAME => shown::<onebasin::experiment::stages::$name::$Stage>(task, result, prefix, names),)*
                name => Err(Error::UnknownStage(name.to_owned())),
            }
        }

        /// The name of the stage whose result is in a folder, and the result; none if there is no such file.
        pub(crate) fn find(folder: &Path) -> Result<Option<Found>> {
            $(if let Some(found) = found::<onebasin::experiment::stages::$name::$Stage>(folder)? {
                return Ok(Some(found));
            })*
            Ok(None)
        }
    };
}

// rustfmt does not find modules that a macro declares; `.ci/run` formats them by their names.
stages! {
    align: Align,
    align_network: AlignNetwork,
    barrier: Barrier,
    compact: Compact,
    plane: Plane,
    planted: PlantedSettings,
    swap: SwapSettings,
    train: Train,
    transpositions: TranspositionsSettings,
}

/// The name of the stage in the name of a task: `barrier` of `barrier/0-1`.
pub(crate) fn stage_of(task: &str) -> &str {
    task.split_once('/').map_or(task, |(stage, _)| stage)
}

/// Reads the result of a task, and checks it.
pub(crate) fn read<S: Stage<Result: StageReport>>(task: &str, result: &Value) -> Result<S::Result> {
    let unreadable = |source| Error::Unreadable { task: task.to_owned(), source };
    let result: S::Result = serde_json::from_value(result.clone()).map_err(unreadable)?;
    match result.fault() {
        Some(reason) => Err(Error::Incomplete { task: task.to_owned(), reason }),
        None => Ok(result),
    }
}

/// The result of a stage in a folder of its own.
pub(crate) struct Found {
    /// Name of the stage.
    pub(crate) stage: &'static str,
    /// Title of its section.
    pub(crate) title: &'static str,
    pub(crate) result: Value,
}

/// The result in a folder, if it is one of this stage.
fn found<S: Stage<Result: StageReport>>(folder: &Path) -> Result<Option<Found>> {
    let file = folder.join(S::RESULT);
    let Ok(text) = fs::read_to_string(&file) else { return Ok(None) };
    let fault = |error: serde_json::Error| Error::from(onebasin::error::Error::damaged(&file, &error));
    let result: Value = serde_json::from_str(&text).map_err(fault)?;
    let found = Found { stage: S::NAME, title: S::Result::TITLE, result };
    Ok(S::Result::deserialize(&found.result).is_ok().then_some(found))
}

/// Text, figures and tables in this order.
fn shown<S: Stage<Result: StageReport>>(
    task: &str,
    result: &Value,
    prefix: &str,
    names: &BTreeMap<String, String>,
) -> Result<Shown> {
    let mut result = read::<S>(task, result)?;
    result.rename(names);
    let id = format!("{prefix}{}", task.replace('/', "-"));
    let mut title = S::Result::TITLE.to_owned();
    if let [_, method @ .., seeds] = &task.split('/').collect::<Vec<_>>()[..] {
        title += &method.iter().map(|name| format!(", {name}")).collect::<String>();
        // Posteriors are called by their seeds, or by names, which may have a hyphen themselves.
        title += &match seeds.split_once("--") {
            Some((from, to)) => format!(", {from} and {to}"),
            None => format!(", seeds {}", seeds.replace('-', " and ")),
        };
    }
    let text = Some(result.introduction()).filter(|text| !text.is_empty()).map(Block::Text);
    let figures = result.figures(&id).into_iter().map(Block::Figure);
    let tables = result.tables().into_iter().enumerate().map(|(index, (caption, table))| {
        let id = if index == 0 { format!("{id}-table") } else { format!("{id}-table{}", index + 1) };
        Block::Table { id, caption, table }
    });
    let blocks = text.into_iter().chain(figures).chain(tables).collect();
    Ok(Shown { finding: result.finding(), headlines: result.headlines(), section: Section { id, title, blocks } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onebasin::experiment::Sections;

    #[test]
    fn titles_call_posteriors_by_their_seeds_or_names() {
        let distances = serde_json::json!({ "kl": 1.0, "variance_ratios": 1.0, "w2": 1.0 });
        let settings = serde_json::json!({ "means": [[0.0, 0.0], [0.0, 0.0]], "stds": [[1.0, 1.0], [1.0, 1.0]] });
        let result = serde_json::json!({
            "version": "", "settings": settings, "before": distances, "after": distances,
        });
        let title = |task: &str| show(task, &result, "", &BTreeMap::new()).unwrap().section.title;
        assert!(title("swap/1-2").ends_with(", seeds 1 and 2"));
        assert!(title("swap/w2/run-1--run-2").ends_with(", w2, run-1 and run-2"));
    }

    #[test]
    fn every_stage_of_an_experiment_has_a_section() {
        for name in Sections::NAMES {
            let error = show(name, &Value::Null, "", &BTreeMap::new()).unwrap_err();
            assert!(matches!(error, Error::Unreadable { .. }), "{name}: {error}");
        }
        let unknown = show("other/0-1", &Value::Null, "", &BTreeMap::new());
        assert!(matches!(unknown, Err(Error::UnknownStage(name)) if name == "other"));
    }
}
