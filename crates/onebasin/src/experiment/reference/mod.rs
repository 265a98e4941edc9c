//! The reference of all keys of configurations: their types, defaults, units and meanings, from the structs that read them.

mod commented;
mod render;

pub use commented::commented;

use super::read::Head;
use super::stages::Sections;
use super::train_config::TrainConfig;
use crate::error::{Error, List, Result};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The keyword of a schema with the unit of a number.
const UNIT: &str = "x-unit";
/// The keyword of a schema with what stands for a key that is left out, in words.
const ELSE: &str = "x-else";
/// The keyword of a schema with the type of a value that no type of JSON is, in words.
const KIND: &str = "x-kind";
/// The only table that no struct reads, because its keys are those of all others.
const SWEEP: &str = "Lists of values by the whole names of settings, such as `\"train.prior.variance\" = [0.1, 1.0]`; the \
                     experiment runs once for every combination, each a cell.";

/// All keys of both kinds of configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Tables of the configuration of a training.
    pub training: Vec<KeyTable>,
    /// Tables of an experiment; its table `[train]` has those of a training.
    pub experiment: Vec<KeyTable>,
}

/// A table of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTable {
    /// Its whole name, such as `infer.optimise`; empty for the top of a file.
    pub name: String,
    /// Whether there may be several, each under `[[name]]`.
    pub is_list: bool,
    /// The key and the value that choose this form of the table, if there are several.
    pub choice: Option<(String, String)>,
    /// What it is for.
    pub about: String,
    /// Its keys: those without a default, all others by name, then its tables.
    pub keys: Vec<Key>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in the table.
    pub name: String,
    /// Its type in words.
    pub kind: String,
    /// What holds if it is left out.
    pub default: Default,
    /// Unit of a number.
    pub unit: Option<String>,
    /// What it means.
    pub meaning: String,
    /// The values that it can have, and what each means, if they are names.
    pub values: Vec<(String, String)>,
    /// Whether it is a table.
    pub is_table: bool,
}

/// What holds for a key that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be given.
    Required,
    /// This value, in TOML.
    Value(String),
    /// This, in words.
    Words(String),
    /// Nothing.
    None,
}

impl KeyTable {
    /// The whole name of one of its keys.
    pub fn whole(&self, key: &Key) -> String {
        if self.name.is_empty() { key.name.clone() } else { format!("{}.{}", self.name, key.name) }
    }
}

impl Reference {
    /// Reads the structs.
    pub fn new() -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let training = generator.subschema_for::<TrainConfig>().to_value();
        let head = generator.subschema_for::<Head>().to_value();
        let sections = generator.subschema_for::<Sections>().to_value();
        let definitions = generator.take_definitions(true);
        let mut reader = Reader { definitions: &definitions, described: BTreeMap::new(), tables: Vec::new() };
        reader.table("", &training, None);
        let training = std::mem::take(&mut reader.tables);

        let mut whole = reader.resolve(&head).clone();
        let stages = reader.resolve(&sections)["properties"].as_object().cloned().unwrap_or_default();
        if let Some(keys) = whole.get_mut("properties").and_then(Value::as_object_mut) {
            keys.extend(stages);
            keys.insert("sweep".to_owned(), serde_json::json!({ "type": ["object", "null"], "description": SWEEP }));
        }
        reader.table("", &whole, None);
        Self { training, experiment: reader.tables }
    }

    /// The tables whose keys have names that begin with a prefix, or that contain it if none does.
    pub fn about(&self, prefix: &str) -> Result<Self> {
        let prefix = prefix.trim_matches(['[', ']']);
        let inner = prefix.strip_prefix("train.").unwrap_or(prefix);
        for matches in [|name: &str, text: &str| name.starts_with(text), |name: &str, text: &str| name.contains(text)] {
            let chosen = |tables: &[KeyTable], text: &str| {
                let some = |table: &KeyTable| {
                    let mut table = table.clone();
                    let keys = std::mem::take(&mut table.keys);
                    table.keys = keys.into_iter().filter(|key| matches(&table.whole(key), text)).collect();
                    table
                };
                tables.iter().map(some).filter(|table| !table.keys.is_empty()).collect::<Vec<_>>()
            };
            let found = Self { training: chosen(&self.training, inner), experiment: chosen(&self.experiment, prefix) };
            if !found.training.is_empty() || !found.experiment.is_empty() {
                return Ok(found);
            }
        }
        let tables = self.training.iter().chain(&self.experiment);
        let mut known: Vec<String> = tables.flat_map(|table| table.keys.iter().map(|key| table.whole(key))).collect();
        known.sort();
        known.dedup();
        Err(Error::Unknown { kind: "key", name: prefix.to_owned(), known: List(known) })
    }
}

