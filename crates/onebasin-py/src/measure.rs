//! Measurements of networks that Python evaluates: barriers along paths, and Gaussians in the place of samples.

use crate::calls::{Options, long};
use crate::errors;
use crate::network::{Flat, Labels, Shapes, gaussian, layout};
use crate::symmetry::Symmetry;
use numpy::{PyArray1, PyReadonlyArray1};
use onebasin::error::{Error, Result};
use onebasin::experiment::stages::barrier::PathKind;
use onebasin::experiment::stages::compact_network::Replaced;
use onebasin::experiment::{CompactSettings, Section as _, config, json};
use onebasin::measure::{BarrierSettings, Curves};
use onebasin::params::Params;
use onebasin::path::{Geodesic, Natural, Path, grid};
use onebasin::posterior::{Gaussian, Posterior};
use onebasin::symmetry::Spec;
use pyo3::prelude::*;

/// The path of this name between two Gaussians.
fn path<'a>(kind: &str, from: &'a Gaussian, to: &'a Gaussian) -> Result<Box<dyn Path + 'a>> {
    match PathKind::ALL.iter().find(|own| own.name() == kind) {
        Some(PathKind::Geodesic) => Ok(Box::new(Geodesic::new(from, to)?)),
        Some(PathKind::Natural) => Ok(Box::new(Natural::new(from, to)?)),
        _ => Err(Error::setting("path", kind, "geodesic or natural")),
    }
}

/// The points of a path at equally spaced τ: each as τ, means and standard deviations.
#[pyfunction]
#[pyo3(signature = (kind, shapes, from_, to, taus))]
#[expect(clippy::type_complexity, reason = "Python unpacks it at once")]
pub(crate) fn path_points<'py>(
    py: Python<'py>,
    kind: &str,
    shapes: Shapes,
    from_: Flat<'py>,
    to: Flat<'py>,
    taus: Vec<f64>,
) -> PyResult<Vec<(Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>)>> {
    let (from, to) = (from_.values()?, to.values()?);
    let points = || {
        let layout = layout(&shapes)?;
        let (from, to) = (gaussian(&layout, from)?, gaussian(&layout, to)?);
        let path = path(kind, &from, &to)?;
        taus.iter().map(|tau| path.at(*tau)).collect::<Result<Vec<Gaussian>>>()
    };
    let points = points().map_err(|error| errors::exception(py, &error))?;
    let array = |params: &Params| PyArray1::from_slice(py, params.values());
    Ok(points.iter().map(|point| (array(point.mean()), array(point.std()))).collect())
}

/// Equally spaced τ from 0 to 1.
#[pyfunction]
pub(crate) fn taus(py: Python<'_>, points: usize) -> PyResult<Vec<f64>> {
    grid(points).map_err(|error| errors::exception(py, &error))
}

/// How a barrier is measured.
#[derive(FromPyObject)]
pub(crate) struct Measured {
    path: String,
    points: usize,
    samples: usize,
    replicates: usize,
    seed: u64,
    calibrate: bool,
}

/// Measures the loss and the error along a path; the curves as JSON.
#[pyfunction]
#[pyo3(signature = (shapes, from_, to, labels, how, options))]
pub(crate) fn barrier<'py>(
    py: Python<'py>,
    shapes: Shapes,
    from_: Flat<'py>,
    to: Flat<'py>,
    labels: Labels,
    how: Measured,
    options: Options,
) -> PyResult<String> {
    let (from, to) = (from_.values()?, to.values()?);
    let curves = long(py, &options, |context, caller| {
        let layout = layout(&shapes)?;
        let (from, to) = (gaussian(&layout, from)?, gaussian(&layout, to)?);
        let path = path(&how.path, &from, &to)?;
        let (mut predictor, examples) = labels.open(&layout, caller, &context.pool)?;
        let Measured { points, samples, replicates, seed, .. } = how;
        let settings = BarrierSettings { points, samples, replicates, seed };
        context.monitored("measuring", |monitor| {
            Curves::along(&*path, &mut predictor, &examples, how.calibrate, settings, monitor)
        })
    })?;
    Ok(json(&curves))
}

/// A Gaussian that was fitted: its name, means, standard deviations, and the rows of the factor of its covariance.
type Fitted<'py> = (String, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, Vec<Bound<'py, PyArray1<f32>>>);

/// Fits Gaussians to samples and compares their predictions; the result as JSON, and the Gaussians. `settings` are those of
/// `onebasin compact`, as TOML.
#[pyfunction]
pub(crate) fn compact<'py>(
    py: Python<'py>,
    symmetry: &Symmetry,
    samples: Vec<PyReadonlyArray1<'py, f32>>,
    labels: Labels,
    settings: &str,
    options: Options,
) -> PyResult<(String, Vec<Fitted<'py>>)> {
    let table = config::read_table("compact", settings, &[]);
    let settings = table.and_then(|table| config::from_table::<CompactSettings>("compact", table));
    let settings = settings.map_err(|error| errors::exception(py, &error))?;
    let points = samples.iter().map(|sample| Ok(sample.as_slice()?.to_vec())).collect::<PyResult<Vec<_>>>()?;
    let (result, gaussians) = long(py, &options, |context, caller| {
        settings.check()?;
        let network = symmetry.network();
        let spec = Spec::of_network(network.symmetry())?;
        let points = points.into_iter().map(|values| Params::from_values(spec.layout(), values));
        let points = points.collect::<Result<Vec<_>>>()?;
        if points.len() < 2 {
            return Err(Error::Count { need: "a Gaussian needs at least 2 samples", got: points.len() });
        }
        let (predictor, examples) = labels.open(spec.layout(), caller, &context.pool)?;
        let statistics = network.statistics();
        let data = "examples of the caller".to_owned();
        let replaced =
            Replaced { settings: &settings, points, sources: &[], spec: &spec, statistics: &statistics, data };
        replaced.fit(predictor, examples, context)
    })?;
    let array = |params: &Params| PyArray1::from_slice(py, params.values());
    let fitted = gaussians.iter().filter_map(|(file, stored)| {
        let name = file.trim_end_matches(".safetensors").to_owned();
        match &stored.posterior {
            Posterior::Gaussian(own) => Some((name, array(own.mean()), array(own.std()), Vec::new())),
            Posterior::LowRank(own) => Some((
                name,
                array(own.rest().mean()),
                array(own.rest().std()),
                own.factor().iter().map(array).collect(),
            )),
            _ => None,
        }
    });
    Ok((json(&result), fitted.collect()))
}
