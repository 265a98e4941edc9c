//! Stochastic optimisation: its settings, and what it needs whatever is optimised, such as the model and the minibatches.

use super::distil::Distillation;
use super::prior::{Pieces, Place};
use super::{Course, Divergence, Info, Mean, Problem, State};
use crate::data::Batches;
use crate::error::{Error, Result};
use crate::model::{Batch, DifferentiableModel};
use crate::params::Params;
use crate::rng::{BLOCK_LEN, Stream};
use onebasin_kernels::gaussian::SumGradients;
use onebasin_kernels::optimise::{Adam, Momentum};
use onebasin_kernels::{Isa, ThreadPool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Adam's β₁, β₂ and ε, the authors' own.
const DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Settings of stochastic optimisation. The objective is the log posterior (or its lower bound) divided by the number of
/// training examples, so that a learning rate means the same for every size of data set and batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Optimise {
    /// Number of passes over the training examples.
    #[schemars(extend("x-unit" = "epochs"))]
    pub epochs: f64,
    /// Number of examples in a batch.
    #[schemars(extend("x-unit" = "examples"))]
    pub batch: usize,
    /// Name of the optimiser.
    #[serde(default)]
    pub optimiser: Optimiser,
    /// Largest learning rate.
    pub learning_rate: f64,
    /// Momentum of `sgd`.
    #[serde(default = "default_momentum")]
    pub momentum: f64,
    /// Whether the momentum of `sgd` is Nesterov's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nesterov: bool,
    /// Decoupled weight decay: each step takes this share, times the learning rate, off every parameter or mean. The prior,
    /// which alone enters the log posterior, decays them too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub weight_decay: f64,
    /// Largest norm of the whole gradient of the objective; a longer one is scaled to it. All are allowed by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
    /// Course of the learning rate after the warm-up.
    #[serde(default)]
    pub schedule: Schedule,
    /// Number of epochs during which the learning rate grows linearly from zero.
    #[serde(default)]
    #[schemars(extend("x-unit" = "epochs"))]
    pub warmup: f64,
}

fn default_momentum() -> f64 {
    0.9
}

/// Whether a setting is left out where a configuration is written, so that it reads as before there was such a setting.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

named_enum! {
    /// An optimiser.
    #[derive(Default)]
    pub enum Optimiser {
        /// Adam (Kingma and Ba 2015).
        #[default]
        Adam = "adam",
        /// Stochastic gradient ascent with momentum.
        Sgd = "sgd",
    }
}

named_enum! {
    /// The learning rate over time.
    #[derive(Default)]
    pub enum Schedule {
        /// It stays.
        #[default]
        Constant = "constant",
        /// It falls to zero along half a cosine.
        Cosine = "cosine",
        /// It falls to zero along a line.
        Linear = "linear",
    }
}

/// An optimiser's rule at one step.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepRule {
    Adam(Adam),
    Sgd(Momentum),
}

