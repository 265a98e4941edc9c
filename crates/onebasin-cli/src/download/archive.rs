//! Takes the files of a data set, and nothing else, out of a `.tar.gz`.

use anyhow::Context;
use flate2::read::MultiGzDecoder;
use onebasin::data::catalogue::File;
use onebasin::hash::Hasher;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Whether a download is what it should be; if not, why not.
pub(super) type Verdict = Result<(), String>;

/// How much may be unpacked beside the files: headers, and what else lies in the archive.
const SLACK: u64 = 1 << 24;

/// Unpacks those `files` that lie in the folder `inside` of the archive to `folder`; all of them if all are right, else none.
///
/// Where a file is written depends on the catalogue alone: the names in the archive are only compared with it, so they cannot
/// point anywhere else.
pub(super) fn unpack(archive: &Path, inside: &str, files: &[File], folder: &Path) -> anyhow::Result<Verdict> {
    let cannot_read = || format!("cannot read {}", archive.display());
    let reader = io::BufReader::new(fs::File::open(archive).with_context(cannot_read)?);
    let limit = files.iter().map(|file| file.digest.bytes).sum::<u64>() + SLACK;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(reader).take(limit));
    let mut waiting = Waiting::default();
    for entry in archive.entries().with_context(cannot_read)? {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(format!("the archive is damaged: {error}"))),
        };
        let wanted = files.iter().find(|file| {
            let name = Path::new(inside).join(file.name);
            entry.header().entry_type().is_file()
                && entry.path().is_ok_and(|path| path.strip_prefix(".").unwrap_or(&path) == name)
                && !waiting.has(&folder.join(file.name))
        });
        let Some(file) = wanted else { continue };
        if let Some(problem) = waiting.write(&mut entry, file, &folder.join(file.name))? {
            return Ok(Err(problem));
        }
    }
    if let Some(file) = files.iter().find(|file| !waiting.has(&folder.join(file.name))) {
        return Ok(Err(format!("the archive has no {inside}/{}", file.name)));
    }
    while let Some((from, to)) = waiting.0.pop() {
        rename(&from, &to)?;
    }
    Ok(Ok(()))
}

/// Files that are written and will get their names when all are there; removed if that does not come to pass.
#[derive(Default)]
struct Waiting(Vec<(PathBuf, PathBuf)>);

impl Waiting {
    fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|(_, waiting)| waiting == path)
    }

    /// Writes what `entry` holds beside `path`; says what is wrong with it.
    fn write(&mut self, entry: &mut impl Read, file: &File, path: &Path) -> anyhow::Result<Option<String>> {
        let temporary = path.with_file_name(format!("{}.unpacked", file.name));
        let cannot_write = || format!("cannot write {}", temporary.display());
        let mut out = fs::File::create(&temporary).with_context(cannot_write)?;
        self.0.push((temporary.clone(), path.to_owned()));
        let mut hasher = Hasher::default();
        let mut entry = entry.take(file.digest.bytes + 1);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match entry.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.write_all(&buffer[..count])?;
                    out.write_all(&buffer[..count]).with_context(cannot_write)?;
                }
                Err(error) => return Ok(Some(format!("{} in the archive is damaged: {error}", file.name))),
            }
        }
        out.sync_all().with_context(cannot_write)?;
        let found = hasher.hex();
        let problem = || format!("{} in the archive: {}", file.name, mismatch(&found, file.digest.sha256));
        Ok((found != file.digest.sha256).then(problem))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for (temporary, _) in &self.0 {
            // What cannot be removed will be overwritten.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Says that a checksum is wrong.
pub(super) fn mismatch(found: &str, expected: &str) -> String {
    format!("wrong checksum: expected SHA-256 {expected}, got {found}")
}

/// Puts a finished file in its place, in one step.
pub(super) fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::rename(from, to).with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))
}
