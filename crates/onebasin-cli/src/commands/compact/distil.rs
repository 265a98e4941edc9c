//! Gaussians that learn what the samples predict, on all images that training images may be taken from.

use super::Settings;
use super::judge::Judge;
use super::judge::Watch;
use crate::commands::images;
use crate::commands::pool::Pool;
use crate::commands::signals::Stopped;
use anyhow::bail;
use onebasin::arch::Arch;
use onebasin::infer::Inference;
use onebasin::infer::Optimise;
use onebasin::infer::Optimiser;
use onebasin::infer::Prior;
use onebasin::infer::Problem;
use onebasin::infer::Scaling;
use onebasin::infer::Schedule;
use onebasin::infer::Teacher;
use onebasin::infer::Vi;
use onebasin::infer::ViConfig;
use onebasin::net::Likelihood;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;
use onebasin::store::Provenance;
use std::sync::Arc;

/// Images in a batch.
const BATCH: usize = 100;
/// The learning rate at its highest, and the standard deviations at the beginning, in units of those of the fitted Gaussian.
const RATE: f64 = 0.01;
const STD: f64 = 0.1;
/// Labels that a prediction counts as: samples say more of an image than one label would.
const WEIGHT: f64 = 10.0;

/// What is to be learnt, and how.
pub(super) struct Lesson<'a> {
    /// The labels of its images are never looked at.
    problem: Problem,
    /// (image, class)
    predictions: Vec<f64>,
    config: ViConfig,
    seed: u64,
    threads: usize,
    watch: Watch<'a>,
}

/// Refuses networks that cannot learn in this way.
pub(super) fn check(provenance: &Provenance) -> anyhow::Result<()> {
    if provenance.likelihood != Likelihood::Softmax {
        bail!("--distil is for networks whose outputs are logits, and these learnt by least squares");
    }
    Ok(())
}

impl<'a> Lesson<'a> {
    /// `epochs` times all images.
    pub(super) fn new(
        epochs: f64,
        pool: &Pool,
        arch: &Arch,
        settings: &Settings,
        judge: &mut Judge<'a>,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let provenance = pool.files()[0].provenance();
        let training = images::config(provenance)?.training_whole(&settings.data, &provenance.standardisation)?;
        let predictions = judge.on(pool, &training)?;
        let optimise = Optimise {
            epochs,
            batch: BATCH.min(training.len()),
            optimiser: Optimiser::Adam,
            rate: RATE,
            momentum: 0.0,
            schedule: Schedule::Cosine,
            warmup: 0.0,
        };
        let problem = Problem {
            arch: arch.clone(),
            likelihood: provenance.likelihood,
            // Not looked at: what is known before is the Gaussian that is begun with.
            prior: Prior { variance: 1.0, scaling: Scaling::One },
            temperature: 1.0,
            training: Arc::new(training),
        };
        let config = ViConfig { optimise, std: STD, samples: 1 };
        Ok(Self { problem, predictions, config, seed: settings.method.seed, threads, watch: judge.watch() })
    }

    /// The Gaussian that a fitted one becomes.
    pub(super) fn learn(&self, name: &str, fitted: &Gaussian) -> anyhow::Result<Posterior> {
        let teacher = Teacher { gaussian: fitted, predictions: &self.predictions, weight: WEIGHT };
        let mut vi = Vi::taught(&self.config, &self.problem, teacher, self.seed, self.threads)?;
        let mut progress = self.watch.over(name, "learning");
        while vi.done() < vi.total() {
            if progress(vi.done() as usize, vi.total() as usize).is_break() {
                return Err(Stopped.into());
            }
            vi.step();
        }
        Ok(Posterior::Gaussian(vi.gaussian()))
    }
}
