//! Two posteriors that something is measured between: whether they can be compared, on which images, and how one is permuted.

use super::folder::Folder;
use super::folder::Kind;
use super::images;
use super::members;
use super::members::Source;
use super::threads;
use anyhow::Context;
use anyhow::bail;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::data::Split;
use onebasin::error::Error;
use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// What a command that measures something between two posteriors needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings<M> {
    /// Files, or folders of runs: the one that stays, then the one that is permuted.
    pub(crate) posteriors: [PathBuf; 2],
    /// The folder that is written, if one is.
    pub(crate) output: Option<PathBuf>,
    /// The folder of the data sets.
    pub(crate) data: PathBuf,
    /// Permutations that are known: a file of `onebasin align`.
    pub(crate) alignment: Option<PathBuf>,
    /// What is measured.
    pub(crate) method: M,
    /// `None` for one per core.
    pub(crate) threads: Option<usize>,
    /// Whether earlier measures may be replaced.
    pub(crate) force: bool,
    /// Whether the report is printed instead of a table.
    pub(crate) json: bool,
}

/// Two posteriors that can be compared, and what they are compared on.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) sources: Vec<Source>,
    pub(super) stored: Vec<StoredPosterior>,
    pub(super) arch: Arch,
    pub(super) parts: Vec<(Split, Examples)>,
    /// The folder that may be written.
    pub(super) folder: Option<Folder>,
    pub(super) threads: usize,
}

impl<M> Settings<M> {
    /// Finds and reads all; changes nothing.
    pub(super) fn open(&self, kind: &'static Kind, wanted: Wanted<'_>) -> anyhow::Result<Opened> {
        let threads = threads(self.threads)?;
        if threads == 0 {
            return Err(Error::Zero { what: "the number of threads".to_owned() }.into());
        }
        let sources = members::find(&self.posteriors, self.output.as_deref())?;
        let folder = self.output.as_deref().map(|output| Folder::look(kind, output, self.force)).transpose()?;
        let stored = members::read(&sources)?;
        check(&sources, &stored)?;
        let arch = Arch::new(stored[0].provenance.arch.clone())?;
        let parts = wanted.parts(&self.data, &stored[0], &arch);
        let parts = parts.with_context(|| sources[0].file.display().to_string())?;
        Ok(Opened { sources, stored, arch, parts, folder, threads })
    }
}

/// Refuses posteriors between which there is no path, or no loss that means the same to both.
fn check(sources: &[Source], stored: &[StoredPosterior]) -> anyhow::Result<()> {
    for (source, stored) in sources.iter().zip(stored) {
        let file = source.file.display();
        match &stored.posterior {
            Posterior::Point(_) | Posterior::Gaussian(_) => {}
            Posterior::LowRank(low_rank) => bail!(
                "{file} has a covariance of rank {}, and this measures what lies between diagonal Gaussians and points; \
                 `onebasin compact --rank 0` fits a diagonal one",
                low_rank.factor().len()
            ),
            Posterior::Samples(samples) => bail!(
                "{file} holds {} samples, and this measures what lies between Gaussians and points; \
                 `onebasin align --to relabel` aligns samples and writes the Gaussian that fits them",
                samples.points().len()
            ),
        }
    }
    images::check_pixels(sources, stored)?;
    let [ours, theirs] = [0, 1].map(|index: usize| stored[index].provenance.likelihood);
    if ours != theirs {
        bail!("{} has another likelihood than {}", sources[1].file.display(), sources[0].file.display());
    }
    Ok(())
}

/// Images that are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// `None` for what the first posterior was trained on.
    pub(super) dataset: Option<&'a str>,
    pub(super) splits: &'a [Split],
    /// At most so many training images.
    pub(super) images: usize,
    /// At most so many test images; `None` for all.
    pub(super) test_images: Option<usize>,
}

impl Wanted<'_> {
    /// Refuses none.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.images == 0 || self.test_images == Some(0) {
            return Err(Error::Zero { what: "the number of images".to_owned() });
        }
        Ok(())
    }

    /// The images to measure on, from the folder of the data sets, as the first posterior sees them.
    fn parts(&self, data: &Path, first: &StoredPosterior, arch: &Arch) -> anyhow::Result<Vec<(Split, Examples)>> {
        let mut config = images::config(&first.provenance)?;
        if let Some(name) = self.dataset {
            name.clone_into(&mut config.data.name);
            config.data.subsets.clear();
        }
        let mut parts = Vec::new();
        for split in self.splits {
            let examples = match split {
                Split::Train => images::first(&config.training(data)?, self.images, &first.provenance)?,
                Split::Test => {
                    let all = config.test(data, &first.provenance.standardisation)?;
                    match self.test_images {
                        Some(most) => images::first(&all, most, &first.provenance)?,
                        None => all,
                    }
                }
            };
            examples.check_fits(arch)?;
            parts.push((*split, examples));
        }
        Ok(parts)
    }
}

/// Reads the permutations of the second posterior, or the report of an alignment that names their file.
pub(super) fn permutations(file: &Path, sources: &[Source], spec: &Spec) -> anyhow::Result<Permutations> {
    let text = fs::read_to_string(file)?;
    let report: Value = serde_json::from_str(&text)?;
    let Some(members) = report["members"].as_array() else {
        return Ok(Permutations::from_json(spec, &text)?);
    };
    let [fixed, moved] = [&sources[0], &sources[1]];
    let Some(reference) = report.get("reference") else {
        bail!("it is of samples, each of which has permutations of its own; use the Gaussian that was written with it");
    };
    if !is(reference, fixed) {
        bail!("it aligned with {}, not with {}", reference["source"], fixed.file.display());
    }
    let Some(member) = members.iter().find(|member| is(member, moved)) else {
        let aligned: Vec<String> = members.iter().map(|member| member["source"].to_string()).collect();
        bail!("it aligned {}, not {}", aligned.join(", "), moved.file.display());
    };
    let inside = member["permutations_file"].as_str().context("it does not say where the permutations are")?;
    let inside = file.with_file_name(inside);
    let text = fs::read_to_string(&inside).with_context(|| inside.display().to_string())?;
    Permutations::from_json(spec, &text).with_context(|| inside.display().to_string())
}

/// Whether a report means this posterior: by its file, or by its name if the file is no longer where it was.
fn is(entry: &Value, source: &Source) -> bool {
    let file = entry["source"].as_str().and_then(|file| Path::new(file).canonicalize().ok());
    match file {
        Some(file) => source.file.canonicalize().is_ok_and(|own| own == file),
        None => entry["name"] == source.name.as_str(),
    }
}
