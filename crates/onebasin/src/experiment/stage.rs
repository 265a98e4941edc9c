//! A stage of an experiment: settings and input files in, a result out; and a stage with its place in an experiment.

use super::context::Context;
use super::folder::{LOCK, beside, files, json, remove, write_json, write_text};
use super::made::{MADE, Made, check_unchanged};
use super::work::Work;
use crate::error::{Error, Result};
use crate::hash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What happens to a result that is in the folder already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is an error.
    Refuse,
    /// It is removed.
    Replace,
    /// It is continued by a stage that can, and removed by others.
    Continue,
}

/// One kind of work: a training, an alignment, a measurement.
///
/// A stage is a value that holds its settings and names its input files. A command of the command line runs one stage;
/// an experiment runs many and skips those whose results are up to date. It serialises as everything besides the input
/// files that decides the result.
pub trait Stage: Debug + Send + Serialize + Sized + Sync {
    /// Name of its table in an experiment, of its folder and of its command.
    const NAME: &'static str;

    /// Number that is raised whenever the results of equal settings and inputs change, so that no earlier result is
    /// taken for a current one.
    const REVISION: u32;

    /// Name of the file that holds the result.
    const RESULT: &'static str = "measures.json";

    /// Files that it writes beside the result.
    const FILES: &'static [&'static str] = &[];

    /// The folders that it makes in its folder, and how the names of their files end.
    const FOLDERS: &'static [(&'static str, &'static [&'static str])] = &[];
    /// A folder inside it with states of work that was interrupted, from which it goes on; gone when it is finished.
    const UNFINISHED: Option<&'static str> = None;

    /// What it finds; its JSON is the file of the result.
    type Result: Serialize + DeserializeOwned;

    /// Files whose contents decide the result.
    fn inputs(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Computes the result; a stage with files of its own writes them into `folder`, after [`Folder::clear`].
    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<Self::Result>;

    /// Tables of the result as comma-separated values, by the names of their files.
    fn tables(_result: &Self::Result) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Refuses a result that no other stage may build on; an experiment ends with this error.
    fn verify(_result: &Self::Result) -> Result<()> {
        Ok(())
    }

    /// Whether a file beside the result is one of the stage's.
    fn owns(file: &str) -> bool {
        Self::FILES.contains(&file)
    }

    /// Runs in a folder, and writes the result there.
    fn run_in(&self, path: &Path, existing: Existing, context: &Context<'_>) -> Result<Self::Result> {
        self.run_into(&Folder::check::<Self>(path, existing != Existing::Refuse)?, context)
    }

    /// Runs in a folder that was checked, and writes the result there.
    fn run_into(&self, folder: &Folder, context: &Context<'_>) -> Result<Self::Result> {
        let result = self.run(context, Some(folder))?;
        if !folder.cleared.get() {
            folder.clear()?;
        }
        for (file, text) in Self::tables(&result) {
            folder.write(file, &text)?;
        }
        write_json(&folder.join(Self::RESULT), &result)?;
        Self::UNFINISHED.map_or(Ok(()), |inner| folder.forget(inner))?;
        Ok(result)
    }
}

/// A folder that may be written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// What the same stage left earlier, the result first.
    earlier: Vec<PathBuf>,
    /// The folders inside that the stage writes to.
    inner: Vec<PathBuf>,
    cleared: Cell<bool>,
    /// What to write before the first file of the stage, so that an interrupted attempt is known as one.
    pub(super) unfinished: Option<Made>,
}

