//! The result of an alignment of checkpoints.

use crate::experiment::stages::align::{AlignSettings, BeforeAndAfter, Objective, Permutation};
use crate::foreign::Checked;
use onebasin_graph::symmetry::Symmetry;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The result of an alignment of checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlignNetworkResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the alignment.
    pub settings: AlignSettings,
    /// The network.
    pub network: NetworkFacts,
    /// The checkpoint that stays.
    pub reference: PathBuf,
    /// The objective of all checkpoints, if they were aligned together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<BeforeAndAfter>,
    /// The checkpoints that were permuted.
    pub members: Vec<PermutedCheckpoint>,
}

/// What is known of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkFacts {
    /// Its file.
    pub file: PathBuf,
    /// Number of tensors that it reads from a checkpoint.
    pub tensors: usize,
    /// Number of groups of units that can be permuted.
    pub groups: usize,
    /// Number of units of all groups.
    pub units: usize,
    /// Share of the rows of tensors with two or more axes that can be permuted.
    pub share: f64,
}

impl NetworkFacts {
    pub(super) fn new(file: &Path, symmetry: &Symmetry) -> Self {
        Self {
            file: file.to_owned(),
            tensors: symmetry.tensors.len(),
            groups: symmetry.groups.len(),
            units: symmetry.groups.iter().map(|group| group.units).sum(),
            share: symmetry.share(),
        }
    }
}

/// A checkpoint that was permuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermutedCheckpoint {
    /// Name of the checkpoint.
    pub name: String,
    /// File of the checkpoint before.
    pub source: PathBuf,
    /// File of the permuted checkpoint, inside the folder of the alignment.
    pub file: PathBuf,
    /// File of the permutations, inside the folder of the alignment.
    pub permutations_file: PathBuf,
    /// Format of the file.
    pub format: String,
    /// How it stores a posterior, or `points`.
    pub convention: String,
    /// Wasserstein distance W2 from the reference; of points, the Euclidean distance.
    pub w2: BeforeAndAfter,
    /// Whether the function was compared.
    pub checked: Checked,
    /// Permutation of each group of units.
    pub permutations: Vec<Permutation>,
    /// Objective of the criterion, unless all were aligned together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// Number of assignment problems that were solved, unless all were aligned together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignments: Option<usize>,
    /// Seconds that the alignment took, unless all were aligned together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
