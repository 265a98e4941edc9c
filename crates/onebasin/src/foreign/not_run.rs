//! Stands for the running of networks in a build without `rten`.

use super::network::Network;
use crate::error::Result;
use crate::params::Params;

/// An input of no network.
#[derive(Clone, Copy, Debug)]
pub struct Value;

/// A network that cannot be run.
#[derive(Debug)]
pub enum Runner {}

impl Runner {
    /// The reason why it cannot be run.
    pub fn new(_network: &Network) -> Result<std::result::Result<Self, String>> {
        Ok(Err("this build of onebasin has no `rten`, which runs networks".to_owned()))
    }

    /// The reason why it cannot be run.
    pub(super) fn of_statistics(
        network: &Network,
    ) -> Result<std::result::Result<(Self, Vec<onebasin_graph::onnx::BatchStatistics>), String>> {
        Ok(Self::new(network)?.map(|runner| (runner, Vec::new())))
    }

    /// Shape of an example of no network.
    pub(super) fn example(&self) -> Result<(Vec<usize>, Option<usize>)> {
        match *self {}
    }

    /// Inputs of no network.
    pub(super) fn input(&self, _count: usize, _values: &[f32]) -> Value {
        match *self {}
    }

    /// Number of examples of the inputs.
    pub fn examples(&self) -> usize {
        match *self {}
    }

    /// Inputs of no network.
    pub fn random_inputs(&self, _seed: u64) -> Vec<Value> {
        match *self {}
    }

    /// Outputs of no network.
    pub fn outputs(&self, _point: &Params, _inputs: &[Value]) -> Result<Vec<Vec<f32>>> {
        match *self {}
    }
}