impl std::default::Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

/// Turns schemas into tables.
struct Reader<'a> {
    definitions: &'a Map<String, Value>,
    /// Where each definition is described that is a table.
    described: BTreeMap<String, String>,
    tables: Vec<KeyTable>,
}

impl<'a> Reader<'a> {
    /// What a schema refers to, if it does.
    fn definition(schema: &Value) -> Option<&str> {
        let own = schema.get("$ref").or_else(|| schema.get("anyOf")?.get(0)?.get("$ref"));
        own?.as_str()?.strip_prefix("#/$defs/")
    }

    /// The schema that a reference stands for, or the schema itself.
    fn resolve<'b>(&self, schema: &'b Value) -> &'b Value
    where
        'a: 'b,
    {
        Self::definition(schema).and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// Describes a table, in each of its forms, and then the tables in it.
    fn table(&mut self, name: &str, schema: &Value, choice: Option<(String, String)>) {
        if let Some(definition) = Self::definition(schema) {
            self.described.insert(definition.to_owned(), name.to_owned());
        }
        let schema = self.resolve(schema).clone();
        if let Some((tag, forms)) = forms(&schema) {
            let all = forms
                .iter()
                .map(|(value, form)| serde_json::json!({ "const": value, "description": text(form, "description") }));
            let meaning = "Chooses the keys of this table.";
            let own = serde_json::json!({ "oneOf": all.collect::<Vec<_>>(), "description": meaning });
            for (value, form) in forms {
                let mut whole = self.resolve(&form).clone();
                // The form says what it is for; a reference only says how it is built.
                if let Some(about) = form.get("description") {
                    whole["description"] = about.clone();
                }
                whole["properties"][&tag] = own.clone();
                let others = whole["required"].as_array().into_iter().flatten().filter(|key| **key != *tag);
                let required: Vec<Value> = std::iter::once(Value::from(tag.clone())).chain(others.cloned()).collect();
                whole["required"] = Value::from(required);
                self.table(name, &whole, Some((tag.clone(), value)));
            }
            return;
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = schema["properties"].as_object() else { return };
        let others = properties.keys().map(String::as_str).filter(|key| !required.contains(key));
        let (mut keys, mut inner) = (Vec::new(), Vec::new());
        for key in required.iter().copied().chain(others) {
            let property = &properties[key];
            let mut described = self.key(key, property);
            if required.contains(&key) && described.default == Default::None {
                described.default = Default::Required;
            } else if described.default == Default::None {
                described.default = zero(self.resolve(property));
            }
            if described.is_table {
                inner.push((described, property.clone()));
            } else {
                keys.push(described);
            }
        }
        keys.extend(inner.iter().map(|(key, _)| key.clone()));
        let about = text(&schema, "description");
        let table = KeyTable { name: name.to_owned(), is_list: false, choice, about, keys };
        let inner: Vec<_> = inner.into_iter().map(|(key, schema)| (table.whole(&key), schema)).collect();
        self.tables.push(table);
        for (name, schema) in inner {
            if Self::definition(&schema).is_none_or(|definition| !self.described.contains_key(definition)) {
                let (items, first) = (self.items(&schema).cloned(), self.tables.len());
                let is_list = items.is_some();
                self.table(&name, &items.unwrap_or(schema), None);
                // A table whose keys are not known adds none.
                if let Some(table) = self.tables.get_mut(first) {
                    table.is_list = is_list;
                }
            }
        }
    }

    /// The schema of the elements, of a list of tables.
    fn items<'b>(&self, schema: &'b Value) -> Option<&'b Value>
    where
        'a: 'b,
    {
        let items = schema.get("items")?;
        self.resolve(items).get("properties").map(|_| items)
    }

    fn key(&self, name: &str, property: &Value) -> Key {
        let schema = self.resolve(property);
        let mut meaning = text(property, "description");
        if meaning.is_empty() {
            meaning = text(schema, "description");
        }
        let list = self.items(property).is_some();
        let plain_table = schema["type"].get(0).and_then(Value::as_str) == Some("object");
        let is_table = list || plain_table || schema.get("properties").is_some() || forms(schema).is_some();
        let mut default = match property.get("default").or_else(|| schema.get("default")) {
            _ if is_table => Default::None,
            Some(Value::Null) | None => Default::None,
            Some(value) => Default::Value(toml_of(value, self.is_single(property))),
        };
        // Help says so in brackets.
        if let Some((before, words)) = meaning.split_once(" [default: ") {
            default = Default::Words(words.trim_end_matches(['.', ']']).to_owned());
            meaning = before.to_owned();
        }
        if let Some(words) = property.get(ELSE).and_then(Value::as_str) {
            default = Default::Words(words.to_owned());
        }
        let elsewhere = Self::definition(property).and_then(|definition| self.described.get(definition));
        let kind = match elsewhere {
            Some(place) if is_table && place.is_empty() => "table, as the configuration of a training".to_owned(),
            Some(place) if is_table => format!("table, as `[{place}]` of a training"),
            _ if list => "list of tables".to_owned(),
            _ if plain_table => "table of lists".to_owned(),
            _ if is_table => "table".to_owned(),
            _ => self.kind(property),
        };
        let unit = property.get(UNIT).and_then(Value::as_str).map(str::to_owned);
        let values = names(self.resolve(property.get("items").unwrap_or(property)));
        if !meaning.is_empty() && !meaning.ends_with(['.', '?']) {
            meaning.push('.');
        }
        Key { name: name.to_owned(), kind, default, unit, meaning, values, is_table }
    }

    /// The type of a value in words.
    fn kind(&self, property: &Value) -> String {
        let schema = self.resolve(property);
        if let Some(kind) = property.get(KIND).and_then(Value::as_str) {
            return kind.to_owned();
        }
        if let Some(items) = schema.get("items") {
            return format!("list of {}", plural(&self.kind(items)));
        }
        if schema.get("oneOf").is_some() || schema.get("enum").is_some() {
            let objects = schema["oneOf"].as_array().into_iter().flatten().any(|form| form.get("properties").is_some());
            return if objects { "name, or a table" } else { "name" }.to_owned();
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            kind => vec![kind.clone()],
        };
        let kind = kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null");
        match kind {
            Some("integer") => "whole number",
            Some("number") => "number",
            Some("boolean") => "true or false",
            _ => "text",
        }
        .to_owned()
    }

    /// Whether numbers have single precision.
    fn is_single(&self, property: &Value) -> bool {
        let schema = self.resolve(property.get("items").unwrap_or(property));
        schema.get("format").and_then(Value::as_str) == Some("float")
    }
}

