//! The inputs of the graph of the file: what the user gives, tensors of the checkpoint, constants.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use super::archive::Archive;
use super::schema::{GraphModule, InputSpec, OutputSpec, is_float};
use super::scope::Held;
use super::storage::Storage;
use super::translate::{Translation, tensors};
use crate::error::{Error, Result};
use crate::graph::{Kind, ValueId};

/// Most entries of all constants that are read from the archive.
const MOST_ENTRIES: usize = 1 << 23;

/// What the signature says of the tensors of the checkpoint.
#[derive(Debug, Default)]
pub(super) struct Tensors {
    /// Names in the checkpoint and values of those that have one, by their storage.
    values: BTreeMap<String, Vec<(String, ValueId)>>,
    /// The name in the file of each input that belongs to the module, and its value before any node ran.
    inputs: Vec<(String, Option<ValueId>)>,
    /// Names in the file, by names in the checkpoint.
    names: BTreeMap<String, String>,
    /// Names in the checkpoint of one and the same tensor, and the name that its value has.
    pub(super) aliases: BTreeMap<String, String>,
    /// Names in the checkpoint of tensors that no node reads.
    pub(super) unread: Vec<String>,
}

/// A tensor of the module.
struct Given<'a> {
    /// Its name in the graph.
    input: &'a str,
    /// Its name in the module.
    name: &'a str,
    /// Whether it is in the state dict.
    persistent: bool,
}

/// Defines the inputs of a graph.
pub(super) fn inputs<R: Read + Seek>(
    translation: &mut Translation,
    archive: &mut Archive<R>,
    module: &GraphModule,
    model: &str,
    read: &BTreeSet<&str>,
) -> Result<Tensors> {
    let weights = Storage::weights(archive, model)?;
    let constants = Storage::constants(archive, model)?;
    let (mut result, mut room) = (Tensors::default(), MOST_ENTRIES);
    let mutated: BTreeSet<&str> = module.signature.output_specs.iter().filter_map(mutated).map(|(_, name)| name).collect();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for given in module.signature.input_specs.iter().filter_map(of_module) {
        let Given { input, name, persistent } = given;
        known.insert(input);
        result.names.insert(name.to_owned(), input.to_owned());
        let (shape, dtype) = declared(translation, archive, module, input)?;
        let checkpoint = persistent && is_float(dtype);
        translation.builder.at(name);
        let value = if shape.contains(&0) {
            None
        } else if checkpoint {
            result.tensor(translation, archive, &weights, name, &shape, read.contains(input))?
        } else if read.contains(input) {
            // What nodes write into a constant is there when the network runs next.
            let entries = if persistent || mutated.contains(name) { None } else { constants.entries(archive, name) };
            let fits = |entries: &Vec<f64>| entries.len() == shape.iter().product::<usize>() && entries.len() <= room;
            let entries = entries.filter(fits);
            room -= entries.as_ref().map_or(0, Vec::len);
            Some(translation.builder.constant(name, &shape, entries)?)
        } else {
            if persistent {
                result.unread.push(name.to_owned());
            }
            None
        };
        let tensor = if checkpoint { Some(result.aliases.get(name).cloned().unwrap_or_else(|| name.to_owned())) } else { None };
        let held = Held { value, shape, dtype, memories: vec![translation.scope.fresh()], tensor, seen: 0 };
        result.inputs.push((input.to_owned(), value));
        if !translation.scope.define(input.to_owned(), held) {
            return Err(Error::new(format!("{}: {input}", archive.name), "the tensor is an input twice"));
        }
    }
    for name in weights.names().filter(|name| !result.names.contains_key(*name)) {
        result.unread.push(name.to_owned());
    }
    user_inputs(translation, archive, module, &known)?;
    Ok(result)
}

fn of_module(spec: &InputSpec) -> Option<Given<'_>> {
    Some(match spec {
        InputSpec::Parameter(spec) => Given { input: &spec.arg.name, name: &spec.parameter_name, persistent: true },
        InputSpec::Buffer(spec) => {
            Given { input: &spec.arg.name, name: &spec.buffer_name, persistent: spec.persistent }
        }
        InputSpec::TensorConstant(spec) => {
            Given { input: &spec.arg.name, name: &spec.tensor_constant_name, persistent: false }
        }
        _ => return None,
    })
}

/// The output that an input of the module becomes, and the name of that input in the module.
fn mutated(spec: &OutputSpec) -> Option<(&str, &str)> {
    match spec {
        OutputSpec::BufferMutation(spec) => Some((&spec.arg.name, &spec.buffer_name)),
        OutputSpec::ParameterMutation(spec) => Some((&spec.arg.name, &spec.parameter_name)),
        _ => None,
    }
}

