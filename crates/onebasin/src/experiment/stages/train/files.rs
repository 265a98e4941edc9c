//! The folder of a run: which files it has, who may write them, and how far an earlier attempt has come.

use super::TrainResult;
use crate::error::{Error, Result};
use crate::experiment::folder::{lock, remove, write_text};
use crate::experiment::{POSTERIOR, Stage, TrainConfig};
use crate::store::{Checkpoint, Provenance, SampleFiles, open_growing};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The configuration, whole; its name tells the folder of a run from any other.
const CONFIG: &str = "config.toml";
/// One JSON object for each record.
pub(super) const LOG: &str = "metrics.jsonl";
/// The state of a run that is unfinished or can be extended.
pub(super) const CHECKPOINT: &str = "checkpoint.safetensors";
/// The state before an extension, as long as that has not finished.
const BEFORE: &str = "checkpoint.before.safetensors";
/// What came out; written last, so where it is, the run is finished.
pub(super) const RESULT: &str = super::Train::RESULT;

/// The files of a run's folder.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    /// Held as long as this process writes here.
    _lock: File,
}

impl Files {
    /// The folder of an earlier run, if it is one; nothing is made that was not there.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>> {
        if folder.join(CONFIG).exists() { Self::open(folder).map(Some) } else { Ok(None) }
    }

    /// Makes the folder if it is not there, and makes sure that nobody else writes to it.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        Ok(Self { folder: folder.to_owned(), _lock: lock(folder, "another process is training in it")? })
    }

    /// Removes what an earlier run left; in a folder without a run's configuration there is nothing of ours.
    pub(super) fn clear(&self) -> Result<()> {
        let Some(text) = self.config()? else { return Ok(()) };
        let path = self.join(CONFIG);
        if TrainConfig::from_toml(&path.display().to_string(), &text, &[]).is_err() {
            let reason = "it is not the configuration of a run, so nothing here is removed".to_owned();
            return Err(Error::File { path, reason });
        }
        // The result first: without it nothing that is left counts as finished. The configuration last: as long as it is
        // there, nobody mistakes what is left for the beginning of another run.
        for file in [RESULT, CHECKPOINT, BEFORE, POSTERIOR, LOG] {
            remove(&self.join(file))?;
        }
        SampleFiles::remove(&self.folder)?;
        remove(&path)
    }

    /// Where a file of the folder is.
    pub(super) fn join(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The configuration that an earlier attempt left, if there was one.
    fn config(&self) -> Result<Option<String>> {
        let path = self.join(CONFIG);
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            text => text.map(Some).map_err(|error| Error::file(&path, error)),
        }
    }

    /// Makes sure that whatever is in the folder belongs to this configuration.
    pub(super) fn check(&self, config: &TrainConfig) -> Result<()> {
        let Some(found) = self.config()? else { return Ok(()) };
        first_difference(&settings(&found), &settings(&config.to_toml())).map_or(Ok(()), |difference| {
            let reason = format!("an earlier training in it had other settings ({difference})");
            Err(Error::Folder { path: self.folder.clone(), reason })
        })
    }

    /// What the earlier training had less of, in words, if this configuration asks for more of what may grow and differs in
    /// nothing else.
    pub(super) fn shorter(&self, config: &TrainConfig) -> Result<Option<String>> {
        let found = self.config()?.unwrap_or_default();
        let (mut theirs, mut ours) = (settings(&found), settings(&config.to_toml()));
        let mut less = Vec::new();
        for key in config.infer.grows() {
            let key = format!("infer.{key}");
            let (Some(before), Some(now)) = (theirs.remove(&key), ours.remove(&key)) else { return Ok(None) };
            if before == now {
                continue;
            }
            let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
            let expected = format!("at least {before}, which the training in {} has had", self.folder.display());
            Error::unless(number(&now) > number(&before), &key, &now, &expected)?;
            let what = key.rsplit('.').next().unwrap_or_default();
            less.push(format!("{before} {what}"));
        }
        if less.is_empty() || theirs != ours {
            return Ok(None);
        }
        if self.join(RESULT).exists() && !self.join(CHECKPOINT).exists() {
            let reason = format!("it has no {CHECKPOINT}, so it cannot be extended");
            return Err(Error::Folder { path: self.folder.clone(), reason });
        }
        Ok(Some(less.join(" and ")))
    }

    /// Makes an unfinished training of this configuration out of an earlier one that it extends; `chains` says whether it has
    /// any. Returns what it was.
    pub(super) fn extend(&self, config: &TrainConfig, chains: bool) -> Result<Earlier> {
        let read = |file: &str| std::fs::read_to_string(self.join(file)).ok();
        let earlier = Earlier { folder: self.folder.clone(), config: read(CONFIG), result: read(RESULT) };
        if earlier.result.is_some() {
            if chains {
                SampleFiles::scatter(&self.join(POSTERIOR), &self.folder)?;
            }
            let (state, before) = (self.join(CHECKPOINT), self.join(BEFORE));
            std::fs::copy(&state, &before).map_err(|error| Error::file(&before, error))?;
        }
        // The result first: a kill leaves a training that is unfinished, of either configuration.
        remove(&self.join(RESULT))?;
        write_text(&self.join(CONFIG), &config.to_toml())?;
        Ok(earlier)
    }

    /// The same as [`Self::check`], and writes that down.
    pub(super) fn claim(&self, config: &TrainConfig) -> Result<()> {
        self.check(config)?;
        let path = self.join(CONFIG);
        if path.exists() { Ok(()) } else { write_text(&path, &config.to_toml()) }
    }

    /// Where an earlier attempt stopped, if there was one.
    pub(super) fn unfinished(&self) -> Result<Option<Checkpoint>> {
        let path = self.join(CHECKPOINT);
        if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) }
    }

    /// Removes what a finished run has no use for: its samples are in the posterior. Its state can be extended.
    pub(super) fn tidy_up(&self) -> Result<()> {
        remove(&self.join(BEFORE))?;
        SampleFiles::remove(&self.folder)
    }

    /// What a finished run left, if it is one.
    pub(super) fn finished(&self) -> Result<Option<TrainResult>> {
        let path = self.join(RESULT);
        // Somebody may have removed or damaged the posterior: the state that is kept makes it again.
        if !path.exists() || Provenance::read(&self.join(POSTERIOR)).is_err() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?;
        serde_json::from_str(&text).map(Some).map_err(|error| Error::damaged(&path, &error))
    }

    /// Whether a finished run of chains has no posterior any more, which alone had its samples.
    pub(super) fn has_lost_samples(&self) -> bool {
        let is_empty = match self.join(POSTERIOR).metadata() {
            Ok(file) => file.len() == 0,
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        self.join(RESULT).exists() && is_empty
    }

    /// Opens the log, cut to `keep` bytes.
    pub(super) fn open_log(&self, keep: u64) -> Result<File> {
        let path = self.join(LOG);
        let opened = (|| {
            let mut file = open_growing(&path)?;
            if file.metadata()?.len() < keep {
                return Err(std::io::Error::other("it is shorter than when the run was saved"));
            }
            file.set_len(keep)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        })();
        opened.map_err(|error| Error::file(&path, error))
    }
}

