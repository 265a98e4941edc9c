//! The posteriors that a stage reads: found, read and compared before anything is computed or written.

use super::context::Context;
use super::train_config::TrainConfig;
use crate::align::{Criterion, Solver};
use crate::data::{Examples, Subset};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::posterior::Draws as _;
use crate::store::{Aligned, PooledSamples, Provenance, StoredPosterior, StoredSamples};
use crate::wording::plain;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The file in which a training leaves its posterior.
pub const POSTERIOR: &str = "posterior.safetensors";

/// A posterior's file and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name that no other posterior of the stage has.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

/// The file of the posterior that a path leads to: itself, or the one in the folder of a training.
pub fn posterior_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = path.join(POSTERIOR);
    if !file.exists() {
        let reason = format!("it has no {POSTERIOR}, so it is not the folder of a finished training");
        return Err(Error::File { path: path.to_owned(), reason });
    }
    Ok(file)
}

/// The files of the posteriors that paths lead to; a path that leads to none stands for itself.
pub(crate) fn files<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().map(|path| posterior_file(path).unwrap_or(path.clone())).collect()
}

/// Finds the files of posteriors and names them; none may lie in the folder that will be written.
pub(crate) fn find(paths: &[PathBuf], output: Option<&Path>) -> Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::with_capacity(paths.len());
    for path in paths {
        let file = posterior_file(path)?;
        let whole = file.canonicalize().map_err(|error| Error::file(&file, error))?;
        if let Some(output) = output
            && output.canonicalize().is_ok_and(|output| whole.starts_with(output))
        {
            let reason = format!("it lies in the folder {} that would be written", output.display());
            return Err(Error::File { path: file, reason });
        }
        sources.push(Source { name: unique(&sources, &name(&whole)), file });
    }
    Ok(sources)
}

/// Reads posteriors; each must be complete, finite and of the first one's network.
pub(crate) fn read(sources: &[Source], context: &Context<'_>) -> Result<Vec<StoredPosterior>> {
    // Each is kept as it is and as features or permuted.
    let bytes: u128 =
        sources.iter().filter_map(|source| source.file.metadata().ok()).map(|file| 2 * u128::from(file.len())).sum();
    context.check_memory(&format!("reading {} posteriors", sources.len()), bytes, "read fewer at a time")?;
    let mut all: Vec<StoredPosterior> = Vec::with_capacity(sources.len());
    for source in sources {
        let stored = StoredPosterior::read(&source.file)?;
        if let Some(first) = all.first() {
            check_architecture([&sources[0], source], [&first.provenance, &stored.provenance])?;
        }
        let gaussian = stored.posterior.gaussian();
        for params in [gaussian.mean(), gaussian.std()] {
            params.layout().check_finite(params.values()).map_err(|error| error.at(source.file.display()))?;
        }
        drop(gaussian);
        all.push(stored);
    }
    Ok(all)
}

/// Opens files of samples of which about `limit` are chosen; each must be complete, finite and of the first one's network.
pub(crate) fn pooled_samples(sources: &[Source], limit: Option<usize>) -> Result<PooledSamples> {
    let mut files: Vec<StoredSamples> = Vec::with_capacity(sources.len());
    for source in sources {
        let samples = StoredSamples::open(&source.file)?;
        if let Some(first) = files.first() {
            check_architecture([&sources[0], source], [first.provenance(), samples.provenance()])?;
        }
        files.push(samples);
    }
    let pooled = PooledSamples::new(files, limit);
    let mut sample = Params::zeros(pooled.layout());
    for (file, index) in pooled.chosen() {
        pooled.files()[*file].read(*index, &mut sample)?;
        let place = format_args!("{}, sample {index}", sources[*file].file.display());
        pooled.layout().check_finite(sample.values()).map_err(|error| error.at(place))?;
    }
    Ok(pooled)
}