/// The key that chooses the form of a table, and all forms with the values that choose them.
fn forms(schema: &Value) -> Option<(String, Vec<(String, Value)>)> {
    let all = schema.get("oneOf")?.as_array()?;
    let mut found = Vec::new();
    let mut tag = None;
    for form in all {
        let (key, value) = form.get("properties")?.as_object()?.iter().find_map(|(key, value)| {
            let chosen = value.get("const")?.as_str()?;
            Some((key.clone(), chosen.to_owned()))
        })?;
        tag = Some(key);
        found.push((value, form.clone()));
    }
    Some((tag?, found))
}

/// The default of a key that may be left out without being null: that of its type.
fn zero(schema: &Value) -> Default {
    match schema["type"].as_str() {
        Some("boolean") => Default::Value("false".to_owned()),
        Some("integer") => Default::Value("0".to_owned()),
        Some("number") => Default::Value("0.0".to_owned()),
        _ => Default::None,
    }
}

/// The names that a schema allows, and what each means.
fn names(schema: &Value) -> Vec<(String, String)> {
    if let Some((_, forms)) = forms(schema) {
        return forms.into_iter().map(|(value, form)| (value, text(&form, "description"))).collect();
    }
    let forms = schema.get("oneOf").and_then(Value::as_array);
    let mut all = Vec::new();
    for form in forms.into_iter().flatten() {
        let name = form.get("const").and_then(Value::as_str);
        // A name with settings of its own is the only key of a table.
        let key = || form.get("properties")?.as_object()?.keys().next().map(String::as_str);
        if let Some(name) = name.or_else(key) {
            all.push((name.to_owned(), text(form, "description")));
        }
    }
    all
}

/// A text of a schema in one line; what follows an empty line is left out.
fn text(schema: &Value, key: &str) -> String {
    let text = schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plural(kind: &str) -> String {
    match kind {
        "true or false" | "text" => kind.to_owned(),
        other if other.starts_with("list of") => other.replacen("list", "lists", 1),
        other => format!("{other}s"),
    }
}

/// A default as it stands in TOML; numbers of single precision have fewer digits.
fn toml_of(value: &Value, single: bool) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(|value| toml_of(value, single)).collect::<Vec<_>>().join(", "))
        }
        Value::Number(number) if single => format!("{:?}", number.as_f64().unwrap_or_default() as f32),
        other => other.to_string(),
    }
}
