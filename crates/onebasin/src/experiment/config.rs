//! Configurations: TOML text, changed by overrides, read into typed settings with errors that name the key.

use super::data_config::{DataConfig, DataSource, missing};
use crate::arch::Shape;
use crate::data::catalogue;
use crate::error::{Error, Result};
use crate::infer::ViConfig;
use crate::keys;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Reads TOML, then applies overrides such as `a.b=c`; errors call the text `name`.
pub fn read_table(name: &str, text: &str, overrides: &[String]) -> Result<Table> {
    let mut table: Table = toml::from_str(text).map_err(|error: toml::de::Error| Error::Config {
        name: name.to_owned(),
        // With the line and a mark below it.
        reason: error.to_string().trim_end().to_owned(),
    })?;
    for text in overrides {
        override_setting(&mut table, text)?;
    }
    Ok(table)
}

/// Reads typed settings from a table; errors call it `name` and say which key is wrong.
///
/// The shape and the number of classes of a data set complete the network that stands beside it, and variational inference
/// that starts at no posterior is told its standard deviation.
pub fn from_table<T: DeserializeOwned>(name: &str, mut table: Table) -> Result<T> {
    complete_networks(&mut table, "", None).map_err(|error| error.at(name))?;
    complete_starts(&mut table);
    keys::from_table(name, table.clone()).or_else(|error| {
        // A mistake in the data says more than what a network lacks for want of them.
        complete_networks(&mut table, "", Some((Shape::vector(1), 2)))?;
        keys::from_table::<T>(name, table.clone())?;
        check_sources(&table, "").map_err(|error| error.at(name))?;
        Err(error)
    })
}

/// Writes out what files of data say, so that it is read once where several configurations are made of a table.
pub(super) fn complete_data(name: &str, table: &mut Table) -> Result<()> {
    complete_networks(table, "", None).map_err(|error| error.at(name))
}

/// Refuses a training configuration where an experiment is read.
pub(super) fn check_is_experiment(name: &str, table: &Table) -> Result<()> {
    let has = |key: &str| table.contains_key(key);
    if has("infer") && !has("train") {
        let reason = format!("it is the configuration of one training; use `onebasin train {name}`");
        return Err(Error::Config { name: name.to_owned(), reason });
    }
    Ok(())
}

/// Refuses an experiment where a training configuration is read.
pub(super) fn check_is_training(name: &str, table: &Table) -> Result<()> {
    let has = |key: &str| table.contains_key(key);
    if (has("train") || has("title") || has("sweep")) && !has("infer") {
        let reason = format!("it is an experiment, not the configuration of one training; use `onebasin run {name}`");
        return Err(Error::Config { name: name.to_owned(), reason });
    }
    Ok(())
}

/// Sets a value by its whole name, such as `train.prior.variance`; a key that is written with its dots in quotes is found,
/// too, as `"train.prior.variance"` in a sweep.
pub(super) fn set(table: &mut Table, path: &str, value: Value) -> Result<()> {
    let fault = || Error::Unreadable {
        text: path.to_owned(),
        expected: "the name of a setting, such as infer.optimise.learning_rate",
    };
    let keys: Vec<&str> = path.split('.').map(|key| key.trim_matches([' ', '\t', '"', '\'']).trim()).collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(fault());
    }
    let (mut inner, mut rest) = (table, &keys[..]);
    loop {
        let quoted = (2..=rest.len()).rev().find(|count| inner.contains_key(&rest[..*count].join(".")));
        let (key, others) = rest.split_at(quoted.unwrap_or(1));
        let (key, table) = (key.join("."), inner);
        if others.is_empty() {
            table.insert(key, value);
            return Ok(());
        }
        let entry = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
        (inner, rest) = (entry.as_table_mut().ok_or_else(fault)?, others);
    }
}

