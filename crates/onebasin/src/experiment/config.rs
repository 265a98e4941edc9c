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

/// Sets a value by its whole name, such as `train.prior.variance`.
pub(super) fn set(table: &mut Table, path: &str, value: Value) -> Result<()> {
    let fault = || Error::Unreadable {
        text: path.to_owned(),
        expected: "the name of a setting, such as infer.optimise.learning_rate",
    };
    let keys: Vec<&str> = path.split('.').map(str::trim).collect();
    let (last, parents) = keys.split_last().ok_or_else(fault)?;
    if keys.iter().any(|key| key.is_empty()) {
        return Err(fault());
    }
    let mut inner = table;
    for key in parents {
        let entry = inner.entry((*key).to_owned()).or_insert_with(|| Value::Table(Table::new()));
        inner = entry.as_table_mut().ok_or_else(fault)?;
    }
    inner.insert((*last).to_owned(), value);
    Ok(())
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
