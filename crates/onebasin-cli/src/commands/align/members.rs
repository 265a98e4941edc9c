//! The posteriors that are aligned: found, read and compared before anything is written.

use anyhow::Context;
use anyhow::bail;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::infer::Prior;
use onebasin::posterior::Gaussian;
use onebasin::store::StoredPosterior;
use onebasin::symmetry::Spec;
use onebasin::symmetry::distance_from_prior;
use onebasin::symmetry::units_at_prior;
use serde_json::Value;
use std::path::Path;
use std::path::PathBuf;

/// The file that a run leaves.
const POSTERIOR: &str = "posterior.safetensors";

/// A posterior and what it is called.
#[derive(Debug)]
pub(super) struct Member {
    /// Unlike that of all others.
    pub(super) name: String,
    /// The file, as it was typed but for the name of the file in the folder of a run.
    pub(super) file: PathBuf,
    /// As it is in the file.
    pub(super) stored: StoredPosterior,
    /// As it is in the file; its moments, if it has samples.
    pub(super) gaussian: Gaussian,
}

/// Reads all; each must be whole, finite and of the first one's architecture.
pub(super) fn read(paths: &[PathBuf], output: &Path) -> anyhow::Result<Vec<Member>> {
    let mut members: Vec<Member> = Vec::with_capacity(paths.len());
    for path in paths {
        let file = find(path)?;
        let whole = file.canonicalize().with_context(|| file.display().to_string())?;
        if output.canonicalize().is_ok_and(|output| whole.starts_with(output)) {
            bail!("{} lies in the folder {} that is to be written", file.display(), output.display());
        }
        let stored = StoredPosterior::read(&file)?;
        if let Some(first) = members.first() {
            check_architecture(first, &file, &stored)?;
        }
        let gaussian = stored.posterior.gaussian().into_owned();
        check_finite(&gaussian).with_context(|| file.display().to_string())?;
        members.push(Member { name: unlike(&members, &name(&whole)), file, stored, gaussian });
    }
    Ok(members)
}

impl Member {
    /// Which units, (group, unit), are nearer to the prior of the run than `threshold`.
    pub(super) fn at_prior(&self, arch: &Arch, spec: &Spec, threshold: f64) -> anyhow::Result<Vec<Vec<bool>>> {
        let prior = serde_json::from_value::<Prior>(self.stored.provenance.config["prior"].clone());
        let prior = prior.with_context(|| format!("{}: its provenance has no prior", self.file.display()))?;
        let (mean, std) = (self.gaussian.mean(), self.gaussian.std());
        Ok(units_at_prior(&distance_from_prior(spec, mean, std, &prior.variances(arch))?, threshold))
    }
}

/// The file of the posterior that a path leads to.
fn find(path: &Path) -> anyhow::Result<PathBuf> {
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
fn unlike(members: &[Member], name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| members.iter().all(|member| member.name != *name)).expect("there are enough numbers")
}

/// Says in which setting two architectures differ.
fn check_architecture(first: &Member, file: &Path, stored: &StoredPosterior) -> anyhow::Result<()> {
    let [ours, theirs] = [&first.stored, stored]
        .map(|stored| serde_json::to_value(&stored.provenance.arch).expect("an architecture is plain data"));
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
        file.display(),
        first.file.display(),
        theirs[key],
        ours[key]
    )
}

/// Refuses what a run that diverged leaves.
fn check_finite(gaussian: &Gaussian) -> Result<(), Error> {
    for params in [gaussian.mean(), gaussian.std()] {
        for tensor in params.layout().tensors() {
            let values = &params.values()[tensor.range()];
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(Error::Diverged { tensor: tensor.name().to_owned(), value: value.to_string() });
            }
        }
    }
    Ok(())
}