/// Applies `a.b=c`; `c` is TOML if it can be, a string if not.
fn override_setting(table: &mut Table, text: &str) -> Result<()> {
    let (path, value) = text.split_once('=').ok_or_else(|| Error::Unreadable {
        text: text.to_owned(),
        expected: "a setting to override, such as infer.optimise.learning_rate=1e-3",
    })?;
    let parsed = toml::from_str::<Table>(&format!("value = {value}")).ok();
    // With a line break in it, it could be several settings.
    let parsed = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    set(table, path, parsed.unwrap_or_else(|| Value::String(value.trim().to_owned())))
}

/// Completes every network that stands beside a data set, in this table, which is called `prefix`, and in those inside; others
/// get the shape and the number of classes that are given, if they are. A file of data gets its SHA-256.
fn complete_networks(table: &mut Table, prefix: &str, others: Option<(Shape, usize)>) -> Result<()> {
    let has = |key: &str| table.get("arch").and_then(Value::as_table).is_none_or(|arch| arch.contains_key(key));
    let is_complete = has("input") && has("classes");
    let name = table.get("data").and_then(|data| data.get("name")).and_then(Value::as_str);
    // A name that is wrong is said before anything else that is.
    let named = name.map(catalogue::find).transpose()?.map(|entry| (entry.shape, entry.classes));
    let own = match table.get_mut("data") {
        Some(Value::Table(data)) => complete_own(data, &inside(prefix, "data"), is_complete)?,
        _ => None,
    };
    if let (Some((shape, classes)), Some(Value::Table(arch))) = (named.or(own).or(others), table.get_mut("arch")) {
        arch.entry("input").or_insert_with(|| Value::String(shape.to_string()));
        arch.entry("classes").or_insert(Value::Integer(classes as i64));
    }
    for (key, value) in table.iter_mut() {
        if let Some(inner) = value.as_table_mut() {
            complete_networks(inner, &inside(prefix, key), others)?;
        }
    }
    Ok(())
}

/// Adds the SHA-256 of a file of data to its table, and returns the shape of its examples and the number of its classes unless
/// the network `is_complete` without them.
fn complete_own(data: &mut Table, prefix: &str, is_complete: bool) -> Result<Option<(Shape, usize)>> {
    // A table with another mistake is refused when it is read.
    let Ok(config) = Value::Table(data.clone()).try_into::<DataConfig>() else { return Ok(None) };
    if config.path.is_none() {
        return Ok(None);
    }
    let within = |error: Error| error.within(prefix);
    let DataSource::Own(own) = config.source().map_err(within)? else { return Ok(None) };
    if !data.contains_key("sha256") {
        data.insert("sha256".to_owned(), Value::String(own.sha256().map_err(|error| missing(&own, error))?));
    }
    if is_complete {
        return Ok(None);
    }
    let summary = own.summary().map_err(within)?;
    Ok(Some((summary.shape, summary.classes)))
}

/// Refuses data beside a network that have neither a name nor a path.
fn check_sources(table: &Table, prefix: &str) -> Result<()> {
    if let Some(Value::Table(data)) = table.get("data").filter(|_| table.contains_key("arch"))
        && let Ok(config) = Value::Table(data.clone()).try_into::<DataConfig>()
    {
        config.check().map_err(|error| error.within(&inside(prefix, "data")))?;
    }
    let mut inner = table.iter().filter_map(|(key, value)| Some((key, value.as_table()?)));
    inner.try_for_each(|(key, inner)| check_sources(inner, &inside(prefix, key)))
}

/// The whole name of a key in a table.
fn inside(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// Writes the standard deviation at the start of variational inference out where no posterior could give another.
fn complete_starts(table: &mut Table) {
    let starts = table.contains_key("start");
    for (key, value) in table.iter_mut() {
        let Value::Table(inner) = value else { continue };
        let is_vi = key == "infer" && inner.get("method").and_then(Value::as_str) == Some("vi");
        if is_vi && !starts && !inner.contains_key("moped") {
            inner.entry("std").or_insert(Value::Float(ViConfig::STD));
        }
        complete_starts(inner);
    }
}
