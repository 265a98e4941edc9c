//! Training: from a configuration to a posterior in a folder, which an interrupted training continues.

mod files;
mod training;

use crate::error::{Error, Result};
use crate::experiment::{Context, Existing, Folder, Stage, TrainConfig, inputs};
use crate::infer::Schedule;
use crate::infer::diagnostics::Convergence;
use crate::measure::{Calibration, Quality};
use files::Files;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use training::{Prepared, Training};

/// Trains one posterior.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Train {
    /// What is trained, and how.
    pub config: TrainConfig,
    /// Seconds between two checkpoints.
    #[serde(skip)]
    pub save_every: f64,
    /// Whether an earlier training of fewer epochs, members, chains or samples is continued to those of the configuration.
    #[serde(skip)]
    pub extend: bool,
}

impl Train {
    /// Seconds between two checkpoints, unless somebody says otherwise.
    pub const SAVE_EVERY: f64 = 30.0;

    /// What to add where an extended training is not what a longer one would have been.
    fn caution(&self, less: &str) -> &'static str {
        match self.config.infer.schedule() {
            Some(Schedule::Cosine | Schedule::Linear) if less.contains("epochs") => {
                "; its learning rate fell to zero for its end and goes on along the longer schedule from here, so the result \
                 is not that of a training that was as long from the start"
            }
            None if less.contains("chains") && self.config.start.is_some() => {
                "; how many chains there are decides at which draws of `start` they start, so the result is not that of a \
                 training that had as many from the start"
            }
            _ => "",
        }
    }

    /// A training with the usual time between checkpoints.
    pub fn new(config: TrainConfig) -> Self {
        Self { config, save_every: Self::SAVE_EVERY, extend: false }
    }
}

/// What came out of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainResult {
    /// Number of steps.
    pub steps: u64,
    /// Number of passes over the training data.
    pub epochs: f64,
    /// Last numbers of the inference; null stands for NaN and infinities.
    pub training: BTreeMap<String, Option<f64>>,
    /// Quality of the predictions on the test examples.
    pub test: Quality,
    /// Calibration of the same predictions; none in results of revision 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration: Option<Calibration>,
    /// Convergence of the predicted probabilities of some test examples, for Markov chains.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chains: Option<Convergence>,
    /// What a person should know before trusting the numbers, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
}

impl Stage for Train {
    const NAME: &'static str = "train";
    const REVISION: u32 = 2;
    const RESULT: &'static str = "result.json";
    type Result = TrainResult;

    fn inputs(&self) -> Vec<PathBuf> {
        inputs::files(&self.config.start)
    }

    fn run(&self, _: &Context<'_>, _: Option<&Folder>) -> Result<TrainResult> {
        unreachable!("a training runs in its folder, by `run_in`")
    }

    /// Trains, continues an interrupted training, extends a shorter one, or returns the result of a finished one.
    fn run_in(&self, path: &Path, existing: Existing, context: &Context<'_>) -> Result<TrainResult> {
        Error::unless(self.save_every >= 0.0, "save_every", self.save_every, "a number of seconds, at least 0")?;
        let earlier = Files::find(path)?;
        let replace = existing == Existing::Replace;
        let shorter = match earlier.as_ref().filter(|_| self.extend && !replace) {
            Some(files) => files.shorter(&self.config)?,
            None => None,
        };
        if let Some(files) = earlier.as_ref().filter(|_| !replace && shorter.is_none()) {
            // Before anything that takes long.
            if let Some(result) = finished(files, &self.config, context)? {
                return Ok(result);
            }
        }
        // Whatever is wrong with the settings or the data is found before the first file is written or removed.
        let prepared = Prepared::new(&self.config, earlier.is_none().then_some(path), context)?;
        let files = match earlier {
            Some(files) => files,
            None => Files::open(path)?,
        };
        let mut before = None;
        if replace {
            files.clear()?;
        } else if shorter.is_none() && prepared.has_chains() && files.has_lost_samples() {
            context.host.message(&format!("{}: its posterior is gone or damaged, so it starts again", path.display()));
            files.clear()?;
        } else if let Some(less) = shorter {
            before = Some(files.extend(&self.config, prepared.has_chains())?);
            let folder = files.folder.display();
            context.host.message(&format!("{folder}: extending a training of {less}{}", self.caution(&less)));
        } else if let Some(result) = finished(&files, &self.config, context)? {
            // Another process was faster while the data were read.
            return Ok(result);
        }
        let ended = Training::new(prepared, files, context)?.run(self.save_every);
        if let (Err(error), Some(before)) = (&ended, before)
            && matches!(error.cause(), Error::Diverged { .. } | Error::Stuck { .. })
            && before.restore()?
        {
            context.host.message(&format!("{}: the shorter training is kept as it was", path.display()));
        }
        ended
    }
}

/// The result of an earlier training of this configuration, if it is finished.
fn finished(files: &Files, config: &TrainConfig, context: &Context<'_>) -> Result<Option<TrainResult>> {
    files.check(config)?;
    let result = files.finished()?;
    if result.is_some() {
        // It may have been killed before it did this itself.
        files.tidy_up()?;
        context.host.message(&format!("{}: up to date", files.folder.display()));
    }
    Ok(result)
}