/// Refuses two networks of different architectures, and names the setting in which they differ.
pub(crate) fn check_architecture(sources: [&Source; 2], provenances: [&Provenance; 2]) -> Result<()> {
    let [ours, theirs] =
        provenances.map(|provenance| serde_json::to_value(&provenance.arch).expect("an architecture is plain data"));
    if ours == theirs {
        return Ok(());
    }
    let keys =
        [&ours, &theirs].into_iter().filter_map(Value::as_object).flat_map(|arch| arch.keys().map(String::as_str));
    // Networks of different kinds have different settings, so their kind comes first.
    let differs = std::iter::once("preset").chain(keys).find(|key| ours[key] != theirs[key]);
    let key = differs.expect("values that differ do so in one of their settings");
    let reason = format!(
        "it is another network than {}: `arch.{key}` is {}, not {}",
        sources[0].file.display(),
        theirs[key],
        ours[key]
    );
    Err(Error::File { path: sources[1].file.clone(), reason })
}

/// Refuses posteriors that scale their inputs differently: they cannot be compared on one example.
pub(crate) fn check_standardisation(sources: &[Source], stored: &[StoredPosterior]) -> Result<()> {
    let first = &stored[0].provenance.standardisation;
    let mut others = sources.iter().zip(stored);
    let Some((other, _)) = others.find(|(_, stored)| stored.provenance.standardisation != *first) else {
        return Ok(());
    };
    let first = sources[0].file.display();
    let reason = format!("it scales its inputs differently than {first}, so they have no example in common");
    Err(Error::File { path: other.file.clone(), reason })
}

/// The provenance of a posterior that was aligned with something made of these sources.
pub(crate) fn aligned(
    before: &Provenance,
    method: &str,
    sources: &[Source],
    criterion: Criterion,
    solver: Solver,
    balanced: bool,
) -> Provenance {
    let files: Vec<String> = sources.iter().map(|source| source.file.display().to_string()).collect();
    let aligned = Aligned {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        to: format!("{method}{}", files.join(", ")),
        criterion: criterion.to_string(),
        solver: solver.to_string(),
        balanced,
    };
    Provenance { aligned: Some(aligned), ..before.clone() }
}

/// The configuration that a posterior was trained by.
pub(crate) fn config(provenance: &Provenance) -> Result<TrainConfig> {
    let config: TrainConfig = serde_json::from_value(provenance.config.clone()).map_err(|error| Error::Provenance {
        missing: format!("the configuration of its training ({})", plain(&error.to_string())),
    })?;
    config.prior.check().map_err(|error| error.within("prior"))?;
    Ok(config)
}

/// The first `most` examples, scaled as a posterior's inputs; all as they are, if no number is given.
pub(crate) fn first_examples(examples: Examples, most: Option<usize>, provenance: &Provenance) -> Result<Examples> {
    let Some(most) = most else { return Ok(examples) };
    let some = Subset::First(most.min(examples.len())).apply(examples.dataset())?;
    Examples::new(some, provenance.standardisation.clone())
}

/// What a file is called: by its folder, if its own name is that of every training.
fn name(whole: &Path) -> String {
    let folder = || whole.parent().and_then(Path::file_name);
    let own = || whole.file_stem();
    let name = if whole.file_name().is_some_and(|name| name == POSTERIOR) { folder().or_else(own) } else { own() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The name, with a number behind it if another source has it.
fn unique(sources: &[Source], name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    // Names become those of files, whose case not every file system tells apart.
    names
        .find(|name| sources.iter().all(|source| !source.name.eq_ignore_ascii_case(name)))
        .expect("there are enough numbers")
}

/// Refuses a list that is empty or names something twice; `expected` says what it should have.
pub(crate) fn some_once<T: PartialEq + serde::Serialize>(key: &str, values: &[T], expected: &str) -> Result<()> {
    if values.is_empty() {
        return Err(Error::setting(key, "[]", expected));
    }
    once(key, values)
}

/// Refuses a list that names something twice.
pub(crate) fn once<T: PartialEq + serde::Serialize>(key: &str, values: &[T]) -> Result<()> {
    match (1..values.len()).find(|index| values[..*index].contains(&values[*index])) {
        None => Ok(()),
        Some(index) => {
            let value = serde_json::to_string(&values[index]).expect("a setting is plain data");
            Err(Error::setting(key, format_args!("a list with {value} twice"), "a list without repetitions"))
        }
    }
}
