//! A checkpoint: opened by its headers, read tensor by tensor, and written again with some of them replaced.

use crate::contents::{Contents, Location, Place, Scalar, TensorInfo};
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::output::{Output, folder_of};
use crate::zip::Archive;
use crate::{numpy, safetensors, shared, torch};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Format of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One safetensors file.
    Safetensors,
    /// An index of safetensors files beside it.
    ShardedSafetensors,
    /// A zip archive of `torch.save`.
    Torch,
    /// A file of `torch.save` before 1.6, or without its zip format.
    LegacyTorch,
    /// An archive of NumPy arrays.
    Npz,
    /// One NumPy array.
    Npy,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safetensors => "safetensors",
            Self::ShardedSafetensors => "sharded safetensors",
            Self::Torch => "PyTorch",
            Self::LegacyTorch => "legacy PyTorch",
            Self::Npz => "npz",
            Self::Npy => "npy",
        })
    }
}

/// An open checkpoint, of which only the headers are in memory.
///
/// A file that changes while it is open gives bytes of both versions; nothing else goes wrong.
#[derive(Debug)]
pub struct Checkpoint {
    format: Format,
    contents: Contents,
    by_name: BTreeMap<String, usize>,
    shared: Vec<Vec<usize>>,
}

impl Checkpoint {
    /// Opens a file, whose format its first bytes tell; reads its headers only.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Positioned::open(path)?;
        let start = file.read_vec("the beginning", 0, file.len.min(512))?;
        let (format, contents) = if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
            let archive = Archive::read(&file)?;
            if torch::is_torch(&archive) {
                (Format::Torch, torch::read(file, archive)?)
            } else if archive.entries.is_empty() || numpy::is_npz(&archive) {
                (Format::Npz, numpy::read_npz(file, archive)?)
            } else {
                let first = &archive.entries[0].name;
                let what = format!("it is a zip archive, but has neither `data.pkl` nor an array (first is `{first}`)");
                return Err(Error::unsupported(
                    path,
                    what,
                    "unpack it, or save the model by torch.save or numpy.savez",
                ));
            }
        } else if start.starts_with(numpy::MAGIC) {
            (Format::Npy, numpy::read_npy(file)?)
        } else if torch::begins_legacy(&start) {
            (Format::LegacyTorch, torch::read_legacy(file)?)
        } else if safetensors::begins(&start, file.len) {
            (Format::Safetensors, safetensors::read(file)?)
        } else if start.trim_ascii_start().starts_with(b"{") {
            (Format::ShardedSafetensors, safetensors::read_sharded(file)?)
        } else {
            return Err(unknown(path, &start));
        };
        contents.refuse_duplicates()?;
        let by_name = contents.tensors.iter().enumerate().map(|(index, tensor)| (tensor.name.clone(), index)).collect();
        let shared = shared::groups(&contents.locations);
        Ok(Self { format, contents, by_name, shared })
    }

    /// The file; of several, the index.
    pub fn path(&self) -> &Path {
        &self.contents.sources[0].file.path
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// All tensors, in the order of the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.contents.tensors
    }

    /// The index of the tensor with this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// What the file holds beside tensors: the metadata of safetensors, or numbers, texts and truth values of torch
    /// by their dotted names.
    pub fn metadata(&self) -> &BTreeMap<String, Scalar> {
        &self.contents.metadata
    }

    /// Groups of tensors that share bytes, such as tied weights, each in ascending order.
    pub fn shared(&self) -> &[Vec<usize>] {
        &self.shared
    }

    /// What is not interpreted and is copied as it is: names of classes and functions in a file of torch, and of arrays of
    /// Python objects in an archive of NumPy.
    pub fn foreign(&self) -> &BTreeSet<String> {
        &self.contents.foreign
    }

    /// Classes of the objects in a file of torch that are not interpreted, by the dotted names of the objects.
    pub fn classes(&self) -> &BTreeMap<String, String> {
        &self.contents.classes
    }

    /// The bytes of a tensor, row-major and little-endian.
    pub fn read_bytes(&self, tensor: usize) -> Result<Vec<u8>> {
        self.check(tensor)?;
        self.contents.read(tensor)
    }

    /// The values of a tensor of a floating-point type, row-major; `out` has as many values as the tensor.
    pub fn read_f32(&self, tensor: usize, out: &mut [f32]) -> Result<()> {
        self.check(tensor)?;
        let path = || self.contents.source_of(tensor).file.path.clone();
        let TensorInfo { name, dtype, bytes, .. } = &self.contents.tensors[tensor];
        let Some(size) = dtype.size().filter(|_| dtype.is_float()) else {
            return Err(Error::NotFloat { path: path(), tensor: name.clone(), dtype: dtype.to_string() });
        };
        let length = || {
            let (tensor, expected, got) = (name.clone(), bytes / size, out.len());
            Error::Length { path: path(), tensor, unit: "values", expected, got }
        };
        if out.len() != bytes / size {
            return Err(length());
        }
        let bytes = self.contents.read(tensor)?;
        dtype.decode(&bytes, out).expect("the length was checked");
        Ok(())
    }

    /// Writes the same file with the bytes of some tensors replaced, whole or not at all.
    ///
    /// `replacement` is called once for each tensor in turn and returns its new bytes, row-major and little-endian, or
    /// none to keep it. Every byte that is not of a replaced tensor stays the same, but for the checksums of a zip
    /// archive and for the sizes of entries that were deflated and are so again. Tensors that share bytes must be
    /// replaced by the same ones. The shards of an index are written into the folder of `to`. A file that is at `to` is
    /// replaced, unless it is the checkpoint itself.
    pub fn write(&self, to: &Path, replacement: &mut dyn FnMut(usize) -> Result<Option<Vec<u8>>>) -> Result<()> {
        let mut outputs = Vec::new();
        for (source, target) in self.contents.sources.iter().zip(self.targets(to)?) {
            outputs.push(Output::new(source, target)?);
        }
        let watched: BTreeSet<usize> = self.shared.iter().flatten().copied().collect();
        // Of tensors that share bytes, among each other or with themselves: a hash of what they must have.
        let mut expected: BTreeMap<usize, u64> = BTreeMap::new();
        let mut replaced = BTreeSet::new();
        for (tensor, info) in self.contents.tensors.iter().enumerate() {
            let Some(bytes) = replacement(tensor)? else { continue };
            self.check(tensor)?;
            if bytes.len() != info.bytes {
                let path = self.contents.source_of(tensor).file.path.clone();
                let (tensor, expected, got) = (info.name.clone(), info.bytes, bytes.len());
                return Err(Error::Length { path, tensor, unit: "bytes", expected, got });
            }
            replaced.insert(tensor);
            let (source, place, location) = self.locate(tensor);
            if watched.contains(&tensor) || location.view.overlaps_itself() {
                expected.insert(tensor, hash(&bytes));
            }
            outputs[source].replace(place, location, bytes)?;
        }
        for group in self.shared.iter().filter(|group| group.iter().any(|tensor| replaced.contains(tensor))) {
            for tensor in group.iter().filter(|tensor| !replaced.contains(tensor)) {
                self.check(*tensor)?;
                expected.insert(*tensor, hash(&self.contents.read(*tensor)?));
            }
        }
        for (tensor, expected) in expected {
            let (source, place, location) = self.locate(tensor);
            let written = outputs[source].read(place, location)?;
            if written.is_some_and(|written| hash(&written) != expected) {
                return Err(self.contradiction(tensor, &replaced));
            }
        }
        let complete: Result<Vec<_>> = outputs.into_iter().map(Output::complete).collect();
        // The index of shards comes last: where it is, they are.
        complete?.into_iter().rev().try_for_each(crate::output::Complete::rename)
    }

    /// Where each source is written.
    fn targets(&self, to: &Path) -> Result<Vec<PathBuf>> {
        if to.file_name().is_none() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it names no file to write");
            return Err(Error::io(to, source));
        }
        let sources = || self.contents.sources.iter().map(|source| source.file.path.as_path());
        let shard = |path: &Path| folder_of(to).join(path.file_name().unwrap_or_default());
        let targets: Vec<PathBuf> = std::iter::once(to.to_owned()).chain(sources().skip(1).map(shard)).collect();
        let originals: Vec<PathBuf> = sources().filter_map(|path| path.canonicalize().ok()).collect();
        for (index, target) in targets.iter().enumerate() {
            let whole = target.canonicalize().ok();
            if targets[..index].contains(target) || whole.is_some_and(|target| originals.contains(&target)) {
                return Err(Error::Source { path: target.clone() });
            }
        }
        Ok(targets)
    }

    fn locate(&self, tensor: usize) -> (usize, Place, &Location) {
        let location = &self.contents.locations[tensor];
        let storage = self.contents.storages[location.storage];
        (storage.source, storage.place, location)
    }

    /// Refuses an index without a tensor, and a tensor that repeats its bytes beyond what the file justifies.
    fn check(&self, tensor: usize) -> Result<()> {
        let Some(info) = self.contents.tensors.get(tensor) else {
            let path = self.contents.sources[0].file.path.clone();
            return Err(Error::NoTensor { path, tensor, count: self.contents.tensors.len() });
        };
        let file = &self.contents.source_of(tensor).file;
        if info.bytes as u64 > file.len && self.contents.locations[tensor].view.overlaps_itself() {
            let what =
                format!("tensor `{}` repeats its elements to {} bytes, more than the file has", info.name, info.bytes);
            return Err(Error::unsupported(&file.path, what, "save it without `expand`"));
        }
        Ok(())
    }

    fn contradiction(&self, tensor: usize, replaced: &BTreeSet<usize>) -> Error {
        let hull = |tensor: usize| self.contents.locations[tensor].view.hull();
        let meets = |other: usize| hull(other).start < hull(tensor).end && hull(tensor).start < hull(other).end;
        let group = self.shared.iter().find(|group| group.contains(&tensor));
        let others = group.into_iter().flatten().rev().copied();
        let other = others.filter(|other| *other != tensor && replaced.contains(other)).find(|other| meets(*other));
        let name = |tensor: usize| self.contents.tensors[tensor].name.clone();
        let path = self.contents.source_of(tensor).file.path.clone();
        Error::Contradiction { path, first: name(tensor), second: name(other.unwrap_or(tensor)) }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The error of a file that no format begins like.
fn unknown(path: &Path, start: &[u8]) -> Error {
    const KNOWN: &str = "give a file of safetensors, of PyTorch, or of NumPy (.npz, .npy)";
    let (what, fix) = match start {
        [] => ("it is empty", "download or save it again"),
        _ if start.starts_with(b"version https://git-lfs") => {
            ("it is a pointer of Git LFS, not the file itself", "get the file by `git lfs pull`")
        }
        _ if start.get(257..262) == Some(b"ustar") => {
            ("it is a tar archive, as torch wrote before 0.1.10", "save it again by a newer torch")
        }
        [b'<', ..] => ("it is a page of the web, not a checkpoint", "download the file itself"),
        [0x80, 0..=5, ..] => ("it is a pickle, but not of torch.save", "save its tensors by torch.save or numpy.savez"),
        [0x89, b'H', b'D', b'F', ..] => ("it is an HDF5 file, which is not read", KNOWN),
        [b'G', b'G', b'U', b'F', ..] => ("it is a GGUF file, which is not read", KNOWN),
        _ => ("it begins like no checkpoint that is known", KNOWN),
    };
    Error::unsupported(path, what, fix)
}
