//! Runs one stage in a folder of its own, as a command does: a result that is up to date is returned as it is, one of other
//! settings or inputs is refused, and an interrupted attempt is made again.

use super::context::Context;
use super::folder::{Claim, LOCK, files};
use super::made::{MADE, Made, check_unchanged};
use super::stage::{Folder, Stage};
use crate::error::{Error, Result};
use crate::hash;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Runs a stage unless its result in the folder is up to date; returns the result, and whether it was.
pub fn run_alone<S: Stage>(stage: &S, path: &Path, replace: bool, context: &Context<'_>) -> Result<(S::Result, bool)> {
    let settings = serde_json::to_value(stage).expect("settings are plain data");
    let now = Made::new(S::NAME, S::REVISION, settings, stage.inputs());
    let earlier = if replace { None } else { Made::read(path)? };
    let interrupted = match &earlier {
        None => false,
        Some(Made { outputs: None, .. }) => true,
        Some(earlier) => {
            let whole = is_whole(path, earlier)?;
            match (earlier.difference(now.as_ref().map_err(Error::clone)?), whole) {
                (Some(reason), _) => return Err(Error::Folder { path: path.to_owned(), reason }),
                (None, true) => return Ok((read_result::<S>(path)?, true)),
                (None, false) => true,
            }
        }
    };
    Folder::check::<S>(path, replace || interrupted)?;
    let claim = Claim::new(path, &format!("another process writes the result of `{}` into it", S::NAME))?;
    if !replace && Made::read(path)? != earlier {
        // The other one was faster.
        drop(claim);
        return run_alone(stage, path, replace, context);
    }
    let mut folder = Folder::check::<S>(path, replace || interrupted)?;
    // An input that cannot be read is refused by the stage, in its own words.
    folder.unfinished = now.ok();
    let result = stage.run_into(&folder, context)?;
    if let Some(made) = folder.unfinished {
        made.inputs.iter().try_for_each(|input| check_unchanged(&input.file, &input.sha256))?;
        Made { outputs: Some(outputs::<S>(path)?), ..made }.write(path)?;
    }
    claim.keep();
    Ok((result, false))
}

/// Whether all files of a result are there; one that was changed since is an error, because it would be lost.
fn is_whole(folder: &Path, made: &Made) -> Result<bool> {
    let mut whole = true;
    for (name, sha256) in made.outputs.iter().flatten() {
        let file = folder.join(name);
        if !file.exists() {
            whole = false;
            continue;
        }
        if hash::sha256_of_file(&file)? != *sha256 {
            let reason = format!("{name} was changed since `{}` wrote it", made.stage);
            return Err(Error::Folder { path: folder.to_owned(), reason });
        }
    }
    Ok(whole)
}

/// The files that the stage has written, by their names inside its folder, and their SHA-256.
fn outputs<S: Stage>(folder: &Path) -> Result<BTreeMap<String, String>> {
    let inner = S::FOLDERS.iter().map(|(name, _)| folder.join(name));
    let mut all = BTreeMap::new();
    for place in std::iter::once(folder.to_owned()).chain(inner) {
        for file in
            files(&place)?.into_iter().filter(|file| file.is_file() && !file.ends_with(MADE) && !file.ends_with(LOCK))
        {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            // The same on every platform.
            let name = name.replace(std::path::MAIN_SEPARATOR, "/");
            all.insert(name, hash::sha256_of_file(&file)?);
        }
    }
    Ok(all)
}

fn read_result<S: Stage>(folder: &Path) -> Result<S::Result> {
    let path = folder.join(S::RESULT);
    let text = fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?;
    serde_json::from_str(&text).map_err(|error| Error::damaged(&path, &error))
}
