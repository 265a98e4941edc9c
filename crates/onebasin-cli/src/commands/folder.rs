//! A folder of results: looked at before the work, written after it.

use anyhow::Context;
use anyhow::anyhow;
use anyhow::bail;
use onebasin::error::Error;
use onebasin::store::write_whole;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// What a command leaves in a folder.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Of the command.
    pub(crate) command: &'static str,
    /// The report; written last, so where it is, the folder is whole.
    pub(crate) report: &'static str,
    /// Which other files it may have.
    pub(crate) is_own: fn(&str) -> bool,
    /// The folders in it, and how the names of their files end.
    pub(crate) folders: &'static [(&'static str, &'static [&'static str])],
}

/// A folder that may be written.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    kind: &'static Kind,
    /// What the same command left earlier, the report first.
    earlier: Vec<PathBuf>,
}

impl Folder {
    /// Makes sure that nothing is there, or nothing but what the same command left and may remove; changes nothing.
    pub(crate) fn look(kind: &'static Kind, path: &Path, force: bool) -> anyhow::Result<Self> {
        let mut earlier = Vec::new();
        let foreign = |file: &Path| {
            let (file, path, command) = (file.display(), path.display(), kind.command);
            anyhow!("{file} was not written by `onebasin {command}`, so nothing in {path} is removed")
        };
        for file in files(path)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !force {
                bail!(
                    "{} is not empty; choose another folder, or remove what an earlier `onebasin {}` left with --force",
                    path.display(),
                    kind.command
                );
            }
            // What a kill in the middle of a write leaves is ours, too.
            let whole = name.strip_suffix(".tmp").unwrap_or(&name);
            match kind.folders.iter().find(|(folder, _)| *folder == name) {
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
                None if name == kind.report => earlier.insert(0, file),
                None if whole == kind.report || (kind.is_own)(whole) => earlier.push(file),
                None => return Err(foreign(&file)),
            }
        }
        Ok(Self { path: path.to_owned(), kind, earlier })
    }

    /// Removes what was there, and makes what is not.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        for file in &self.earlier {
            fs::remove_file(file).with_context(|| file.display().to_string())?;
        }
        fs::create_dir_all(&self.path).with_context(|| self.path.display().to_string())?;
        for (folder, _) in self.kind.folders {
            let folder = self.path.join(folder);
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        Ok(())
    }

    /// The report, inside the folder.
    pub(crate) fn report(&self) -> &'static Path {
        Path::new(self.kind.report)
    }

    /// Where a file inside the folder is.
    pub(crate) fn join(&self, file: &Path) -> PathBuf {
        self.path.join(file)
    }

    /// Writes a text, whole or not at all.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<(), Error> {
        self.write_parts(file, [text])
    }

    /// Writes a text line by line, whole or not at all.
    pub(crate) fn write_lines(&self, file: &Path, lines: impl Iterator<Item = String>) -> Result<(), Error> {
        self.write_parts(file, lines.map(|line| line + "\n"))
    }

    /// Removes what was there, then writes some texts, and the report last.
    pub(crate) fn write_all(&self, texts: &[(&str, String)], report: &str) -> anyhow::Result<()> {
        self.begin()?;
        for (file, text) in texts {
            self.write(Path::new(file), text)?;
        }
        Ok(self.write(self.report(), report)?)
    }

    fn write_parts(&self, file: &Path, parts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), Error> {
        let path = self.join(file);
        let fault = |error: std::io::Error| Error::File { path: path.clone(), reason: error.to_string() };
        write_whole(&path, |out| {
            parts.into_iter().try_for_each(|part| out.write_all(part.as_ref().as_bytes()).map_err(fault))
        })
    }
}

/// What is in a folder, in the order of names; nothing, if there is no such folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| folder.display().to_string())?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}
