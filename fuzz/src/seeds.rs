//! The files that inputs begin with: small ones in `fuzz/seeds/`, and those of the tests of all crates.

use std::fs;
use std::path::{Path, PathBuf};

/// Larger files are left out: they slow the fuzzer down.
const MOST: u64 = 64 << 10;

/// A first input.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Seed {
    pub(crate) fn new(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.to_owned(), bytes: bytes.into() }
    }

    /// Puts bytes in front.
    pub(crate) fn behind(mut self, first: &[u8]) -> Self {
        self.bytes.splice(0..0, first.iter().copied());
        self
    }
}

/// The files of `fuzz/seeds/NAME/`, if there are any.
pub(crate) fn committed(name: &str) -> Vec<Seed> {
    files(&format!("fuzz/seeds/{name}"), &[""])
}

/// The small files below a folder of the repository whose names end in one of these ways.
pub(crate) fn files(folder: &str, endings: &[&str]) -> Vec<Seed> {
    let mut found = Vec::new();
    gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), &mut found);
    found.sort();
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    found.retain(|path| endings.iter().any(|ending| name(path).ends_with(ending)));
    let read = |path: &PathBuf| Seed { name: name(path), bytes: fs::read(path).expect("a seed can be read") };
    found.iter().filter(|path| path.metadata().is_ok_and(|file| file.len() <= MOST)).map(read).collect()
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten() {
        let path = entry.expect("a folder of seeds can be read").path();
        if path.is_dir() { gather(&path, found) } else { found.push(path) }
    }
}
