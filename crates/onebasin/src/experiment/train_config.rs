//! The configuration of a training run: TOML, with every unknown key an error.

use crate::arch::{Arch, Preset};
use crate::data::Examples;
use crate::error::{Error, Result};
use crate::experiment::{DataConfig, config};
use crate::infer::{Method, Prior, Problem, check_temperature};
use crate::keys::number;
use crate::net::{Likelihood, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The configuration of one training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// Divides the log posterior; below one it is a cold posterior.
    #[serde(default = "number::<1, f64>")]
    pub temperature: f64,
    /// Precision of activations and weights where they are multiplied, in training and evaluation.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// A posterior to start from, its file or the folder of its training: Markov chains at its draws, all else at its mean; variational inference and IVON also at its
    /// standard deviations, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// The data set, its subsets and how it is scaled.
    pub data: DataConfig,
    /// The network; `input` and `classes` are those of the data unless given.
    pub arch: Preset,
    /// Likelihood of the network's outputs.
    #[serde(default)]
    pub likelihood: Likelihood,
    /// Prior of the network's parameters.
    pub prior: Prior,
    /// Inference method and its settings.
    pub infer: Method,
    /// When and how predictions are evaluated.
    #[serde(default)]
    pub evaluate: EvaluateConfig,
    /// What is logged.
    #[serde(default)]
    pub log: LogConfig,
}

/// When and how predictions are evaluated, on the test examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluateConfig {
    /// Number of Monte Carlo samples of the predictive distribution at the end.
    pub samples: usize,
    /// Number of epochs between two evaluations during the training; none by default, and none of Markov chains, whose samples
    /// are on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "epochs"))]
    pub every: Option<f64>,
    /// Number of Monte Carlo samples of the predictive distribution during the training.
    pub eval_samples: usize,
}

impl Default for EvaluateConfig {
    fn default() -> Self {
        Self { samples: 128, every: None, eval_samples: 8 }
    }
}

/// What is logged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Number of steps between two lines of the log; each method has a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "steps"))]
    pub every: Option<u64>,
}

impl TrainConfig {
    /// Reads TOML, then applies overrides such as `infer.optimise.learning_rate=1e-3`; the data set completes the network.
    ///
    /// Errors call the text `name`.
    pub fn from_toml(name: &str, text: &str, overrides: &[String]) -> Result<Self> {
        let table = config::read_table(name, text, overrides)?;
        config::check_is_training(name, &table)?;
        let config: Self = config::from_table(name, table)?;
        config.check().map_err(|error| error.at(name))?;
        Ok(config)
    }

    /// The whole configuration, defaults written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is plain data")
    }

    /// Refuses values that are not allowed.
    pub fn check(&self) -> Result<()> {
        self.data.check().map_err(|error| error.within("data"))?;
        Arch::new(self.arch.clone())?;
        check_temperature(self.temperature)?;
        self.likelihood.check().map_err(|error| error.within("likelihood"))?;
        self.prior.check().map_err(|error| error.within("prior"))?;
        self.infer.check().map_err(|error| error.within("infer"))?;
        self.infer.check_precision(self.precision)?;
        if self.start.is_some() {
            self.infer.check_start()?;
        }
        Error::unless_counted("log.every", self.log.every.unwrap_or(1))?;
        Error::unless_counted("evaluate.samples", self.evaluate.samples)?;
        Error::unless_counted("evaluate.eval_samples", self.evaluate.eval_samples)?;
        let every = self.evaluate.every.unwrap_or(1.0);
        Error::unless(every > 0.0 && every.is_finite(), "evaluate.every", every, "a positive number")
    }

    /// The problem that the configuration poses.
    pub fn problem(&self, training: Examples) -> Result<Problem> {
        let problem = Problem {
            arch: Arch::new(self.arch.clone())?,
            likelihood: self.likelihood,
            prior: self.prior,
            temperature: self.temperature,
            precision: self.precision,
            training: Arc::new(training),
        };
        problem.check()?;
        Ok(problem)
    }
}
