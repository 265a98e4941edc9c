//! What predictions on the test images are worth, and how near they are to those of the reference.

use super::Settings;
use super::open;
use super::report::Curve;
use super::report::Row;
use crate::commands::images;
use crate::commands::members::Source;
use crate::commands::members::file_of;
use crate::commands::pool::Pool;
use crate::commands::signals::Signals;
use crate::commands::signals::Stopped;
use anyhow::Context;
use anyhow::bail;
use indicatif::ProgressBar;
use onebasin::arch::Arch;
use onebasin::data::Examples;
use onebasin::error::Error;
use onebasin::measure::Agreement;
use onebasin::measure::Calibration;
use onebasin::measure::Quality;
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

/// Shows how far a prediction is, and whether it may go on.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) bar: &'a ProgressBar,
    pub(super) signals: &'a Signals,
}

impl<'a> Watch<'a> {
    pub(super) fn over(self, name: &str, what: &str) -> impl FnMut(usize, usize) -> ControlFlow<()> + use<'a> {
        self.bar.reset();
        self.bar.set_message(format!("{name}: {what}"));
        move |done, total| {
            self.bar.set_length(total as u64);
            self.bar.set_position(done as u64);
            self.signals.go_on()
        }
    }
}

const PREDICTING: &str = "predicting";

/// Predicts, and compares.
pub(super) struct Judge<'a> {
    predictor: Predictor,
    examples: Examples,
    /// (image, class), if it is not that of the samples.
    reference: Option<Vec<f64>>,
    draws: usize,
    seed: u64,
    watch: Watch<'a>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        source: &Source,
        pool: &Pool,
        arch: &Arch,
        settings: &Settings,
        threads: usize,
        watch: Watch<'a>,
    ) -> anyhow::Result<Self> {
        let method = &settings.method;
        let provenance = pool.files()[0].provenance();
        let examples = test(provenance, &settings.data, method.images);
        let examples = examples.with_context(|| source.file.display().to_string())?;
        examples.check_fits(arch)?;
        let predictor = Predictor::new(arch, provenance.likelihood, threads)?;
        let (draws, seed) = (method.draws, method.seed);
        let mut judge = Self { predictor, examples, reference: None, draws, seed, watch };
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
        let mut progress = self.watch.over("reference", PREDICTING);
        let mean = predictor.mean(&*posterior, &examples, count, self.seed, &mut progress)?;
        mean.ok_or_else(|| Stopped.into())
    }

    /// The predictions of the samples themselves, which are the reference unless there is another.
    pub(super) fn samples(&mut self, pool: &Pool) -> anyhow::Result<Row> {
        let own = self.predict("samples", pool, usize::MAX)?;
        let row = self.row("samples", &own, pool.len())?;
        self.reference.get_or_insert(own);
        Ok(row)
    }

    /// A Gaussian, and the network at its mean.
    pub(super) fn gaussian(&mut self, name: &str, rank: usize, posterior: &Posterior) -> anyhow::Result<Row> {
        let predicted = self.predict(&format!("{name}, rank {rank}"), posterior, self.draws)?;
        let mean = Posterior::Point(posterior.gaussian().mean().clone());
        let at_mean = self.predict(&format!("mean of {name}"), &mean, 1)?;
        let mean = Quality::of(&at_mean, self.examples.dataset().labels(), 1)?;
        Ok(Row { rank: Some(rank), mean: Some(mean), ..self.row(name, &predicted, self.draws)? })
    }

    /// The mean and a sample, pruned as the standard deviations say.
    pub(super) fn pruning(&mut self, gaussian: &Gaussian, sample: &Params) -> anyhow::Result<Vec<Curve>> {
        let mut curves = Vec::new();
        for (network, point) in [("mean", gaussian.mean()), ("sample", sample)] {
            for by in [KeptBy::SmallestStd, KeptBy::LargestSignal] {
                let order = prune::order(gaussian, by);
                let mut progress = self.watch.over("pruned networks", PREDICTING);
                let points = prune::curve(&mut self.predictor, point, &order, &self.examples, &mut progress)?;
                curves.push(Curve { network: network.to_owned(), by, points: points.ok_or(Stopped)? });
            }
        }
        Ok(curves)
    }

    /// What samples predict together on other images, (image, class).
    pub(super) fn on(&mut self, pool: &Pool, examples: &Examples) -> anyhow::Result<Vec<f64>> {
        let mut progress = self.watch.over("samples on training images", PREDICTING);
        let mean = self.predictor.mean(pool, examples, usize::MAX, self.seed, &mut progress)?;
        mean.ok_or_else(|| Stopped.into())
    }

    pub(super) fn watch(&self) -> Watch<'a> {
        self.watch
    }

    fn predict(&mut self, name: &str, posterior: &dyn Draws, count: usize) -> anyhow::Result<Vec<f64>> {
        let mut progress = self.watch.over(name, PREDICTING);
        let mean = self.predictor.mean(posterior, &self.examples, count, self.seed, &mut progress)?;
        mean.ok_or_else(|| Stopped.into())
    }

    fn row(&self, name: &str, predicted: &[f64], samples: usize) -> Result<Row, Error> {
        let labels = self.examples.dataset().labels();
        let reference = self.reference.as_deref().unwrap_or(predicted);
        Ok(Row {
            name: name.to_owned(),
            rank: None,
            nearness: Agreement::of(reference, predicted, self.examples.classes())?,
            quality: Quality::of(predicted, labels, samples)?,
            calibration: Calibration::of(predicted, labels)?,
            mean: None,
        })
    }
}

/// The test images of the data that a posterior was trained on, from the first on.
fn test(provenance: &Provenance, data: &Path, most: Option<usize>) -> anyhow::Result<Examples> {
    let test = images::config(provenance)?.test(data, &provenance.standardisation)?;
    let Some(most) = most else { return Ok(test) };
    Ok(images::first(&test, most, provenance)?)
}
