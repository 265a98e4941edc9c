//! What the result of a stage in a folder of its own was made of: its settings and input files.

use super::folder::write_json;
use crate::error::{Error, Result};
use crate::hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the file.
pub const MADE: &str = "made.json";

/// What a result was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Version of onebasin.
    pub version: String,
    /// Name of the stage.
    pub stage: String,
    /// Revision of the stage.
    pub revision: u32,
    /// Settings of the stage.
    pub settings: Value,
    /// Files that were read, and their SHA-256.
    pub inputs: Vec<Input>,
    /// Files that were written, and their SHA-256; none before the stage has finished.
    pub outputs: Option<BTreeMap<String, String>>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The file.
    pub file: PathBuf,
    /// SHA-256 of its contents.
    pub sha256: String,
}

impl Made {
    /// What is known before a stage runs.
    pub(super) fn new(stage: &str, revision: u32, settings: Value, inputs: Vec<PathBuf>) -> Result<Self> {
        let hashed = |file: PathBuf| Ok(Input { sha256: hash::sha256_of_file(&file)?, file });
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            stage: stage.to_owned(),
            revision,
            settings,
            inputs: inputs.into_iter().map(hashed).collect::<Result<_>>()?,
            outputs: None,
        })
    }

    /// What is known of the result in a folder, if anything is.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MADE);
        let text = match fs::read_to_string(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            text => text.map_err(|error| Error::file(&path, error))?,
        };
        serde_json::from_str(&text).map(Some).map_err(|error| Error::damaged(&path, &error))
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        write_json(&folder.join(MADE), self)
    }

    /// What the result was made of and another would not be, in words; inputs are compared by their contents.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        if self.stage != now.stage {
            return Some(format!("it holds a result of `{}`", self.stage));
        }
        if self.revision != now.revision {
            return Some(format!("its result is of onebasin {}, which computed it differently", self.version));
        }
        if let Some(difference) = setting_that_differs(&self.settings, &now.settings) {
            return Some(format!("its result is of other settings ({difference})"));
        }
        let contents = |made: &Self| made.inputs.iter().map(|input| input.sha256.clone()).collect::<Vec<_>>();
        if contents(self) == contents(now) {
            return None;
        }
        let other = self.inputs.iter().zip(&now.inputs).find(|(then, now)| then.sha256 != now.sha256);
        Some(match other {
            Some((then, now)) if then.file == now.file => {
                format!("its result is older than the contents of {}", now.file.display())
            }
            Some((then, now)) => format!("its result is of {}, not of {}", then.file.display(), now.file.display()),
            None => format!("its result is of {} files, not of {}", self.inputs.len(), now.inputs.len()),
        })
    }
}

/// Refuses a file that was replaced while a stage read it: nobody knows which of its contents the result was made of.
pub(super) fn check_unchanged(file: &Path, sha256: &str) -> Result<()> {
    if hash::sha256_of_file(file)? == sha256 {
        return Ok(());
    }
    let reason = "it changed while it was read; the same command starts again".to_owned();
    Err(Error::File { path: file.to_owned(), reason })
}

/// The first setting, in the order of names, that is not the same in both.
fn setting_that_differs(then: &Value, now: &Value) -> Option<String> {
    let (then, now) = (then.as_object()?, now.as_object()?);
    let key = then.keys().chain(now.keys()).filter(|key| then.get(*key) != now.get(*key)).min()?;
    let say = |value: Option<&Value>| value.map_or_else(|| "not given".to_owned(), ToString::to_string);
    Some(format!("`{key}` was {}, and is {} now", say(then.get(key)), say(now.get(key))))
}
