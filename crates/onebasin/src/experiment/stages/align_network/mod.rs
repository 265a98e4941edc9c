//! Alignment of checkpoints of any network: the same files, with their units permuted.

mod load;
mod matching;
mod result;

pub(super) use load::{Gaussians, Loaded, leave_out};
pub(super) use matching::check_criteria;
pub use matching::{Matched, MatchedMember, Matching, check_settings};
pub use result::{AlignNetworkResult, NetworkFacts, PermutedCheckpoint};

use super::align::{AlignSettings, BeforeAndAfter, Objective, Permutation, Target, permutations_file};
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, Stage, inputs};
use crate::foreign::{Checked, Member, Network, Reading, compare};
use crate::symmetry::Spec;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How the names of checkpoints end.
const ENDINGS: &[&str] = &[".safetensors", ".json", ".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy"];
/// Folder of the permutations.
const PERMUTATIONS: &str = "permutations";

/// Aligns checkpoints of a network by one criterion and one solver.
#[derive(Clone, Debug, Serialize)]
pub struct AlignNetwork {
    /// How checkpoints are aligned; its lists have one entry each.
    #[serde(flatten)]
    pub settings: AlignSettings,
    /// How the network and the checkpoints are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// The network: ONNX, an exported program of `PyTorch`, or a file of its symmetry.
    #[serde(skip)]
    pub network: PathBuf,
    /// The checkpoints; the first is the one that stays.
    #[serde(skip)]
    pub checkpoints: Vec<PathBuf>,
}

impl Stage for AlignNetwork {
    const NAME: &'static str = "align-network";
    const REVISION: u32 = 2;
    const RESULT: &'static str = "alignment.json";
    const FOLDERS: &'static [(&'static str, &'static [&'static str])] = &[(PERMUTATIONS, &[".json"])];
    type Result = AlignNetworkResult;

    fn inputs(&self) -> Vec<PathBuf> {
        [&self.network].into_iter().chain(&self.checkpoints).cloned().collect()
    }

    fn owns(file: &str) -> bool {
        ENDINGS.iter().any(|ending| file.ends_with(ending))
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<AlignNetworkResult> {
        let to = self.settings.to;
        Error::unless(to != Target::Relabel, "to", to, "first, mean or universe for checkpoints of a network")?;
        check_settings(&self.settings, self.checkpoints.len())?;
        let folder = folder.ok_or(Error::NoFolder { stage: Self::NAME })?;
        let sources = inputs::find(&self.checkpoints, Some(&folder.join("")))?;
        let (network, members) = Network::open(&self.network, &self.reading)?.open_all(&self.checkpoints)?;
        let spec = Spec::of_network(network.symmetry())?;
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        let matching =
            Matching { settings: &self.settings, network: &network, spec: &spec, members: &members, names: &names };
        let matched = matching.solve(context)?;
        let work = Work { stage: self, network: &network, spec: &spec, members: &members, sources: &sources };

        // All that can be wrong with the input has been found by now.
        folder.clear()?;
        let mut written = Vec::new();
        for (index, found) in (1..).zip(&matched.members) {
            match work.write(index, found, folder) {
                Ok(member) => written.push(member),
                Err(error) => {
                    // Nothing is left behind that may not be the same function.
                    folder.clear()?;
                    return Err(error);
                }
            }
        }
        Ok(AlignNetworkResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: self.settings.clone(),
            network: NetworkFacts::new(&self.network, network.symmetry()),
            reference: sources[0].file.clone(),
            together: matched.together,
            members: written,
        })
    }
}

struct Work<'a> {
    stage: &'a AlignNetwork,
    network: &'a Network,
    spec: &'a Spec,
    members: &'a [Member],
    sources: &'a [Source],
}

impl Work<'_> {
    /// Writes a checkpoint with its units permuted, and compares the function of what is on disk with that of the original.
    fn write(&self, index: usize, found: &MatchedMember, folder: &Folder) -> Result<PermutedCheckpoint> {
        let (member, source) = (&self.members[index], &self.sources[index]);
        let file = self.file_name(index);
        let path = folder.join(&file);
        member.write(&path, self.network.symmetry(), &found.permutations)?;
        let written = member.reopen(&path)?;
        let checked = compare(self.network, member, &written, self.spec.layout(), self.stage.settings.seed)?;
        if let Checked::Run { change, .. } = checked
            && !checked.is_unchanged()
        {
            return Err(Error::FunctionChanged { path: source.file.clone(), change: format!("{change:.1e}") });
        }
        let permutations_file = permutations_file(&source.name);
        folder.write(&permutations_file, &(found.permutations.to_json() + "\n"))?;
        let layout = self.spec.layout();
        let w2 = BeforeAndAfter {
            before: self.members[0].distance(member, layout)?,
            after: self.members[0].distance(&written, layout)?,
        };
        Ok(PermutedCheckpoint {
            name: source.name.clone(),
            source: source.file.clone(),
            file,
            permutations_file,
            format: member.format(),
            convention: member.convention().to_owned(),
            w2,
            checked,
            permutations: Permutation::of(self.spec, &found.permutations),
            objective: found.alignment.as_ref().map(|(alignment, _)| Objective::of(alignment)),
            assignments: found.alignment.as_ref().map(|(alignment, _)| alignment.assignments()),
            seconds: found.alignment.as_ref().map(|(_, seconds)| *seconds),
        })
    }

    /// The name of a file that is written: its own, unless another checkpoint has it.
    fn file_name(&self, index: usize) -> PathBuf {
        let own = |index: usize| self.sources[index].file.file_name().map_or(Path::new("checkpoint"), Path::new);
        if (1..index).all(|other| own(other) != own(index)) {
            return own(index).to_owned();
        }
        let ending = own(index).extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
        PathBuf::from(format!("{}{ending}", self.sources[index].name))
    }
}
