//! Names of cells and posteriors by their settings, never by their folders.

use onebasin::experiment::{MeasuredCell, Trained};
use serde_json::Value;

/// Settings of the training among those that are swept.
const TRAINING: &str = "train.";

/// Settings with their values, in words.
pub(super) fn settings<'a>(settings: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    settings.map(|(key, value)| format!("{} {}", short(key), text(value))).collect::<Vec<_>>().join(", ")
}

/// A posterior by its seed, and by the settings of its training that are swept.
pub(super) fn posterior(cell: &MeasuredCell, Trained { seed, .. }: &Trained) -> String {
    let swept = settings(cell.settings.iter().filter(|(key, _)| key.starts_with(TRAINING)));
    if swept.is_empty() { format!("seed {seed}") } else { format!("seed {seed}, {swept}") }
}

/// What took time, by its place in the folder of the experiment: a training, or a task of a cell.
pub(super) fn place(cells: &[MeasuredCell], place: &str) -> String {
    let parts = place.split_once('/');
    let name = cells.iter().find_map(|cell| match parts? {
        ("posteriors", id) => {
            let trained = cell.posteriors.iter().find(|posterior| posterior.id == id)?;
            Some(format!("training, {}", posterior(cell, trained)))
        }
        (_, rest) => {
            let task = rest.strip_prefix(&cell.id)?.strip_prefix('/')?;
            let swept = settings(cell.settings.iter());
            Some(if swept.is_empty() { task.to_owned() } else { format!("{task}, {swept}") })
        }
    });
    name.unwrap_or_else(|| place.to_owned())
}

/// The last part of the name of a setting in words, with the part before it if it says little alone.
pub(super) fn short(key: &str) -> String {
    let mut parts = key.rsplit('.');
    let last = parts.next().unwrap_or_default();
    match (parts.next(), last) {
        (Some("prior"), "variance") => "prior variance".to_owned(),
        (Some("arch"), "hidden") => "width of hidden layers".to_owned(),
        _ => last.replace('_', " "),
    }
}

/// The value of a setting in words.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    }
}
