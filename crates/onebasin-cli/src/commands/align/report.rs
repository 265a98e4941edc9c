//! What is known of an alignment: as JSON, field by field, and as tables.

use super::Method;
use onebasin::align::Alignment;
use onebasin::params::Layout;
use onebasin::symmetry::Spec;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;
use serde::Serialize;
use std::path::PathBuf;

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) settings: Method,
    /// What the others were aligned with.
    pub(super) reference: Reference,
    pub(super) members: Vec<Aligned>,
}

/// The posterior that stays.
#[derive(Debug, Serialize)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) source: PathBuf,
    /// Inside the folder of the alignment, if its scales were balanced.
    pub(super) file: Option<PathBuf>,
    /// If its scales were balanced.
    pub(super) change_of_function: Option<f64>,
    /// How many of its units had no vote.
    pub(super) silent_units: usize,
}

/// A posterior that was permuted.
#[derive(Debug, Serialize)]
pub(super) struct Aligned {
    pub(super) name: String,
    pub(super) source: PathBuf,
    /// Inside the folder of the alignment.
    pub(super) file: PathBuf,
    /// Inside the folder of the alignment.
    pub(super) permutations_file: PathBuf,
    pub(super) objective: Objective,
    /// W2 from the reference.
    pub(super) distance: BeforeAndAfter,
    /// The largest change of a logit of the mean on random images, relative to the largest logit.
    pub(super) change_of_function: f64,
    /// How many of its units had no vote.
    pub(super) silent_units: usize,
    /// How many assignment problems were solved.
    pub(super) assignments: usize,
    pub(super) seconds: f64,
    pub(super) permutations: Vec<Permutation>,
    pub(super) tensors: Vec<Tensor>,
    /// The best first.
    pub(super) attempts: Vec<Attempt>,
}

#[derive(Debug, Serialize)]
pub(super) struct BeforeAndAfter {
    pub(super) before: f64,
    pub(super) after: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Objective {
    #[serde(flatten)]
    value: BeforeAndAfter,
    bound: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Permutation {
    name: String,
    size: usize,
    transpositions: usize,
    fixed_points: usize,
    /// Its part: a tensor that two permutations act on counts half for each.
    objective: BeforeAndAfter,
}

#[derive(Debug, Serialize)]
pub(super) struct Tensor {
    name: String,
    objective: BeforeAndAfter,
}

#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    solver: &'static str,
    objective: f64,
    assignments: usize,
}

impl Objective {
    pub(super) fn new(found: &Alignment) -> Self {
        let value = BeforeAndAfter { before: found.before.total, after: found.after.total };
        Self { value, bound: found.bound }
    }
}

pub(super) fn permutations(spec: &Spec, found: &Alignment) -> Vec<Permutation> {
    let parts = found.before.groups.iter().zip(&found.after.groups);
    let groups = spec.groups().iter().zip(found.permutations.as_slice());
    groups
        .zip(parts)
        .map(|((group, permutation), (before, after))| Permutation {
            name: group.name.clone(),
            size: group.size,
            transpositions: permutation.transpositions(),
            fixed_points: permutation.fixed_points(),
            objective: BeforeAndAfter { before: *before, after: *after },
        })
        .collect()
}

pub(super) fn tensors(layout: &Layout, found: &Alignment) -> Vec<Tensor> {
    let parts = found.before.tensors.iter().zip(&found.after.tensors);
    let tensors = layout.tensors().iter().zip(parts);
    tensors
        .map(|(tensor, (before, after))| Tensor {
            name: tensor.name().to_owned(),
            objective: BeforeAndAfter { before: *before, after: *after },
        })
        .collect()
}

pub(super) fn attempts(found: &Alignment) -> Vec<Attempt> {
    let attempts = found.attempts.iter();
    attempts
        .map(|attempt| Attempt {
            solver: attempt.solver,
            objective: attempt.value.total,
            assignments: attempt.assignments,
        })
        .collect()
}

impl Report {
    pub(super) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// For each posterior its permutations, then the totals of all, with a blank line between them.
    pub(super) fn text(&self) -> String {
        let mut tables: Vec<Table> = self.members.iter().map(Aligned::table).collect();
        let names = self.members.iter().map(|member| (member.name.as_str(), Right));
        let mut totals = Table::new(std::iter::once(("total", Left)).chain(names));
        let mut row = |name: &str, value: &dyn Fn(&Aligned) -> String| {
            totals.push(std::iter::once(name.to_owned()).chain(self.members.iter().map(value)));
        };
        row("objective before", &|member| number(member.objective.value.before));
        row("objective after", &|member| number(member.objective.value.after));
        row("upper bound", &|member| number(member.objective.bound));
        row("after / bound", &|member| format!("{:.4}", member.objective.value.after / member.objective.bound));
        row("W2 distance before", &|member| number(member.distance.before));
        row("W2 distance after", &|member| number(member.distance.after));
        row("assignment problems", &|member| member.assignments.to_string());
        row("seconds", &|member| format!("{:.2}", member.seconds));
        row("change of the function", &|member| format!("{:.1e}", member.change_of_function));
        tables.push(totals);
        tables.iter().map(Table::text).collect::<Vec<_>>().join("\n")
    }
}

impl Aligned {
    fn table(&self) -> Table {
        let title = format!("permutation of {}", self.name);
        let columns = [(title.as_str(), Left), ("units", Right), ("NoT", Right), ("fixed", Right)];
        let mut table = Table::new(columns.into_iter().chain([("objective before", Right), ("after", Right)]));
        for Permutation { name, size, transpositions, fixed_points, objective } in &self.permutations {
            let [size, transpositions, fixed_points] = [size, transpositions, fixed_points].map(ToString::to_string);
            let [before, after] = [objective.before, objective.after].map(number);
            table.push([name, &size, &transpositions, &fixed_points, &before, &after]);
        }
        table
    }
}

/// Six significant digits, whatever the size.
fn number(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 };
    if (-4..9).contains(&digits) { format!("{value:.*}", (5 - digits).max(0) as usize) } else { format!("{value:.5e}") }
}
