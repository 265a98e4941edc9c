//! Writes the files of a report, and replaces only what an earlier report wrote.

use crate::error::{Error, Result};
use onebasin::hash;
use onebasin::store::write_whole;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Name of the list of what was written.
pub(super) const LIST: &str = "report.json";

/// What was written: the SHA-256 of each file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// Version of onebasin.
    version: String,
    /// SHA-256 by the names of files. A report that was interrupted leaves those of the earlier and of the new file.
    files: BTreeMap<String, BTreeSet<String>>,
}

/// Writes `files`, by their names inside `folder`, and the list of them. Changes nothing if there is a file that no earlier
/// report wrote.
pub(super) fn write_all(folder: &Path, list: &str, files: &[(String, Vec<u8>)]) -> Result<()> {
    let path = folder.join(list);
    let mut earlier: List = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(|_| Error::Foreign { path: path.clone() })?,
        Err(_) => List::default(),
    };
    env!("CARGO_PKG_VERSION").clone_into(&mut earlier.version);
    let mut new = List { version: earlier.version.clone(), files: BTreeMap::new() };
    for (name, bytes) in files {
        let (target, sum) = (folder.join(name), hash::sha256(bytes));
        let known = earlier.files.entry(name.clone()).or_default();
        if target.symlink_metadata().is_ok() {
            let found = hash::sha256_of_file(&target).unwrap_or_default();
            if found != sum && !known.contains(&found) {
                return Err(Error::Foreign { path: target });
            }
        }
        known.insert(sum.clone());
        new.files.insert(name.clone(), BTreeSet::from([sum]));
    }
    // Files that are not part of this report are still known.
    for (name, known) in &earlier.files {
        new.files.entry(name.clone()).or_insert_with(|| known.clone());
    }
    let text = |list: &List| serde_json::to_vec_pretty(list).expect("a list is plain data");
    write(&path, &text(&earlier))?;
    for (name, bytes) in files {
        write(&folder.join(name), bytes)?;
    }
    write(&path, &text(&new))
}

/// Writes a file, whole or not at all, in a folder that need not exist yet.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let fault = |error| onebasin::error::Error::file(path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fault)?;
    }
    write_whole(path, |file| file.write_all(bytes).map_err(fault)).map_err(Error::from)
}
