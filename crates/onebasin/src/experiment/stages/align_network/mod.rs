//! Alignment of checkpoints of any network: the same files, with their units permuted.

mod load;
mod result;

pub(super) use load::{Gaussians, Loaded, leave_out};
pub use result::{AlignNetworkResult, NetworkFacts, PermutedCheckpoint};

use super::align::{AlignSettings, BeforeAndAfter, Objective, Permutation, Target, permutations_file};
use crate::align::{self, Alignment, Criterion};
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, Section, Stage, inputs};
use crate::foreign::{Checked, Member, Network, Reading, compare};
use crate::symmetry::{Permutations, Spec};
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
        self.check()?;
        let folder = folder.ok_or(Error::NoFolder { stage: Self::NAME })?;
        let sources = inputs::find(&self.checkpoints, Some(&folder.join("")))?;
        let (network, members) = Network::open(&self.network, &self.reading)?.bind(&self.checkpoints)?;
        let spec = Spec::of_network(network.symmetry())?;
        let bytes = self.bytes(&members, &spec)?;
        let what = format!("aligning {} checkpoints", members.len());
        context.check_memory(
            &what,
            bytes,
            "use a machine with more memory, or align with the first checkpoint (`to` first)",
        )?;
        let work = Work { stage: self, network: &network, spec: &spec, members: &members, sources: &sources, context };
        let (found, together) = work.align()?;

        // All that can be wrong with the input has been found by now.
        folder.clear()?;
        let mut written = Vec::new();
        for (index, found) in (1..).zip(&found) {
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
            together,
            members: written,
        })
    }
}

impl AlignNetwork {
    /// Bytes of memory that the alignment takes, about.
    fn bytes(&self, members: &[Member], spec: &Spec) -> Result<u128> {
        let (values, count) = (spec.layout().len() as u128, members.len() as u128);
        let single = size_of::<f32>() as u128;
        let (features, moments, more) = match self.settings.to {
            Target::First | Target::Relabel => {
                // The one that stays, and one of the others at a time.
                let of = |member: &Member| member.bytes(spec.layout());
                let pair = of(&members[0]) + members[1..].iter().map(of).max().unwrap_or(0);
                (pair, members.iter().map(Member::moments).max().unwrap_or(1), 0)
            }
            // A Gaussian, the mean of others, and their sums in f64; each member six times over in the universe.
            Target::Mean => (4 * single * values, 2, 6 * single * values),
            Target::Universe => (4 * single * values, 2, (6 + 12 * count) * single * values),
        };
        // Costs are made of features of 8 bits, which each axis of a tensor has in an order of its own.
        let quantised = 4 * moments * values;
        Ok(features + more + quantised + self.settings.single()?.solver.bytes(spec, features)?)
    }

    /// Refuses settings that need more than a checkpoint and its network.
    fn check(&self) -> Result<()> {
        let AlignSettings { to, criteria, balance, exclude_prior, .. } = &self.settings;
        self.settings.check()?;
        self.settings.precision.check_f32("checkpoints of a network")?;
        self.settings.single()?;
        if self.checkpoints.len() < 2 {
            return Err(Error::Count {
                need: "an alignment needs at least 2 checkpoints",
                got: self.checkpoints.len(),
            });
        }
        Error::unless(*to != Target::Relabel, "to", to, "first, mean or universe for checkpoints of a network")?;
        Error::unless(
            !balance,
            "balance",
            true,
            "false for checkpoints of a network, whose activations are not known",
        )?;
        if let Some(nats) = exclude_prior {
            return Err(Error::setting("exclude_prior", nats, "left out for checkpoints, whose prior is not known"));
        }
        check_criteria(criteria)
    }
}

/// Refuses criteria that need the training examples.
pub(super) fn check_criteria(criteria: &[Criterion]) -> Result<()> {
    match criteria.iter().find(|criterion| criterion.needs_data()) {
        Some(criterion) => {
            Err(Error::setting("criteria", criterion, "one that needs no data for checkpoints of a network"))
        }
        None => Ok(()),
    }
}

/// What was found for one checkpoint.
struct Found {
    permutations: Permutations,
    alignment: Option<(Alignment, f64)>,
}

struct Work<'a> {
    stage: &'a AlignNetwork,
    network: &'a Network,
    spec: &'a Spec,
    members: &'a [Member],
    sources: &'a [Source],
    context: &'a Context<'a>,
}

impl Work<'_> {
    /// Aligns all checkpoints but the first; with the objective before and after, if it was of all together.
    fn align(&self) -> Result<(Vec<Found>, Option<BeforeAndAfter>)> {
        let method = self.stage.settings.single()?;
        let (spec, pool) = (self.spec, &self.context.pool);
        let statistics = &self.network.statistics()[..];
        let together = match self.stage.settings.to {
            Target::Mean => align::to_mean,
            Target::Universe => align::to_universe,
            Target::First | Target::Relabel => {
                let fixed = Loaded::new(&self.members[0], spec, statistics)?;
                let pairs = (1..self.members.len()).map(|index| {
                    let moved = Loaded::new(&self.members[index], spec, statistics)?;
                    let task = format!("aligning {}", self.sources[index].name);
                    let (alignment, seconds) = self.context.measured(&task, |monitor| {
                        let features = fixed.features(&moved, method.criterion, spec.layout())?;
                        align::maximise(&align::Objective::new(spec, features, None)?, method, pool, monitor)
                    })?;
                    Ok(Found { permutations: alignment.permutations.clone(), alignment: Some((alignment, seconds)) })
                });
                return Ok((pairs.collect::<Result<_>>()?, None));
            }
        };
        let task = format!("aligning {} checkpoints", self.members.len());
        let gaussians = Gaussians { members: self.members, spec, statistics };
        let (many, _) = self.context.measured(&task, |monitor| together(spec, &gaussians, method, pool, monitor))?;
        let ends = many.history.first().zip(many.history.last());
        let objective = ends.map(|(before, after)| BeforeAndAfter { before: *before, after: *after });
        let found = many.permutations.into_iter().skip(1).map(|permutations| Found { permutations, alignment: None });
        Ok((found.collect(), objective))
    }

    /// Writes a checkpoint with its units permuted, and compares the function of what is on disk with that of the original.
    fn write(&self, index: usize, found: &Found, folder: &Folder) -> Result<PermutedCheckpoint> {
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
