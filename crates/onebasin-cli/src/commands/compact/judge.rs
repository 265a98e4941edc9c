//! What predictions on the test images are worth, and how near they are to those of the reference.

use super::Settings;
use super::open;
use super::report::Curve;
use super::report::Row;
use crate::commands::members::Source;
use crate::commands::members::file_of;
use crate::commands::pool::Pool;
use anyhow::Context;
use anyhow::bail;
use indicatif::ProgressBar;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::data::Subset;
use onebasin::error::Error;
use onebasin::experiment::TrainConfig;
use onebasin::measure::Agreement;
use onebasin::measure::Calibration;
use onebasin::measure::Quality;
use onebasin::measure::Tuning;
use onebasin::measure::prune;
use onebasin::measure::prune::KeptBy;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;
use onebasin::posterior::Predictor;
use onebasin::store::Provenance;
use std::ops::ControlFlow;
use std::path::Path;

/// Training images that Gaussians are tuned on, at most.
const TUNING_IMAGES: usize = 1000;
/// Points drawn for each tuning that is tried, at most.
const TUNING_DRAWS: usize = 30;

/// Predicts, and compares.
pub(super) struct Judge<'a> {
    predictor: Predictor,
    examples: Examples,
    /// (image, class), if it is not that of the samples.
    reference: Option<Vec<f64>>,
    /// Some training images and what the samples predict for them, (image, class), if Gaussians are tuned.
    training: Option<(Examples, Vec<f64>)>,
    draws: usize,
    seed: u64,
    spinner: &'a ProgressBar,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        source: &Source,
        pool: &Pool,
        arch: &Arch,
        settings: &Settings,
        threads: usize,
        spinner: &'a ProgressBar,
    ) -> anyhow::Result<Self> {
        let method = &settings.method;
        let provenance = pool.files()[0].provenance();
        let examples = test(provenance, &settings.data, method.images);
        let examples = examples.with_context(|| source.file.display().to_string())?;
        examples.check_fits(arch)?;
        let mut predictor = Predictor::new(arch, provenance.likelihood, threads)?;
        let training = if method.tune {
            let some = training(provenance, &settings.data).with_context(|| source.file.display().to_string())?;
            let mut progress = progress("samples on training images", spinner);
            let target = predictor.mean(pool, &some, usize::MAX, method.seed, &mut progress)?;
            Some((some, target.expect(NO_BREAK)))
        } else {
            None
        };
        let (draws, seed) = (method.draws, method.seed);
        let mut judge = Self { predictor, examples, reference: None, training, draws, seed, spinner };
        if let Some(path) = &method.reference {
            let file = file_of(path)?;
            judge.reference = Some(judge.of_another(&file, settings, threads)?);
        }
        Ok(judge)
    }

    /// The predictions of another posterior, whose network may be another one.
    fn of_another(&self, file: &Path, settings: &Settings, threads: usize) -> anyhow::Result<Vec<f64>> {
        let (posterior, provenance) = open(file)?;
        let examples = test(&provenance, &settings.data, settings.method.images);
        let examples = examples.with_context(|| file.display().to_string())?;
        if examples.dataset() != self.examples.dataset() {
            bail!("{} was trained for other test images than the samples", file.display());
        }
        let mut predictor = Predictor::new(&Arch::new(provenance.arch)?, provenance.likelihood, threads)?;
        let count = if posterior.draws(usize::MAX) == usize::MAX { self.draws } else { usize::MAX };
        let mut progress = progress("reference", self.spinner);
        let mean = predictor.mean(&*posterior, &examples, count, self.seed, &mut progress)?;
        Ok(mean.expect(NO_BREAK))
    }

    /// The predictions of the samples themselves, which are the reference unless there is another.
    pub(super) fn samples(&mut self, pool: &Pool) -> Result<Row, Error> {
        let own = self.predict("samples", pool, usize::MAX)?;
        let row = self.row("samples", &own, pool.len())?;
        self.reference.get_or_insert(own);
        Ok(row)
    }

    /// A Gaussian, and the network at its mean.
    pub(super) fn gaussian(
        &mut self,
        name: &str,
        rank: usize,
        tuning: Option<Tuning>,
        posterior: &Posterior,
    ) -> Result<Row, Error> {
        let predicted = self.predict(&format!("{name}, rank {rank}"), posterior, self.draws)?;
        let mean = Posterior::Point(posterior.gaussian().mean().clone());
        let at_mean = self.predict(&format!("mean of {name}"), &mean, 1)?;
        let mean = Quality::of(&at_mean, self.examples.dataset().labels(), 1)?;
        Ok(Row { rank: Some(rank), tuning, mean: Some(mean), ..self.row(name, &predicted, self.draws)? })
    }

    /// A Gaussian that predicts more as the samples do on training images, and how it was tuned.
    pub(super) fn tuned(&mut self, posterior: &Posterior) -> Result<(Posterior, Option<Tuning>), Error> {
        let (examples, target) = self.training.as_ref().expect("it was asked for");
        let mut progress = progress("tuning", self.spinner);
        let how = (self.draws.min(TUNING_DRAWS), self.seed);
        let tuning = Tuning::find(&mut self.predictor, posterior, target, examples, how, &mut progress)?;
        let tuning = tuning.expect(NO_BREAK);
        Ok((tuning.apply(posterior)?, Some(tuning)))
    }

    /// The mean and a sample, pruned as the standard deviations say.
    pub(super) fn pruning(&mut self, gaussian: &Gaussian, sample: &Params) -> Result<Vec<Curve>, Error> {
        let mut curves = Vec::new();
        for (network, point) in [("mean", gaussian.mean()), ("sample", sample)] {
            for by in [KeptBy::SmallestStd, KeptBy::LargestSignal] {
                let order = prune::order(gaussian, by);
                let mut progress = progress("pruning", self.spinner);
                let points = prune::curve(&mut self.predictor, point, &order, &self.examples, &mut progress)?;
                curves.push(Curve { network, by, points: points.expect(NO_BREAK) });
            }
        }
        Ok(curves)
    }

    fn predict(&mut self, name: &str, posterior: &dyn Draws, count: usize) -> Result<Vec<f64>, Error> {
        let mut progress = progress(name, self.spinner);
        let mean = self.predictor.mean(posterior, &self.examples, count, self.seed, &mut progress)?;
        Ok(mean.expect(NO_BREAK))
    }

    fn row(&self, name: &str, predicted: &[f64], samples: usize) -> Result<Row, Error> {
        let labels = self.examples.dataset().labels();
        let reference = self.reference.as_deref().unwrap_or(predicted);
        Ok(Row {
            name: name.to_owned(),
            rank: None,
            tuning: None,
            nearness: Agreement::of(reference, predicted, self.examples.classes())?,
            quality: Quality::of(predicted, labels, samples)?,
            calibration: Calibration::of(predicted, labels)?,
            mean: None,
        })
    }
}

