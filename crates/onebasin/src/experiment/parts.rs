//! Parts of a result that are kept while the rest is computed, so that an interrupted stage goes on from them.

use super::folder::{json, write_json};
use super::stage::{Folder, Stage};
use crate::error::{Error, Result};
use crate::hash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;

/// The folder of the parts, inside that of the stage.
pub(super) const UNFINISHED: &str = "unfinished";

/// The parts of a result of one stage, with its settings and inputs.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    folder: Option<&'a Folder>,
    key: String,
}

/// A part on the disk.
#[derive(Serialize, Deserialize)]
struct Part<T> {
    /// Hash of the stage, its revision, its settings and its input files.
    key: String,
    value: T,
}

impl<'a> Parts<'a> {
    /// Those of a stage that runs in a folder; without one, nothing is kept.
    pub(super) fn new<S: Stage>(stage: &S, folder: Option<&'a Folder>) -> Result<Self> {
        let mut key = String::new();
        if folder.is_some() {
            let inputs = stage.inputs().iter().map(|file| hash::sha256_of_file(file)).collect::<Result<Vec<_>>>()?;
            key = hash::sha256(json(&(S::NAME, S::REVISION, stage, inputs)).as_bytes());
        }
        Ok(Self { folder, key })
    }

    /// A part by its name: that of an earlier attempt, or what `work` computes, which is then kept.
    pub(super) fn part<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(folder) = self.folder else { return work() };
        let inner = folder.join(UNFINISHED);
        let path = inner.join(format!("{name}.json"));
        let earlier = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Part<T>>(&text).ok());
        if let Some(part) = earlier.filter(|part| part.key == self.key) {
            return Ok(part.value);
        }
        let part = Part { key: self.key.clone(), value: work()? };
        fs::create_dir_all(&inner).map_err(|error| Error::file(&inner, error))?;
        write_json(&path, &part)?;
        Ok(part.value)
    }
}
