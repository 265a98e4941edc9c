//! The posteriors that a command is about: found, read and compared before anything is written.

use anyhow::Context;
use anyhow::bail;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::infer::Prior;
use onebasin::params::Params;
use onebasin::store::Provenance;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Spec;
use onebasin::symmetry::distance_from_prior;
use onebasin::symmetry::units_at_prior;
use serde_json::Value;
use std::path::Path;
use std::path::PathBuf;

/// The file that a run leaves.
pub(crate) const POSTERIOR: &str = "posterior.safetensors";

/// A posterior's file and what it is called.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Unlike that of all others.
    pub(crate) name: String,
    /// As it was typed, but for the name of the file in the folder of a run.
    pub(crate) file: PathBuf,
}

/// Finds all files, none of which may lie in the folder that is written.
pub(super) fn find(paths: &[PathBuf], output: Option<&Path>) -> anyhow::Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::with_capacity(paths.len());
    for path in paths {
        let file = file_of(path)?;
        let whole = file.canonicalize().with_context(|| file.display().to_string())?;
        if let Some(output) = output
            && output.canonicalize().is_ok_and(|output| whole.starts_with(output))
        {
            bail!("{} lies in the folder {} that is to be written", file.display(), output.display());
        }
        sources.push(Source { name: unlike(&sources, &name(&whole)), file });
    }
    Ok(sources)
}

/// Reads all; each must be whole, finite and of the first one's architecture.
pub(super) fn read(sources: &[Source]) -> anyhow::Result<Vec<StoredPosterior>> {
    let mut all: Vec<StoredPosterior> = Vec::with_capacity(sources.len());
    for source in sources {
        let stored = StoredPosterior::read(&source.file)?;
        if let Some(first) = all.first() {
            check_architecture([&sources[0], source], [&first.provenance, &stored.provenance])?;
        }
        let gaussian = stored.posterior.gaussian();
        for params in [gaussian.mean(), gaussian.std()] {
            check_finite(params).with_context(|| source.file.display().to_string())?;
        }
        drop(gaussian);
        all.push(stored);
    }
    Ok(all)
}

/// Which units of a posterior, (group, unit), are nearer to the prior of its run than `threshold`.
pub(super) fn at_prior(
    source: &Source,
    stored: &StoredPosterior,
    arch: &Arch,
    spec: &Spec,
    threshold: f64,
) -> anyhow::Result<Vec<Vec<bool>>> {
    let prior = serde_json::from_value::<Prior>(stored.provenance.config["prior"].clone());
    let prior = prior.with_context(|| format!("{}: its provenance has no prior", source.file.display()))?;
    let gaussian = stored.posterior.gaussian();
    let distances = distance_from_prior(spec, gaussian.mean(), gaussian.std(), &prior.variances(arch))?;
    Ok(units_at_prior(&distances, threshold))
}

/// The file of the posterior that a path leads to.
pub(crate) fn file_of(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = path.join(POSTERIOR);
    if !file.exists() {
        bail!("{} has no {POSTERIOR}: it is not the folder of a finished run", path.display());
    }
    Ok(file)
}

/// What a file is called: by its folder, if its own name is that of every run.
fn name(whole: &Path) -> String {
    let folder = || whole.parent().and_then(Path::file_name);
    let own = || whole.file_stem();
    let name = if whole.file_name().is_some_and(|name| name == POSTERIOR) { folder().or_else(own) } else { own() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The name, with a number behind it if others have it already.
fn unlike(sources: &[Source], name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| sources.iter().all(|source| source.name != *name)).expect("there are enough numbers")
}

/// Says in which setting two architectures differ.
pub(crate) fn check_architecture(sources: [&Source; 2], provenances: [&Provenance; 2]) -> anyhow::Result<()> {
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
    bail!(
        "{} is another network than {}: `arch.{key}` is {}, not {}",
        sources[1].file.display(),
        sources[0].file.display(),
        theirs[key],
        ours[key]
    )
}

/// Refuses what a run that diverged leaves.
pub(crate) fn check_finite(params: &Params) -> Result<(), Error> {
    for tensor in params.layout().tensors() {
        let values = &params.values()[tensor.range()];
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(Error::Diverged { tensor: tensor.name().to_owned(), value: value.to_string() });
        }
    }
    Ok(())
}
