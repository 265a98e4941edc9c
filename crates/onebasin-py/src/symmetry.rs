//! Which units of a network can be permuted: read from graphs and files, checked against checkpoints, shown.

use crate::calls::{Options, long};
use crate::errors;
use crate::tensors::Tensors;
use onebasin::error::Result;
use onebasin::foreign::{Arrays, Checked, Member, Network, Reading, check_random};
use onebasin::symmetry::Spec;
use onebasin_graph::symmetry;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A network whose symmetry is known.
#[pyclass(frozen, module = "onebasin._lib")]
pub(crate) struct Symmetry {
    network: Network,
}

#[pymethods]
impl Symmetry {
    /// Reads a network: an ONNX file, an exported program of PyTorch, or a file of its symmetry.
    #[staticmethod]
    #[pyo3(signature = (path, dims, options))]
    fn open(py: Python<'_>, path: PathBuf, dims: BTreeMap<String, usize>, options: Options) -> PyResult<Self> {
        let network = long(py, &options, |_, _| Network::open(&path, &Reading { dims, ..Reading::default() }))?;
        Ok(Self { network })
    }

    /// Reads the text of a file of a symmetry.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str, name: &str) -> PyResult<Self> {
        let read = symmetry::Symmetry::from_toml(text, name);
        let read = read.map_err(|error| errors::wrong(py, &error.to_string()))?;
        Ok(Self { network: Network::of_symmetry(name, read, &Reading::default()) })
    }

    /// The text of a file of the symmetry.
    fn to_toml(&self) -> String {
        self.network.symmetry().to_toml()
    }

    /// Groups of units with their sizes.
    fn groups(&self) -> Vec<(String, usize)> {
        self.network.symmetry().groups.iter().map(|group| (group.name.clone(), group.units)).collect()
    }

    /// Tensors with their shapes, and for each axis whether any of its units can be permuted.
    fn tensors(&self) -> Vec<(String, Vec<usize>, Vec<bool>)> {
        let permuted = |axis: &Vec<symmetry::Segment>| axis.iter().any(|segment| segment.group.is_some());
        let tensors = self.network.symmetry().tensors.iter();
        tensors.map(|own| (own.name.clone(), own.shape.clone(), own.axes.iter().map(permuted).collect())).collect()
    }

    /// What stays fixed, and why: tensor, axis, number of indices, reason.
    fn fixed(&self) -> Vec<(String, usize, usize, String)> {
        let fixed = self.network.symmetry().fixed.iter();
        fixed.map(|own| (own.tensor.clone(), own.axis, own.units, own.reason.clone())).collect()
    }

    /// Share of the rows of tensors with two or more axes that can be permuted.
    fn share(&self) -> f64 {
        self.network.symmetry().share()
    }

    /// The largest change of an output under a random permutation of all groups, relative to the largest output, with the number of inputs;
    /// or why the network was not run.
    fn check(
        &self,
        py: Python<'_>,
        tensors: Tensors<'_>,
        how: How,
        seed: u64,
        options: Options,
    ) -> PyResult<(Option<f64>, String)> {
        let arrays = tensors.arrays(py)?;
        let checked = long(py, &options, |_, _| {
            let (network, members) = self.bind(vec![arrays], how)?;
            check_random(&network, &members[0], seed)
        })?;
        Ok(match checked {
            Checked::Run { change, inputs } => (Some(change), format!("{inputs} random inputs")),
            Checked::ByGraph { reason } => (None, reason),
        })
    }

    /// A posterior in the form in which a library stores it: names of the tensors of the network with means and standard deviations, flat,
    /// and the name of the form.
    fn moments<'py>(
        &self,
        py: Python<'py>,
        tensors: Tensors<'py>,
        how: How,
        options: Options,
    ) -> PyResult<Moments<'py>> {
        let arrays = tensors.arrays(py)?;
        let (layout, mean, std, form) = long(py, &options, |_, _| {
            let (network, members) = self.bind(vec![arrays], how)?;
            let spec = Spec::of_network(network.symmetry())?;
            let mean = members[0].mean(spec.layout())?;
            let std = members[0].std(&mean)?;
            let layout = spec.layout().tensors().iter();
            let layout: Vec<_> = layout.map(|own| (own.name().to_owned(), own.shape().to_vec())).collect();
            Ok((layout, mean, std, members[0].convention().to_owned()))
        })?;
        let array = |params: onebasin::params::Params| numpy::PyArray1::from_slice(py, params.values());
        Ok((layout, array(mean), array(std), form))
    }
}

/// Names and shapes of tensors, their means and standard deviations, and the name of the form in which they are stored.
type Moments<'py> =
    (Vec<(String, Vec<usize>)>, Bound<'py, numpy::PyArray1<f32>>, Bound<'py, numpy::PyArray1<f32>>, String);

/// How checkpoints are read.
#[derive(FromPyObject)]
pub(crate) struct How {
    /// How they store a posterior; found out if none is named.
    format: Option<String>,
    /// Beginnings of the names of tensors that are no part of the network and stay as they are.
    keep: Vec<String>,
}

impl Symmetry {
    /// The network.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// Finds the network in checkpoints.
    pub(crate) fn bind<'a>(&self, arrays: Vec<Arrays<'a>>, how: How) -> Result<(Network, Vec<Member<Arrays<'a>>>)> {
        let How { format, keep } = how;
        self.network.clone().with_reading(format, keep).bind(arrays)
    }
}
