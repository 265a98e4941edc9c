//! What a single file is: a posterior, a checkpoint, permutations, a result or a configuration.

use super::{Description, facts, numbers, posterior, size, unknown};
use crate::commands::read;
use onebasin::experiment::stages::align::AlignResult;
use onebasin::experiment::stages::align_network::AlignNetworkResult;
use onebasin::experiment::stages::barrier::BarrierResult;
use onebasin::experiment::stages::compact::CompactResult;
use onebasin::experiment::stages::plane::PlaneResult;
use onebasin::experiment::stages::train::TrainResult;
use onebasin::experiment::{Experiment, Measures, TrainConfig};
use onebasin::store::Checkpoint;
use onebasin::symmetry::Permutation;
use onebasin_report::stages::{align, barrier, compact, plane, train};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Describes a file.
pub(super) fn describe(path: &Path) -> anyhow::Result<Description> {
    match path.extension().and_then(OsStr::to_str) {
        Some("safetensors") => tensors(path),
        Some("json") => result(path, &read(path)?),
        Some("jsonl") => permutations_of_samples(path, &read(path)?),
        Some("toml") => configuration(path, &read(path)?),
        Some("samples") => unknown(path, "it holds samples of a chain of an unfinished training; show its folder"),
        _ if !path.exists() => unknown(path, "there is no such file or folder"),
        _ => unknown(path, "its name does not end like that of a file of onebasin"),
    }
}

/// A posterior or a checkpoint.
fn tensors(path: &Path) -> anyhow::Result<Description> {
    match posterior::describe(path) {
        Ok(shown) => Ok(shown),
        Err(error) => match Checkpoint::read(path) {
            Ok(checkpoint) => Ok(describe_checkpoint(path, &checkpoint)),
            Err(_) => Err(error.into()),
        },
    }
}

/// The state of a training or of a learned matching.
pub(super) fn describe_checkpoint(path: &Path, checkpoint: &Checkpoint) -> Description {
    let Checkpoint { state, run } = checkpoint;
    let mut shown = Description::new(path, "a checkpoint, the state of a training or of a learned matching");
    let done = state.numbers.iter().find(|(name, _)| *name == "done" || name.ends_with("/done"));
    shown.maybe("steps done", done.map(|(_, steps)| *steps));
    for (name, value) in &run.last {
        shown.maybe(&format!("last {name}"), value.map(train::number));
    }
    shown.fact("vectors", state.vectors.len());
    shown.fact("values", state.vectors.values().map(Vec::len).sum::<usize>());
    shown.fact("size", size(path));
    shown
}

/// The result of a stage or of an experiment, or permutations.
pub(super) fn result(path: &Path, text: &str) -> anyhow::Result<Description> {
    let mut shown = Description::new(path, "");
    if let Ok(found) = serde_json::from_str::<Measures>(text) {
        return Ok(facts::measures(path, &found));
    } else if let Ok(found) = serde_json::from_str::<AlignNetworkResult>(text) {
        shown.call("the result of an alignment of checkpoints");
        shown.fact("written by", format!("onebasin {}", found.version));
        shown.fact("network", found.network.file.display().to_string());
        shown.fact("groups", format!("{} of {} units", found.network.groups, found.network.units));
        shown.fact("aligned with", found.reference.display().to_string());
        for member in &found.members {
            let (before, after) = (member.w2.before, member.w2.after);
            let text =
                format!("{}, {}, distance {before:.5} before and {after:.5} after", member.format, member.convention);
            shown.fact(&member.file.display().to_string(), text);
        }
    } else if let Ok(found) = serde_json::from_str::<AlignResult>(text) {
        shown.call("the result of an alignment");
        alignment(&mut shown, &found);
    } else if let Ok(found) = serde_json::from_str::<BarrierResult>(text) {
        shown.call("barriers between two posteriors");
        pair(&mut shown, &found.version, &found.data, &found.posteriors);
        shown.result(&found, barrier::table(&found).text());
    } else if let Ok(found) = serde_json::from_str::<PlaneResult>(text) {
        shown.call("the plane through two posteriors and the second one aligned");
        pair(&mut shown, &found.version, &found.data, &found.posteriors);
        shown.fact("alignment", found.alignment.clone());
        shown.result(&found, plane::text(&found));
    } else if let Ok(found) = serde_json::from_str::<CompactResult>(text) {
        shown.call("Gaussians in place of samples");
        shown.fact("written by", format!("onebasin {}", found.version));
        shown.fact("samples", found.samples);
        shown.maybe("chains", found.chains);
        shown.fact("parameters", found.parameters);
        shown.result(&found, compact::text(&found));
    } else if let Ok(found) = serde_json::from_str::<TrainResult>(text) {
        shown.call("the result of a training");
        shown.result(&found, train::table(&found).text());
    } else if let Ok(found) = serde_json::from_str::<BTreeMap<String, Vec<u32>>>(text) {
        return permutations(path, found);
    } else {
        return unknown(path, "it is no result and no permutations of onebasin");
    }
    Ok(shown)
}

