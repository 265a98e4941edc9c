//! The ways that lead from one posterior to the other.

use super::Settings;
use crate::commands::images;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::error::Result;
use onebasin::path::Geodesic;
use onebasin::path::Moments;
use onebasin::path::Natural;
use onebasin::path::Path;
use onebasin::path::Restore;
use onebasin::path::Restored;
use onebasin::path::Seen;
use onebasin::path::Source;
use onebasin::posterior::Gaussian;
use onebasin::store::StoredPosterior;
use serde::Deserialize;
use serde::Serialize;

/// Training images that tell how strong units are, and which temperature is right.
const IMAGES: usize = 1000;
/// Points of a posterior that are looked at on them.
const DRAWS: usize = 16;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// The shortest in the Wasserstein distance.
    Geodesic,
    /// Straight in precisions.
    Natural,
    /// The geodesic, with the signal of each unit restored from norms of weights.
    Rescaled,
    /// The same from propagated moments.
    RescaledMoments,
    /// The same from images.
    RescaledData,
    /// Straight in precisions, restored from norms of weights.
    NaturalRescaled,
    /// The geodesic, with the standard deviation of each unit restored on images.
    ScaleOnly,
    /// The same, and its mean.
    Repair,
}

impl Way {
    /// As they are typed.
    pub(crate) const NAMES: [&str; 8] = [
        "geodesic",
        "natural",
        "rescaled",
        "rescaled-moments",
        "rescaled-data",
        "natural-rescaled",
        "scale-only",
        "repair",
    ];

    /// What tells how strong units are on this way.
    fn source(self) -> Option<Kind> {
        match self {
            Self::Geodesic | Self::Natural => None,
            Self::Rescaled | Self::NaturalRescaled => Some(Kind::Weights),
            Self::RescaledMoments => Some(Kind::Moments),
            Self::RescaledData | Self::ScaleOnly | Self::Repair => Some(Kind::Seen),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Weights,
    Moments,
    Seen,
}

/// What all the ways that were asked for need.
pub(super) struct Ways<'a> {
    arch: &'a Arch,
    /// The training images that are looked at.
    images: Option<Examples>,
    sources: Vec<(Kind, Source)>,
}

impl<'a> Ways<'a> {
    /// Reads training images if a way needs some.
    pub(super) fn new(
        settings: &Settings,
        first: &StoredPosterior,
        arch: &'a Arch,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let kinds: Vec<Kind> = settings.method.paths.iter().filter_map(|way| way.source()).collect();
        let mut images = None;
        if settings.method.calibrate || kinds.iter().any(|kind| *kind != Kind::Weights) {
            let training = images::config(&first.provenance)?.training(&settings.data)?;
            let examples = images::first(&training, IMAGES, &first.provenance)?;
            examples.check_fits(arch)?;
            images = Some(examples);
        }
        let mut sources = Vec::new();
        for kind in [Kind::Weights, Kind::Moments, Kind::Seen] {
            let source = match (kind, &images) {
                _ if !kinds.contains(&kind) => continue,
                (Kind::Moments, Some(images)) => Source::Moments(Moments::of(arch, images)?),
                (Kind::Seen, Some(images)) => {
                    Source::Seen(Box::new(Seen::new(arch, images, DRAWS, settings.method.seed, threads)?))
                }
                _ => Source::Weights,
            };
            sources.push((kind, source));
        }
        Ok(Self { arch, images, sources })
    }

    /// The images to calibrate on.
    pub(super) fn images(&self) -> Option<&Examples> {
        self.images.as_ref()
    }

    /// Calls `walk` with the path.
    pub(super) fn with<T>(
        &self,
        way: Way,
        from: &Gaussian,
        to: &Gaussian,
        walk: impl FnOnce(&dyn Path) -> Result<T>,
    ) -> Result<T> {
        let (geodesic, natural) = (Geodesic::new(from, to)?, Natural::new(from, to)?);
        let straight: &dyn Path = match way {
            Way::Natural | Way::NaturalRescaled => &natural,
            _ => &geodesic,
        };
        let Some(kind) = way.source() else { return walk(straight) };
        let restore = match way {
            Way::ScaleOnly => Restore::Scale,
            Way::Repair => Restore::ScaleAndMean,
            _ => Restore::Signal,
        };
        let (_, source) = self.sources.iter().find(|(other, _)| *other == kind).expect("its source was made");
        walk(&Restored::new(straight, self.arch, source, restore)?)
    }
}
