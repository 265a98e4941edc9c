//! Downloads the files of a data set: from one mirror after the other, resumed where it broke off, kept only if they are right.

mod archive;
mod http;
#[cfg(test)]
mod tests;

use crate::printer::Printer;
use anyhow::{Context, bail};
use archive::{Verdict, mismatch, rename};
use onebasin::data::catalogue;
use onebasin::data::catalogue::{Archive, File, Files, Source};
use onebasin::experiment::Experiment;
use onebasin::hash::sha256_of_file;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use ureq::Agent;

/// How a file of a data set was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Every bit is as published.
    Right,
    /// It is not there.
    Missing,
    /// It is something else; a sentence that names it says what.
    Wrong(String),
}

/// Looks for a file of the catalogue in its folder, as it is published or unpacked.
pub(crate) fn check(folder: &Path, file: &File) -> anyhow::Result<State> {
    let published = Some((folder.join(file.name), file.digest));
    let unpacked = file.unpacked.map(|digest| (folder.join(file.name).with_extension(""), digest));
    let found = [published, unpacked].into_iter().flatten().find(|(path, _)| path.exists());
    let Some((path, digest)) = found else { return Ok(State::Missing) };
    let bytes = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if bytes != digest.bytes {
        return Ok(State::Wrong(format!("{} has {bytes} bytes, not {}", path.display(), digest.bytes)));
    }
    let found = sha256_of_file(&path)?;
    if found != digest.sha256 {
        return Ok(State::Wrong(format!("{}: {}", path.display(), mismatch(&found, digest.sha256))));
    }
    Ok(State::Right)
}

/// The data sets that an experiment needs.
#[derive(Debug)]
pub struct Needed {
    /// SHA-256 of all files, as they are published, and of those that are somebody's own.
    pub sums: BTreeMap<String, String>,
    /// Those that are not there, by their names.
    pub missing: Vec<(String, &'static Files)>,
}

impl Needed {
    /// Looks for them in the folder of data sets; refuses files that are not the published ones.
    pub fn by(experiment: &Experiment, folder: &Path) -> anyhow::Result<Self> {
        let (mut sums, mut missing) = (experiment.data_files()?, Vec::new());
        for name in experiment.datasets()? {
            let Source::Files(files) = &catalogue::find(&name)?.source else { continue };
            let inside = folder.join(files.folder);
            let states = files.files.iter().map(|file| check(&inside, file));
            let states = states.collect::<anyhow::Result<Vec<_>>>()?;
            if let Some(State::Wrong(problem)) = states.iter().find(|state| matches!(state, State::Wrong(_))) {
                bail!("{problem}; `onebasin data get {name}` replaces it");
            }
            sums.extend(
                files.files.iter().map(|file| (format!("{name}/{}", file.name), file.digest.sha256.to_owned())),
            );
            if states.contains(&State::Missing) {
                missing.push((name, files));
            }
        }
        Ok(Self { sums, missing })
    }
}

/// Gets all `files` that are missing or wrong into the data directory `dir`; returns whether there were any.
///
/// Each download grows in a file whose name ends in `.part` and becomes the file itself only when its checksum is right. What
/// an interruption leaves of it is where the next call begins.
pub(crate) fn get(files: &Files, dir: &Path, mirror: Option<&str>, printer: &Printer) -> anyhow::Result<bool> {
    let folder = dir.join(files.folder);
    let mut needed = Vec::new();
    for file in files.files {
        match check(&folder, file)? {
            State::Right => {}
            State::Missing => needed.push(file),
            State::Wrong(problem) => {
                printer.say(&format!("{problem}; replacing it"));
                needed.push(file);
            }
        }
    }
    if needed.is_empty() {
        return Ok(false);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let mirrors = mirror.map_or_else(|| files.mirrors.to_vec(), |mirror| vec![mirror]);
    let session = Session { agent: http::agent(), mirrors, folder, printer };
    match &files.archive {
        Some(archive) => session.archive(archive, files.files)?,
        None => needed.into_iter().try_for_each(|file| session.file(file))?,
    }
    Ok(true)
}

/// What all downloads of one data set share.
struct Session<'a> {
    agent: Agent,
    mirrors: Vec<&'a str>,
    folder: PathBuf,
    printer: &'a Printer,
}

impl Session<'_> {
    fn file(&self, file: &File) -> anyhow::Result<()> {
        let size = http::Size { expected: file.digest.bytes, limit: file.digest.bytes, exact: true };
        self.download(file.name, size, |part| {
            let found = sha256_of_file(part)?;
            if found != file.digest.sha256 {
                return Ok(Err(mismatch(&found, file.digest.sha256)));
            }
            rename(part, &self.folder.join(file.name)).map(Ok)
        })
    }

    fn archive(&self, archive: &Archive, files: &[File]) -> anyhow::Result<()> {
        // Compression may make the archive longer than its files, but not by more than this.
        let limit = files.iter().map(|file| file.digest.bytes).sum::<u64>() + (1 << 20);
        let size = http::Size { expected: archive.bytes, limit, exact: false };
        self.download(archive.name, size, |part| {
            let verdict = archive::unpack(part, archive.folder, files, &self.folder)?;
            if verdict.is_ok() {
                remove(part)?;
            }
            Ok(verdict)
        })
    }

    /// Downloads `name` from the first mirror that has it as it should be, and lets `accept` decide that and put it in its place.
    fn download(
        &self,
        name: &str,
        size: http::Size,
        accept: impl Fn(&Path) -> anyhow::Result<Verdict>,
    ) -> anyhow::Result<()> {
        let part = self.folder.join(format!("{name}.part"));
        let mut failures = Vec::new();
        for mirror in &self.mirrors {
            let url = format!("{}/{name}", mirror.trim_end_matches('/'));
            if let Some(failure) = failures.last() {
                self.printer.say(&format!("{failure}; trying the next mirror"));
            }
            loop {
                let fetched = match http::fetch(&self.agent, &url, &part, size, http::PATIENCE, self.printer)? {
                    Ok(fetched) => fetched,
                    Err(failure) => {
                        // A failure that brought nothing leaves no trace.
                        if fs::metadata(&part).is_ok_and(|metadata| metadata.len() == 0) {
                            remove(&part)?;
                        }
                        failures.push(format!("{url}: {failure}"));
                        break;
                    }
                };
                let Err(problem) = accept(&part)? else {
                    self.printer.say(&format!("got {name} from {mirror}"));
                    return Ok(());
                };
                remove(&part)?;
                failures.push(format!("{url}: {problem}"));
                // What was there before may have been wrong, and not the mirror.
                if !fetched.resumed {
                    break;
                }
                self.printer.say(&format!("{name} is damaged; starting again"));
            }
        }
        let failures = failures.join("\n  ");
        if part.exists() {
            bail!(
                "cannot get {name} now:\n  {failures}\nThe same command will resume at what is in {}",
                part.display()
            );
        }
        bail!("cannot get {name}:\n  {failures}\n`onebasin data get` tries another source with --mirror URL");
    }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}
