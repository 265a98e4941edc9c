//! A posterior with its provenance, as one safetensors file.
//!
//! A point has its tensors by name; samples have one more axis in front; a Gaussian has `mean/NAME` and `std/NAME`,
//! where std is the standard deviation itself; one of low rank has `mean/NAME`, `factor/NAME` with an axis for its rank
//! in front, and `rest/NAME`, the standard deviation of what the factor leaves.

use super::tensors::{self, Entry, Tensors, put_floats};
use crate::arch::{Arch, Preset};
use crate::data::Standardisation;
use crate::error::{Error, Result};
use crate::net::Likelihood;
use crate::params::{Layout, Params};
use crate::posterior::{Draws, Gaussian, LowRank, Posterior, Samples};
use crate::symmetry::Spec;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Where a posterior comes from: enough to use it, and to make it again. A file needs to say none of it to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The version of onebasin that wrote it.
    pub version: String,
    /// The network, if it is one of the presets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<Preset>,
    /// The permutation symmetries of a network that is not one of the presets, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Spec>,
    /// What its outputs mean.
    pub likelihood: Likelihood,
    /// The data it was trained on, with the subsets taken of it, such as `mnist first:5000`.
    pub data: String,
    /// SHA-256 of the training examples, so that other ones cannot pass under the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_sha256: Option<String>,
    /// What was done to the inputs.
    pub standardisation: Standardisation,
    /// The seed of the run.
    pub seed: u64,
    /// The whole configuration of the run.
    pub config: serde_json::Value,
    /// What was done to its units since, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aligned: Option<Aligned>,
}

impl Provenance {
    /// Reads the provenance of a posterior without its values.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Opened::new(path)?.provenance)
    }

    /// The network, or an error if it is not one of the presets.
    pub fn network(&self) -> Result<Arch> {
        Arch::new(self.arch.clone().ok_or(Error::NoArch)?)
    }

    /// The permutation symmetries: those that are given, or those of the network.
    pub fn symmetries(&self) -> Result<Spec> {
        self.spec.clone().map_or_else(|| Ok(Spec::of(&self.network()?)), Ok)
    }
}

/// How the units of a posterior were brought in line with those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aligned {
    /// The version of onebasin that did it.
    pub version: String,
    /// The file of the posterior that it was aligned with; or `mean of` the files that it was brought together with, and so on.
    pub to: String,
    /// Matching criterion.
    pub criterion: String,
    /// Solver that found the permutations.
    pub solver: String,
    /// Whether the scales of units were balanced before.
    pub balanced: bool,
}

