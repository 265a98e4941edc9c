//! SHA-256 of files, data and settings: whether a file is the one that was published or written, and a result up to date.

use crate::error::{Error, Result};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;

/// Computes the SHA-256 of what is written to it.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// The SHA-256, in lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("a string can be written to");
            digits
        })
    }
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The SHA-256 of a file, in lower-case hexadecimal digits.
pub fn sha256_of_file(path: &Path) -> Result<String> {
    let mut hasher = Hasher::default();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hasher));
    copied.map_err(|error| Error::file(path, error))?;
    Ok(hasher.hex())
}

/// The SHA-256 of bytes, in lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Hasher(Sha256::new_with_prefix(bytes)).hex()
}

/// The first digits of the SHA-256 of a value as JSON, enough to tell cells and posteriors apart.
pub(crate) fn short(value: &impl Serialize) -> String {
    let mut digits = sha256(serde_json::to_string(value).expect("settings are plain data").as_bytes());
    digits.truncate(8);
    digits
}
