//! The folder of a run: which files it has, who may write them, and how far an earlier attempt has come.

use super::Summary;
use super::TrainConfig;
use crate::error::Error;
use crate::error::Result;
use crate::store::Checkpoint;
use crate::store::write_whole;
use std::fs::File;
use std::fs::OpenOptions;
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
    /// Makes the folder if it is not there, and makes sure that nobody else writes to it.
    ///
    /// With `anew`, what an earlier run left there is removed.
    pub fn open(folder: &Path, anew: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|error| Error::file(&path, &error))?;
        lock.try_lock().map_err(|_| Error::File {
            path: folder.to_owned(),
            reason: "another process is training here; wait for it, or choose another folder with -o".to_owned(),
        })?;
        let files = Self { folder: folder.to_owned(), _lock: lock };
        if anew {
            // The result first: without it nothing that is left counts as finished.
            for path in [files.result(), files.checkpoint(), files.posterior(), files.log(), files.config()] {
                match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::file(&path, &error));
                    }
                    _ => {}
                }
            }
        }
        Ok(files)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// The configuration, whole.
    pub fn config(&self) -> PathBuf {
        self.folder.join("config.toml")
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

    /// Makes sure that whatever is in the folder belongs to this configuration, and writes that down.
    pub fn claim(&self, config: &TrainConfig) -> Result<()> {
        let path = self.config();
        let text = config.to_toml();
        match std::fs::read_to_string(&path) {
            Ok(found) if found == text => Ok(()),
            Ok(found) => {
                let ours = text.lines().find(|line| !found.lines().any(|other| other == *line));
                let theirs = found.lines().find(|line| !text.lines().any(|other| other == *line));
                Err(Error::File {
                    path,
                    reason: format!(
                        "an earlier run here had other settings ({} there, {} now); choose another folder with -o, or \
                         remove the earlier run with --force",
                        theirs.map_or_else(|| "nothing".to_owned(), |line| format!("`{line}`")),
                        ours.map_or_else(|| "nothing".to_owned(), |line| format!("`{line}`")),
                    ),
                })
            }
            Err(_) => {
                write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|error| Error::file(&path, &error)))
            }
        }
    }

    /// Where an earlier attempt stopped, if there was one.
    pub fn unfinished(&self) -> Result<Option<Checkpoint>> {
        let path = self.checkpoint();
        if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) }
    }

    /// Removes what a finished run has no use for.
    pub fn tidy_up(&self) -> Result<()> {
        let path = self.checkpoint();
        if path.exists() {
            std::fs::remove_file(&path).map_err(|error| Error::file(&path, &error))?;
        }
        Ok(())
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
