//! What climbing by batches takes, whatever climbs: the network, the batches, the gradient, and the count of steps.

use super::Mean;
use super::Optimise;
use super::Problem;
use super::State;
use super::optimise::StepRule;
use super::prior::Pieces;
use super::taught::Taught;
use crate::data::Batches;
use crate::error::Error;
use crate::error::Result;
use crate::net::Batch;
use crate::net::Net;
use crate::params::Params;

/// Most values of the images of a batch: four gigabytes.
const LARGEST_BATCH: usize = 1 << 30;

/// Steps between two lines of the log.
pub(super) const LOG_EVERY: u64 = 50;

/// Why an evaluation cannot fail.
pub(super) const CHECKED: &str = "the problem was checked at the beginning";

/// A climb under way.
#[derive(Debug)]
pub(super) struct Ascent {
    pub(super) optimise: Optimise,
    pub(super) problem: Problem,
    pub(super) net: Net,
    pub(super) pieces: Pieces,
    /// Of the log-likelihood of the batch, at the point given last.
    pub(super) gradient: Params,
    pub(super) done: u64,
    /// For each image, since it was taken last.
    pub(super) log_likelihood: Mean,
    /// If labels and prior are those of a teacher.
    pub(super) taught: Option<Taught>,
    batches: Batches,
    images: Vec<f32>,
    labels: Vec<u32>,
}

impl Ascent {
    pub(super) fn new(optimise: Optimise, problem: &Problem, seed: u64, threads: usize) -> Result<Self> {
        let size = optimise.batch.saturating_mul(problem.arch.input().len());
        if size > LARGEST_BATCH {
            return Err(Error::TooLarge { what: "a batch (infer.optimise.batch)".to_owned(), size });
        }
        Ok(Self {
            optimise,
            net: problem.net(threads)?,
            pieces: problem.prior.pieces(&problem.arch),
            gradient: Params::zeros(problem.arch.layout()),
            done: 0,
            log_likelihood: Mean::default(),
            taught: None,
            batches: Batches::new(problem.training.len(), optimise.batch, seed)?,
            images: vec![0.0; size],
            labels: vec![0; optimise.batch],
            problem: problem.clone(),
        })
    }

    /// Gathers the batch of the next step.
    pub(super) fn load(&mut self) {
        let (indices, team, training) = (self.batches.indices(self.done), self.net.team(), &self.problem.training);
        let share = team.share(indices.len());
        let images = (&mut self.images[..], share * training.shape().len());
        team.chunk_pairs(images, (&mut self.labels, share), |index, images, labels| {
            training.fill(&indices[index * share..][..labels.len()], images, labels);
        });
        if let Some(taught) = &self.taught {
            taught.label(self.done, indices, &mut self.labels);
        }
    }

    /// Computes the gradient of the batch at a point.
    pub(super) fn evaluate(&mut self, point: &Params) {
        let batch = Batch { images: &self.images, labels: &self.labels };
        let point = self.taught.as_mut().map_or(point, |taught| taught.place(point));
        let log_likelihood = self.net.gradient(point, batch, &mut self.gradient).expect(CHECKED);
        if let Some(taught) = &self.taught {
            taught.scale(&mut self.gradient);
        }
        self.log_likelihood.add(log_likelihood / self.labels.len() as f64);
    }

    /// Labels that all training images together count as, against the prior.
    pub(super) fn label_count(&self) -> f64 {
        self.problem.training.len() as f64 * self.taught.as_ref().map_or(1.0, |taught| taught.weight)
    }

    /// The optimiser's rule of the next step.
    pub(super) fn rule(&self) -> StepRule {
        self.optimise.rule(self.done, self.problem.training.len())
    }

    /// Steps in all.
    pub(super) fn total(&self) -> u64 {
        self.optimise.steps(self.problem.training.len())
    }

    /// Passes over the training data done.
    pub(super) fn epoch(&self) -> f64 {
        self.done as f64 / self.optimise.steps_per_epoch(self.problem.training.len())
    }

    /// The learning rate of the last step.
    pub(super) fn rate(&self) -> f64 {
        self.optimise.rate_at(self.done.saturating_sub(1), self.problem.training.len())
    }

    pub(super) fn save(&self, state: &mut State) {
        state.put_number("done", self.done as f64);
        state.put_mean("log_likelihood", self.log_likelihood);
    }

    pub(super) fn restore(&mut self, state: &State) -> Result<()> {
        self.done = state.get_number("done")? as u64;
        self.log_likelihood = state.get_mean("log_likelihood")?;
        Ok(())
    }
}
