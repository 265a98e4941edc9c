//! The orders of units in which the second posterior is looked at: its own, and those that alignments give it.

use super::Settings;
use super::Way;
use crate::commands::members::Source;
use crate::commands::name_of;
use crate::printer::Printer;
use anyhow::Context;
use anyhow::bail;
use onebasin::align;
use onebasin::align::Progress;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The second posterior with its units in some order.
#[derive(Debug)]
pub(super) struct Order {
    /// What it comes from.
    pub(super) name: String,
    pub(super) gaussian: Gaussian,
    /// W2 from the first posterior.
    pub(super) distance: f64,
    /// How many swaps of units make it.
    pub(super) transpositions: usize,
}

impl Order {
    /// The name of a curve: that of the order, and the way if it is not the usual one.
    pub(super) fn curve(&self, way: Way) -> anyhow::Result<String> {
        Ok(if way == Way::Geodesic { self.name.clone() } else { format!("{}, {}", self.name, name_of(&way)?) })
    }
}

/// The order that there is, then that of a file, then those that are sought.
pub(super) fn all(
    settings: &Settings,
    sources: &[Source],
    [fixed, moved]: [&Gaussian; 2],
    spec: &Spec,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Vec<Order>> {
    let order = |name: String, permutations: &Permutations| {
        let apply = |params: &Params| spec.apply(permutations, params);
        let gaussian = Gaussian::new(apply(moved.mean())?, apply(moved.std())?)?;
        let (distance, transpositions) = (fixed.distance(&gaussian)?, permutations.transpositions());
        Ok::<_, Error>(Order { name, gaussian, distance, transpositions })
    };
    let mut orders = vec![order("no alignment".to_owned(), &Permutations::identity(spec))?];
    if let Some(file) = &settings.alignment {
        let permutations = permutations(file, sources, spec).with_context(|| file.display().to_string())?;
        orders.push(order(file.display().to_string(), &permutations)?);
    }
    let spinner = printer.spinner();
    for channel in &settings.channels {
        let name = name_of(channel)?;
        let mut watch = |Progress { solver, assignments, .. }: Progress| {
            spinner.set_message(format!("aligning by {name}: {solver}, {assignments} assignment problems"));
        };
        let search = align::Settings {
            channel: *channel,
            solver: settings.solver,
            seed: settings.measure.seed,
            ..align::Settings::default()
        };
        let found = align::pair(spec, fixed, moved, search, team, &mut watch);
        let said = || format!("cannot align {} with {}", sources[1].file.display(), sources[0].file.display());
        orders.push(order(name, &found.with_context(said)?.permutations)?);
    }
    spinner.finish_and_clear();
    Ok(orders)
}

/// Reads the permutations of the second posterior, or the report of an alignment that names their file.
fn permutations(file: &Path, sources: &[Source], spec: &Spec) -> anyhow::Result<Permutations> {
    let text = fs::read_to_string(file)?;
    let report: Value = serde_json::from_str(&text)?;
    let Some(members) = report["members"].as_array() else {
        return Ok(Permutations::from_json(spec, &text)?);
    };
    let [fixed, moved] = [&sources[0], &sources[1]];
    let Some(reference) = report.get("reference") else {
        bail!("it is of samples, each of which has permutations of its own; use the Gaussian that was written with it");
    };
    if !is(reference, fixed) {
        bail!("it aligned with {}, not with {}", reference["source"], fixed.file.display());
    }
    let Some(member) = members.iter().find(|member| is(member, moved)) else {
        let aligned: Vec<String> = members.iter().map(|member| member["source"].to_string()).collect();
        bail!("it aligned {}, not {}", aligned.join(", "), moved.file.display());
    };
    let inside = member["permutations_file"].as_str().context("it does not say where the permutations are")?;
    let inside = file.with_file_name(inside);
    let text = fs::read_to_string(&inside).with_context(|| inside.display().to_string())?;
    Permutations::from_json(spec, &text).with_context(|| inside.display().to_string())
}

/// Whether a report means this posterior: by its file, or by its name if the file is no longer where it was.
fn is(entry: &Value, source: &Source) -> bool {
    let file = entry["source"].as_str().and_then(|file| Path::new(file).canonicalize().ok());
    match file {
        Some(file) => source.file.canonicalize().is_ok_and(|own| own == file),
        None => entry["name"] == source.name.as_str(),
    }
}