/// A posterior as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPosterior {
    /// The distribution.
    pub posterior: Posterior,
    /// Where it comes from.
    pub provenance: Provenance,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Metadata {
    #[serde(flatten)]
    pub(super) kind: Kind,
    pub(super) provenance: Provenance,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Kind {
    Point,
    Gaussian,
    Samples { samples: usize, chains: usize },
    LowRank { rank: usize },
}

impl Kind {
    /// The prefix of the names of its tensors and the axis in front of them, if there is one.
    fn parts(&self) -> Vec<(&'static str, Option<usize>)> {
        match self {
            Self::Point => vec![("", None)],
            Self::Gaussian => vec![("mean/", None), ("std/", None)],
            Self::Samples { samples, .. } => vec![("", Some(*samples))],
            Self::LowRank { rank } => vec![("mean/", None), ("rest/", None), ("factor/", Some(*rank))],
        }
    }

    /// The layout that the tensors of a file imply, in the order of their values.
    fn layout(&self, tensors: &Tensors) -> Result<Layout> {
        let (prefix, axis) = self.parts()[0];
        let mut all = tensors.shapes();
        all.retain(|(name, _)| name.starts_with(prefix));
        Error::unless_zero("the number of its tensors", all.len())?;
        let leading = axis.iter().len();
        Layout::new(all.iter().map(|(name, shape)| (&name[prefix.len()..], &shape[shape.len().min(leading)..])))
    }

    fn entries(&self, layout: &Layout) -> Vec<Entry> {
        self.parts().iter().flat_map(|(prefix, axis)| entries(layout, prefix, axis.as_slice())).collect()
    }
}

impl StoredPosterior {
    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let layout = self.posterior.layout();
        let (kind, parts): (Kind, Vec<Vec<&Params>>) = match &self.posterior {
            Posterior::Point(point) => (Kind::Point, vec![vec![point]]),
            Posterior::Gaussian(gaussian) => (Kind::Gaussian, vec![vec![gaussian.mean()], vec![gaussian.std()]]),
            Posterior::Samples(samples) => {
                let kind = Kind::Samples { samples: samples.points().len(), chains: samples.chains() };
                (kind, vec![samples.points().iter().collect()])
            }
            Posterior::LowRank(low_rank) => {
                let (rest, factor) = (low_rank.rest(), low_rank.factor());
                let parts = vec![vec![rest.mean()], vec![rest.std()], factor.iter().collect()];
                (Kind::LowRank { rank: factor.len() }, parts)
            }
        };
        let entries = kind.entries(layout);
        let tensors = layout.tensors();
        tensors::write(path, &Metadata { kind, provenance: self.provenance.clone() }, &entries, |index, file| {
            let (range, part) = (tensors[index % tensors.len()].range(), &parts[index / tensors.len()]);
            part.iter().try_for_each(|point| put_floats(path, file, &point.values()[range.clone()]))
        })
    }

    /// Reads a file; everything in it is checked against the architecture or the symmetries that it names, if it does.
    pub fn read(path: &Path) -> Result<Self> {
        let Opened { tensors, kind, provenance, layout } = Opened::new(path)?;
        // Whatever another module says is wrong is wrong with this file.
        let damaged = |error: Error| tensors.unreadable(&error.to_string());
        let points = |prefix: &str, axis: Option<usize>| {
            let mut points = vec![Params::zeros(&layout); axis.unwrap_or(1)];
            for tensor in layout.tensors() {
                let shape: Vec<usize> = axis.iter().chain(tensor.shape()).copied().collect();
                let values = tensors.floats(&format!("{prefix}{}", tensor.name()), &shape)?;
                for (point, values) in points.iter_mut().zip(values.chunks_exact(tensor.range().len())) {
                    point.values_mut()[tensor.range()].copy_from_slice(values);
                }
            }
            Ok(points)
        };
        let one = |prefix: &str| Ok(points(prefix, None)?.remove(0));
        let gaussian = |std: &str| Gaussian::new(one("mean/")?, one(std)?).map_err(damaged);
        let posterior = match kind {
            Kind::Point => Posterior::Point(one("")?),
            Kind::Gaussian => Posterior::Gaussian(gaussian("std/")?),
            Kind::Samples { samples, chains } => {
                Posterior::Samples(Samples::new(points("", Some(samples))?, chains).map_err(damaged)?)
            }
            Kind::LowRank { rank } => {
                Posterior::LowRank(LowRank::new(gaussian("rest/")?, points("factor/", Some(rank))?).map_err(damaged)?)
            }
        };
        Ok(Self { posterior, provenance })
    }
}

/// A file of which everything but the values is checked.
pub(super) struct Opened {
    pub(super) tensors: Tensors,
    pub(super) kind: Kind,
    pub(super) provenance: Provenance,
    pub(super) layout: Arc<Layout>,
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let tensors = Tensors::open(path)?;
        let Metadata { kind, provenance } = tensors.metadata()?;
        let damaged = |error: Error| tensors.unreadable(&error.to_string());
        let layout = match (&provenance.arch, &provenance.spec) {
            (Some(_), _) => Arc::clone(provenance.network().map_err(damaged)?.layout()),
            (None, Some(spec)) => Arc::clone(spec.layout()),
            (None, None) => Arc::new(kind.layout(&tensors).map_err(damaged)?),
        };
        if let Some(spec) = &provenance.spec {
            layout.check_same(spec.layout()).map_err(damaged)?;
        }
        if let Kind::Samples { samples, chains } = kind
            && (samples == 0 || chains == 0 || !samples.is_multiple_of(chains))
        {
            return Err(tensors.unreadable(&format!("{samples} samples are not {chains} chains of equal length")));
        }
        // All shapes before anything is allocated: what the metadata name may be larger than any memory.
        for entry in kind.entries(&layout) {
            tensors.place(&entry.name, entry.dtype, &entry.shape)?;
        }
        Ok(Self { tensors, kind, provenance, layout })
    }
}

/// The tensors of a layout, with a prefix to the names and axes in front of the shapes.
pub(super) fn entries(layout: &Layout, prefix: &str, leading: &[usize]) -> Vec<Entry> {
    let entry = |tensor: &crate::params::Tensor| {
        let shape = leading.iter().chain(tensor.shape()).copied().collect();
        Entry::floats(format!("{prefix}{}", tensor.name()), shape)
    };
    layout.tensors().iter().map(entry).collect()
}
