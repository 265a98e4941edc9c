//! Whether chains agree on the parameters themselves, which relabelling changes and predictions do not know.

use crate::error::Result;
use crate::infer::diagnostics;
use crate::params::Params;
use crate::posterior::Draws;
use serde::Deserialize;
use serde::Serialize;

/// Parameters that are looked at, at most.
const PARAMETERS: usize = 4000;

/// R-hat and effective sample size of parameters; null stands for NaN and infinities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixing {
    /// Parameters looked at: all, or 4,000 at equal distances.
    pub parameters: usize,
    /// Samples of each chain.
    pub samples: usize,
    /// Parameters that never change, so that nothing can be said of them; they are left out of what follows.
    pub undefined: usize,
    /// The largest rank-normalised split-R-hat.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub max_rhat: f64,
    /// The median.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub median_rhat: f64,
    /// The smallest effective sample size.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub min_ess: f64,
    /// The median.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub median_ess: f64,
}

impl Mixing {
    /// Looks at all points of `samples`: `chains` chains of equal length, one after the other. Each is read once.
    pub fn of(samples: &dyn Draws, chains: usize) -> Result<Self> {
        let (count, len) = (samples.draws(usize::MAX), samples.layout().len());
        let parameters = len.min(PARAMETERS);
        // (parameter, chain, sample)
        let mut series = vec![0.0; parameters * count];
        let mut point = Params::zeros(samples.layout());
        for index in 0..count {
            samples.draw(0, index, count, &mut point)?;
            for (chosen, series) in series.chunks_exact_mut(count).enumerate() {
                series[index] = f64::from(point.values()[chosen * len / parameters]);
            }
        }
        let summary = diagnostics::summarise(series.chunks_exact(count), chains);
        Ok(Self {
            parameters,
            samples: count / chains.max(1),
            undefined: summary.undefined,
            max_rhat: summary.max_rhat,
            median_rhat: summary.median_rhat,
            min_ess: summary.min_ess,
            median_ess: summary.median_ess,
        })
    }
}
