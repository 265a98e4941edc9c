//! One stage of an experiment: skipped if its results are there and its inputs are those that they were made of.

use crate::download::checksum;
use crate::printer::ExitStatus;
use anyhow::Context;
use onebasin::error::Error;
use onebasin::store::write_whole;
use serde::Deserialize;
use serde::Serialize;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

/// A stage, its place, and what its results depend on.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// Where its results are.
    pub(super) folder: PathBuf,
    /// The file in it that says what came out.
    pub(super) report: &'static str,
    /// Another one that must be there, if there is one.
    pub(super) result: Option<&'static str>,
    /// The file that remembers what the results were made of.
    pub(super) record: PathBuf,
    /// Changes whenever a setting or an input changes.
    pub(super) inputs: String,
}

/// What is remembered of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    inputs: String,
    /// A hash of the report.
    report: String,
    /// Of the attempt that finished it.
    pub(super) seconds: f64,
}

impl Stage {
    /// In a folder of an experiment; `settings` and the contents of all `files` decide the results.
    pub(super) fn new(
        folder: PathBuf,
        report: &'static str,
        settings: &impl Serialize,
        files: &[PathBuf],
    ) -> anyhow::Result<Self> {
        let hashes = files.iter().map(|file| checksum::sha256(file)).collect::<anyhow::Result<Vec<_>>>()?;
        let all = json!({ "version": env!("CARGO_PKG_VERSION"), "settings": settings, "files": hashes });
        let inputs = checksum::sha256_of(all.to_string().as_bytes());
        Ok(Self { record: folder.with_extension("stage.json"), folder, report, result: None, inputs })
    }

    /// Whether there is nothing to do.
    pub(super) fn is_done(&self) -> bool {
        let there = |file: &str| self.folder.join(file).exists();
        self.result.is_none_or(there) && self.record().is_some_and(|record| self.made(&record))
    }

    /// Whether what is there was made of something else, or has been changed since.
    pub(super) fn is_stale(&self) -> bool {
        self.record().is_some_and(|record| !self.made(&record))
    }

    /// Whether the report is the one that was made of these inputs.
    fn made(&self, record: &Record) -> bool {
        let report = checksum::sha256(&self.folder.join(self.report));
        record.inputs == self.inputs && report.is_ok_and(|report| report == record.report)
    }

    /// What is remembered; nothing, if the file is not there or damaged.
    pub(super) fn record(&self) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(&self.record).ok()?).ok()
    }

    /// Does the work unless it is done, and remembers that it is; returns whether it was stopped. The work replaces whatever
    /// is in the folder.
    pub(super) fn run(&self, work: impl FnOnce(&Path) -> anyhow::Result<ExitStatus>) -> anyhow::Result<bool> {
        if self.is_done() {
            return Ok(false);
        }
        // Until the work is done, nothing may look as if it were.
        match fs::remove_file(&self.record) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| self.record.display().to_string());
            }
            _ => {}
        }
        let begun = Instant::now();
        if let ExitStatus::Signal(_) = work(&self.folder)? {
            return Ok(true);
        }
        let seconds = begun.elapsed().as_secs_f64();
        let report = checksum::sha256(&self.folder.join(self.report))?;
        let record = Record { inputs: self.inputs.clone(), report, seconds };
        write_json(&self.record, &record)?;
        Ok(false)
    }
}

/// Writes JSON, whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write_text(path, &(serde_json::to_string_pretty(value)? + "\n"))
}

/// Writes a text, whole or not at all.
pub(super) fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let fault = |error: std::io::Error| Error::File { path: path.to_owned(), reason: error.to_string() };
    Ok(write_whole(path, |file| file.write_all(text.as_bytes()).map_err(fault))?)
}