impl Optimise {
    /// Everything else at its default.
    pub fn new(epochs: f64, batch: usize, learning_rate: f64) -> Self {
        Self {
            epochs,
            batch,
            optimiser: Optimiser::default(),
            learning_rate,
            momentum: default_momentum(),
            nesterov: false,
            weight_decay: 0.0,
            clip_norm: None,
            schedule: Schedule::default(),
            warmup: 0.0,
        }
    }

    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        for (key, value) in [("epochs", self.epochs), ("learning_rate", self.learning_rate)] {
            Error::unless_positive(key, value)?;
        }
        Error::unless_counted("batch", self.batch as u64)?;
        let Self { momentum, warmup, epochs, learning_rate, weight_decay, .. } = *self;
        Error::unless((0.0..1.0).contains(&momentum), "momentum", momentum, "at least 0 and below 1")?;
        let able = self.optimiser == Optimiser::Sgd && momentum > 0.0;
        let expected = "false, unless `optimiser` is \"sgd\" and `momentum` is positive";
        Error::unless(able || !self.nesterov, "nesterov", self.nesterov, expected)?;
        // A step must not turn the sign of a parameter.
        let expected = "at least 0, and below 1 when it is multiplied by `learning_rate`";
        let decays = weight_decay >= 0.0 && weight_decay * learning_rate < 1.0;
        Error::unless(decays, "weight_decay", weight_decay, expected)?;
        self.clip_norm.map_or(Ok(()), |norm| Error::unless_positive("clip_norm", norm))?;
        Error::unless((0.0..epochs).contains(&warmup), "warmup", warmup, "at least 0 and below `epochs`")
    }

    /// Steps in one epoch; not a whole number in general.
    pub fn steps_per_epoch(&self, examples: usize) -> f64 {
        examples as f64 / self.batch as f64
    }

    /// Steps in all, at least one.
    pub fn steps(&self, examples: usize) -> u64 {
        (self.epochs * self.steps_per_epoch(examples)).round().max(1.0) as u64
    }

    /// The learning rate of `step`, counted from zero.
    pub fn learning_rate_at(&self, step: u64, examples: usize) -> f64 {
        let warmup = self.warmup * self.steps_per_epoch(examples);
        let steps = self.steps(examples) as f64;
        let step = step as f64;
        if step < warmup {
            return self.learning_rate * (step + 1.0) / (warmup + 1.0);
        }
        let part = (step - warmup) / (steps - warmup).max(1.0);
        match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::Cosine => self.learning_rate * 0.5 * (1.0 + (std::f64::consts::PI * part).cos()),
            Schedule::Linear => self.learning_rate * (1.0 - part),
        }
    }

    /// The rule of `step`, counted from zero.
    pub(super) fn rule(&self, step: u64, examples: usize) -> StepRule {
        let rate = self.learning_rate_at(step, examples);
        match self.optimiser {
            Optimiser::Sgd => {
                let Self { momentum, nesterov, .. } = *self;
                StepRule::Sgd(Momentum { rate: rate as f32, momentum: momentum as f32, nesterov })
            }
            Optimiser::Adam => {
                let number = (step + 1) as f64;
                let correction = (1.0 - SQUARE_DECAY.powf(number)).sqrt();
                StepRule::Adam(Adam {
                    rate: (rate * correction / (1.0 - DECAY.powf(number))) as f32,
                    decay: DECAY as f32,
                    square_decay: SQUARE_DECAY as f32,
                    epsilon: (EPSILON * correction) as f32,
                })
            }
        }
    }

    /// Length of the second array of moments of `len` parameters.
    pub(super) fn second_len(&self, len: usize) -> usize {
        if self.optimiser == Optimiser::Adam { len } else { 0 }
    }
}

/// Most values of the examples of a batch: four gigabytes.
const LARGEST_BATCH: usize = 1 << 30;

/// Why an evaluation cannot fail.
pub(super) const CHECKED: &str = "the problem was checked at the start";

#[derive(Debug)]
pub(super) struct Optimisation {
    pub(super) optimise: Optimise,
    pub(super) problem: Problem,
    model: Box<dyn DifferentiableModel>,
    pub(super) pool: ThreadPool,
    pub(super) isa: Isa,
    pub(super) pieces: Pieces,
    /// Gradient of the log-likelihood of the batch, at the point given last.
    pub(super) gradient: Params,
    pub(super) done: u64,
    /// Mean log-likelihood of an example, since it was taken last.
    pub(super) log_likelihood: Mean,
    /// The nll of an example, at the last evaluation at which it was finite.
    last: Option<f64>,
    /// Where it was not for the first time.
    pub(super) divergence: Option<Divergence>,
    /// If a teacher gives labels and prior.
    pub(super) distillation: Option<Distillation>,
    batches: Batches,
    seed: u64,
    inputs: Vec<f32>,
    labels: Vec<u32>,
}

