//! Alignment of checkpoints that are arrays of Python.

use crate::calls::{Options, long};
use crate::errors;
use crate::symmetry::{How, Symmetry};
use crate::tensors::{Tensors, changed};
use numpy::PyArray1;
use onebasin::error::{Error, Result};
use onebasin::experiment::AlignSettings;
use onebasin::experiment::stages::align::{BeforeAndAfter, Objective};
use onebasin::experiment::stages::align_network::{Matched, Matching, check_settings};
use onebasin::foreign::{Checked, TensorSource as _, compare};
use onebasin::params::Params;
use onebasin::symmetry::{Group, Permutation, Permutations, Spec};
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found for one checkpoint; read as JSON.
#[derive(Serialize)]
struct Found {
    w2: BeforeAndAfter,
    checked: Checked,
    format: String,
    objective: Option<Objective>,
    assignments: Option<usize>,
    seconds: Option<f64>,
}

/// A checkpoint with its units permuted, as bytes.
struct Aligned {
    found: Found,
    tensors: Vec<Option<Vec<u8>>>,
    permutations: Vec<(String, Vec<u32>)>,
}

/// The same for Python: facts as JSON, changed tensors, permutations by groups.
type Row<'py> = (String, Vec<Option<Bound<'py, PyArray1<u8>>>>, Vec<(String, Bound<'py, PyArray1<u32>>)>);
/// All checkpoints but the first; the objective of all together; and means and standard deviations of a Gaussian, with the tensors of both.
type Answer<'py> = (Vec<Row<'py>>, Option<String>, Option<Fitted<'py>>);
type Fitted<'py> = (Vec<(String, Vec<usize>)>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>);

/// Aligns checkpoints; `settings` are those of `onebasin align`, as TOML.
#[pyfunction]
pub(crate) fn align<'py>(
    py: Python<'py>,
    symmetry: &Symmetry,
    checkpoints: Vec<Tensors<'py>>,
    settings: &str,
    how: How,
    options: Options,
) -> PyResult<Answer<'py>> {
    let settings = read(settings).map_err(|error| errors::exception(py, &error))?;
    let arrays = checkpoints.iter().map(|own| own.arrays(py)).collect::<PyResult<Vec<_>>>()?;
    let names: Vec<String> = checkpoints.iter().map(|own| own.name().to_owned()).collect();
    let (aligned, together, fitted) = long(py, &options, |context, _| {
        check_settings(&settings, arrays.len())?;
        let (network, members) = symmetry.bind(arrays, how)?;
        let spec = Spec::of_network(network.symmetry())?;
        let matching =
            Matching { settings: &settings, network: &network, spec: &spec, members: &members, names: &names };
        let Matched { members: matched, together, gaussian } = matching.solve(context)?;
        let mut aligned = Vec::new();
        for (member, matched) in members[1..].iter().zip(matched) {
            let mut permuted = member.permuted(network.symmetry(), &matched.permutations);
            let tensors = (0..member.checkpoint().tensors().len()).map(&mut permuted).collect::<Result<Vec<_>>>()?;
            drop(permuted);
            let after = member.of_copy(member.checkpoint().with(&tensors)?)?;
            let checked = compare(&network, member, &after, spec.layout(), settings.seed)?;
            if let Checked::Run { change, .. } = checked
                && !checked.is_unchanged()
            {
                let change = format!("{change:.1e}");
                return Err(Error::FunctionChanged { path: member.name().into_owned().into(), change });
            }
            let w2 = BeforeAndAfter {
                before: members[0].distance(member, spec.layout())?,
                after: members[0].distance(&after, spec.layout())?,
            };
            let groups = spec.groups().iter().zip(matched.permutations.as_slice());
            let found = Found {
                w2,
                checked,
                format: member.convention().to_owned(),
                objective: matched.alignment.as_ref().map(|(alignment, _)| Objective::of(alignment)),
                assignments: matched.alignment.as_ref().map(|(alignment, _)| alignment.assignments()),
                seconds: matched.alignment.as_ref().map(|(_, seconds)| *seconds),
            };
            let permutations = groups.map(|(group, own)| (group.name.clone(), own.as_slice().to_vec())).collect();
            drop(after);
            aligned.push(Aligned { found, tensors, permutations });
        }
        let layout = spec.layout().tensors().iter();
        let layout: Vec<_> = layout.map(|own| (own.name().to_owned(), own.shape().to_vec())).collect();
        Ok((aligned, together, gaussian.map(|gaussian| (layout, gaussian))))
    })?;
    let rows = aligned.into_iter().map(|Aligned { found, tensors, permutations }| {
        let permutations = permutations.into_iter().map(|(name, own)| (name, PyArray1::from_vec(py, own)));
        (onebasin::experiment::json(&found), changed(py, tensors), permutations.collect())
    });
    let array = |params: &Params| PyArray1::from_slice(py, params.values());
    Ok((
        rows.collect(),
        together.map(|together| onebasin::experiment::json(&together)),
        fitted.map(|(layout, gaussian)| (layout, array(gaussian.mean()), array(gaussian.std()))),
    ))
}

/// The settings of an alignment.
fn read(settings: &str) -> Result<AlignSettings> {
    let table = onebasin::experiment::config::read_table("align", settings, &[])?;
    onebasin::experiment::config::from_table("align", table)
}

/// Permutes the units of a checkpoint; groups that are not named stay.
#[pyfunction]
pub(crate) fn permute<'py>(
    py: Python<'py>,
    symmetry: &Symmetry,
    checkpoint: Tensors<'py>,
    mut permutations: BTreeMap<String, Vec<u32>>,
    how: How,
    options: Options,
) -> PyResult<Vec<Option<Bound<'py, PyArray1<u8>>>>> {
    let arrays = checkpoint.arrays(py)?;
    let tensors = long(py, &options, |_, _| {
        let (network, members) = symmetry.bind(vec![arrays], how)?;
        let spec = Spec::of_network(network.symmetry())?;
        let of_group = |group: &Group| match permutations.remove(&group.name) {
            Some(order) => Permutation::new(order),
            None => Ok(Permutation::identity(group.size)),
        };
        let orders = spec.groups().iter().map(of_group).collect::<Result<Vec<_>>>()?;
        if let Some(name) = permutations.keys().next() {
            return Err(Error::unknown("group", name, spec.groups().iter().map(|group| &*group.name)));
        }
        let permutations = Permutations::new(&spec, orders)?;
        let member = &members[0];
        let tensors = (0..member.checkpoint().tensors().len()).map(member.permuted(network.symmetry(), &permutations));
        let tensors = tensors.collect::<Result<Vec<_>>>()?;
        // Refuses tensors that share memory and are permuted differently.
        member.checkpoint().with(&tensors)?;
        Ok(tensors)
    })?;
    Ok(changed(py, tensors))
}
