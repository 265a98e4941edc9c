//! The safetensors format: a writer whose tensors are filled one after the other, and a checked reader.
//!
//! All of our own metadata is one JSON object under one key, because a file with several keys would list them in
//! random order, and the same run would not give the same bytes.

use super::write_whole;
use crate::error::{Error, Result};
use crate::keys::Members;
use crate::wording::plain;
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The key of our metadata.
const KEY: &str = "onebasin";
/// Why the lock of a file is never poisoned.
pub(super) const NO_PANIC: &str = "nobody panics while holding a file";

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
        written.map_err(|error| Error::file(path, error))?;
        (0..entries.len()).try_for_each(|index| fill(index, file))
    })
}

/// Writes values in the file's byte order.
pub(super) fn put_floats(path: &Path, file: &mut dyn Write, values: &[f32]) -> Result<()> {
    for part in values.chunks(1 << 14) {
        let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes).map_err(|error| Error::file(path, error))?;
    }
    Ok(())
}

/// Reads values that begin `at` bytes behind the beginning of a file.
pub(super) fn get_floats(path: &Path, file: &mut File, at: u64, out: &mut [f32]) -> Result<()> {
    let mut bytes = vec![0; 4 * out.len()];
    let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|error| Error::file(path, error))?;
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
    Ok(())
}

/// A file whose header was read and fits its length; values are read when they are asked for.
#[derive(Debug)]
pub(super) struct Tensors {
    path: PathBuf,
    file: Mutex<File>,
    header: Metadata,
    /// Where the values begin.
    start: u64,
}

impl Tensors {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let fault = |error: std::io::Error| Error::file(path, error);
        let unreadable = |reason: String| Error::File { path: path.to_owned(), reason };
        let mut file = File::open(path).map_err(fault)?;
        let len = file.metadata().map_err(fault)?.len();
        if len < 8 {
            let reason = if len == 0 { "the file is empty" } else { "the file is too short to be one of onebasin" };
            return Err(unreadable(reason.to_owned()));
        }
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(fault)?;
        // Nothing is allocated for a header that the file is too short for.
        let start = u64::from_le_bytes(size).checked_add(8).filter(|start| *start <= len);
        let start = start.ok_or_else(|| unreadable("it ends inside its header".to_owned()))?;
        let mut header = vec![0; (start - 8) as usize];
        file.read_exact(&mut header).map_err(fault)?;
        let Members(names) = serde_json::from_slice::<Members<IgnoredAny>>(&header)
            .map_err(|error| unreadable(format!("its header is damaged ({})", plain(&error.to_string()))))?;
        // A reader that took the first of two would see another file than one that took the last.
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = names.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(unreadable(format!("its header is damaged (`{twice}` is in it twice)")));
        }
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|error| unreadable(format!("its header is damaged ({})", plain(&error.to_string()))))?;
        if start.checked_add(header.data_len() as u64) != Some(len) {
            let (expected, got) = (header.data_len(), len - start);
            return Err(unreadable(format!("its values have {got} bytes, not the {expected} that its header says")));
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), header, start })
    }

    pub(super) fn metadata<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
        let text =
            text.ok_or_else(|| self.unreadable("it was not written by onebasin: its metadata has no `onebasin`"))?;
        serde_json::from_str(text)
            .map_err(|error| self.unreadable(&format!("its metadata is damaged: {}", plain(&error.to_string()))))
    }

    /// Names and shapes of all tensors, in the order of their values.
    pub(super) fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let shape = |name: &String| self.header.info(name).map_or_else(Vec::new, |info| info.shape.clone());
        self.header.offset_keys().into_iter().map(|name| (name.clone(), shape(&name))).collect()
    }

    /// Where the values of a tensor of this type and shape begin.
    pub(super) fn place(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<u64> {
        let info = self.header.info(name).ok_or_else(|| self.unreadable(&format!("it has no tensor `{name}`")))?;
        if info.dtype != dtype || info.shape != shape {
            let got = format!("{:?} {:?}", info.dtype, info.shape);
            return Err(self.unreadable(&format!("tensor `{name}` is {got}, but {dtype:?} {shape:?} is expected")));
        }
        Ok(self.start + info.data_offsets.0 as u64)
    }

    /// Reads as many values as `out` has from a place on.
    pub(super) fn floats_at(&self, place: u64, out: &mut [f32]) -> Result<()> {
        get_floats(&self.path, &mut self.file.lock().expect(NO_PANIC), place, out)
    }

    /// The values of an f32 tensor of this shape.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let place = self.place(name, Dtype::F32, shape)?;
        let mut values = vec![0.0; shape.iter().product()];
        self.floats_at(place, &mut values)?;
        Ok(values)
    }

    /// The values of an f64 tensor of one axis.
    pub(super) fn doubles(&self, name: &str, len: usize) -> Result<Vec<f64>> {
        let place = self.place(name, Dtype::F64, &[len])?;
        let mut bytes = vec![0; 8 * len];
        let mut file = self.file.lock().expect(NO_PANIC);
        let read = file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| Error::file(&self.path, error))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|value| f64::from_le_bytes(*value)).collect())
    }

    pub(super) fn unreadable(&self, reason: &str) -> Error {
        Error::File { path: self.path.clone(), reason: reason.to_owned() }
    }
}
