//! The folder of an alignment: looked at before the work, written after it.

use crate::commands::folders::files;
use crate::commands::folders::write_text;
use anyhow::Context;
use anyhow::bail;
use onebasin::error::Error;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The report; written last, so where it is, the alignment is whole.
const REPORT: &str = "alignment.json";
/// The Gaussian that fits relabelled samples.
const GAUSSIAN: &str = "gaussian.safetensors";
/// The folders in it, and how the names of their files end.
const FOLDERS: [(&str, &[&str]); 2] = [(ALIGNED, &[".safetensors", ".samples"]), (PERMUTATIONS, &[".json", ".jsonl"])];
const ALIGNED: &str = "aligned";
const PERMUTATIONS: &str = "permutations";

/// A folder that may be written.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// What an earlier alignment left, the report first.
    earlier: Vec<PathBuf>,
}

impl Folder {
    /// Makes sure that nothing is there, or nothing but an earlier alignment that may be removed; changes nothing.
    pub(super) fn look(path: &Path, force: bool) -> anyhow::Result<Self> {
        let mut earlier = Vec::new();
        for file in files(path)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !force {
                bail!(
                    "{} is not empty; choose another folder, or remove an earlier alignment with --force",
                    path.display()
                );
            }
            match FOLDERS.iter().find(|(folder, _)| *folder == name) {
                Some((_, endings)) => {
                    for inner in files(&file)? {
                        // What a kill in the middle of a write leaves is ours, too.
                        let name = inner.to_string_lossy();
                        let whole = name.strip_suffix(".tmp").unwrap_or(&name);
                        if !endings.iter().any(|ending| whole.ends_with(ending)) {
                            bail!("{} is not of an alignment, so nothing in {} is removed", name, path.display());
                        }
                        earlier.push(inner);
                    }
                }
                None if name == REPORT => earlier.insert(0, file),
                None if [REPORT, GAUSSIAN].contains(&name.strip_suffix(".tmp").unwrap_or(&name)) => earlier.push(file),
                None => bail!("{} is not of an alignment, so nothing in {} is removed", file.display(), path.display()),
            }
        }
        Ok(Self { path: path.to_owned(), earlier })
    }

    /// Removes what was there, and makes what is not.
    pub(super) fn begin(&self) -> anyhow::Result<()> {
        for file in &self.earlier {
            fs::remove_file(file).with_context(|| file.display().to_string())?;
        }
        for (folder, _) in FOLDERS {
            let folder = self.path.join(folder);
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        Ok(())
    }

    /// The file of a posterior, inside the folder.
    pub(super) fn aligned(name: &str) -> PathBuf {
        Path::new(ALIGNED).join(format!("{name}.safetensors"))
    }
    /// The file of the permutations of a posterior, inside the folder.
    pub(super) fn permutations(name: &str) -> PathBuf {
        Path::new(PERMUTATIONS).join(format!("{name}.json"))
    }
    /// The file of the permutations of each sample, inside the folder.
    pub(super) fn permutations_of_samples(name: &str) -> PathBuf {
        Path::new(PERMUTATIONS).join(format!("{name}.jsonl"))
    }
    /// The Gaussian of all samples, inside the folder.
    pub(super) fn gaussian() -> &'static Path {
        Path::new(GAUSSIAN)
    }
    /// The report, inside the folder.
    pub(super) fn report() -> &'static Path {
        Path::new(REPORT)
    }

    /// Where a file inside the folder is.
    pub(super) fn join(&self, file: &Path) -> PathBuf {
        self.path.join(file)
    }

    /// Writes a text, whole or not at all.
    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), Error> {
        self.write_parts(file, [text])
    }

    /// Writes a text line by line, whole or not at all.
    pub(super) fn write_lines(&self, file: &Path, lines: impl Iterator<Item = String>) -> Result<(), Error> {
        self.write_parts(file, lines.map(|line| line + "\n"))
    }

    fn write_parts(&self, file: &Path, parts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), Error> {
        write_text(&self.join(file), parts)
    }
}
