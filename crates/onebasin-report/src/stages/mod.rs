//! The results of the stages as tables, figures and key results: one file for each stage, and one line in the list below.

use crate::error::{Error, Result};
use crate::figure::Figure;
use crate::page::{Block, Headline, Section};
use crate::table::Table;
use onebasin::experiment::Stage;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a page shows of the result of a stage.
pub(crate) trait StageReport: DeserializeOwned {
    /// Title of the section.
    const TITLE: &'static str;

    /// Reason why the result cannot be drawn, if there is one.
    fn fault(&self) -> Option<&'static str> {
        None
    }

    /// Text above the figures; may be empty.
    fn introduction(&self) -> String {
        String::new()
    }

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

/// Declares the module of each stage, and the function that finds a stage by its name.
macro_rules! stages {
    ($($name:ident: $Stage:ident,)*) => {
        $(pub mod $name;)*

        /// Key results and the section of the result of a task, such as `barrier/0-1`; its identifiers begin with `prefix`.
        pub(crate) fn section(task: &str, result: &Value, prefix: &str) -> Result<(Vec<Headline>, Section)> {
            match stage_of(task) {
                $(onebasin::experiment::stages::$name::$Stage::NAME => shown::<onebasin::experiment::stages::$name::$Stage>(task, result, prefix),)*
                name => Err(Error::UnknownStage(name.to_owned())),
            }
        }
    };
}

// rustfmt does not find modules that a macro declares; `.ci/run` formats them by their names.
stages! {
    align: Align,
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

/// Key results; and text, figures and tables in this order.
fn shown<S: Stage<Result: StageReport>>(task: &str, result: &Value, prefix: &str) -> Result<(Vec<Headline>, Section)> {
    let result = read::<S>(task, result)?;
    let id = format!("{prefix}{}", task.replace('/', "-"));
    let mut title = S::Result::TITLE.to_owned();
    if let [_, method @ .., seeds] = &task.split('/').collect::<Vec<_>>()[..] {
        title += &method.iter().map(|name| format!(", {name}")).collect::<String>();
        title += &format!(", seeds {}", seeds.replace('-', " and "));
    }
    let text = Some(result.introduction()).filter(|text| !text.is_empty()).map(Block::Text);
    let figures = result.figures(&id).into_iter().map(Block::Figure);
    let tables = result.tables().into_iter().enumerate().map(|(index, (caption, table))| {
        let id = if index == 0 { format!("{id}-table") } else { format!("{id}-table{}", index + 1) };
        Block::Table { id, caption, table }
    });
    let blocks = text.into_iter().chain(figures).chain(tables).collect();
    Ok((result.headlines(), Section { id, title, blocks }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onebasin::experiment::Sections;

    #[test]
    fn every_stage_of_an_experiment_has_a_section() {
        for name in Sections::NAMES {
            let error = section(name, &Value::Null, "").unwrap_err();
            assert!(matches!(error, Error::Unreadable { .. }), "{name}: {error}");
        }
        assert!(matches!(section("other/0-1", &Value::Null, ""), Err(Error::UnknownStage(name)) if name == "other"));
    }
}
