//! Files of posteriors and checkpoints: read into arrays of Python, and written from them.

use crate::errors;
use crate::network::{Shapes, layout};
use crate::symmetry::Symmetry;
use crate::tensors::Tensors;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::error::Result;
use onebasin::experiment::posterior_file;
use onebasin::foreign::TensorSource as _;
use onebasin::params::{Layout, Params};
use onebasin::posterior::{Draws as _, Gaussian, LowRank, Posterior, Samples};
use onebasin::store::{Provenance, StoredPosterior};
use onebasin::symmetry::Spec;
use onebasin_checkpoint::{Checkpoint, DType};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A posterior: its kind, names and shapes of its tensors, its points or moments, each flat, and the number of chains.
type Distribution<'py> = (&'static str, Shapes, Vec<Bound<'py, PyArray1<f32>>>, usize);
/// Name, type in NumPy, shape and bytes of each tensor.
type Named<'py> = Vec<(String, &'static str, Vec<usize>, Bound<'py, PyArray1<u8>>)>;

/// Reads a posterior of onebasin, or the tensors of any other checkpoint.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Option<Distribution<'_>>, Named<'_>)> {
    let file = posterior_file(&path).map_err(|error| errors::exception(py, &error))?;
    let checkpoint = py.detach(|| Checkpoint::open(&file)).map_err(|error| errors::checkpoint(py, &error))?;
    if is_own(&checkpoint) {
        let stored = py.detach(|| StoredPosterior::read(&file)).map_err(|error| errors::exception(py, &error))?;
        return Ok((Some(distribution(py, &stored.posterior)?), Vec::new()));
    }
    let mut tensors = Vec::new();
    for (index, tensor) in checkpoint.tensors().iter().enumerate() {
        let Some((kind, widened)) = numpy_type(&tensor.dtype) else {
            let (file, name, dtype) = (file.display(), &tensor.name, &tensor.dtype);
            return Err(errors::wrong(
                py,
                &format!("{file}: `{name}` is {dtype}, which is not read into an array of numbers"),
            ));
        };
        let bytes = py.detach(|| {
            if widened {
                let mut values = vec![0.0; tensor.shape.iter().product()];
                checkpoint.read_f32(index, &mut values)?;
                Ok(values.into_iter().flat_map(f32::to_le_bytes).collect())
            } else {
                checkpoint.read_bytes(index)
            }
        });
        let bytes = bytes.map_err(|error| errors::checkpoint(py, &error))?;
        tensors.push((tensor.name.clone(), kind, tensor.shape.clone(), PyArray1::from_vec(py, bytes)));
    }
    Ok((None, tensors))
}

/// Whether a path leads to a posterior of onebasin, and not to another checkpoint.
#[pyfunction]
pub(crate) fn is_posterior(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    let file = posterior_file(&path).map_err(|error| errors::exception(py, &error))?;
    let checkpoint = py.detach(|| Checkpoint::open(&file)).map_err(|error| errors::checkpoint(py, &error))?;
    Ok(is_own(&checkpoint))
}

/// Whether a file has the metadata that posteriors of onebasin have.
fn is_own(checkpoint: &Checkpoint) -> bool {
    checkpoint.metadata().contains_key("onebasin")
}

fn distribution<'py>(py: Python<'py>, posterior: &Posterior) -> PyResult<Distribution<'py>> {
    let (kind, chains, points): (_, _, Vec<&Params>) = match posterior {
        Posterior::Point(point) => ("point", 1, vec![point]),
        Posterior::Gaussian(own) => ("gaussian", 1, vec![own.mean(), own.std()]),
        Posterior::Samples(own) => ("samples", own.chains(), own.points().iter().collect()),
        Posterior::LowRank(own) => {
            ("low-rank", 1, [own.rest().mean(), own.rest().std()].into_iter().chain(own.factor()).collect())
        }
        _ => return Err(errors::wrong(py, "the file has a kind of posterior that the Python package does not know")),
    };
    let shapes = posterior.layout().tensors().iter().map(|own| (own.name().to_owned(), own.shape().to_vec())).collect();
    let arrays = points.into_iter().map(|point| PyArray1::from_slice(py, point.values())).collect();
    Ok((kind, shapes, arrays, chains))
}

/// The name of a type in NumPy, and whether its values become `float32` because NumPy has no such type.
fn numpy_type(dtype: &DType) -> Option<(&'static str, bool)> {
    let name = match dtype {
        DType::BF16 => return Some(("<f4", true)),
        DType::F64 => "<f8",
        DType::F32 => "<f4",
        DType::F16 => "<f2",
        DType::I64 => "<i8",
        DType::I32 => "<i4",
        DType::I16 => "<i2",
        DType::I8 => "i1",
        DType::U64 => "<u8",
        DType::U32 => "<u4",
        DType::U16 => "<u2",
        DType::U8 => "u1",
        DType::Bool => "?",
        DType::C128 => "<c16",
        DType::C64 => "<c8",
        _ => return None,
    };
    Some((name, false))
}

