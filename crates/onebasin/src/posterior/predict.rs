//! The predictive distribution: probabilities of the classes, averaged over points of a posterior.

use super::Draws;
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::net::Likelihood;
use crate::net::Loaded;
use crate::net::Net;
use crate::params::Params;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Images that are evaluated at all points before the next ones are looked at: bounds the memory.
const IMAGES: usize = 10_000;
/// Points evaluated before their probabilities are handed on, for each thread: more even out the threads' loads.
const WAVE: usize = 4;

/// Evaluates a posterior on data, one point on each thread.
#[derive(Debug)]
pub struct Predictor {
    team: Team,
    workers: Vec<Mutex<Worker>>,
    classes: usize,
    wave: Vec<Vec<f32>>,
}

/// What one thread needs.
#[derive(Debug)]
struct Worker {
    net: Net,
    point: Params,
}

/// Points that are drawn from something.
#[derive(Clone, Copy)]
struct Points<'a> {
    posterior: &'a dyn Draws,
    count: usize,
    seed: u64,
}

/// One point's probabilities on some images.
#[derive(Clone, Copy, Debug)]
pub struct SampleProbabilities<'a> {
    /// Number of the first image.
    pub first_image: usize,
    /// Which point.
    pub sample: usize,
    /// (images, classes)
    pub probabilities: &'a [f32],
}

impl Predictor {
    /// For networks of this architecture, on `threads` threads.
    pub fn new(arch: &Arch, likelihood: Likelihood, threads: usize) -> Result<Self> {
        let worker = || {
            let net = Net::new(arch, 1)?.with_likelihood(likelihood)?;
            Ok(Mutex::new(Worker { net, point: Params::zeros(arch.layout()) }))
        };
        Ok(Self {
            team: Team::new(threads).map_err(|error| Error::Threads { threads, reason: error.to_string() })?,
            workers: (0..threads).map(|_| worker()).collect::<Result<_>>()?,
            classes: arch.classes(),
            wave: vec![Vec::new(); WAVE * threads],
        })
    }

    /// Its threads.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The mean over up to `samples` points of the probabilities of each class, (images, classes).
    ///
    /// `progress` is told how much of how much is done, and may break off: then the result is `None`.
    pub fn mean(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Vec<f64>>> {
        let classes = self.classes;
        let count = posterior.draws(samples);
        let mut sums = vec![0.0; examples.len() * classes];
        let whole = self.visit(posterior, examples, samples, seed, progress, |part| {
            let first = part.first_image * classes;
            for (sum, probability) in sums[first..].iter_mut().zip(part.probabilities) {
                *sum += f64::from(*probability);
            }
        })?;
        for sum in &mut sums {
            *sum /= count as f64;
        }
        Ok(whole.is_continue().then_some(sums))
    }

    /// Calls `visit` with the probabilities at each of up to `samples` points: some images at all points in order, then
    /// the next images.
    pub fn visit(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
        mut visit: impl FnMut(SampleProbabilities<'_>),
    ) -> Result<ControlFlow<()>> {
        let classes = self.classes;
        let mut wave = std::mem::take(&mut self.wave);
        let visited = self.each(
            Points { posterior, count: posterior.draws(samples), seed },
            examples,
            progress,
            &mut wave,
            |net, point, images, labels, out| {
                out.resize(labels.len() * classes, 0.0);
                net.probabilities_of(point, images, out).expect(COMPARED);
            },
            |first_image, sample, probabilities| visit(SampleProbabilities { first_image, sample, probabilities }),
        );
        self.wave = wave;
        visited
    }

    /// The log-likelihood of all images together at each of up to `samples` points.
    ///
    /// `progress` is told how much of how much is done, and may break off: then the result is `None`.
    pub fn log_likelihoods(
        &mut self,
        posterior: &dyn Draws,
        examples: &Examples,
        samples: usize,
        seed: u64,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Vec<f64>>> {
        let count = posterior.draws(samples);
        let mut sums = vec![0.0; count];
        let whole = self.each(
            Points { posterior, count, seed },
            examples,
            progress,
            &mut vec![0.0; self.wave.len()],
            |net, point, images, labels, out| *out = net.log_likelihood_of(point, images, labels).expect(COMPARED),
            |_, sample, log_likelihood| sums[sample] += log_likelihood,
        )?;
        Ok(whole.is_continue().then_some(sums))
    }

    /// Evaluates some images at all points, a wave of them at a time, then the next images; `visit` is given the number of the
    /// first image, that of the point and what came out.
    fn each<T: Send>(
        &mut self,
        Points { posterior, count, seed }: Points<'_>,
        examples: &Examples,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
        wave: &mut [T],
        evaluate: impl Fn(&mut Net, &Params, &Loaded, &[u32], &mut T) + Sync,
        mut visit: impl FnMut(usize, usize, &T),
    ) -> Result<ControlFlow<()>> {
        if count == 0 {
            return Err(Error::Zero { what: "the number of samples".to_owned() });
        }
        // So that the workers cannot fail.
        let worker = self.workers[0].get_mut().expect(NO_PANIC);
        worker.net.arch().layout().check_same(posterior.layout())?;
        examples.check_fits(worker.net.arch())?;
        let total = count * examples.len();
        for first_image in (0..examples.len()).step_by(IMAGES) {
            let images = IMAGES.min(examples.len() - first_image);
            let mut pixels = vec![0.0; images * examples.shape().len()];
            let mut labels = vec![0; images];
            examples.range(first_image, &mut pixels, &mut labels);
            let loaded = self.workers[0].get_mut().expect(NO_PANIC).net.load(pixels)?;
            for first in (0..count).step_by(wave.len()) {
                if progress(first_image * count + first * images, total).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let used = wave.len().min(count - first);
                let (workers, failure) = (&self.workers, Mutex::new(None));
                self.team.chunks(&mut wave[..used], 1, |index, out| {
                    let mut worker = free_worker(workers);
                    let Worker { net, point } = &mut *worker;
                    if let Err(error) = posterior.draw(seed, first + index, count, point) {
                        *failure.lock().expect(NO_PANIC) = Some(error);
                        return;
                    }
                    evaluate(net, point, &loaded, &labels, &mut out[0]);
                });
                if let Some(error) = failure.into_inner().expect(NO_PANIC) {
                    return Err(error);
                }
                for (index, out) in wave[..used].iter().enumerate() {
                    visit(first_image, first + index, out);
                }
            }
        }
        Ok(progress(total, total))
    }
}

/// One that nobody uses: there are as many as threads.
fn free_worker(workers: &[Mutex<Worker>]) -> std::sync::MutexGuard<'_, Worker> {
    workers.iter().find_map(|worker| worker.try_lock().ok()).expect("there is a worker for each thread")
}

/// Why an evaluation cannot fail.
const COMPARED: &str = "layouts and shapes were compared";
const NO_PANIC: &str = "no worker panicked";
