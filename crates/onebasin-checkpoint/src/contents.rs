//! What the reader of each format finds in a file: storages, tensors that are views of them, and metadata.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::view::View;
use crate::zip::{Archive, Method};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A tensor of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Name in the file; keys of nested dictionaries and indices of lists are joined by dots.
    pub name: String,
    /// Number of indices of each axis.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub dtype: DType,
    /// Bytes of all elements.
    pub bytes: usize,
}

impl TensorInfo {
    /// A tensor that lies in memory; elements of a size that is not known take no bytes.
    pub fn new(name: String, shape: Vec<usize>, dtype: DType) -> Self {
        let bytes = shape.iter().product::<usize>() * dtype.size().unwrap_or(0);
        Self { name, shape, dtype, bytes }
    }
}

/// A value of a checkpoint that is not a tensor.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// A file of a checkpoint, and the archive that it is, if it is one.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: Positioned,
    pub(crate) archive: Option<Archive>,
}

/// Where the bytes of a storage are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// From this byte of the file on.
    Plain(u64),
    /// In this entry of the archive.
    Entry(usize),
}

/// Bytes that tensors are views of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// Index of the source.
    pub(crate) source: usize,
    pub(crate) place: Place,
}

/// Where the bytes of a tensor are.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// Index of the storage.
    pub(crate) storage: usize,
    pub(crate) view: View,
}

/// Everything in a checkpoint but the bytes of its tensors.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) sources: Vec<Source>,
    pub(crate) storages: Vec<Storage>,
    pub(crate) tensors: Vec<TensorInfo>,
    /// Of each tensor.
    pub(crate) locations: Vec<Location>,
    pub(crate) metadata: BTreeMap<String, Scalar>,
    /// Names of classes, functions and arrays of Python objects that are not interpreted.
    pub(crate) foreign: BTreeSet<String>,
    /// Classes of objects that are not interpreted, by the dotted names of the objects.
    pub(crate) classes: BTreeMap<String, String>,
}

impl Contents {
    pub(crate) fn push(&mut self, name: String, shape: Vec<usize>, dtype: DType, location: Location) {
        let bytes = location.view.bytes();
        self.tensors.push(TensorInfo { name, shape, dtype, bytes });
        self.locations.push(location);
    }

    /// The source of a tensor.
    pub(crate) fn source_of(&self, tensor: usize) -> &Source {
        &self.sources[self.storages[self.locations[tensor].storage].source]
    }

    /// The bytes of a tensor in the checkpoint, row-major and little-endian.
    pub(crate) fn read(&self, tensor: usize) -> Result<Vec<u8>> {
        let Location { storage, view } = &self.locations[tensor];
        let Storage { place, source } = self.storages[*storage];
        let Source { file, archive } = &self.sources[source];
        let entry = match place {
            Place::Plain(start) => return view.gather(|at, out| file.read_at(start + at, out)),
            Place::Entry(index) => &archive.as_ref().expect("entries are in archives").entries[index],
        };
        if entry.method == Method::Deflated {
            let unpacked = entry.read(file)?;
            return view.gather(|at, out| {
                out.copy_from_slice(&unpacked[at as usize..at as usize + out.len()]);
                Ok(())
            });
        }
        let mut checksum = None;
        let bytes = view.gather(|at, out| {
            file.read_at(entry.data + at, out)?;
            // Only a read of all that follows a header can be compared with the checksum of the entry.
            if at <= LONGEST_PREFIX && at + out.len() as u64 == entry.size {
                let prefix = file.read_vec(&entry.name, entry.data, at)?;
                let mut hasher = crc32fast::Hasher::new();
                hasher.update(&prefix);
                hasher.update(out);
                checksum = Some(hasher.finalize());
            }
            Ok(())
        })?;
        checksum.map_or(Ok(()), |checksum| entry.check(file, checksum))?;
        Ok(bytes)
    }

    /// Refuses tensors that would not be found by their names.
    pub(crate) fn refuse_duplicates(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        let twice = self.tensors.iter().position(|tensor| !seen.insert(&tensor.name));
        twice.map_or(Ok(()), |index| {
            let what = format!("two tensors are named `{}`", self.tensors[index].name);
            Err(Error::unsupported(
                &self.source_of(index).file.path,
                what,
                "rename one of them and save the file again",
            ))
        })
    }
}

/// Bytes before a tensor that are read only for the checksum of its entry.
const LONGEST_PREFIX: u64 = 1 << 16;
