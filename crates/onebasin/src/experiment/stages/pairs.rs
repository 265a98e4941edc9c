//! Two posteriors between which something is measured: whether they can be compared, on which examples, and how the
//! second is permuted.

use super::align::{AlignSettings, Known, Matching, read_group_permutations, read_permutations};
use crate::align;
use crate::arch::Arch;
use crate::data::{Examples, Split};
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::experiment::{Context, inputs};
use crate::params::Params;
use crate::posterior::{Gaussian, Posterior};
use crate::store::StoredPosterior;
use crate::symmetry::{Permutations, Spec};
use std::path::{Path, PathBuf};

/// The posteriors that a stage measures something between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairInputs {
    /// Files, or folders of trainings: the posterior that stays, then the one whose units are permuted.
    pub posteriors: [PathBuf; 2],
    /// Alignments that are known already, with their names.
    pub alignments: Vec<(String, Known)>,
}

/// The examples that a stage asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Name of the data set; `None` for the one that the first posterior was trained on.
    pub(super) dataset: Option<&'a str>,
    /// Parts of the data set.
    pub(super) splits: &'a [Split],
    /// Number of training examples at most.
    pub(super) train_examples: usize,
    /// Number of test examples at most; `None` for all.
    pub(super) test_examples: Option<usize>,
}

/// Two posteriors that can be compared, and the examples on which they are.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) sources: Vec<Source>,
    pub(super) stored: Vec<StoredPosterior>,
    pub(super) arch: Arch,
    pub(super) spec: Spec,
    /// Of each posterior.
    pub(super) gaussians: [Gaussian; 2],
    pub(super) examples: Vec<(Split, Examples)>,
}

/// The second posterior with its units permuted, and the permutations.
pub(super) type Permuted = (Gaussian, Permutations);

impl PairInputs {
    /// All files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let alignments = self.alignments.iter().flat_map(|(_, known)| known.files());
        inputs::files(&self.posteriors).into_iter().chain(alignments).collect()
    }

    /// Reads the posteriors and the examples.
    pub(super) fn open(&self, wanted: Wanted<'_>, context: &Context<'_>) -> Result<Pair> {
        let sources = inputs::find(&self.posteriors, None)?;
        let stored = inputs::read(&sources, context)?;
        check(&sources, &stored)?;
        let arch = stored[0].provenance.network()?;
        let spec = Spec::of(&arch);
        let examples =
            wanted.load(context.data, &stored[0], &arch).map_err(|error| error.at(sources[0].file.display()))?;
        let gaussians = [0, 1].map(|index: usize| stored[index].posterior.gaussian().into_owned());
        Ok(Pair { sources, stored, arch, spec, gaussians, examples })
    }

    /// The permutations that align the second posterior by a criterion: those of a file that is known by its name, else
    /// those that the solver finds.
    pub(super) fn align(&self, pair: &Pair, method: align::Settings, context: &Context<'_>) -> Result<Permuted> {
        let align::Settings { criterion, solver, start, seed, precision } = method;
        if let Some((_, known)) = self.alignments.iter().find(|(name, _)| name == criterion.name()) {
            return pair.read(known);
        }
        let (criteria, solvers) = (vec![criterion], vec![solver]);
        let settings = AlignSettings { criteria, solvers, start, seed, precision, ..AlignSettings::default() };
        let matching = Matching::new(&settings, &pair.sources, &pair.stored, context)?;
        let (found, _) = matching.pair(1, &format!("aligning by {criterion}"), None)?;
        pair.permute(found.permutations)
    }
}

impl Pair {
    /// The second posterior, permuted as files say.
    pub(super) fn read(&self, known: &Known) -> Result<Permuted> {
        self.permute(match known {
            Known::File(file) => read_permutations(file, [&self.sources[0], &self.sources[1]], &self.spec)?,
            Known::Both(files) => {
                let read = |file: &Path| read_group_permutations(file, &self.spec);
                let identity = || Ok(Permutations::identity(&self.spec));
                let [fixed, moved] = files.each_ref().map(|file| file.as_deref().map_or_else(identity, read));
                // As the reference sees the second, and back to how the first sees the reference.
                fixed?.inverse().after(&moved?)
            }
        })
    }

    pub(super) fn permute(&self, permutations: Permutations) -> Result<Permuted> {
        let apply = |params: &Params| self.spec.apply(&permutations, params);
        let gaussian = Gaussian::new(apply(self.gaussians[1].mean())?, apply(self.gaussians[1].std())?)?;
        Ok((gaussian, permutations))
    }

    /// The data set and its subsets, in words.
    pub(super) fn data(&self, wanted: Wanted<'_>) -> String {
        wanted.dataset.map_or_else(|| self.stored[0].provenance.data.clone(), str::to_owned)
    }

    /// The files of both posteriors.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.sources.iter().map(|source| source.file.clone()).collect()
    }
}

impl Wanted<'_> {
    /// Refuses settings that ask for nothing.
    pub(super) fn check(&self) -> Result<()> {
        inputs::some_once("splits", self.splits, "one of train, test or both")?;
        Error::unless_counted("train_examples", self.train_examples)?;
        Error::unless_counted("test_examples", self.test_examples.unwrap_or(1))
    }

    /// Loads the examples, scaled as the first posterior's inputs.
    fn load(&self, data: &Path, first: &StoredPosterior, arch: &Arch) -> Result<Vec<(Split, Examples)>> {
        let mut config = inputs::config(&first.provenance)?;
        if let Some(name) = self.dataset {
            config.data = config.data.renamed(name);
        }
        let mut all = Vec::new();
        for split in self.splits {
            let (whole, most) = match split {
                Split::Train => (config.data.training(data)?, Some(self.train_examples)),
                Split::Test => {
                    let standardisation = &first.provenance.standardisation;
                    (config.data.whole(Split::Test, data, standardisation)?, self.test_examples)
                }
            };
            let examples = inputs::first_examples(whole, most, &first.provenance)?;
            examples.check_fits(arch)?;
            all.push((*split, examples));
        }
        Ok(all)
    }
}

/// Refuses posteriors between which there is no path, or no loss that means the same to both.
fn check(sources: &[Source], stored: &[StoredPosterior]) -> Result<()> {
    for (source, stored) in sources.iter().zip(stored) {
        let reason = match &stored.posterior {
            Posterior::Point(_) | Posterior::Gaussian(_) => continue,
            Posterior::LowRank(low_rank) => format!(
                "it is a Gaussian of rank {}, and paths lead between diagonal Gaussians and points; \
                 `onebasin compact` fits a diagonal one",
                low_rank.factor().len()
            ),
            Posterior::Samples(samples) => format!(
                "it holds {} samples, and paths lead between diagonal Gaussians and points; \
                 `onebasin align` relabels samples and fits a Gaussian to them",
                samples.points().len()
            ),
        };
        return Err(Error::File { path: source.file.clone(), reason });
    }
    inputs::check_standardisation(sources, stored)?;
    if stored[0].provenance.likelihood != stored[1].provenance.likelihood {
        let reason = format!("it has another likelihood than {}", sources[0].file.display());
        return Err(Error::File { path: sources[1].file.clone(), reason });
    }
    Ok(())
}
