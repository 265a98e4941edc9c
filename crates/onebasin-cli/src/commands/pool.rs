//! The samples of several files, one behind the other, none of them in memory for long.

use crate::commands::members::Source;
use crate::commands::members::check_architecture;
use crate::commands::members::check_finite;
use anyhow::Context;
use onebasin::error::Error;
use onebasin::params::Layout;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::store::StoredSamples;
use std::sync::Arc;

/// Samples of files, of each chain the same part.
#[derive(Debug)]
pub(crate) struct Pool {
    files: Vec<StoredSamples>,
    /// The file and the index of each sample, one chain after the other.
    chosen: Vec<(usize, usize)>,
    /// The number of chains, if all are of one length.
    chains: Option<usize>,
}

impl Pool {
    /// Opens all files; each must be whole, finite and of the first one's architecture. At most about `limit` samples are
    /// chosen, at equal distances in each chain, but at least one of each.
    pub(crate) fn open(sources: &[Source], limit: Option<usize>) -> anyhow::Result<Self> {
        let mut files: Vec<StoredSamples> = Vec::with_capacity(sources.len());
        for source in sources {
            let samples = StoredSamples::open(&source.file)?;
            if let Some(first) = files.first() {
                check_architecture([&sources[0], source], [first.provenance(), samples.provenance()])?;
            }
            files.push(samples);
        }
        let chains: usize = files.iter().map(StoredSamples::chains).sum();
        let most = limit.map_or(usize::MAX, |limit| (limit / chains).max(1));
        let (mut chosen, mut lengths) = (Vec::new(), Vec::new());
        for (file, samples) in files.iter().enumerate() {
            let whole = samples.len() / samples.chains();
            let kept = whole.min(most);
            for chain in 0..samples.chains() {
                chosen.extend((0..kept).map(|index| (file, chain * whole + index * whole / kept)));
                lengths.push(kept);
            }
        }
        let mut sample = Params::zeros(files[0].layout());
        for (file, index) in &chosen {
            files[*file].read(*index, &mut sample)?;
            check_finite(&sample).with_context(|| format!("{}, sample {index}", sources[*file].file.display()))?;
        }
        let equal = lengths.iter().all(|length| *length == lengths[0]);
        Ok(Self { files, chosen, chains: equal.then_some(chains) })
    }

    /// The files.
    pub(crate) fn files(&self) -> &[StoredSamples] {
        &self.files
    }
    /// How many samples were chosen.
    pub(crate) fn len(&self) -> usize {
        self.chosen.len()
    }
    /// The number of chains, if all are of one length.
    pub(crate) fn chains(&self) -> Option<usize> {
        self.chains
    }
}

impl Draws for Pool {
    fn layout(&self) -> &Arc<Layout> {
        self.files[0].layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.chosen.len())
    }

    fn draw(&self, _: u64, index: usize, count: usize, out: &mut Params) -> Result<(), Error> {
        let (file, sample) = self.chosen[index * self.chosen.len() / count];
        self.files[file].read(sample, out)
    }
}