/// What an alignment aligned, and how.
fn alignment(shown: &mut Description, found: &AlignResult) {
    shown.fact("written by", format!("onebasin {}", found.version));
    shown.fact("aligned with", found.settings.to.name());
    let names = |names: Vec<&str>| names.join(", ");
    shown.fact("criterion", names(found.settings.criteria.iter().map(|criterion| criterion.name()).collect()));
    shown.fact("solver", names(found.settings.solvers.iter().map(|solver| solver.name()).collect()));
    shown.result(found, align::text(found));
}

fn pair(shown: &mut Description, version: &str, data: &str, posteriors: &[std::path::PathBuf]) {
    shown.fact("written by", format!("onebasin {version}"));
    shown.fact("data", data);
    for (name, file) in ["A", "B"].iter().zip(posteriors) {
        shown.fact(name, file.display().to_string());
    }
}

/// Permutations of a network's units, one for each group.
fn permutations(path: &Path, groups: BTreeMap<String, Vec<u32>>) -> anyhow::Result<Description> {
    let mut shown = Description::new(path, "permutations of units, new[i] = old[p[i]]");
    let mut table = numbers("group", &["units", "NoT", "fixed"]);
    for (name, indices) in groups {
        let permutation =
            Permutation::new(indices).map_err(|error| anyhow::anyhow!("{}: `{name}`: {error}", path.display()))?;
        let counts = [permutation.len(), permutation.transpositions(), permutation.fixed_points()];
        shown.fact(&name, format!("{} units, {} transpositions, {} fixed", counts[0], counts[1], counts[2]));
        table.push(std::iter::once(name).chain(counts.map(|count| count.to_string())));
    }
    shown.order.clear();
    shown.tables.push(table.text());
    Ok(shown)
}

/// Permutations of samples, one line each; or the log of a training.
fn permutations_of_samples(path: &Path, text: &str) -> anyhow::Result<Description> {
    let lines = text.lines().count();
    if text.lines().all(|line| serde_json::from_str::<BTreeMap<String, Vec<u32>>>(line).is_ok()) && lines > 0 {
        let mut shown = Description::new(path, "permutations of the units of samples, one line for each");
        shown.fact("samples", lines);
        return Ok(shown);
    }
    if path.file_name().is_some_and(|name| name == "metrics.jsonl") {
        let mut shown = Description::new(path, "the log of a training, one JSON object a line");
        shown.fact("lines", lines);
        shown.maybe("last line", text.lines().last());
        return Ok(shown);
    }
    unknown(path, "it has neither permutations nor the log of a training")
}

/// An experiment or the configuration of a training.
fn configuration(path: &Path, text: &str) -> anyhow::Result<Description> {
    let name = path.display().to_string();
    let table = onebasin::experiment::config::read_table(&name, text, &[])?;
    if table.contains_key("infer") && !table.contains_key("train") {
        let config = TrainConfig::from_toml(&name, text, &[])?;
        let mut shown = Description::new(path, "the configuration of a training, for `onebasin train`");
        facts::training_facts(&mut shown, &config);
        return Ok(shown);
    }
    let experiment = Experiment::read(&name, text, &[])?;
    let mut shown = Description::new(path, "an experiment, for `onebasin run`");
    facts::experiment_facts(&mut shown, &experiment);
    Ok(shown)
}