impl Optimisation {
    pub(super) fn new(optimise: Optimise, problem: &Problem, seed: u64, pool: &ThreadPool) -> Result<Self> {
        let size = optimise.batch.saturating_mul(problem.arch.input().len());
        if size > LARGEST_BATCH {
            return Err(Error::TooLarge { what: "a batch (`infer.optimise.batch`)".to_owned(), size });
        }
        Ok(Self {
            optimise,
            model: problem.model(pool)?,
            pool: pool.clone(),
            isa: Isa::detect(),
            pieces: problem.prior.pieces(&problem.arch),
            gradient: Params::zeros(problem.arch.layout()),
            done: 0,
            log_likelihood: Mean::default(),
            last: None,
            divergence: None,
            distillation: None,
            batches: Batches::new(problem.training.len(), optimise.batch, seed)?,
            seed,
            inputs: vec![0.0; size],
            labels: vec![0; optimise.batch],
            problem: problem.clone(),
        })
    }

    /// Gathers the batch of the next step.
    pub(super) fn load(&mut self) {
        let (indices, pool, training) = (self.batches.indices(self.done), &self.pool, &self.problem.training);
        let share = pool.share(indices.len());
        let inputs = (&mut self.inputs[..], share * training.shape().len());
        let changes = training.augment().map(|augment| (augment, augment.changes(self.seed, self.done, indices.len())));
        pool.chunk_pairs(inputs, (&mut self.labels, share), |index, inputs, labels| {
            training.fill(&indices[index * share..][..labels.len()], inputs, labels);
            if let Some((augment, changes)) = &changes {
                let (shape, padding) = (training.shape(), &training.standardisation().shift);
                for (input, change) in inputs.chunks_exact_mut(shape.len()).zip(&changes[index * share..]) {
                    augment.apply(*change, shape, padding, input);
                }
            }
        });
        if let Some(distillation) = &self.distillation {
            distillation.label(self.done, indices, &mut self.labels);
        }
    }

    /// Computes the gradient of the batch at a point.
    pub(super) fn evaluate(&mut self, point: &Params) {
        let batch = Batch { inputs: &self.inputs, labels: &self.labels };
        let point = self.distillation.as_mut().map_or(point, |distillation| distillation.place(point));
        let log_likelihood = self.model.gradient(point, batch, &mut self.gradient).expect(CHECKED);
        if let Some(distillation) = &self.distillation {
            distillation.scale(&mut self.gradient);
        }
        let log_likelihood = log_likelihood / self.labels.len() as f64;
        self.log_likelihood.add(log_likelihood);
        if log_likelihood.is_finite() {
            self.last = Some(-log_likelihood);
        } else {
            self.divergence.get_or_insert(Divergence { step: self.done + 1, last: self.last });
        }
    }

    /// Adds the last gradient to sums of gradients, and of gradients times distances from the mean.
    pub(super) fn gather(&self, point: &Params, mean: &[f32], [sum, spread_sum]: &mut [Vec<f32>; 2], first: bool) {
        let (isa, gradient) = (self.isa, self.gradient.values());
        let (point, ranges) = (point.values(), &self.pieces.ranges);
        self.pool.pieces(ranges, [sum, spread_sum], |index, [sum, spread_sum]| {
            let range = ranges[index].clone();
            if first {
                sum.fill(0.0);
                spread_sum.fill(0.0);
            }
            let (gradient, point) = (&gradient[range.clone()], &point[range.clone()]);
            isa.run(SumGradients { sum, spread_sum, gradient, point, mean: &mean[range] });
        });
    }

