//! Reads networks from ONNX files.
//!
//! The weights stay in the file until [`Initializer::read_f32`] asks for them, and may be missing: the graph alone says which units
//! can be permuted.

mod wire;
mod tensor;
mod number;
mod proto;
mod decode;
mod data;
mod names;
mod entries;
mod scope;
mod call;
mod arguments;
mod fold;
mod ops;
mod dims;
mod inline;
mod lists;
mod opaque;
mod translate;
mod rewrite;
mod statistics;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;
use std::sync::Arc;

pub use data::Initializer;
pub use dims::Options;
pub use names::looks_like_parameter;
pub use rewrite::weights_as_inputs;
pub use statistics::{BatchStatistics, with_batch_statistics};
pub use tensor::DataType;
pub use translate::Copied;

use crate::error::{Error, Result};
use crate::graph::Graph;
use data::Source;
use translate::Translated;
use wire::Wire;

/// A network of an ONNX file.
#[derive(Clone, Debug)]
pub struct Network {
    /// How the axes of its values are related. Floating-point initializers that it reads are its tensors, under their names in the file.
    pub graph: Graph,
    /// All tensors of the file, in its order.
    pub initializers: Vec<Initializer>,
    /// Tensors that the file has only once although they have several names: equal ones that the exporter merged, or shared ones.
    pub copies: Vec<Copied>,
}

impl Network {
    /// The network of a file.
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        let fault = |error: std::io::Error| Error::new(path.display().to_string(), error.to_string());
        let file = File::open(path).map_err(fault)?;
        let size = file.metadata().map_err(fault)?.len();
        let source = Source::File(path.to_owned());
        Self::read(BufReader::with_capacity(1 << 16, file), size, &source, options)
            .map_err(|error| Error::new(format!("{}: {}", path.display(), error.place), error.fault))
    }

    /// The network of a file in memory.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>, options: &Options) -> Result<Self> {
        let bytes = bytes.into();
        let source = Source::Bytes(bytes.clone());
        Self::read(Cursor::new(&bytes[..]), bytes.len() as u64, &source, options)
    }

    fn read(reader: impl BufRead + Seek, size: u64, source: &Source, options: &Options) -> Result<Self> {
        let model = Wire::new(reader).model(0..size)?;
        let Translated { graph, initializers, copies } = translate::translate(&model, source, options)?;
        Ok(Self { graph, initializers, copies })
    }

    /// The tensor of this name.
    pub fn initializer(&self, name: &str) -> Option<&Initializer> {
        self.initializers.iter().find(|initializer| initializer.name == name)
    }

    /// Names of tensors of the graph that do not look like parameters of modules: the exporter folded or copied them, and they can only be
    /// matched with a checkpoint by their entries.
    pub fn made_up_names(&self) -> impl Iterator<Item = &str> {
        self.graph.tensors().map(|tensor| tensor.name.as_str()).filter(|name| !looks_like_parameter(name))
    }
}
