//! What a folder is: a training, an alignment, a measurement or an experiment, finished or not.

use super::facts::{experiment_facts, training_facts};
use super::{Description, files, posterior, size, unknown};
use crate::commands::read;
use onebasin::experiment::{
    Align, EXPERIMENT, Experiment, MEASURES, Made, Measures, POSTERIOR, Stage as _, Train, TrainConfig,
};
use onebasin::store::Checkpoint;
use std::fs;
use std::path::{Path, PathBuf};

/// The configuration of a training in its folder.
const CONFIG: &str = "config.toml";
/// The state of a training in its folder.
const CHECKPOINT: &str = "checkpoint.safetensors";

/// Describes a folder.
pub(super) fn describe(path: &Path) -> anyhow::Result<Description> {
    let has = |file: &str| path.join(file).exists();
    if has(CONFIG) {
        return training(path);
    }
    if has(EXPERIMENT) {
        return experiment(path);
    }
    for file in [Align::RESULT, MEASURES] {
        if has(file) {
            return stage(path, file);
        }
    }
    if let Some(made) = Made::read(path)? {
        return Ok(Description::new(path, format!("the folder of an interrupted `{}`", made.stage)));
    }
    let inner = inner_folders(path);
    let parts: Vec<Description> = inner
        .iter()
        .filter(|inner| inner.join(Align::RESULT).exists())
        .map(|inner| describe(inner))
        .collect::<anyhow::Result<_>>()?;
    if !parts.is_empty() {
        let mut shown = Description::new(path, "alignments by several criteria or solvers");
        shown.parts = parts;
        return Ok(shown);
    }
    unknown(path, "it is no folder of onebasin")
}

fn training(path: &Path) -> anyhow::Result<Description> {
    let file = path.join(CONFIG);
    let config = TrainConfig::from_toml(&file.display().to_string(), &read(&file)?, &[])?;
    let has = |file: &str| path.join(file).exists();
    let finished = has(Train::RESULT) && has(POSTERIOR);
    let state =
        if finished { "finished" } else { "not finished; `onebasin train` with its configuration continues it" };
    let mut shown = Description::new(path, format!("a training, {state}"));
    training_facts(&mut shown, &config);
    shown.fact("size", size(path));
    if finished {
        let result = path.join(Train::RESULT);
        shown.parts.push(files::result(&result, &read(&result)?)?);
        shown.parts.push(posterior::describe(&path.join(POSTERIOR))?);
    } else if has(CHECKPOINT) {
        let file = path.join(CHECKPOINT);
        shown.parts.push(files::describe_checkpoint(&file, &Checkpoint::read(&file)?));
    }
    Ok(shown)
}

/// The folder of one stage, with what it was made of.
fn stage(path: &Path, file: &str) -> anyhow::Result<Description> {
    let file = path.join(file);
    let mut shown = files::result(&file, &read(&file)?)?;
    path.clone_into(&mut shown.path);
    if let Some(made) = Made::read(path)? {
        for input in &made.inputs {
            shown.fact(&format!("SHA-256 of {}", input.file.display()), input.sha256.clone());
        }
    }
    shown.fact("size", size(path));
    Ok(shown)
}

fn experiment(path: &Path) -> anyhow::Result<Description> {
    let file = path.join(EXPERIMENT);
    let experiment = Experiment::read(&file.display().to_string(), &read(&file)?, &[])?;
    let finished = path.join(MEASURES).exists();
    let state = if finished { "measured" } else { "not finished; `onebasin run` with the same file continues it" };
    let mut shown = Description::new(path, format!("the folder of an experiment, {state}"));
    experiment_facts(&mut shown, &experiment);
    shown.fact("stages that are finished", finished_stages(path));
    if finished {
        let (found, times) = Measures::read(path)?;
        shown.fact("written by", format!("onebasin {}", found.version));
        shown.maybe("overrides", (!found.overrides.is_empty()).then(|| found.overrides.join(", ")));
        let all: f64 = times.seconds.iter().filter(|(place, _)| !place.contains(' ')).map(|(_, seconds)| seconds).sum();
        shown.maybe("machine", Some(times.machine).filter(|machine| !machine.is_empty()));
        shown.fact("seconds of all stages", format!("{all:.1}"));
    }
    let report = path.join("report").join("index.html");
    shown.maybe("report", report.exists().then(|| report.display().to_string()));
    shown.fact("size", size(path));
    Ok(shown)
}

/// Number of finished stages anywhere below a folder.
fn finished_stages(path: &Path) -> usize {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let count = |path: PathBuf| {
        let own = path.to_string_lossy().ends_with(".stage.json");
        usize::from(own) + finished_stages(&path)
    };
    entries.flatten().map(|entry| count(entry.path())).sum()
}

fn inner_folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    all.sort();
    all
}