/// Shows how far a prediction is.
fn progress(name: &str, spinner: &ProgressBar) -> impl FnMut(usize, usize) -> ControlFlow<()> {
    move |done, total| {
        spinner.set_message(format!("{name}: predicting, {} %", 100 * done / total.max(1)));
        ControlFlow::Continue(())
    }
}

/// The test images of the data that a posterior was trained on, from the first on.
fn test(provenance: &Provenance, data: &Path, images: Option<usize>) -> anyhow::Result<Examples> {
    let test = config(provenance)?.test(data, &provenance.standardisation)?;
    let Some(images) = images else { return Ok(test) };
    let some = Subset::First(images.min(test.len())).apply(test.dataset())?;
    Ok(Examples::new(some, provenance.standardisation.clone())?)
}

/// The first of the training images.
fn training(provenance: &Provenance, data: &Path) -> anyhow::Result<Examples> {
    let training = config(provenance)?.training(data)?;
    let some = Subset::First(TUNING_IMAGES.min(training.len())).apply(training.dataset())?;
    Ok(Examples::new(some, provenance.standardisation.clone())?)
}

fn config(provenance: &Provenance) -> anyhow::Result<TrainConfig> {
    let config = serde_json::from_value::<TrainConfig>(provenance.config.clone());
    config.context("its provenance does not say what it was trained on")
}

const NO_BREAK: &str = "nobody breaks off";