    /// What variational inference logs; `moments` gives Σ log σ and Σ (μ² + σ²) of a piece and its prior's precision.
    pub(super) fn bound(&mut self, moments: impl Fn(Range<usize>, f32) -> [f64; 2]) -> Info {
        let (log_likelihood, log_tau) = (self.log_likelihood.take(), std::f64::consts::TAU.ln());
        let (temperature, count) = (self.problem.temperature, self.label_count());
        let (mut entropy, mut prior) = (0.0, 0.0);
        for (range, precision) in self.pieces.ranges.iter().zip(&self.pieces.precisions) {
            let [log_stds, squares] = moments(range.clone(), *precision);
            let (count, precision) = (range.len() as f64, f64::from(*precision));
            entropy += log_stds + 0.5 * count * (log_tau + 1.0);
            prior -= 0.5 * (precision * squares + count * (log_tau - precision.ln()));
        }
        Info(vec![
            ("elbo", (log_likelihood + prior / count) / temperature + entropy / count),
            ("nll", -log_likelihood),
            ("kl", -(entropy + prior) / count),
            ("learning_rate", self.learning_rate()),
        ])
    }

    /// Labels that all training examples together count as, against the prior.
    pub(super) fn label_count(&self) -> f64 {
        self.problem.training.len() as f64 * self.distillation.as_ref().map_or(1.0, |distillation| distillation.weight)
    }

    pub(super) fn rule(&self) -> StepRule {
        self.optimise.rule(self.done, self.problem.training.len())
    }

    /// The share that decoupled weight decay takes off every parameter in the next step.
    pub(super) fn shrink(&self) -> f32 {
        let Self { optimise, done, problem, .. } = self;
        (optimise.learning_rate_at(*done, problem.training.len()) * optimise.weight_decay) as f32
    }

    /// What the gradient is multiplied by so that its norm is at most `clip_norm`; `squares` sums the squares of a piece.
    pub(super) fn clip(&self, squares: impl Fn(usize) -> f64 + Sync) -> f64 {
        let Some(largest) = self.optimise.clip_norm else { return 1.0 };
        let mut sums = vec![0.0; self.pieces.ranges.len()];
        self.pool.chunks(&mut sums, 1, |index, sum| sum[0] = squares(index));
        // In the order of the pieces, whichever thread summed them.
        let norm = sums.iter().sum::<f64>().sqrt();
        if norm > largest { largest / norm } else { 1.0 }
    }

    pub(super) fn course(&self) -> Course {
        let (done, examples) = (self.done, self.problem.training.len());
        let epoch = done as f64 / self.optimise.steps_per_epoch(examples);
        Course { done, total: self.optimise.steps(examples), epoch }
    }

    /// The learning rate of the last step.
    pub(super) fn learning_rate(&self) -> f64 {
        self.optimise.learning_rate_at(self.done.saturating_sub(1), self.problem.training.len())
    }

    pub(super) fn save(&self, state: &mut State) {
        state.put_number("done", self.done as f64);
        state.put_mean("log_likelihood", self.log_likelihood);
    }

    pub(super) fn restore(&mut self, state: &State) -> Result<()> {
        self.done = state.get_number("done")? as u64;
        self.log_likelihood = state.get_mean("log_likelihood")?;
        (self.last, self.divergence) = (None, None);
        Ok(())
    }
}

/// The random numbers of one draw of a Gaussian: a stream for each tensor.
pub(super) struct Noise(Vec<Stream>);

impl Noise {
    /// Those of draw number `index` of a method.
    pub(super) fn new(seed: u64, method: &str, problem: &Problem, index: u64) -> Self {
        let tensors = problem.arch.layout().tensors().iter();
        Self(tensors.map(|tensor| Stream::new(seed, &format!("{method}/{}", tensor.name()), index)).collect())
    }

    /// Calls `draw` with each block of a piece: its range inside the piece, its noise, and where its point goes.
    pub(super) fn for_each_block(
        &self,
        isa: Isa,
        place: Place,
        point: &mut [f32],
        mut draw: impl FnMut(Range<usize>, &[f32], &mut [f32]),
    ) {
        let mut noise = [0.0; BLOCK_LEN];
        for (offset, out) in point.chunks_mut(BLOCK_LEN).enumerate() {
            let noise = &mut noise[..out.len()];
            self.0[place.tensor].fill_normal_on(isa, place.block + offset, noise);
            draw(offset * BLOCK_LEN..offset * BLOCK_LEN + out.len(), noise, out);
        }
    }
}