impl Folder {
    /// Checks that a folder is empty or, if it may be replaced, that it holds nothing but an earlier result of the same
    /// stage. Changes nothing.
    pub(super) fn check<S: Stage>(path: &Path, replace: bool) -> Result<Self> {
        let fault = |file: &Path, reason: String| Error::Folder { path: file.to_owned(), reason };
        let foreign = |file: &Path| {
            fault(file, format!("`{}` did not write it, so nothing in {} is replaced", S::NAME, path.display()))
        };
        let mut earlier = Vec::new();
        for file in files(path)? {
            if S::UNFINISHED.is_some_and(|folder| file.ends_with(folder)) || file.ends_with(LOCK) {
                continue;
            }
            // A kill during the very first write of an attempt leaves nothing else; the next attempt writes it again.
            if file.ends_with(format!("{MADE}.tmp")) {
                continue;
            }
            if !replace {
                return Err(fault(path, "the folder is not empty".to_owned()));
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A kill during a write leaves a temporary file.
            let whole = name.strip_suffix(".tmp").unwrap_or(&name);
            match S::FOLDERS.iter().find(|(folder, _)| *folder == name) {
                Some((_, endings)) => {
                    for inner in files(&file)? {
                        let name = inner.to_string_lossy();
                        let whole = name.strip_suffix(".tmp").unwrap_or(&name);
                        if !endings.iter().any(|ending| whole.ends_with(ending)) {
                            return Err(foreign(&inner));
                        }
                        earlier.push(inner);
                    }
                }
                None if name == S::RESULT => earlier.insert(0, file),
                None if whole == S::RESULT || whole == MADE || S::owns(whole) => earlier.push(file),
                None => return Err(foreign(&file)),
            }
        }
        let inner = S::FOLDERS.iter().map(|(folder, _)| path.join(folder)).collect();
        Ok(Self { path: path.to_owned(), earlier, inner, cleared: Cell::new(false), unfinished: None })
    }

    /// Removes an earlier result and makes the folders that are missing.
    pub fn clear(&self) -> Result<()> {
        let make = |folder: &Path| fs::create_dir_all(folder).map_err(|error| Error::file(folder, error));
        self.cleared.set(true);
        make(&self.path)?;
        // Before anything is removed: a kill from here on leaves an attempt that is known as interrupted.
        self.unfinished.iter().try_for_each(|made| made.write(&self.path))?;
        let made = self.unfinished.as_ref().map(|_| self.join(MADE));
        self.earlier.iter().filter(|file| made.as_ref() != Some(file)).try_for_each(|file| remove(file))?;
        self.inner.iter().try_for_each(|folder| make(folder))
    }

    /// Removes a folder inside it, if it is there.
    pub(crate) fn forget(&self, inner: &str) -> Result<()> {
        let inner = self.join(inner);
        match fs::remove_dir_all(&inner) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&inner, error)),
            _ => Ok(()),
        }
    }

    /// Where a file of the folder is.
    pub fn join(&self, file: impl AsRef<Path>) -> PathBuf {
        self.path.join(file)
    }

    /// Writes a text file, whole or not at all.
    pub fn write(&self, file: impl AsRef<Path>, text: &str) -> Result<()> {
        write_text(&self.join(file), text)
    }
}

/// A [`Stage`] whose types are forgotten, so that an experiment can hold all kinds.
trait AnyStage: Debug + Send + Sync {
    fn result_file(&self) -> &'static str;
    fn inputs(&self) -> Vec<PathBuf>;
    /// What decides the result besides the contents of the input files.
    fn identity(&self) -> Value;
    fn run_in(&self, path: &Path, existing: Existing, context: &Context<'_>) -> Result<()>;
}

impl<S: Stage> AnyStage for S {
    fn result_file(&self) -> &'static str {
        S::RESULT
    }
    fn inputs(&self) -> Vec<PathBuf> {
        Stage::inputs(self)
    }
    fn identity(&self) -> Value {
        serde_json::json!({ "stage": S::NAME, "revision": S::REVISION, "settings": self })
    }
    fn run_in(&self, path: &Path, existing: Existing, context: &Context<'_>) -> Result<()> {
        S::verify(&Stage::run_in(self, path, existing, context)?)
    }
}

/// A stage with its place in an experiment.
#[derive(Debug)]
pub struct Task {
    /// Name inside its cell, such as `barrier/0-1`.
    pub name: String,
    /// Folder of its result.
    pub folder: PathBuf,
    stage: Box<dyn AnyStage>,
}

/// What is remembered of a finished task, in a file beside its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Hash of the stage, its revision, its settings and the contents of its input files.
    inputs: String,
    /// Hash of the result.
    result: String,
    /// Seconds of the attempt that finished it.
    pub(super) seconds: f64,
}

/// What is remembered of a task that was run and has no result, in another file beside its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    /// As in the record of a finished task.
    inputs: String,
    /// What happened.
    reason: String,
}

