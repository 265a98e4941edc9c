//! Stands for the running of networks in a build without `rten`.

use super::network::Network;
use crate::error::Result;
use crate::params::Params;

/// A network that cannot be run.
#[derive(Debug)]
pub enum Runner {}

impl Runner {
    /// The reason why it cannot be run.
    pub fn new(_network: &Network) -> Result<std::result::Result<Self, String>> {
        Ok(Err("this build of onebasin has no `rten`, which runs networks".to_owned()))
    }

    /// Number of examples of the inputs.
    pub fn examples(&self) -> usize {
        match *self {}
    }

    /// Inputs of no network.
    pub fn random_inputs(&self, _seed: u64) -> Vec<()> {
        match *self {}
    }

    /// Outputs of no network.
    pub fn outputs(&self, _point: &Params, _inputs: &[()]) -> Result<Vec<Vec<f32>>> {
        match *self {}
    }
}
