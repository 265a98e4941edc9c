//! The settings of stochastic optimisation: batches, epochs, the optimiser and its learning rate over time.

use crate::error::Error;
use crate::error::Result;
use crate::kernels::optimise::Adam;
use crate::kernels::optimise::Momentum;
use serde::Deserialize;
use serde::Serialize;

/// Adam's β₁, β₂ and ε, the authors' own.
const DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// How an objective is climbed. The objective is the log posterior (or its lower bound) divided by the number of
/// training images, so that a rate means the same for every size of data set and batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimise {
    /// How often each training image is seen.
    pub epochs: f64,
    /// Images in a batch.
    pub batch: usize,
    /// Which optimiser.
    #[serde(default)]
    pub optimiser: Optimiser,
    /// The learning rate, at its highest.
    pub rate: f64,
    /// The momentum of `sgd`.
    #[serde(default = "default_momentum")]
    pub momentum: f64,
    /// How the rate goes on after the warm-up.
    #[serde(default)]
    pub schedule: Schedule,
    /// Epochs during which the rate grows linearly from zero.
    #[serde(default)]
    pub warmup: f64,
}

fn default_momentum() -> f64 {
    0.9
}

/// An optimiser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
    /// Stochastic gradient ascent with momentum.
    Sgd,
}

/// The learning rate over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// It falls to zero along half a cosine.
    Cosine,
}

/// An optimiser's rule at one step.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepRule {
    Adam(Adam),
    Sgd(Momentum),
}

impl Optimise {
    /// Says what is wrong with the numbers.
    pub fn check(&self) -> Result<()> {
        for (what, value) in [("infer.optimise.epochs", self.epochs), ("infer.optimise.rate", self.rate)] {
            Error::unless_positive(what, value)?;
        }
        if self.batch == 0 {
            return Err(Error::Zero { what: "infer.optimise.batch".to_owned() });
        }
        let within = |what, value: f64, limit: f64, expected| {
            let inside = (0.0..limit).contains(&value);
            if inside { Ok(()) } else { Err(Error::OutOfRange { what, value: value.to_string(), expected }) }
        };
        within("infer.optimise.momentum", self.momentum, 1.0, "at least 0 and below 1")?;
        within("infer.optimise.warmup", self.warmup, self.epochs, "at least 0 and below infer.optimise.epochs")
    }

    /// Steps in one epoch; not a whole number in general.
    pub fn steps_per_epoch(&self, images: usize) -> f64 {
        images as f64 / self.batch as f64
    }

    /// Steps in all, at least one.
    pub fn steps(&self, images: usize) -> u64 {
        (self.epochs * self.steps_per_epoch(images)).round().max(1.0) as u64
    }

    /// The learning rate of `step`, counted from zero.
    pub fn rate_at(&self, step: u64, images: usize) -> f64 {
        let warmup = self.warmup * self.steps_per_epoch(images);
        let steps = self.steps(images) as f64;
        let step = step as f64;
        if step < warmup {
            return self.rate * (step + 1.0) / (warmup + 1.0);
        }
        match self.schedule {
            Schedule::Constant => self.rate,
            Schedule::Cosine => {
                let part = (step - warmup) / (steps - warmup).max(1.0);
                self.rate * 0.5 * (1.0 + (std::f64::consts::PI * part).cos())
            }
        }
    }

    /// The rule of `step`, counted from zero.
    pub(super) fn rule(&self, step: u64, images: usize) -> StepRule {
        let rate = self.rate_at(step, images);
        match self.optimiser {
            Optimiser::Sgd => StepRule::Sgd(Momentum { rate: rate as f32, momentum: self.momentum as f32 }),
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
