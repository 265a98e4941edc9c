//! Samples on the disk: raw values, one file for each chain, as a run writes them; and the samples of one or several
//! finished posteriors, read one by one, because all of them need not fit into memory.

use super::posterior::{Kind, Metadata, Opened, Provenance, entries};
use super::tensors::{self, NO_PANIC, Tensors, get_floats, put_floats};
use super::{open_growing, write_whole};
use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::posterior::Draws;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Name of a chain's file: this, its number, and the suffix.
const PREFIX: &str = "chain";
const SUFFIX: &str = ".samples";

/// The file of a chain.
fn file_of(folder: &Path, chain: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{chain}{SUFFIX}"))
}

/// The files of a run's chains; a sample is its parameters in the order of the layout, little-endian f32.
#[derive(Debug)]
pub struct SampleFiles {
    layout: Arc<Layout>,
    chains: Vec<(PathBuf, Mutex<File>)>,
}

impl SampleFiles {
    /// Opens a file of `folder` for each chain, made if it is not there, and cuts it to as many samples as `keep` says.
    pub fn open(folder: &Path, layout: &Arc<Layout>, keep: &[u64]) -> Result<Self> {
        let open = |(chain, keep): (usize, &u64)| {
            let path = file_of(folder, chain);
            let opened = (|| {
                let mut file = open_growing(&path)?;
                // The number comes from a file, so it may be anything.
                let found = file.metadata()?.len();
                let Some(len) = keep.checked_mul(sample_bytes(layout)).filter(|len| *len <= found) else {
                    return Err(std::io::Error::other(format!("it has fewer than the {keep} samples that were saved")));
                };
                file.set_len(len)?;
                file.seek(SeekFrom::End(0))?;
                Ok(file)
            })();
            let file = opened.map_err(|error| Error::file(&path, error))?;
            Ok((path, Mutex::new(file)))
        };
        Ok(Self { layout: Arc::clone(layout), chains: keep.iter().enumerate().map(open).collect::<Result<_>>()? })
    }

    /// Makes the files of chains again from the posterior that [`Self::gather`] made of them.
    pub fn scatter(posterior: &Path, folder: &Path) -> Result<()> {
        let samples = StoredSamples::open(posterior)?;
        let (of_each, mut sample) = (samples.len() / samples.chains(), Params::zeros(samples.layout()));
        for chain in 0..samples.chains() {
            let path = file_of(folder, chain);
            write_whole(&path, |file| {
                for index in 0..of_each {
                    samples.read(chain * of_each + index, &mut sample)?;
                    put_floats(&path, file, sample.values())?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Appends a sample of one chain.
    pub fn push(&mut self, chain: usize, sample: &Params) -> Result<()> {
        let (path, file) = &mut self.chains[chain];
        let file = file.get_mut().expect(NO_PANIC);
        // Reading may have moved the place where the next bytes go.
        file.seek(SeekFrom::End(0)).map_err(|error| Error::file(path, error))?;
        put_floats(path, file, sample.values())
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> Result<()> {
        self.chains.iter().try_for_each(|(path, file)| {
            file.lock().expect(NO_PANIC).sync_all().map_err(|error| Error::file(path, error))
        })
    }

    /// Samples of each chain: of the shortest.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> Result<u64> {
        let mut least = u64::MAX;
        for (path, file) in &self.chains {
            let bytes = file.lock().expect(NO_PANIC).metadata().map_err(|error| Error::file(path, error))?.len();
            least = least.min(bytes / sample_bytes(&self.layout));
        }
        Ok(least)
    }

    fn read_at(&self, chain: usize, at: u64, out: &mut [f32]) -> Result<()> {
        let (path, file) = &self.chains[chain];
        get_floats(path, &mut file.lock().expect(NO_PANIC), at, out)
    }

    /// Writes all samples as one posterior, in constant memory.
    pub fn gather(&self, path: &Path, provenance: Provenance) -> Result<()> {
        let (count, chains) = (self.len()?, self.chains.len());
        Error::unless_counted("samples", count)?;
        let samples = count as usize * chains;
        let layout = Arc::clone(&self.layout);
        let metadata = Metadata { kind: Kind::Samples { samples, chains }, provenance };
        tensors::write(path, &metadata, &entries(&layout, "", &[samples]), |index, file| {
            let range = layout.tensors()[index].range();
            let mut part = vec![0.0; range.len()];
            for chain in 0..chains {
                for sample in 0..count {
                    self.read_at(chain, sample * sample_bytes(&layout) + 4 * range.start as u64, &mut part)?;
                    put_floats(path, file, &part)?;
                }
            }
            Ok(())
        })
    }

    /// Removes all such files of a folder, whichever run they belong to.
    pub fn remove(folder: &Path) -> Result<()> {
        let unreadable = |error: std::io::Error| Error::file(folder, error);
        for entry in folder.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
            if number.is_some_and(|number| number.parse::<usize>().is_ok()) {
                std::fs::remove_file(&path).map_err(|error| Error::file(&path, error))?;
            }
        }
        Ok(())
    }
}

impl Draws for SampleFiles {
    fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.chains.len() * self.len().unwrap_or(0) as usize)
    }

    /// Samples are taken at equal distances, one chain after the other.
    fn draw(&self, _: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        self.layout.check_same(out.layout())?;
        let of_each = self.len()? as usize;
        Error::unless_counted("samples", of_each)?;
        let chosen = index * of_each * self.chains.len() / count;
        let (chain, sample) = (chosen / of_each, (chosen % of_each) as u64);
        self.read_at(chain, sample * sample_bytes(&self.layout), out.values_mut())
    }
}

fn sample_bytes(layout: &Layout) -> u64 {
    4 * layout.len() as u64
}

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
        let place = |entry: &tensors::Entry| tensors.place(&entry.name, entry.dtype, &entry.shape);
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
            let (got, expected) = (format!("{index} of {}", self.samples), "less than the number of samples");
            return Err(Error::out_of_range("the index of a sample", got, expected));
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

/// Samples of several files of one network, the same number of each chain.
#[derive(Debug)]
pub struct PooledSamples {
    files: Vec<StoredSamples>,
    /// File and index of each sample, one chain after the other.
    chosen: Vec<(usize, usize)>,
    /// Number of chains, if all have the same length.
    chains: Option<usize>,
}

impl PooledSamples {
    /// Chooses at most about `limit` samples of the files, at least one, at equal distances in each chain but at least one
    /// of each; `None` for all.
    pub fn new(files: Vec<StoredSamples>, limit: Option<usize>) -> Self {
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
        let equal = lengths.iter().all(|length| *length == lengths[0]);
        Self { files, chosen, chains: equal.then_some(chains) }
    }

    /// The files.
    pub fn files(&self) -> &[StoredSamples] {
        &self.files
    }
    /// File and index of each sample that was chosen, one chain after the other.
    pub fn chosen(&self) -> &[(usize, usize)] {
        &self.chosen
    }
    /// Number of chains, if all have the same length.
    pub fn chains(&self) -> Option<usize> {
        self.chains
    }
}

impl Draws for PooledSamples {
    fn layout(&self) -> &Arc<Layout> {
        self.files[0].layout()
    }

    fn draws(&self, wanted: usize) -> usize {
        wanted.min(self.chosen.len())
    }

    /// Samples are taken at equal distances, like those of one file.
    fn draw(&self, _: u64, index: usize, count: usize, out: &mut Params) -> Result<()> {
        let (file, sample) = self.chosen[index * self.chosen.len() / count];
        self.files[file].read(sample, out)
    }
}
