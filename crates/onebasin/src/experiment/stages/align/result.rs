//! The result of an alignment.

use super::AlignSettings;
use crate::align::{Alignment, Many};
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::keys::null_is_nan;
use crate::params::Tensor;
use crate::symmetry::{Permutations, Spec, is_rounding};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The result of an alignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlignResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the alignment.
    pub settings: AlignSettings,
    /// What was found for the posteriors.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What was found for the posteriors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Each posterior was aligned with the first.
    Pairs {
        /// The first posterior, which stays.
        reference: Reference,
        /// The other posteriors.
        members: Vec<Pair>,
    },
    /// All posteriors were aligned with each other.
    Together {
        /// The first posterior, which stays.
        reference: Reference,
        /// What was found for all posteriors at once.
        together: Together,
        /// The other posteriors.
        members: Vec<Aligned>,
    },
    /// Each sample was aligned with the Gaussian that fits all of them.
    Relabelled {
        /// File of that Gaussian, inside the folder of the alignment.
        gaussian: PathBuf,
        /// What was found for all samples at once.
        together: Together,
        /// The files of samples.
        members: Vec<RelabelledSamples>,
    },
}

/// The posterior that stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Name of the posterior.
    pub name: String,
    /// File of the posterior.
    pub source: PathBuf,
    /// File inside the folder of the alignment; none unless its scales were balanced.
    pub file: Option<PathBuf>,
    /// Largest change of a logit of the mean on random inputs, relative to the largest logit; none unless it was written.
    pub change_of_function: Option<f64>,
    /// Number of its units that were masked.
    pub masked_units: usize,
}

/// A posterior that was permuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aligned {
    /// Name of the posterior.
    pub name: String,
    /// File of the posterior before.
    pub source: PathBuf,
    /// File of the permuted posterior, inside the folder of the alignment.
    pub file: PathBuf,
    /// File of the permutations, inside the folder of the alignment.
    pub permutations_file: PathBuf,
    /// Wasserstein distance W2 from the reference.
    pub w2: BeforeAndAfter,
    /// Largest change of a logit of the mean on random inputs, relative to the largest logit.
    #[serde(deserialize_with = "null_is_nan")]
    pub change_of_function: f64,
    /// Number of its units that were masked.
    pub masked_units: usize,
    /// Permutation of each group of units.
    pub permutations: Vec<Permutation>,
}

/// A posterior that was aligned with the first alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The posterior.
    #[serde(flatten)]
    pub aligned: Aligned,
    /// Objective of the criterion.
    pub objective: Objective,
    /// Number of assignment problems that were solved.
    pub assignments: usize,
    /// Seconds it took.
    #[serde(default)]
    pub seconds: f64,
    /// Share of each group of units in the objective; a tensor that two groups permute counts half for each.
    pub groups: Vec<Part>,
    /// Share of each tensor in the objective.
    pub tensors: Vec<Part>,
    /// What each solver found, the best first.
    pub attempts: Vec<Attempt>,
}

/// A file of samples that were permuted one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelabelledSamples {
    /// Name of the posterior.
    pub name: String,
    /// File of the samples before.
    pub source: PathBuf,
    /// File of the permuted samples, inside the folder of the alignment.
    pub file: PathBuf,
    /// File of the permutations, one line for each sample, inside the folder of the alignment.
    pub permutations_file: PathBuf,
    /// Number of samples.
    pub samples: usize,
    /// Number of samples with other permutations than the identity.
    pub changed: usize,
    /// Largest change of a logit of a sample on random inputs, relative to the largest logit.
    #[serde(deserialize_with = "null_is_nan")]
    pub change_of_function: f64,
    /// Permutations of each group of units.
    pub permutations: Vec<RelabelledGroup>,
}

/// What was found for all posteriors, or for all samples, at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Name of the method.
    pub method: String,
    /// Objective without permutations and after each round.
    pub history: Vec<f64>,
    /// Number of assignment problems that were solved.
    pub assignments: usize,
    /// Seconds it took.
    #[serde(default)]
    pub seconds: f64,
}

/// A number before and after the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeforeAndAfter {
    /// Without permutations.
    pub before: f64,
    /// With the permutations that were found.
    pub after: f64,
}

/// The objective of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Its value.
    #[serde(flatten)]
    pub value: BeforeAndAfter,
    /// A value that no permutations exceed.
    pub bound: f64,
}

impl Objective {
    /// The objective that an alignment reaches.
    pub fn of(found: &Alignment) -> Self {
        let value = BeforeAndAfter { before: found.before.total, after: found.after.total };
        Self { value, bound: found.bound }
    }
}

