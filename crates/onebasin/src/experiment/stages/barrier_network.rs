//! The loss and error barriers between two checkpoints of any network, on the user's own examples.

use super::barrier::{Aligned, Barrier, BarrierResult, BarrierSettings, PathKind, UNALIGNED, rows};
use super::network_inputs::{NetworkInputs, Opened};
use crate::data::Split;
use crate::error::{Error, Result};
use crate::experiment::parts::{Parts, UNFINISHED};
use crate::experiment::{Context, Folder, Section, Stage};
use crate::foreign::{BatchNorms, Renewed};
use crate::measure::Curves;
use crate::path::{Geodesic, Natural, Path};
use crate::posterior::Gaussian;
use crate::symmetry::Permutations;
use serde::Serialize;
use std::path::PathBuf;

/// Examples at most on which the statistics of batch normalisations are measured.
const STATISTICS_EXAMPLES: usize = 512;

named_enum! {
    /// What becomes of the statistics of batch normalisations between two checkpoints.
    #[derive(Default)]
    pub enum BatchNorm {
        /// They are measured again at every point of a path, on the first examples.
        #[default]
        Recompute = "recompute",
        /// They are interpolated like all other tensors.
        Interpolate = "interpolate",
    }
}

/// Measures barriers between checkpoints.
#[derive(Clone, Debug, Serialize)]
pub struct BarrierNetwork {
    /// What is measured.
    #[serde(flatten)]
    pub settings: BarrierSettings,
    /// What becomes of the statistics of batch normalisations.
    pub batchnorm: BatchNorm,
    /// The network, its checkpoints and the examples.
    #[serde(flatten)]
    pub inputs: NetworkInputs,
}

impl Stage for BarrierNetwork {
    const NAME: &'static str = "barrier-network";
    const REVISION: u32 = 2;
    const FILES: &'static [&'static str] = Barrier::FILES;
    const UNFINISHED: Option<&'static str> = Some(UNFINISHED);
    type Result = BarrierResult;

    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<BarrierResult> {
        self.check()?;
        let mut opened = self.inputs.open(self.settings.test_examples, context)?;
        let norms = match self.batchnorm {
            BatchNorm::Recompute => {
                BatchNorms::new(&opened.network, &opened.examples.first(STATISTICS_EXAMPLES)?.all().0)?
            }
            BatchNorm::Interpolate => None,
        };
        if let Some(norms) = &norms {
            let count = norms.examples();
            let text = format!("statistics of batch normalisations are measured on {count} examples at every point");
            context.host.message(&text);
        }
        let from = opened.gaussian(0)?;
        let aligned = self.alignments(&opened, &from, context)?;
        let Opened { predictor, examples, .. } = &mut opened;

        let settings = &self.settings;
        let (mut curves, mut number, parts) = (Vec::new(), 0, Parts::new(self, folder)?);
        let count = 1 + (aligned.len() - 1) * settings.paths.len();
        for (index, (Aligned { name, .. }, to)) in aligned.iter().enumerate() {
            let kinds = if index == 0 { &[PathKind::Geodesic][..] } else { &settings.paths };
            for &kind in kinds {
                let name = if kind == PathKind::Geodesic { name.clone() } else { format!("{name}, {kind}") };
                number += 1;
                let task = format!("{name}, curve {number} of {count}");
                curves.extend(parts.part(&format!("curve{number}"), || {
                    let straight: Box<dyn Path> = match kind {
                        PathKind::Natural => Box::new(Natural::new(&from, to)?),
                        _ => Box::new(Geodesic::new(&from, to)?),
                    };
                    let path: Box<dyn Path> = match &norms {
                        Some(norms) => Box::new(Renewed::new(&*straight, norms)),
                        None => Box::new(&*straight),
                    };
                    let (measured, seconds) = context.measured(&task, |monitor| {
                        let (calibrate, sampling) = (settings.calibrate, settings.sampling());
                        Curves::along(&*path, predictor, examples, calibrate, sampling, monitor)
                    })?;
                    Ok(rows(&name, kind, Split::Test, measured, seconds, index == 0))
                })?);
            }
        }
        // The reference comes last.
        let (mut mixtures, mut curves): (Vec<_>, Vec<_>) = curves.into_iter().partition(|row| row.path.is_none());
        curves.append(&mut mixtures);
        Ok(BarrierResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.clone(),
            data: self.inputs.inputs.display().to_string(),
            posteriors: self.inputs.checkpoints.clone(),
            alignments: aligned.into_iter().map(|(aligned, _)| aligned).collect(),
            curves,
        })
    }

    fn tables(result: &BarrierResult) -> Vec<(&'static str, String)> {
        Barrier::tables(result)
    }
}

impl BarrierNetwork {
    /// Refuses settings that need more than checkpoints and their network.
    fn check(&self) -> Result<()> {
        let BarrierSettings { paths, calibrate, precision, dataset, .. } = &self.settings;
        self.settings.check()?;
        precision.check_f32("checkpoints of a network")?;
        let expected = "geodesic or natural for checkpoints of a network";
        if let Some(path) = paths.iter().find(|path| !matches!(path, PathKind::Geodesic | PathKind::Natural)) {
            return Err(Error::setting("paths", path, expected));
        }
        Curves::check_calibrate(*calibrate, self.inputs.regression)?;
        Error::unless(dataset.is_none(), "dataset", "given", "left out: `inputs` and `labels` are measured on")
    }

    /// The second checkpoint as it is, then with its units permuted by each criterion.
    fn alignments(&self, opened: &Opened, from: &Gaussian, context: &Context<'_>) -> Result<Vec<(Aligned, Gaussian)>> {
        let BarrierSettings { criteria, solver, seed, .. } = &self.settings;
        let to = opened.gaussian(1)?;
        let aligned = |name: &str, permutations: &Permutations| -> Result<(Aligned, Gaussian)> {
            let gaussian = opened.permute(&to, permutations)?;
            let (w2, transpositions) = (from.distance(&gaussian)?, permutations.transpositions());
            Ok((Aligned { name: name.to_owned(), w2, transpositions }, gaussian))
        };
        let mut all = vec![aligned(UNALIGNED, &Permutations::identity(&opened.spec))?];
        for criterion in criteria {
            let found = opened.align(*criterion, *solver, *seed, context)?;
            all.push(aligned(criterion.name(), &found)?);
        }
        Ok(all)
    }
}
