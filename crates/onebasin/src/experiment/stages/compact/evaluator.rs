//! Predictions on the test examples: how good they are, and how much they agree with those of the reference.

use super::{CompactSettings, PruningCurve, Row};
use crate::data::{Examples, Split};
use crate::error::{Error, Result};
use crate::experiment::inputs::Source;
use crate::experiment::{Context, inputs};
use crate::measure::prune::KeptBy;
use crate::measure::{Agreement, Calibration, Quality, prune};
use crate::net::Precision;
use crate::params::Params;
use crate::posterior::{Draws, Gaussian, Posterior, Predictor};
use crate::store::{Provenance, StoredPosterior, StoredSamples};
use std::path::Path;

/// Predicts, and compares with the reference.
pub(in crate::experiment::stages) struct Evaluator<'a> {
    context: &'a Context<'a>,
    predictor: Predictor,
    examples: Examples,
    /// Predictions of the reference, (example, class); those of the samples, unless there is another.
    reference: Option<Vec<f64>>,
    draws: usize,
    seed: u64,
    precision: Precision,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        settings: &CompactSettings,
        source: &Source,
        provenance: &Provenance,
        context: &'a Context<'a>,
    ) -> Result<Self> {
        let arch = provenance.network()?;
        let examples = test_examples(provenance, context.data, settings.test_examples);
        let examples = examples.map_err(|error| error.at(source.file.display()))?;
        examples.check_fits(&arch)?;
        let predictor = Predictor::new(&arch, provenance.likelihood, settings.precision, &context.pool)?;
        let CompactSettings { draws, seed, precision, .. } = *settings;
        let mut evaluator = Self { context, predictor, examples, reference: None, draws, seed, precision };
        if let Some(path) = &settings.reference {
            let file = inputs::posterior_file(path)?;
            let predicted = evaluator.predictions_of(&file, settings.test_examples);
            evaluator.reference = Some(predicted.map_err(|error| error.at(file.display()))?);
        }
        Ok(evaluator)
    }

    /// Of any network, on given examples; the samples are the reference.
    pub(in crate::experiment::stages) fn of_network(
        settings: &CompactSettings,
        predictor: Predictor,
        examples: Examples,
        context: &'a Context<'a>,
    ) -> Self {
        let CompactSettings { draws, seed, precision, .. } = *settings;
        Self { context, predictor, examples, reference: None, draws, seed, precision }
    }

    /// Predictions of another posterior, whose network may be another one.
    fn predictions_of(&self, file: &Path, most: Option<usize>) -> Result<Vec<f64>> {
        let (posterior, provenance): (Box<dyn Draws>, Provenance) = if let Ok(samples) = StoredSamples::open(file) {
            let provenance = samples.provenance().clone();
            (Box::new(samples), provenance)
        } else {
            // Whatever is wrong with the file is found again, and said.
            let StoredPosterior { posterior, provenance } = StoredPosterior::read(file)?;
            (Box::new(posterior), provenance)
        };
        let examples = test_examples(&provenance, self.context.data, most)?;
        if examples.dataset() != self.examples.dataset() {
            let reason = "it was trained for other test examples than the samples".to_owned();
            return Err(Error::File { path: file.to_owned(), reason });
        }
        let network = provenance.network()?;
        let mut predictor = Predictor::new(&network, provenance.likelihood, self.precision, &self.context.pool)?;
        let count = if posterior.draws(usize::MAX) == usize::MAX { self.draws } else { usize::MAX };
        self.context.monitored("reference: predicting", |monitor| {
            predictor.mean(&*posterior, &examples, count, self.seed, monitor)
        })
    }

    /// The samples themselves, which are the reference unless there is another.
    pub(super) fn samples(&mut self, samples: &dyn Draws) -> Result<Row> {
        let own = self.predict("samples", samples, usize::MAX, None)?;
        let row = self.row("samples", &own, samples.draws(usize::MAX))?;
        self.reference.get_or_insert(own);
        Ok(row)
    }

    /// A Gaussian, and the network at its mean.
    pub(super) fn gaussian(&mut self, name: &str, rank: usize, posterior: &Posterior) -> Result<Row> {
        let predicted = self.predict(&format!("{name}, rank {rank}"), posterior, self.draws, None)?;
        let mean = Posterior::Point(posterior.gaussian().mean().clone());
        let at_mean = self.predict(&format!("mean of {name}"), &mean, 1, None)?;
        let mean = Quality::of(&at_mean, self.examples.dataset().labels(), 1)?;
        Ok(Row { rank: Some(rank), mean: Some(mean), ..self.row(name, &predicted, self.draws)? })
    }

    /// The mean and a sample, pruned as the standard deviations say.
    pub(super) fn pruning(&mut self, gaussian: &Gaussian, sample: &Params) -> Result<Vec<PruningCurve>> {
        let mut curves = Vec::new();
        for (network, point) in [("mean", gaussian.mean()), ("sample", sample)] {
            for by in [KeptBy::SmallestStd, KeptBy::LargestSignal] {
                let order = prune::order(gaussian, by);
                let Self { context, predictor, examples, .. } = self;
                let points = context.monitored("pruned networks: predicting", |monitor| {
                    prune::curve(predictor, point, &order, examples, monitor)
                })?;
                curves.push(PruningCurve { network: network.to_owned(), by, points });
            }
        }
        Ok(curves)
    }

    /// Predictions on the test examples, or on others, (example, class).
    pub(super) fn predict(
        &mut self,
        name: &str,
        posterior: &dyn Draws,
        count: usize,
        others: Option<&Examples>,
    ) -> Result<Vec<f64>> {
        let Self { context, predictor, examples, seed, .. } = self;
        context.monitored(&format!("{name}: predicting"), |monitor| {
            predictor.mean(posterior, others.unwrap_or(examples), count, *seed, monitor)
        })
    }

    fn row(&self, name: &str, predicted: &[f64], samples: usize) -> Result<Row> {
        let labels = self.examples.dataset().labels();
        let reference = self.reference.as_deref().unwrap_or(predicted);
        Ok(Row {
            name: name.to_owned(),
            rank: None,
            agreement: Agreement::of(reference, predicted, self.examples.classes())?,
            quality: Quality::of(predicted, labels, samples)?,
            calibration: Calibration::of(predicted, labels)?,
            mean: None,
        })
    }
}

/// The test examples of the data that a posterior was trained on, from the first on.
fn test_examples(provenance: &Provenance, data: &Path, most: Option<usize>) -> Result<Examples> {
    let test = inputs::config(provenance)?.data.whole(Split::Test, data, &provenance.standardisation)?;
    inputs::first_examples(test, most, provenance)
}