/// What a training was before it was extended.
#[derive(Debug)]
pub(super) struct Earlier {
    folder: PathBuf,
    config: Option<String>,
    result: Option<String>,
}

impl Earlier {
    /// Makes it again what it was, if it was finished; its posterior has not been touched. Returns whether it was.
    pub(super) fn restore(&self) -> Result<bool> {
        let (Some(config), Some(result)) = (&self.config, &self.result) else { return Ok(false) };
        let (before, state) = (self.folder.join(BEFORE), self.folder.join(CHECKPOINT));
        // With the lengths of log and events that it knows.
        std::fs::rename(&before, &state).map_err(|error| Error::file(&before, error))?;
        write_text(&self.folder.join(CONFIG), config)?;
        SampleFiles::remove(&self.folder)?;
        write_text(&self.folder.join(RESULT), result)?;
        Ok(true)
    }
}

/// Every setting of a configuration by its whole name, such as `infer.optimise.rate`.
fn settings(text: &str) -> BTreeMap<String, String> {
    fn gather(prefix: &str, table: &toml::Table, all: &mut BTreeMap<String, String>) {
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) => gather(&format!("{prefix}{key}."), inner, all),
                value => _ = all.insert(format!("{prefix}{key}"), value.to_string()),
            }
        }
    }
    let mut all = BTreeMap::new();
    // A file that somebody has damaged has no settings, so it differs from ours in all of them.
    gather("", &toml::from_str(text).unwrap_or_default(), &mut all);
    all
}

/// The first setting, in the order of names, that is not the same in both.
fn first_difference(theirs: &BTreeMap<String, String>, ours: &BTreeMap<String, String>) -> Option<String> {
    let name = theirs.keys().chain(ours.keys()).filter(|name| theirs.get(*name) != ours.get(*name)).min()?;
    let say = |settings: &BTreeMap<String, String>| match settings.get(name) {
        Some(value) => format!("`{name} = {value}`"),
        None => format!("no `{name}`"),
    };
    Some(format!("{} there, {} now", say(theirs), say(ours)))
}
