//! The samples of a finished posterior, read one by one: all of them need not fit into memory.

use super::posterior::Kind;
use super::posterior::Opened;
use super::posterior::Provenance;
use super::posterior::entries;
use super::tensors::Tensors;
use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use crate::posterior::Draws;
use std::path::Path;
use std::sync::Arc;

/// A file of samples, open for reading.
#[derive(Debug)]
pub struct StoredSamples {
    tensors: Tensors,
    /// Where the values of each tensor begin, those of the first sample in front.
    places: Vec<u64>,
    layout: Arc<Layout>,
    samples: usize,
    chains: usize,
    provenance: Provenance,
}

impl StoredSamples {
    /// Opens a file, which is checked like that of [`super::StoredPosterior::read`]; a point or a Gaussian is an error.
    pub fn open(path: &Path) -> Result<Self> {
        let Opened { tensors, kind, provenance, layout } = Opened::new(path)?;
        let Kind::Samples { samples, chains } = kind else {
            return Err(tensors.unreadable("it has no samples: it is a point or a Gaussian"));
        };
        let entries = entries(&layout, "", &[samples]);
        let place = |entry: &super::tensors::Entry| tensors.place(&entry.name, entry.dtype, &entry.shape);
        let places = entries.iter().map(place).collect::<Result<_>>()?;
        Ok(Self { tensors, places, layout, samples, chains, provenance })
    }

    /// Number of samples; at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.samples
    }
    /// Number of chains, of equal length, one after the other.
    pub fn chains(&self) -> usize {
        self.chains
    }
    /// Where the samples come from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Reads sample `index`.
    pub fn read(&self, index: usize, out: &mut Params) -> Result<()> {
        self.layout.check_same(out.layout())?;
        if index >= self.samples {
            return Err(Error::OutOfRange {
                what: "the index of a sample",
                value: format!("{index} of {}", self.samples),
                expected: "less than the number of samples",
            });
        }
        for (tensor, place) in self.layout.tensors().iter().zip(&self.places) {
            let range = tensor.range();
            self.tensors.floats_at(place + 4 * (index * range.len()) as u64, &mut out.values_mut()[range])?;
        }
        Ok(())
    }
}

impl Draws for StoredSamples {
    fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.samples)
    }

    /// Samples are taken at equal distances, like those in memory.
    fn draw(&self, _: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        self.read(index * self.samples / count, out)
    }
}
