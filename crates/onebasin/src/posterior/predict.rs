//! The predictive distribution: probabilities of the classes, averaged over points of a posterior.

use super::Draws;
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::net::{Likelihood, Net, Precision};
use crate::params::Params;
use crate::progress::Monitor;
use onebasin_kernels::{Isa, ThreadPool};
use std::sync::Mutex;

/// Examples that are evaluated at all points before the next ones are looked at: bounds the memory.
const EXAMPLES: usize = 10_000;
/// Points evaluated before their probabilities are handed on, for each thread: more even out the threads' loads.
const WAVE: usize = 4;

/// Evaluates a posterior on data, one point on each thread.
#[derive(Debug)]
pub struct Predictor {
    pool: ThreadPool,
    /// What turns outputs into probabilities; nothing does in a regression.
    likelihood: Option<Likelihood>,
    isa: Isa,
    workers: Vec<Mutex<Worker>>,
    classes: usize,
    /// Outputs of the points that are evaluated together.
    wave: Vec<Vec<f32>>,
}

#[derive(Debug)]
struct Worker {
    model: Box<dyn Model>,
    point: Params,
}

/// One point's probabilities on some examples.
#[derive(Clone, Copy, Debug)]
pub struct SampleProbabilities<'a> {
    /// Number of the first example.
    pub first: usize,
    /// Which point.
    pub sample: usize,
    /// (examples, classes)
    pub probabilities: &'a [f32],
}

impl Predictor {
    /// For networks of this architecture, on the threads of `pool`.
    pub fn new(arch: &Arch, likelihood: Likelihood, precision: Precision, pool: &ThreadPool) -> Result<Self> {
        let net = || {
            let net = Net::new(arch, &ThreadPool::alone())?.with_precision(precision);
            Ok(Box::new(net) as Box<dyn Model>)
        };
        Self::of((0..pool.threads()).map(|_| net()).collect::<Result<_>>()?, likelihood, pool)
    }

    /// For any models that compute the same network, at least one; as many of them as there are models work at a time.
    pub fn of(models: Vec<Box<dyn Model>>, likelihood: Likelihood, pool: &ThreadPool) -> Result<Self> {
        likelihood.check()?;
        Self::with(models, Some(likelihood), pool)
    }

    /// The same for a regression: the outputs themselves are predicted, where others predict probabilities.
    pub fn of_outputs(models: Vec<Box<dyn Model>>, pool: &ThreadPool) -> Result<Self> {
        Self::with(models, None, pool)
    }

    fn with(models: Vec<Box<dyn Model>>, likelihood: Option<Likelihood>, pool: &ThreadPool) -> Result<Self> {
        let first = models.first().ok_or_else(|| Error::Zero { what: "the number of models".to_owned() })?;
        models.iter().try_for_each(|model| first.layout().check_same(model.layout()))?;
        let worker = |model: Box<dyn Model>| Mutex::new(Worker { point: Params::zeros(model.layout()), model });
        Ok(Self {
            pool: pool.clone(),
            likelihood,
            isa: Isa::detect(),
            classes: first.outputs(),
            wave: vec![Vec::new(); WAVE * pool.threads()],
            workers: models.into_iter().map(worker).collect(),
        })
    }

    /// Its threads.
    pub fn pool(&self) -> &ThreadPool {
        &self.pool
    }

    /// The mean over up to `samples` points of the probabilities of each class, (examples, classes).
    pub fn mean(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<f64>> {
        let classes = self.classes;
        let count = posterior.draws(samples);
        let mut sums = vec![0.0; examples.len() * classes];
        let add = |part: SampleProbabilities<'_>| {
            for (sum, probability) in sums[part.first * classes..].iter_mut().zip(part.probabilities) {
                *sum += f64::from(*probability);
            }
        };
        self.visit(posterior, examples, samples, seed, add, monitor)?;
        for sum in &mut sums {
            *sum /= count as f64;
        }
        Ok(sums)
    }

