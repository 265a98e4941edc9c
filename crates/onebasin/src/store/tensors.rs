//! The safetensors format: a writer whose tensors are filled one after the other, and a checked reader.
//!
//! All of our own metadata is one JSON object under one key, because a file with several keys would list them in
//! random order, and the same run would not give the same bytes.

use super::write_whole;
use crate::error::Error;
use crate::error::Result;
use safetensors::Dtype;
use safetensors::SafeTensors;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::Path;

/// The key of our metadata.
pub(super) const KEY: &str = "onebasin";

/// Name, type and shape of a tensor to be written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
}

impl Entry {
    pub(super) fn floats(name: String, shape: Vec<usize>) -> Self {
        Self { name, dtype: Dtype::F32, shape }
    }

    fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

/// Writes a file of these tensors; `fill` writes the values of each in turn, little-endian.
pub(super) fn write(
    path: &Path,
    metadata: &impl Serialize,
    entries: &[Entry],
    mut fill: impl FnMut(usize, &mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut header = serde_json::Map::new();
    let metadata = serde_json::to_string(metadata).expect("metadata is plain data");
    header.insert("__metadata__".to_owned(), serde_json::json!({ KEY: metadata }));
    let mut at = 0;
    for entry in entries {
        let end = at + entry.bytes();
        let description = serde_json::json!({ "dtype": entry.dtype, "shape": entry.shape, "data_offsets": [at, end] });
        header.insert(entry.name.clone(), description);
        at = end;
    }
    let mut header = serde_json::to_string(&header).expect("a header is plain data").into_bytes();
    // Spaces, so that the values begin at a multiple of eight bytes.
    header.resize(header.len().next_multiple_of(8), b' ');
    write_whole(path, |file| {
        let written = file.write_all(&(header.len() as u64).to_le_bytes()).and_then(|()| file.write_all(&header));
        written.map_err(|error| Error::file(path, &error))?;
        (0..entries.len()).try_for_each(|index| fill(index, file))
    })
}

/// Writes values in the file's byte order.
pub(super) fn put_floats(path: &Path, file: &mut dyn Write, values: &[f32]) -> Result<()> {
    for part in values.chunks(1 << 14) {
        let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes).map_err(|error| Error::file(path, &error))?;
    }
    Ok(())
}

/// A whole file in memory.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
}

impl<'a> Bytes<'a> {
    pub(super) fn read(path: &'a Path) -> Result<Self> {
        Ok(Self { path, bytes: std::fs::read(path).map_err(|error| Error::file(path, &error))? })
    }

    pub(super) fn tensors(&self) -> Result<SafeTensors<'_>> {
        SafeTensors::deserialize(&self.bytes)
            .map_err(|error| self.unreadable(&format!("it is not a whole safetensors file ({error})")))
    }

    /// Our metadata.
    pub(super) fn metadata<T: DeserializeOwned>(&self) -> Result<T> {
        let header = SafeTensors::read_metadata(&self.bytes);
        let (_, header) = header.map_err(|error| self.unreadable(&format!("its header is damaged ({error})")))?;
        let text = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
        let text =
            text.ok_or_else(|| self.unreadable("it was not written by onebasin: its metadata has no `onebasin`"))?;
        serde_json::from_str(text).map_err(|error| self.unreadable(&format!("its metadata is damaged: {error}")))
    }

    /// The values of an f32 tensor of this shape.
    pub(super) fn floats(&self, tensors: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let bytes = self.raw(tensors, name, Dtype::F32, shape)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
    }

    /// The bytes of a tensor of this type and shape.
    pub(super) fn raw<'b>(
        &self,
        tensors: &SafeTensors<'b>,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<&'b [u8]> {
        let view = tensors.tensor(name).map_err(|_| self.unreadable(&format!("it has no tensor `{name}`")))?;
        if view.dtype() != dtype || view.shape() != shape {
            let (got_type, got) = (view.dtype(), view.shape());
            return Err(self
                .unreadable(&format!("tensor `{name}` is {got_type:?} {got:?}, but {dtype:?} {shape:?} is expected")));
        }
        Ok(view.data())
    }

    pub(super) fn unreadable(&self, reason: &str) -> Error {
        Error::File { path: self.path.to_owned(), reason: reason.to_owned() }
    }
}
