//! Compares files with the sizes and the SHA-256 that the catalogue has of them.

use anyhow::Context;
use onebasin::data::catalogue::File;
use sha2::Digest as _;
use sha2::Sha256;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

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
    let Some((path, digest)) = found else {
        return Ok(State::Missing);
    };
    let bytes = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if bytes != digest.bytes {
        return Ok(State::Wrong(format!("{} has {bytes} bytes, not {}", path.display(), digest.bytes)));
    }
    let found = sha256(&path)?;
    if found != digest.sha256 {
        return Ok(State::Wrong(format!("{}: {}", path.display(), mismatch(&found, digest.sha256))));
    }
    Ok(State::Right)
}

/// The SHA-256 of a file, in lower-case hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> anyhow::Result<String> {
    let mut hasher = Sha256::new();
    fs::File::open(path)
        .and_then(|mut file| io::copy(&mut file, &mut Hashing(&mut hasher)))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(hasher))
}

/// The SHA-256 of bytes, in lower-case hexadecimal digits.
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    hex(Sha256::new().chain_update(bytes))
}

/// The digits of a finished hash.
pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string can be written to");
        digits
    })
}

/// Says that a checksum is wrong.
pub(super) fn mismatch(found: &str, expected: &str) -> String {
    format!("wrong checksum: expected SHA-256 {expected}, got {found}")
}

/// Hashes what is written to it.
struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