    /// Calls `visit` with the probabilities at each of up to `samples` points: some examples at all points in order, then
    /// the next examples.
    pub fn visit(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        mut visit: impl FnMut(SampleProbabilities<'_>),
        monitor: &mut Monitor<'_>,
    ) -> Result<()> {
        let (likelihood, isa, classes) = (self.likelihood, self.isa, self.classes);
        let points = (posterior, posterior.draws(samples), seed);
        let finish = |logits: &mut [f32], _: &[u32]| {
            if let Some(likelihood) = likelihood {
                likelihood.to_probabilities(isa, logits, classes);
            }
        };
        let each =
            |first, sample, probabilities: &[f32], ()| visit(SampleProbabilities { first, sample, probabilities });
        self.each(points, examples, finish, each, monitor)
    }

    /// The log-likelihood of all examples together at each of up to `samples` points.
    pub fn log_likelihoods(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<f64>> {
        let (likelihood, isa) = (self.likelihood.ok_or(Error::NoLikelihood)?, self.isa);
        let count = posterior.draws(samples);
        let mut sums = vec![0.0; count];
        let finish = |logits: &mut [f32], labels: &[u32]| likelihood.log_likelihood(isa, logits, labels);
        let each = |_, sample: usize, _: &[f32], log_likelihood| sums[sample] += log_likelihood;
        self.each((posterior, count, seed), examples, finish, each, monitor)?;
        Ok(sums)
    }

    /// Evaluates some examples at all points, a wave of them at a time, then the next examples. `finish` is given the logits at
    /// a point and the labels; `visit` the number of the first example, that of the point, what became of the logits, and
    /// what `finish` returned.
    fn each<T: Default + Send>(
        &mut self,
        (posterior, count, seed): (&dyn Draws, usize, u64),
        examples: &Examples,
        finish: impl Fn(&mut [f32], &[u32]) -> T + Sync,
        mut visit: impl FnMut(usize, usize, &[f32], T),
        monitor: &mut Monitor<'_>,
    ) -> Result<()> {
        Error::unless(count > 0, "samples", count, "at least 1")?;
        let model = &mut self.workers[0].get_mut().expect(NO_PANIC).model;
        model.layout().check_same(posterior.layout())?;
        examples.check_shape(model.input(), model.outputs())?;
        let (total, step) = (count * examples.len(), self.wave.len());
        let mut finished: Vec<Result<T>> = Vec::with_capacity(step);
        for first_example in (0..examples.len()).step_by(EXAMPLES) {
            let here = EXAMPLES.min(examples.len() - first_example);
            let mut inputs = vec![0.0; here * examples.shape().len()];
            let mut labels = vec![0; here];
            examples.range(first_example, &mut inputs, &mut labels);
            let inputs = self.workers[0].get_mut().expect(NO_PANIC).model.load(inputs)?;
            for first in (0..count).step_by(step) {
                monitor.at(first_example * count + first * here, total)?;
                let used = step.min(count - first);
                finished.resize_with(used, || Ok(T::default()));
                let (workers, classes) = (&self.workers, self.classes);
                let wave = &mut self.wave[..used];
                self.pool.chunk_pairs((wave, 1), (&mut finished, 1), |index, logits, finished| {
                    let [logits] = logits else { unreachable!("chunks are of one") };
                    logits.resize(here * classes, 0.0);
                    let worker = &mut *free_worker(workers, index);
                    finished[0] = posterior
                        .draw(seed, first + index, count, &mut worker.point)
                        .and_then(|()| worker.model.logits(&worker.point, &inputs, logits))
                        .map(|()| finish(logits, &labels));
                });
                for (index, (logits, finished)) in self.wave.iter().zip(finished.drain(..)).enumerate() {
                    visit(first_example, first + index, logits, finished?);
                }
            }
        }
        monitor.at(total, total)
    }
}

/// A worker that nobody uses, or the one to wait for.
fn free_worker(workers: &[Mutex<Worker>], index: usize) -> std::sync::MutexGuard<'_, Worker> {
    let free = workers.iter().find_map(|worker| worker.try_lock().ok());
    free.unwrap_or_else(|| workers[index % workers.len()].lock().expect(NO_PANIC))
}

const NO_PANIC: &str = "no worker panicked";
