//! The loss and error barriers between two checkpoints of any network, on the user's own examples.

use super::align_network::{Gaussians, Loaded, check_criteria};
use super::barrier::{Aligned, Barrier, BarrierResult, BarrierSettings, PathKind, UNALIGNED, rows};
use crate::align::{self, Criterion, Members as _, Objective};
use crate::data::{Dataset, Examples, Scaling, Split, Standardisation};
use crate::error::{Error, Result};
use crate::experiment::parts::{Parts, UNFINISHED};
use crate::experiment::{Context, Folder, Section, Stage};
use crate::foreign::{Array, BatchNorms, Member, Network, NetworkModel, ReadOptions, Renewed, Wanted};
use crate::measure::Curves;
use crate::model::Model;
use crate::net::Likelihood;
use crate::path::{Geodesic, Natural, Path};
use crate::posterior::{Gaussian, Predictor};
use crate::symmetry::{Permutations, Spec};
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
    /// How the network is read.
    pub options: ReadOptions,
    /// How checkpoints store a posterior; found out if none is named.
    pub format: Option<String>,
    /// Beginnings of the names of tensors that are no part of the network.
    pub keep: Vec<String>,
    /// The network, an ONNX file.
    #[serde(skip)]
    pub network: PathBuf,
    /// The checkpoint that stays, and the one whose units are permuted.
    #[serde(skip)]
    pub checkpoints: [PathBuf; 2],
    /// Examples (example, ...) as the network reads them: a `NumPy` file.
    #[serde(skip)]
    pub inputs: PathBuf,
    /// The class of each example: a `NumPy` file.
    #[serde(skip)]
    pub labels: PathBuf,
}

impl Stage for BarrierNetwork {
    const NAME: &'static str = "barrier-network";
    const REVISION: u32 = 1;
    const FILES: &'static [&'static str] = Barrier::FILES;
    const UNFINISHED: Option<&'static str> = Some(UNFINISHED);
    type Result = BarrierResult;

    fn inputs(&self) -> Vec<PathBuf> {
        let Self { network, checkpoints, inputs, labels, .. } = self;
        [network].into_iter().chain(checkpoints).chain([inputs, labels]).cloned().collect()
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<BarrierResult> {
        self.check()?;
        let wanted = Wanted { format: self.format.as_deref(), keep: &self.keep };
        let (network, members) = Network::open(&self.network, &self.options)?.bind(&self.checkpoints, wanted)?;
        let spec = Spec::of_network(network.symmetry())?;
        let models = (0..context.pool.threads())
            .map(|_| Ok(Box::new(NetworkModel::new(&network, spec.layout())?) as Box<dyn Model>))
            .collect::<Result<Vec<_>>>()?;
        let examples = self.examples(&*models[0])?;
        let norms = match self.batchnorm {
            BatchNorm::Recompute => BatchNorms::new(&network, &examples.first(STATISTICS_EXAMPLES)?.all().0)?,
            BatchNorm::Interpolate => None,
        };
        if let Some(norms) = &norms {
            let count = norms.examples();
            context.host.message(&format!(
                "statistics of batch normalisations are measured on {count} examples at every point"
            ));
        }
        let mut predictor = Predictor::of(models, Likelihood::Softmax, &context.pool)?;
        let gaussians = Gaussians { members: &members, spec: &spec };
        let (from, to) = (gaussians.read(0)?.into_owned(), gaussians.read(1)?.into_owned());
        let aligned = self.alignments(&members, &spec, [&from, &to], context)?;

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
                        Curves::along(&*path, &mut predictor, &examples, None, settings.sampling(), monitor)
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
            data: self.inputs.display().to_string(),
            posteriors: self.checkpoints.to_vec(),
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
        let BarrierSettings { criteria, paths, calibrate, dataset, .. } = &self.settings;
        self.settings.check()?;
        check_criteria(criteria)?;
        let expected = "geodesic or natural for checkpoints of a network";
        if let Some(path) = paths.iter().find(|path| !matches!(path, PathKind::Geodesic | PathKind::Natural)) {
            return Err(Error::setting("paths", path, expected));
        }
        Error::unless(!calibrate, "calibrate", true, "false for checkpoints, whose training examples are not known")?;
        Error::unless(dataset.is_none(), "dataset", "given", "left out: `inputs` and `labels` are measured on")
    }

    /// The examples, in the order in which the network reads them.
    fn examples(&self, model: &dyn Model) -> Result<Examples> {
        let inputs = Array::read(&self.inputs, &["x", "inputs", "images", "data"])?;
        let labels = Array::read(&self.labels, &["y", "labels", "targets", "target"])?.labels(&self.labels)?;
        let (count, features) = (inputs.shape.first().copied().unwrap_or(0), model.input().len());
        if inputs.values.len() != count * features {
            let reason =
                format!("an example has the shape {:?}; the network reads {features} values", &inputs.shape[1..]);
            return Err(Error::File { path: self.inputs.clone(), reason });
        }
        if labels.len() != count {
            let reason = format!("it has {} labels, and there are {count} examples", labels.len());
            return Err(Error::File { path: self.labels.clone(), reason });
        }
        let most = self.settings.test_examples.unwrap_or(count).min(count);
        let dataset = Dataset::of_numbers(
            self.inputs.display().to_string(),
            model.input(),
            model.outputs(),
            inputs.values[..most * features].to_vec(),
            labels[..most].to_vec(),
        );
        let dataset = dataset.map_err(|error| error.at(self.labels.display()))?;
        let as_they_are =
            Standardisation { scaling: Scaling::Unit, scale: vec![1.0; features], shift: vec![0.0; features] };
        Examples::new(dataset, as_they_are)
    }

    /// The second checkpoint as it is, then with its units permuted by each criterion.
    fn alignments(
        &self,
        members: &[Member],
        spec: &Spec,
        [from, to]: [&Gaussian; 2],
        context: &Context<'_>,
    ) -> Result<Vec<(Aligned, Gaussian)>> {
        let aligned = |name: &str, permutations: &Permutations| -> Result<(Aligned, Gaussian)> {
            let gaussian = Gaussian::new(spec.apply(permutations, to.mean())?, spec.apply(permutations, to.std())?)?;
            let (w2, transpositions) = (from.distance(&gaussian)?, permutations.transpositions());
            Ok((Aligned { name: name.to_owned(), w2, transpositions }, gaussian))
        };
        let mut all = vec![aligned(UNALIGNED, &Permutations::identity(spec))?];
        let [fixed, moved] = [0, 1].map(|index: usize| Loaded::new(&members[index], spec));
        let (fixed, moved) = (fixed?, moved?);
        for criterion in &self.settings.criteria {
            let found = self.align(*criterion, (&fixed, &moved), spec, context)?;
            all.push(aligned(criterion.name(), &found)?);
        }
        Ok(all)
    }

    fn align(
        &self,
        criterion: Criterion,
        (fixed, moved): (&Loaded, &Loaded),
        spec: &Spec,
        context: &Context<'_>,
    ) -> Result<Permutations> {
        let BarrierSettings { solver, seed, .. } = self.settings;
        let method = align::Settings { criterion, solver, seed, ..align::Settings::default() };
        let (found, _) = context.measured(&format!("aligning by {criterion}"), |monitor| {
            let objective = Objective::new(spec, fixed.features(moved, criterion)?, None)?;
            align::maximise(&objective, method, &context.pool, monitor)
        })?;
        Ok(found.permutations)
    }
}
