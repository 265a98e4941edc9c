//! Runs a network with the tensors of a checkpoint before and after a permutation, and compares what it computes.

use super::member::Member;
use super::network::Network;
use super::run::Runner;
use super::source::TensorSource;
use crate::error::Result;
use crate::keys::null_is_nan;
use crate::params::{Layout, Params};
use crate::symmetry::{Permutations, Spec, is_rounding, relative_change};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether and how a function was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "checked", rename_all = "kebab-case")]
pub enum Checked {
    /// The network was run on random inputs, with the tensors of both files.
    Run {
        /// Number of random inputs.
        inputs: usize,
        /// Largest change of an output, relative to the largest output.
        #[serde(deserialize_with = "null_is_nan")]
        change: f64,
    },
    /// The network was not run: only its graph says that the function is the same.
    ByGraph {
        /// Why it was not run.
        reason: String,
    },
}

impl Checked {
    /// Whether the function is the same, but for rounding.
    pub fn is_unchanged(&self) -> bool {
        match self {
            Self::Run { change, .. } => is_rounding(*change),
            Self::ByGraph { .. } => true,
        }
    }
}

/// Compares the functions of two checkpoints of a network on random inputs.
pub fn compare<S: TensorSource>(
    network: &Network,
    before: &Member<S>,
    after: &Member<S>,
    layout: &Arc<Layout>,
    seed: u64,
) -> Result<Checked> {
    of_points(network, seed, || Ok([before.mean(layout)?, after.mean(layout)?]))
}

/// Permutes all groups of a checkpoint at random, and compares the functions.
pub fn check_random<S: TensorSource>(network: &Network, member: &Member<S>, seed: u64) -> Result<Checked> {
    let spec = Spec::of_network(network.symmetry())?;
    of_points(network, seed, || {
        let before = member.mean(spec.layout())?;
        let after = spec.apply(&Permutations::random(&spec, seed), &before)?;
        Ok([before, after])
    })
}

fn of_points(network: &Network, seed: u64, points: impl FnOnce() -> Result<[Params; 2]>) -> Result<Checked> {
    let runner = match Runner::new(network)? {
        Ok(runner) => runner,
        Err(reason) => return Ok(Checked::ByGraph { reason }),
    };
    let inputs = runner.random_inputs(seed);
    let [before, after] = points()?.map(|point| runner.outputs(&point, &inputs));
    // Of several outputs, the one that changed most counts.
    let (before, after) = (before?, after?);
    let changes = before.iter().zip(&after).map(|(before, after)| relative_change(before, after));
    let worst = |most: f64, change: f64| if most >= change { most } else { change };
    Ok(Checked::Run { inputs: runner.examples(), change: changes.fold(0.0, worst) })
}
