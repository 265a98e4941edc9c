//! The folder of a run: which files it has, who may write them, and how far an earlier attempt has come.

use super::Summary;
use super::TrainConfig;
use crate::error::Error;
use crate::error::Result;
use crate::store::Checkpoint;
use crate::store::SampleFiles;
use crate::store::write_whole;
use std::collections::BTreeMap;
use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// The files of a run's folder.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    /// Held as long as this process writes here.
    _lock: File,
}

impl Files {
    /// The folder of an earlier run, if it is one; nothing is made that was not there.
    pub fn find(folder: &Path) -> Result<Option<Self>> {
        if folder.join(CONFIG).exists() { Self::open(folder).map(Some) } else { Ok(None) }
    }

    /// Makes the folder if it is not there, and makes sure that nobody else writes to it.
    pub fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|error| Error::file(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::File {
                path: folder.to_owned(),
                reason: "another process is training here; wait for it, or choose another folder with -o".to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(Error::file(&path, &error)),
        }
    }

    /// Removes what an earlier run left; in a folder without a run's configuration there is nothing of ours.
    pub fn clear(&self) -> Result<()> {
        let path = self.config();
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::file(&path, &error)),
            Ok(text) => {
                let reason = || "it is not the configuration of a run, so nothing here is removed".to_owned();
                let run = TrainConfig::from_toml(&path.display().to_string(), &text, &[]);
                run.map_err(|_| Error::File { path, reason: reason() })?;
            }
        }
        // The result first: without it nothing that is left counts as finished. The configuration last: as long as it is
        // there, nobody mistakes what is left for the beginning of another run.
        for path in [self.result(), self.checkpoint(), self.posterior(), self.log()] {
            remove(&path)?;
        }
        SampleFiles::remove(&self.folder)?;
        remove(&self.config())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// The configuration, whole.
    pub fn config(&self) -> PathBuf {
        self.folder.join(CONFIG)
    }
    /// One JSON object for each record.
    pub fn log(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }
    /// The state of an unfinished run.
    pub fn checkpoint(&self) -> PathBuf {
        self.folder.join("checkpoint.safetensors")
    }
    /// The posterior.
    pub fn posterior(&self) -> PathBuf {
        self.folder.join("posterior.safetensors")
    }
    /// What came out; written last, so where it is, the run is finished.
    pub fn result(&self) -> PathBuf {
        self.folder.join("result.json")
    }

    /// Makes sure that whatever is in the folder belongs to this configuration.
    pub fn check(&self, config: &TrainConfig) -> Result<()> {
        let path = self.config();
        let found = match std::fs::read_to_string(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::file(&path, &error)),
        };
        match first_difference(&settings(&found), &settings(&config.to_toml())) {
            None => Ok(()),
            Some(difference) => Err(Error::File {
                path,
                reason: format!(
                    "an earlier run here had other settings ({difference}); choose another folder with -o, or remove \
                     the earlier run with --force"
                ),
            }),
        }
    }

    /// The same, and writes that down.
    pub fn claim(&self, config: &TrainConfig) -> Result<()> {
        self.check(config)?;
        let path = self.config();
        if path.exists() {
            return Ok(());
        }
        let text = config.to_toml();
        write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|error| Error::file(&path, &error)))
    }

    /// Where an earlier attempt stopped, if there was one.
    pub fn unfinished(&self) -> Result<Option<Checkpoint>> {
        let path = self.checkpoint();
        if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) }
    }

    /// Removes what a finished run has no use for.
    pub fn tidy_up(&self) -> Result<()> {
        remove(&self.checkpoint())?;
        SampleFiles::remove(&self.folder)
    }

    /// What a finished run left, if it is one.
    pub fn finished(&self) -> Result<Option<Summary>> {
        let path = self.result();
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).map_err(|error| Error::file(&path, &error))?;
        let summary = serde_json::from_str(&text);
        summary.map(Some).map_err(|error| Error::File { path, reason: error.to_string() })
    }

    /// Opens the log, cut to `keep` bytes.
    pub fn open_log(&self, keep: u64) -> Result<File> {
        let path = self.log();
        let opened = (|| {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
            if file.metadata()?.len() < keep {
                return Err(std::io::Error::other("it is shorter than when the run was saved"));
            }
            file.set_len(keep)?;
            let mut file = file;
            std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
            Ok(file)
        })();
        opened.map_err(|error| Error::file(&path, &error))
    }
}

/// The name that tells the folder of a run from any other.
const CONFIG: &str = "config.toml";

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(path, &error)),
        _ => Ok(()),
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
