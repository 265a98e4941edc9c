//! Samples on their way to disk: one file of raw values for each chain, gathered into a posterior at the end.

use super::posterior::Kind;
use super::posterior::Metadata;
use super::posterior::Provenance;
use super::posterior::entries;
use super::tensors;
use super::tensors::get_floats;
use super::tensors::put_floats;
use crate::error::Error;
use crate::error::Result;
use crate::params::Layout;
use crate::params::Params;
use crate::posterior::Draws;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

/// Name of a chain's file: this, its number, and the suffix.
const PREFIX: &str = "chain";
const SUFFIX: &str = ".samples";

/// The files of a run's chains; a sample is its parameters in the order of the layout, little-endian f32.
#[derive(Debug)]
pub struct SampleFiles {
    layout: Arc<Layout>,
    chains: Vec<(PathBuf, Mutex<File>)>,
}

impl SampleFiles {
    /// Opens the files of `folder`, made if they are not there, and cuts each to `keep` samples.
    pub fn open(folder: &Path, layout: &Arc<Layout>, chains: usize, keep: u64) -> Result<Self> {
        let open = |chain: usize| {
            let path = folder.join(format!("{PREFIX}{chain}{SUFFIX}"));
            let opened = (|| {
                let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
                // The number comes from a file, so it may be anything.
                let found = file.metadata()?.len();
                let len = keep.checked_mul(sample_bytes(layout)).filter(|len| *len <= found);
                let Some(len) = len else {
                    return Err(std::io::Error::other(format!("it has fewer than the {keep} samples that were saved")));
                };
                file.set_len(len)?;
                file.seek(SeekFrom::End(0))?;
                Ok(file)
            })();
            let file = opened.map_err(|error| Error::file(&path, &error))?;
            Ok((path, Mutex::new(file)))
        };
        Ok(Self { layout: Arc::clone(layout), chains: (0..chains).map(open).collect::<Result<_>>()? })
    }

    /// Appends a sample of one chain.
    pub fn push(&mut self, chain: usize, sample: &Params) -> Result<()> {
        let (path, file) = &mut self.chains[chain];
        let file = file.get_mut().expect(NO_PANIC);
        // Reading may have moved the place where the next bytes go.
        file.seek(SeekFrom::End(0)).map_err(|error| Error::file(path, &error))?;
        put_floats(path, file, sample.values())
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> Result<()> {
        self.chains.iter().try_for_each(|(path, file)| {
            file.lock().expect(NO_PANIC).sync_all().map_err(|error| Error::file(path, &error))
        })
    }

    /// Samples of each chain: of the shortest.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> Result<u64> {
        let mut least = u64::MAX;
        for (path, file) in &self.chains {
            let bytes = file.lock().expect(NO_PANIC).metadata().map_err(|error| Error::file(path, &error))?.len();
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
        if count == 0 {
            return Err(Error::Zero { what: "the number of samples".to_owned() });
        }
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
        let unreadable = |error: std::io::Error| Error::file(folder, &error);
        for entry in folder.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
            if number.is_some_and(|number| number.parse::<usize>().is_ok()) {
                std::fs::remove_file(&path).map_err(|error| Error::file(&path, &error))?;
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
        if of_each == 0 {
            return Err(Error::Zero { what: "the number of samples".to_owned() });
        }
        let chosen = index * of_each * self.chains.len() / count;
        let (chain, sample) = (chosen / of_each, (chosen % of_each) as u64);
        self.read_at(chain, sample * sample_bytes(&self.layout), out.values_mut())
    }
}

const NO_PANIC: &str = "nobody panics while holding a file";

fn sample_bytes(layout: &Layout) -> u64 {
    4 * layout.len() as u64
}