/// Writes a posterior of onebasin, whole or not at all: a point; the mean and the standard deviation of a Gaussian, and the factor of one of
/// low rank; or samples.
///
/// It takes its provenance from the posterior `like`, or its symmetries from `symmetry`, if one of them is given.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the package names them")]
pub(crate) fn write_posterior(
    py: Python<'_>,
    path: PathBuf,
    kind: &str,
    shapes: Shapes,
    arrays: Vec<PyReadonlyArray1<'_, f32>>,
    chains: usize,
    like: Option<PathBuf>,
    symmetry: Option<&Symmetry>,
) -> PyResult<()> {
    let arrays: Vec<&[f32]> = arrays.iter().map(|own| Ok(own.as_slice()?)).collect::<PyResult<_>>()?;
    let spec = symmetry.map(|symmetry| Spec::of_network(symmetry.network().symmetry())).transpose();
    let spec = spec.map_err(|error| errors::exception(py, &error))?;
    let write = || -> Result<()> {
        let mut provenance = match &like {
            Some(like) => Provenance::read(&posterior_file(like)?)?,
            None => Provenance::default(),
        };
        env!("CARGO_PKG_VERSION").clone_into(&mut provenance.version);
        provenance.spec = spec.or(provenance.spec);
        let given = layout(&shapes)?;
        let stored = match (&provenance.spec, &provenance.arch) {
            (Some(spec), _) => Arc::clone(spec.layout()),
            (None, Some(_)) => Arc::clone(provenance.network()?.layout()),
            (None, None) => Arc::clone(&given),
        };
        let mut points = arrays.iter().map(|values| arranged(values, &given, &stored)).collect::<Result<Vec<_>>>()?;
        let posterior = match kind {
            "samples" => Posterior::Samples(Samples::new(points, chains)?),
            "gaussian" => {
                let factor = points.split_off(2);
                let std = points.remove(1);
                let gaussian = Gaussian::new(points.remove(0), std)?;
                if factor.is_empty() {
                    Posterior::Gaussian(gaussian)
                } else {
                    Posterior::LowRank(LowRank::new(gaussian, factor)?)
                }
            }
            _ => Posterior::Point(points.remove(0)),
        };
        StoredPosterior { posterior, provenance }.write(&path)
    };
    py.detach(write).map_err(|error| errors::exception(py, &error))
}

/// Values in the order of another layout, which must have the same tensors.
fn arranged(values: &[f32], given: &Layout, stored: &Arc<Layout>) -> Result<Params> {
    let mut tensors: Vec<_> = given.tensors().iter().collect();
    tensors
        .sort_by_key(|own| stored.tensors().iter().position(|other| other.name() == own.name()).unwrap_or(usize::MAX));
    stored.check_same(&Layout::new(tensors.iter().map(|own| (own.name(), own.shape())))?)?;
    let mut params = Params::zeros(stored);
    for tensor in tensors {
        params.view_mut(tensor.name())?.copy_from_slice(&values[tensor.range()]);
    }
    Ok(params)
}

/// Writes a checkpoint again with some tensors replaced, whole or not at all; floating-point numbers take the type that the file has.
#[pyfunction]
pub(crate) fn rewrite(py: Python<'_>, path: PathBuf, like: PathBuf, tensors: Tensors<'_>) -> PyResult<()> {
    let checkpoint = py.detach(|| Checkpoint::open(&like)).map_err(|error| errors::checkpoint(py, &error))?;
    let arrays = tensors.arrays(py)?;
    let mut replaced = vec![None; checkpoint.tensors().len()];
    for (index, own) in arrays.tensors().iter().enumerate() {
        let Some(place) = checkpoint.index_of(&own.name) else {
            let message = format!("{}: it has no tensor `{}` that could be replaced", like.display(), own.name);
            return Err(errors::wrong(py, &message));
        };
        let there = &checkpoint.tensors()[place];
        let fits =
            own.shape == there.shape && (own.dtype == there.dtype || own.dtype.is_float() && there.dtype.is_float());
        if !fits {
            let message = format!(
                "{}: `{}` is {} of shape {:?}, and is to be replaced by {} of shape {:?}",
                like.display(),
                own.name,
                there.dtype,
                there.shape,
                own.dtype,
                own.shape
            );
            return Err(errors::wrong(py, &message));
        }
        replaced[place] = Some(index);
    }
    let mut bytes = |place: usize| {
        let Some(index) = replaced[place] else { return Ok(None) };
        let (own, there) = (&arrays.tensors()[index].dtype, &checkpoint.tensors()[place].dtype);
        if own == there {
            return Ok(Some(arrays.bytes(index).expect("arrays are in memory").into_owned()));
        }
        let mut values = vec![0.0; arrays.tensors()[index].shape.iter().product()];
        arrays.read(index, &mut values).expect("its type and its length were checked");
        Ok(there.encode(&values))
    };
    py.detach(|| checkpoint.write(&path, &mut bytes)).map_err(|error| errors::checkpoint(py, &error))
}
