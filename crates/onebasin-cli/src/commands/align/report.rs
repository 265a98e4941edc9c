//! What is known of an alignment, as JSON, field by field.

use super::Method;
use onebasin::align::Alignment;
use onebasin::align::Many;
use onebasin::params::Tensor;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use serde::Serialize;
use std::path::Path;
use std::path::PathBuf;

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) settings: Method,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// What came out.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    /// Each was aligned with the first.
    Pairs { reference: Reference, members: Vec<Pair> },
    /// All were aligned with each other; the first stays.
    Together { reference: Reference, together: Together, members: Vec<Aligned> },
    /// Each sample was aligned with the Gaussian that fits all of them, which was written, too.
    Relabelled { gaussian: PathBuf, together: Together, members: Vec<Relabelled> },
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
    /// W2 from the reference.
    pub(super) distance: BeforeAndAfter,
    /// The largest change of a logit of the mean on random images, relative to the largest logit.
    pub(super) change_of_function: f64,
    /// How many of its units had no vote.
    pub(super) silent_units: usize,
    pub(super) permutations: Vec<Permutation>,
}

/// A posterior that was aligned with the first, whatever the others are.
#[derive(Debug, Serialize)]
pub(super) struct Pair {
    #[serde(flatten)]
    pub(super) aligned: Aligned,
    pub(super) objective: Objective,
    /// How many assignment problems were solved.
    pub(super) assignments: usize,
    pub(super) seconds: f64,
    /// The part of each permutation: a tensor that two of them act on counts half for each.
    pub(super) groups: Vec<Part>,
    pub(super) tensors: Vec<Part>,
    /// The best first.
    attempts: Vec<Attempt>,
}

/// Samples that were permuted one by one.
#[derive(Debug, Serialize)]
pub(super) struct Relabelled {
    pub(super) name: String,
    pub(super) source: PathBuf,
    /// Inside the folder of the alignment.
    pub(super) file: PathBuf,
    /// Inside the folder of the alignment; one line for each sample.
    pub(super) permutations_file: PathBuf,
    pub(super) samples: usize,
    /// How many samples have other labels than before.
    pub(super) changed: usize,
    /// The largest change of a logit of a sample on random images, relative to the largest logit.
    pub(super) change_of_function: f64,
    pub(super) permutations: Vec<Group>,
}

/// What was found for all posteriors, or for all samples, at once.
#[derive(Debug, Serialize)]
pub(super) struct Together {
    pub(super) method: &'static str,
    /// Without permutations and after each round.
    pub(super) history: Vec<f64>,
    /// How many assignment problems were solved.
    pub(super) assignments: usize,
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct BeforeAndAfter {
    pub(super) before: f64,
    pub(super) after: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Objective {
    #[serde(flatten)]
    pub(super) value: BeforeAndAfter,
    pub(super) bound: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Permutation {
    pub(super) name: String,
    pub(super) size: usize,
    pub(super) transpositions: usize,
    pub(super) fixed_points: usize,
}

/// The permutations of one group, one for each sample.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    size: usize,
    pub(super) mean_transpositions: f64,
}

/// What a group or a tensor has of the objective.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) objective: BeforeAndAfter,
}

#[derive(Debug, Serialize)]
struct Attempt {
    solver: &'static str,
    objective: f64,
    assignments: usize,
}

impl Report {
    pub(super) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl Outcome {
    /// The files of all posteriors that were written, and by how much their functions have changed.
    pub(super) fn written(&self) -> Vec<(&Path, f64)> {
        match self {
            Self::Pairs { reference, members } => {
                reference.written().chain(members.iter().map(|pair| pair.aligned.written())).collect()
            }
            Self::Together { reference, members, .. } => {
                reference.written().chain(members.iter().map(Aligned::written)).collect()
            }
            Self::Relabelled { members, .. } => {
                members.iter().map(|member| (member.file.as_path(), member.change_of_function)).collect()
            }
        }
    }
}

impl Reference {
    fn written(&self) -> impl Iterator<Item = (&Path, f64)> {
        self.file.as_deref().zip(self.change_of_function).into_iter()
    }
}

impl Aligned {
    fn written(&self) -> (&Path, f64) {
        (&self.file, self.change_of_function)
    }

    pub(super) fn permutations(spec: &Spec, found: &Permutations) -> Vec<Permutation> {
        let groups = spec.groups().iter().zip(found.as_slice());
        groups
            .map(|(group, permutation)| Permutation {
                name: group.name.clone(),
                size: group.size,
                transpositions: permutation.transpositions(),
                fixed_points: permutation.fixed_points(),
            })
            .collect()
    }
}

impl Pair {
    pub(super) fn new(aligned: Aligned, found: &Alignment, spec: &Spec, seconds: f64) -> Self {
        let Alignment { before, after, bound, attempts, .. } = found;
        let groups = spec.groups().iter().map(|group| group.name.as_str());
        let tensors = spec.layout().tensors().iter().map(Tensor::name);
        let attempts = attempts.iter().map(|attempt| Attempt {
            solver: attempt.solver,
            objective: attempt.value.total,
            assignments: attempt.assignments,
        });
        let value = BeforeAndAfter { before: before.total, after: after.total };
        Self {
            aligned,
            objective: Objective { value, bound: *bound },
            assignments: found.assignments(),
            seconds,
            groups: parts(groups, &before.groups, &after.groups),
            tensors: parts(tensors, &before.tensors, &after.tensors),
            attempts: attempts.collect(),
        }
    }
}

fn parts<'a>(names: impl Iterator<Item = &'a str>, before: &[f64], after: &[f64]) -> Vec<Part> {
    let objectives = before.iter().zip(after).map(|(before, after)| BeforeAndAfter { before: *before, after: *after });
    names.zip(objectives).map(|(name, objective)| Part { name: name.to_owned(), objective }).collect()
}

impl Group {
    /// Of each group, the means over samples.
    pub(super) fn means(spec: &Spec, samples: &[Permutations]) -> Vec<Self> {
        let groups = spec.groups().iter().enumerate().map(|(index, group)| {
            let transpositions: usize = samples.iter().map(|own| own.as_slice()[index].transpositions()).sum();
            let mean_transpositions = transpositions as f64 / samples.len() as f64;
            Self { name: group.name.clone(), size: group.size, mean_transpositions }
        });
        groups.collect()
    }
}

impl Together {
    pub(super) fn new(found: &Many, seconds: f64) -> Self {
        Self { method: found.method, history: found.history.clone(), assignments: found.assignments, seconds }
    }
}