fn declared<R: Read + Seek>(
    translation: &Translation,
    archive: &Archive<R>,
    module: &GraphModule,
    input: &str,
) -> Result<(Vec<usize>, i64)> {
    let Some(meta) = module.graph.tensor_values.get(input) else {
        return Err(Error::new(format!("{}: {input}", archive.name), "tensor_values does not have the tensor"));
    };
    Ok((translation.shape(input, meta)?, meta.dtype))
}

fn user_inputs<R: Read + Seek>(
    translation: &mut Translation,
    archive: &Archive<R>,
    module: &GraphModule,
    known: &BTreeSet<&str>,
) -> Result<()> {
    let mut names = Vec::new();
    module.graph.inputs.iter().for_each(|input| tensors(input, &mut names));
    for name in names.into_iter().filter(|name| !known.contains(name)) {
        let (shape, dtype) = declared(translation, archive, module, name)?;
        let value = if shape.contains(&0) { None } else { Some(translation.builder.input(name, &shape)?) };
        let memories = vec![translation.scope.fresh()];
        if !translation.scope.define(name.to_owned(), Held { value, shape, dtype, memories, tensor: None, seen: 0 }) {
            return Err(Error::new(format!("{}: {name}", archive.name), "the tensor is an input twice"));
        }
    }
    Ok(())
}

impl Tensors {
    /// The value of a tensor of the checkpoint, which other names may have too.
    fn tensor<R: Read + Seek>(
        &mut self,
        translation: &mut Translation,
        archive: &Archive<R>,
        weights: &Storage,
        name: &str,
        shape: &[usize],
        read: bool,
    ) -> Result<Option<ValueId>> {
        if !read {
            self.unread.push(name.to_owned());
            return Ok(None);
        }
        let Some(place) = weights.place(name) else {
            let fault = "the archive does not say where the tensor is stored, so that others may be the same";
            return Err(Error::new(format!("{}: {name}", archive.name), fault));
        };
        let others = self.values.entry(place.storage.clone()).or_default();
        let others = others.iter().filter_map(|(other, value)| Some((other, *value, weights.place(other)?)));
        let found: Vec<_> = others.filter(|(_, _, other)| other.overlaps(place)).collect();
        if let [(other, value, own)] = found[..]
            && own == place
        {
            self.aliases.insert(name.to_owned(), other.clone());
            return Ok(Some(value));
        }
        // Parts of others, or their transpose: nothing of them may be permuted.
        let found: Vec<ValueId> = found.into_iter().map(|(_, value, _)| value).collect();
        if !found.is_empty() {
            return Ok(Some(translation.builder.opaque(&found, &[shape.to_vec()])?[0]));
        }
        let value = translation.builder.tensor(name, shape)?;
        self.values.entry(place.storage.clone()).or_default().push((name.to_owned(), value));
        Ok(Some(value))
    }

    /// Names of the same tensor as one that has a value, among those that no node reads.
    pub(super) fn alias_unread<R: Read + Seek>(&mut self, archive: &mut Archive<R>, model: &str) -> Result<()> {
        let weights = Storage::weights(archive, model)?;
        let same = |name: &String| {
            let place = weights.place(name)?;
            let mut others = self.values.get(&place.storage)?.iter();
            others.find(|(other, _)| weights.place(other) == Some(place)).map(|(other, _)| other.clone())
        };
        let (aliases, unread): (Vec<_>, Vec<_>) =
            self.unread.iter().map(|name| (name.clone(), same(name))).partition(|(_, other)| other.is_some());
        self.unread = unread.into_iter().map(|(name, _)| name).collect();
        self.aliases.extend(aliases.into_iter().filter_map(|(name, other)| Some((name, other?))));
        Ok(())
    }

    /// What nodes wrote into tensors of the module is there when the network runs next, so both must be permuted alike.
    pub(super) fn tie(&self, translation: &mut Translation, module: &GraphModule) -> Result<()> {
        let names = &self.names;
        let specs = module.signature.output_specs.iter().filter_map(mutated);
        let mut pairs: Vec<(String, String)> = specs
            .filter_map(|(output, name)| Some((output.to_owned(), names.get(name)?.clone())))
            .collect();
        pairs.extend(self.inputs.iter().map(|(input, _)| (input.clone(), input.clone())));
        for (output, input) in pairs {
            let first = self.inputs.iter().find(|(own, _)| *own == input).and_then(|(_, value)| *value);
            let Some(first) = first else { continue };
            translation.builder.at(format!("what is written into {input}"));
            let Some(operand) = translation.scope.read(&mut translation.builder, &output)? else { continue };
            let Some(last) = operand.value.filter(|last| *last != first) else { continue };
            let varies = matches!(translation.builder.kind(first), Kind::Tensor | Kind::Constant(None));
            if varies && translation.builder.shape(first) == translation.builder.shape(last) {
                translation.builder.elementwise(&[first, last])?;
            } else {
                translation.builder.opaque(&[first, last], &[])?;
            }
        }
        Ok(())
    }
}
