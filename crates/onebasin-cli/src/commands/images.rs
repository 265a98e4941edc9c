//! The images that posteriors are looked at on.

use super::members::Source;
use anyhow::Context;
use anyhow::bail;
use onebasin::data::Examples;
use onebasin::data::Subset;
use onebasin::error::Error;
use onebasin::experiment::TrainConfig;
use onebasin::store::Provenance;
use onebasin::store::StoredPosterior;

/// Networks that see one image differently cannot be compared on it.
pub(super) fn check_pixels(sources: &[Source], stored: &[StoredPosterior]) -> anyhow::Result<()> {
    let first = &stored[0].provenance.standardisation;
    for (source, stored) in sources.iter().zip(stored) {
        if stored.provenance.standardisation != *first {
            bail!(
                "{} scales pixels differently than {}, so they cannot be compared on one image",
                source.file.display(),
                sources[0].file.display()
            );
        }
    }
    Ok(())
}

/// The configuration that a posterior was trained by.
pub(super) fn config(provenance: &Provenance) -> anyhow::Result<TrainConfig> {
    let config = serde_json::from_value::<TrainConfig>(provenance.config.clone());
    config.context("its provenance does not say what it was trained on")
}

/// The first of some images, at most so many, as a posterior sees them.
pub(super) fn first(images: &Examples, most: usize, provenance: &Provenance) -> Result<Examples, Error> {
    let some = Subset::First(most.min(images.len())).apply(images.dataset())?;
    Examples::new(some, provenance.standardisation.clone())
}
