//! Reads networks that `torch.export.save` wrote (`.pt2`).
//!
//! The archive has the graph of the network as JSON, with the shape of every tensor. Each node is translated into operations of a
//! [`Graph`]. A node that is not understood becomes one that nothing is known of, so that what it reads stays fixed.

mod archive;
mod call;
mod operators;
mod pickle;
mod scalars;
mod schema;
mod scope;
mod signature;
mod storage;
mod translate;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use archive::{Archive, MOST_BYTES};
use schema::{OutputSpec, Program};
use translate::Translation;

use crate::error::{Error, Result};
use crate::graph::Graph;

/// How to make a file that can be read.
const EXPORT: &str = "write one by torch.export.save(torch.export.export(model, args), \"net.pt2\")";

/// A network of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Its graph, whose tensors have their names in the state dict.
    pub graph: Graph,
    /// Other names in the state dict of tensors of the graph: parameters that several modules share.
    pub aliases: BTreeMap<String, String>,
    /// Names in the state dict of tensors that the network does not read.
    pub unread: Vec<String>,
    /// Operations that were not understood, so that what they read stays fixed.
    pub untranslated: Vec<Untranslated>,
}

/// An operation that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslated {
    /// The operator, with the tensor or the module that it belongs to.
    pub place: String,
    /// What was not understood.
    pub reason: String,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Network> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::new(name.clone(), error.to_string()))?;
    read_from(&name, file)
}

/// Reads an archive, which `name` names in errors.
pub fn read_from(name: &str, reader: impl Read + Seek) -> Result<Network> {
    let mut archive = Archive::open(name, reader)?;
    let (path, model) = model(&archive)?;
    let program = program(&mut archive, &path)?;
    let module = &program.graph_module;
    let mut translation = Translation::new(name);
    let read = translate::read(&module.graph);
    let mut tensors = signature::inputs(&mut translation, &mut archive, module, &model, &read)?;
    tensors.alias_unread(&mut archive, &model)?;
    translation.graph(&module.graph, "")?;
    tensors.tie(&mut translation, module)?;
    let mut outputs = Vec::new();
    for (at, output) in module.graph.outputs.iter().enumerate() {
        let spec = module.signature.output_specs.get(at);
        if matches!(spec, Some(OutputSpec::BufferMutation(_) | OutputSpec::ParameterMutation(_))) {
            continue;
        }
        let mut names = Vec::new();
        translate::tensors(output, &mut names);
        for output in names {
            let Some(operand) = translation.scope.read(&mut translation.builder, output)? else {
                return Err(Error::new(format!("{name}: {output}"), "the tensor is returned before it is computed"));
            };
            outputs.extend(operand.value);
        }
    }
    let Translation { builder, untranslated, .. } = translation;
    let signature::Tensors { aliases, unread, .. } = tensors;
    Ok(Network { graph: builder.finish(outputs), aliases, unread, untranslated })
}

/// The path of the JSON of the network, and the name of the network in the archive.
fn model<R: Read + Seek>(archive: &Archive<R>) -> Result<(String, String)> {
    if let Some(path) = archive.find("serialized_exported_program.json") {
        return Ok((path, "model".to_owned()));
    }
    let name = |path: &str| {
        let (root, file) = path.rsplit_once('/')?;
        let model = file.strip_suffix(".json")?;
        (root == "models" || root.strip_suffix("/models").is_some_and(|root| !root.contains('/'))).then(|| model.to_owned())
    };
    let mut models: Vec<(String, String)> =
        archive.paths().filter_map(|path| Some((path.to_owned(), name(path)?))).collect();
    models.sort();
    if models.len() > 1 {
        let names: Vec<&str> = models.iter().map(|(_, name)| name.as_str()).collect();
        return Err(Error::new(&archive.name, format!("it has several networks: {}; {EXPORT}", names.join(", "))));
    }
    match models.pop() {
        Some(model) => Ok(model),
        None if archive.paths().any(|path| path.contains("aotinductor/")) => {
            Err(Error::new(&archive.name, format!("it is compiled by AOTInductor and has no graph; {EXPORT}")))
        }
        None => Err(Error::new(&archive.name, format!("it has no graph of torch.export; {EXPORT}"))),
    }
}

fn program<R: Read + Seek>(archive: &mut Archive<R>, path: &str) -> Result<Program> {
    let bytes = archive.read(path, MOST_BYTES)?;
    let place = format!("{}: {path}", archive.name);
    let program: Program = serde_json::from_slice(&bytes).map_err(|error| Error::new(&place, error.to_string()))?;
    let major = program.schema_version.major;
    if major > schema::MAJOR_VERSION {
        let fault = format!("schema_version is {major}; {} is the newest that is known", schema::MAJOR_VERSION);
        return Err(Error::new(place, fault));
    }
    Ok(program)
}