/// The permutation of one group of units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permutation {
    /// Name of the group.
    pub name: String,
    /// Number of units.
    pub size: usize,
    /// Number of transpositions that make up the permutation.
    pub transpositions: usize,
    /// Number of units that stay.
    pub fixed_points: usize,
}

/// The permutations of one group of units, one for each sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelabelledGroup {
    /// Name of the group.
    pub name: String,
    /// Number of units.
    pub size: usize,
    /// Mean number of transpositions over all samples.
    pub mean_transpositions: f64,
}

/// Share of a group or a tensor in the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Name of the group or the tensor.
    pub name: String,
    /// Its share.
    pub objective: BeforeAndAfter,
}

/// What one solver found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Name of the solver.
    pub solver: String,
    /// Objective of its permutations.
    pub objective: f64,
    /// Number of assignment problems that it solved.
    pub assignments: usize,
}

impl AlignResult {
    /// Files of all posteriors that were written, inside the folder of the alignment, and the change of their functions.
    pub fn written(&self) -> Vec<(&Path, f64)> {
        if let Outcome::Relabelled { members, .. } = &self.outcome {
            return members.iter().map(|member| (&*member.file, member.change_of_function)).collect();
        }
        let (reference, members) = self.outcome.posteriors().expect("all but samples are posteriors");
        let change = reference.change_of_function.unwrap_or(f64::NAN);
        let reference = reference.file.iter().map(|file| (file.as_path(), change));
        reference.chain(members.iter().map(|member| (&*member.file, member.change_of_function))).collect()
    }

    /// The first file whose function has changed by more than rounding, and by how much.
    pub fn changed(&self) -> Option<(&Path, f64)> {
        self.written().into_iter().find(|(_, change)| !is_rounding(*change))
    }

    /// The file, inside the folder of the alignment, of the permutations that align the second posterior with the first.
    pub fn permutations_between(&self, [fixed, moved]: [&Source; 2]) -> Result<PathBuf> {
        let (reference, members) = self.outcome.posteriors()?;
        if !is(&reference.name, &reference.source, fixed) {
            let reason = format!("the alignment is with {}", reference.source.display());
            return Err(Error::File { path: fixed.file.clone(), reason });
        }
        let member = members.iter().find(|member| is(&member.name, &member.source, moved)).ok_or_else(|| {
            let aligned: Vec<String> = members.iter().map(|member| member.source.display().to_string()).collect();
            Error::File { path: moved.file.clone(), reason: format!("the alignment is of {}", aligned.join(", ")) }
        })?;
        Ok(member.permutations_file.clone())
    }
}

/// Whether a posterior of an alignment is this one: by its file, or by its name if the file is no longer where it was.
fn is(name: &str, file: &Path, source: &Source) -> bool {
    match file.canonicalize() {
        Ok(file) => source.file.canonicalize().is_ok_and(|own| own == file),
        Err(_) => name == source.name,
    }
}

impl Outcome {
    /// The posterior that stays, and the others; an error of samples.
    fn posteriors(&self) -> Result<(&Reference, Vec<&Aligned>)> {
        match self {
            Self::Pairs { reference, members } => Ok((reference, members.iter().map(|pair| &pair.aligned).collect())),
            Self::Together { reference, members, .. } => Ok((reference, members.iter().collect())),
            Self::Relabelled { gaussian, .. } => {
                let reason =
                    "it is of samples, each of which has permutations of its own; use the Gaussian that fits them";
                Err(Error::File { path: gaussian.clone(), reason: reason.to_owned() })
            }
        }
    }
}

impl Permutation {
    /// The permutations of all groups.
    pub(in crate::experiment::stages) fn of(spec: &Spec, found: &Permutations) -> Vec<Self> {
        let groups = spec.groups().iter().zip(found.as_slice());
        groups
            .map(|(group, permutation)| Self {
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
        let Alignment { before, after, attempts, .. } = found;
        let groups = spec.groups().iter().map(|group| group.name.as_str());
        let tensors = spec.layout().tensors().iter().map(Tensor::name);
        let attempts = attempts.iter().map(|attempt| Attempt {
            solver: attempt.solver.to_owned(),
            objective: attempt.value.total,
            assignments: attempt.assignments,
        });
        Self {
            aligned,
            objective: Objective::of(found),
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

impl RelabelledGroup {
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
    pub(super) fn new(Many { history, method, assignments, .. }: Many, seconds: f64) -> Self {
        Self { method: method.to_owned(), history, assignments, seconds }
    }
}
