//! Configurations: TOML text, changed by overrides, read into typed settings with errors that name the key.

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
    complete_networks(&mut table, None).map_err(|error| error.at(name))?;
    complete_starts(&mut table);
    keys::from_table(name, table.clone()).or_else(|error| {
        // A mistake in the data says more than what a network lacks for want of them.
        complete_networks(&mut table, Some((Shape::vector(1), 2)))?;
        Err(keys::from_table::<T>(name, table).err().unwrap_or(error))
    })
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

/// Completes every network that stands beside a data set, in this table and in those inside; others get the shape and the
/// number of classes that are given, if they are.
fn complete_networks(table: &mut Table, others: Option<(Shape, usize)>) -> Result<()> {
    let name = table.get("data").and_then(|data| data.get("name")).and_then(Value::as_str);
    // A name that is wrong is said before anything else that is.
    let entry = name.map(catalogue::find).transpose()?.map(|entry| (entry.shape, entry.classes));
    if let (Some((shape, classes)), Some(Value::Table(arch))) = (entry.or(others), table.get_mut("arch")) {
        arch.entry("input").or_insert_with(|| Value::String(shape.to_string()));
        arch.entry("classes").or_insert(Value::Integer(classes as i64));
    }
    let mut inner = table.iter_mut().filter_map(|(_, value)| value.as_table_mut());
    inner.try_for_each(|inner| complete_networks(inner, others))
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
