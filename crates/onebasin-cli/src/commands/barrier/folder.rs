//! The folder of measures: looked at before the work, written after it.

use crate::commands::folders::files;
use crate::commands::folders::write_text;
use anyhow::Context;
use anyhow::bail;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The report; written last, so where it is, the measures are whole.
const REPORT: &str = "measures.json";
/// All points of all curves.
const CURVES: &str = "curves.csv";

/// A folder that may be written.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes sure that nothing is there, or nothing but earlier measures that may be replaced; changes nothing.
    pub(super) fn look(path: &Path, force: bool) -> anyhow::Result<Self> {
        for file in files(path)? {
            if !force {
                bail!(
                    "{} is not empty; choose another folder, or replace earlier measures with --force",
                    path.display()
                );
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // What a kill in the middle of a write leaves is ours, too.
            if ![REPORT, CURVES].contains(&name.strip_suffix(".tmp").unwrap_or(&name)) {
                bail!("{} is not of such measures, so nothing in {} is replaced", file.display(), path.display());
            }
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Removes what was there, and writes.
    pub(super) fn write(&self, curves: &str, report: &str) -> anyhow::Result<()> {
        fs::create_dir_all(&self.path).with_context(|| self.path.display().to_string())?;
        let mut earlier = files(&self.path)?;
        // The report first, which says that the rest is whole.
        earlier.sort_by_key(|file| *file != self.report());
        for file in earlier {
            fs::remove_file(&file).with_context(|| file.display().to_string())?;
        }
        write_text(&self.path.join(CURVES), [curves])?;
        Ok(write_text(&self.report(), [report])?)
    }

    pub(super) fn report(&self) -> PathBuf {
        self.path.join(REPORT)
    }
}
