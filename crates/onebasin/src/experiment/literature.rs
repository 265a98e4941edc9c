//! Numbers of other work, which an experiment names and its report shows beside its own.

use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A number of other work: a table `[[literature]]` of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Literature {
    /// What was measured, of which network and by which method.
    pub what: String,
    /// Its value as text; a number in a file becomes text.
    #[serde(deserialize_with = "text_or_number")]
    pub value: String,
    /// Paper or repository that it is from.
    pub source: String,
}

impl Literature {
    /// Refuses a row that leaves something open.
    pub(super) fn check(&self) -> Result<()> {
        let Self { what, value, source } = self;
        match [("what", what), ("value", value), ("source", source)].iter().find(|(_, text)| text.trim().is_empty()) {
            Some((key, text)) => Err(Error::setting(key, format!("\"{text}\""), "some text").within("literature")),
            None => Ok(()),
        }
    }
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text or a number")]
    enum Value {
        Integer(i64),
        Number(f64),
        Text(String),
    }
    Ok(match Value::deserialize(deserializer)? {
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text,
    })
}
