//! What lies where in the folder of an alignment.

use crate::commands::folder::Kind;
use std::path::Path;
use std::path::PathBuf;

/// What an alignment leaves.
pub(super) const KIND: Kind = Kind {
    command: "align",
    report: "alignment.json",
    is_own: |name| name == GAUSSIAN,
    folders: &[(ALIGNED, &[".safetensors", ".samples"]), (PERMUTATIONS, &[".json", ".jsonl"])],
};
/// The Gaussian that fits relabelled samples.
const GAUSSIAN: &str = "gaussian.safetensors";
const ALIGNED: &str = "aligned";
const PERMUTATIONS: &str = "permutations";

/// The file of a posterior, inside the folder.
pub(super) fn aligned(name: &str) -> PathBuf {
    Path::new(ALIGNED).join(format!("{name}.safetensors"))
}

/// The file of the permutations of a posterior, inside the folder.
pub(super) fn permutations(name: &str) -> PathBuf {
    Path::new(PERMUTATIONS).join(format!("{name}.json"))
}

/// The file of the permutations of each sample, inside the folder.
pub(super) fn permutations_of_samples(name: &str) -> PathBuf {
    Path::new(PERMUTATIONS).join(format!("{name}.jsonl"))
}

/// The Gaussian of all samples, inside the folder.
pub(super) fn gaussian() -> &'static Path {
    Path::new(GAUSSIAN)
}
