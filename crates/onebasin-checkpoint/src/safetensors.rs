//! Reads the header of a safetensors file.

use crate::contents::{Contents, Location, Place, Scalar, Source, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::json::Members;
use crate::view::{View, byte_count};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Longest header, which is also the limit of the reference implementation.
const LONGEST_HEADER: u64 = 100_000_000;
/// The member of the header that is not a tensor.
const METADATA: &str = "__metadata__";

/// A member of the header.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a tensor has a dtype, a shape and two data_offsets; metadata are texts")]
enum Member {
    Tensor { dtype: String, shape: Vec<usize>, data_offsets: [u64; 2] },
    Metadata(Members<String>),
}

/// Whether a file begins like one of this format.
pub(crate) fn begins(start: &[u8], len: u64) -> bool {
    let Some((size, rest)) = start.split_first_chunk() else { return false };
    let size = u64::from_le_bytes(*size);
    rest.first() == Some(&b'{') && (size < LONGEST_HEADER || size < len)
}

pub(crate) fn read(file: Positioned) -> Result<Contents> {
    let mut contents = Contents::default();
    add(&mut contents, file)?;
    Ok(contents)
}

/// Adds the tensors of a file, in the order of their bytes.
pub(crate) fn add(contents: &mut Contents, file: Positioned) -> Result<()> {
    let damaged = |field: &str, fault: String| Error::damaged(&file.path, field, fault);
    let size = file.read_vec("the length of the header", 0, 8)?;
    let size = u64::from_le_bytes(size.try_into().expect("eight bytes were read"));
    if size > LONGEST_HEADER {
        return Err(damaged("the header", format!("claims {size} bytes, more than the {LONGEST_HEADER} allowed")));
    }
    let header = file.read_vec("the header", 8, size)?;
    let Members(members) = serde_json::from_slice::<Members<Member>>(&header)
        .map_err(|error| damaged("the header", format!("cannot be read ({error})")))?;
    let start = 8 + size;
    let len = file.len - start;

    let mut found = Vec::new();
    for (name, member) in members {
        let field = format!("tensor `{name}`");
        match member {
            Member::Metadata(Members(metadata)) if name == METADATA => {
                contents.metadata.extend(metadata.into_iter().map(|(key, value)| (key, Scalar::Text(value))));
            }
            Member::Tensor { dtype, shape, data_offsets: [begin, end] } if name != METADATA => {
                let dtype = DType::of_safetensors(&dtype);
                let bytes = end.checked_sub(begin).filter(|_| end <= len);
                let bytes = bytes.ok_or_else(|| damaged(&field, format!("has the bytes {begin} to {end} of {len}")))?;
                let expected = dtype.size().map(|size| byte_count(&shape, size));
                if expected.is_some_and(|expected| expected.map(|bytes| bytes as u64) != Some(bytes)) {
                    return Err(damaged(&field, format!("is {dtype} {shape:?}, but has {bytes} bytes")));
                }
                found.push((begin, end, name, shape, dtype));
            }
            _ => return Err(damaged(&field, "is described like metadata, or the other way round".to_owned())),
        }
    }
    found.sort_by_key(|(begin, end, ..)| (*begin, *end));
    let mut at = 0;
    for (begin, end, name, ..) in &found {
        if *begin != at {
            let fault = if *begin < at { "shares bytes with another tensor" } else { "follows bytes of no tensor" };
            return Err(damaged(&format!("tensor `{name}`"), fault.to_owned()));
        }
        at = *end;
    }
    if at != len {
        return Err(damaged("the data", format!("has {len} bytes, not the {at} of all tensors")));
    }

    let storage = contents.storages.len();
    contents.storages.push(Storage { source: contents.sources.len(), place: Place::Plain(start) });
    for (begin, end, name, shape, dtype) in found {
        let view = match dtype.size() {
            Some(size) => View::contiguous(&shape, false, begin, size, len),
            // Elements that are not whole bytes are moved as what they are: bytes.
            None => View::contiguous(&[(end - begin) as usize], false, begin, 1, len),
        };
        let view = view.map_err(|fault| damaged(&format!("tensor `{name}`"), fault))?;
        contents.push(name, shape, dtype, Location { storage, view });
    }
    contents.sources.push(Source { file, archive: None });
    Ok(())
}

/// Reads an index and the shards that it names, which lie beside it.
pub(crate) fn read_sharded(index: Positioned) -> Result<Contents> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        metadata: Members<serde_json::Value>,
        weight_map: Members<String>,
    }

    let path = index.path.clone();
    let damaged = |field: &str, fault: String| Error::damaged(&path, field, fault);
    if index.len > LONGEST_HEADER {
        let fix = "give a file of safetensors, PyTorch or NumPy, or the index of safetensors shards";
        return Err(Error::unsupported(&path, "it begins like JSON, but is too long for an index of shards", fix));
    }
    let bytes = index.read_vec("the index", 0, index.len)?;
    let Index { metadata, weight_map: Members(weight_map) } = serde_json::from_slice(&bytes).map_err(|error| {
        let what = format!("it begins like JSON, but is no index of shards ({error})");
        Error::unsupported(&path, what, "give the `*.safetensors.index.json`, or a file of tensors")
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut shards: Vec<&String> = weight_map.iter().map(|(_, shard)| shard).collect();
    shards.sort_unstable();
    shards.dedup();
    let mut all = Contents::default();
    all.sources.push(Source { file: index, archive: None });
    for shard in shards {
        let plain = Path::new(shard).file_name().is_some_and(|name| name == shard.as_str());
        if !plain || shard.contains(['/', '\\', ':', '\0']) {
            return Err(damaged(
                "`weight_map`",
                format!("names the shard `{shard}`, which is not in the folder of the index"),
            ));
        }
        let file = Positioned::open(&folder.join(shard))?;
        let start = file.read_vec("the beginning", 0, file.len.min(16))?;
        if !begins(&start, file.len) {
            let fix = "convert the model to safetensors, or give its shards one by one";
            return Err(Error::unsupported(&file.path, "this shard is not a safetensors file", fix));
        }
        let first = all.tensors.len();
        add(&mut all, file)?;
        // Tensors that the index has elsewhere, or not at all, are copied but not listed.
        let listed: BTreeSet<&String> = weight_map.iter().filter(|(_, of)| of == shard).map(|(name, _)| name).collect();
        let held: BTreeSet<&String> = all.tensors[first..].iter().map(|tensor| &tensor.name).collect();
        if let Some(missing) = listed.difference(&held).next() {
            return Err(damaged(
                "`weight_map`",
                format!("names the tensor `{missing}`, which `{shard}` does not have"),
            ));
        }
        let keep: Vec<bool> = all.tensors[first..].iter().map(|tensor| listed.contains(&tensor.name)).collect();
        let mut kept = std::iter::repeat_n(true, first).chain(keep.iter().copied());
        all.tensors.retain(|_| kept.next().unwrap_or(true));
        let mut kept = std::iter::repeat_n(true, first).chain(keep.iter().copied());
        all.locations.retain(|_| kept.next().unwrap_or(true));
    }
    for (key, value) in metadata.0 {
        let scalar = match value {
            serde_json::Value::Bool(value) => Scalar::Bool(value),
            serde_json::Value::String(value) => Scalar::Text(value),
            serde_json::Value::Number(value) if value.is_i64() => Scalar::Int(value.as_i64().unwrap_or_default()),
            serde_json::Value::Number(value) => Scalar::Float(value.as_f64().unwrap_or(f64::NAN)),
            _ => continue,
        };
        all.metadata.insert(key, scalar);
    }
    Ok(all)
}