/// Hashes of input files, each computed once in a run.
#[derive(Debug, Default)]
pub(super) struct Hashes(Mutex<BTreeMap<PathBuf, String>>);

impl Hashes {
    fn of(&self, path: &Path) -> Result<String> {
        let known = || self.0.lock().expect("no thread panics while it holds this");
        if let Some(hash) = known().get(path) {
            return Ok(hash.clone());
        }
        let hash = hash::sha256_of_file(path)?;
        known().insert(path.to_owned(), hash.clone());
        Ok(hash)
    }
}

impl Task {
    /// A stage in a folder.
    pub fn new(name: String, folder: PathBuf, stage: impl Stage + 'static) -> Self {
        Self { name, folder, stage: Box::new(stage) }
    }

    /// Files whose contents decide the result.
    pub(super) fn inputs(&self) -> Vec<PathBuf> {
        self.stage.inputs()
    }

    /// Whether the result is up to date; `whole` says whether all files that others read are there.
    pub(super) fn is_current(&self, whole: bool, hashes: &Hashes) -> Result<bool> {
        let Some(record) = self.record().filter(|_| whole) else { return Ok(false) };
        let is_there = || hash::sha256_of_file(&self.result_file()).is_ok_and(|hash| hash == record.result);
        Ok(record.inputs == self.key(hashes)? && is_there())
    }

    /// Why the stage failed, if it was run with the same settings and inputs and did.
    pub(super) fn failure(&self, hashes: &Hashes) -> Result<Option<String>> {
        let Ok(text) = fs::read_to_string(self.failure_file()) else { return Ok(None) };
        let Ok(failed) = serde_json::from_str::<Failed>(&text) else { return Ok(None) };
        Ok((failed.inputs == self.key(hashes)?).then_some(failed.reason))
    }

    /// Runs the stage in a working folder, which becomes its own, and remembers that, or that it has no result.
    pub(super) fn run(&self, work: &Work, hashes: &Hashes, context: &Context<'_>) -> Result<()> {
        let inputs = self.key(hashes)?;
        // What is there was made of something else, or has been changed since; or it was interrupted.
        let existing = if self.record().is_some() { Existing::Replace } else { Existing::Continue };
        // Until the work is done, nothing may look as if it were.
        let path = self.record_file();
        remove(&path)?;
        remove(&self.failure_file())?;
        work.fetch()?;
        let ended = context.timed(|| self.stage.run_in(&work.folder(), existing, context));
        if let Err(error) = &ended
            && error.is_outcome()
            && !work.is_lost()
        {
            write_json(&self.failure_file(), &Failed { inputs: inputs.clone(), reason: error.cause().to_string() })?;
        }
        let ((), seconds) = ended?;
        self.stage.inputs().iter().try_for_each(|file| check_unchanged(file, &hashes.of(file)?))?;
        let result = hash::sha256_of_file(&work.folder().join(self.stage.result_file()))?;
        work.publish()?;
        write_json(&path, &Record { inputs, result, seconds })
    }

    /// The result as JSON.
    pub(super) fn result(&self) -> Result<Value> {
        let path = self.result_file();
        let text = fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?;
        serde_json::from_str(&text).map_err(|error| Error::damaged(&path, &error))
    }

    /// What is remembered of it, if it is finished.
    pub(super) fn record(&self) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(self.record_file()).ok()?).ok()
    }

    fn key(&self, hashes: &Hashes) -> Result<String> {
        let files = self.stage.inputs().iter().map(|file| hashes.of(file)).collect::<Result<Vec<_>>>()?;
        Ok(hash::sha256(json(&(self.stage.identity(), files)).as_bytes()))
    }

    fn result_file(&self) -> PathBuf {
        self.folder.join(self.stage.result_file())
    }

    fn record_file(&self) -> PathBuf {
        record_beside(&self.folder)
    }

    fn failure_file(&self) -> PathBuf {
        beside(&self.folder, "failed.json")
    }
}

/// The file that remembers a finished task, beside its folder.
pub(super) fn record_beside(folder: &Path) -> PathBuf {
    beside(folder, "stage.json")
}
