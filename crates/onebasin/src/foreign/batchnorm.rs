//! Batch normalisations along a path: their statistics are measured again at every point.

use super::network::Network;
use super::run::Runner;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::path::Path;
use crate::posterior::Gaussian;
use std::ops::Range;

/// A network that measures the statistics of its batch normalisations on some examples.
#[derive(Debug)]
pub struct BatchNorms {
    runner: Runner,
    /// (examples, features)
    inputs: Vec<f32>,
    count: usize,
    /// Where the means and variances of each normalisation are in the parameters, and how many values each of its channels has.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    mean: Range<usize>,
    variance: Range<usize>,
}

impl BatchNorms {
    /// Prepares a network; none if it has no batch normalisation. `inputs` are whole examples, one behind the other; a network of a fixed
    /// number of examples takes so many of them.
    pub fn new(network: &Network, inputs: &[f32]) -> Result<Option<Self>> {
        let refuse = |reason: String| Error::File { path: network.path().to_owned(), reason };
        let (runner, found) = match Runner::of_statistics(network)? {
            Ok(found) => found,
            Err(reason) => return Err(refuse(format!("it cannot be measured: {reason}"))),
        };
        if found.is_empty() {
            return Ok(None);
        }
        let (shape, batch) = runner.example()?;
        let features: usize = shape.iter().product();
        let count = batch.unwrap_or(inputs.len() / features);
        if inputs.len() < count * features || count == 0 {
            return Err(refuse(format!("it takes {count} examples at a time, and there are fewer")));
        }
        let mut start = 0;
        let mut ranges = Vec::new();
        for tensor in &network.symmetry().tensors {
            let len: usize = tensor.shape.iter().product();
            ranges.push(start..start + len);
            start += len;
        }
        let range = |name: &str| {
            let feed = network.feeds().iter().find(|feed| feed.name == name)?;
            Some(ranges[feed.tensor].clone())
        };
        let place = |own: &onebasin_graph::onnx::BatchStatistics| {
            Some(Place { mean: range(&own.mean)?, variance: range(&own.variance)? })
        };
        let places: Option<Vec<Place>> = found.iter().map(place).collect();
        let places =
            places.ok_or_else(|| refuse("its batch normalisations have no tensors of the checkpoint".to_owned()))?;
        Ok(Some(Self { runner, inputs: inputs[..count * features].to_vec(), count, places }))
    }

    /// Number of examples that statistics are measured on.
    pub fn examples(&self) -> usize {
        self.count
    }

    /// The point with the statistics that its own activations have.
    fn renew(&self, point: &Params) -> Result<Params> {
        let input = self.runner.input(self.count, &self.inputs);
        let outputs = self.runner.outputs(point, &[input])?;
        let mut renewed = point.clone();
        for (place, own) in self.places.iter().zip(outputs.chunks_exact(2)) {
            renewed.values_mut()[place.mean.clone()].copy_from_slice(&own[0]);
            renewed.values_mut()[place.variance.clone()].copy_from_slice(&own[1]);
        }
        Ok(renewed)
    }
}

/// A path on which the statistics of batch normalisations are measured at the mean of every point, both ends too.
#[derive(Clone, Copy, Debug)]
pub struct Renewed<'a, P> {
    path: P,
    norms: &'a BatchNorms,
}

impl<'a, P: Path> Renewed<'a, P> {
    /// The path with statistics of its own.
    pub fn new(path: P, norms: &'a BatchNorms) -> Self {
        Self { path, norms }
    }
}

impl<P: Path> Path for Renewed<'_, P> {
    fn at(&self, tau: f64) -> Result<Gaussian> {
        let straight = self.path.at(tau)?;
        Gaussian::new(self.norms.renew(straight.mean())?, straight.std().clone())
    }
}
