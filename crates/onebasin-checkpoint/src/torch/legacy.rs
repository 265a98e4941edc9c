//! Reads checkpoints of torch before 1.6: five pickles in a row, then the bytes of each storage.

use super::tensor::{Found, Storages, described};
use super::walk::Walk;
use crate::contents::{Contents, Place, Source};
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::pickle::{self, Fault, Id, Pickle, Value};
use std::collections::BTreeMap;

/// The pickle of the number that such files begin with.
const MAGIC: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e";
/// Bytes that are read first; pickles that are longer are read again.
const FIRST: u64 = 1 << 16;
/// Longest pickle.
const LONGEST: u64 = 1 << 30;

pub(crate) fn begins(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

pub(crate) fn read(file: Positioned) -> Result<Contents> {
    let mut at = MAGIC.len() as u64;
    // The version of the format, which has always been the same.
    with_pickle(&file, &mut at, |_| Ok(()))?;
    let big_endian = with_pickle(&file, &mut at, |system| {
        let Value::Dict(members) = system.value(system.root) else { return Ok(false) };
        let order = members.iter().find(|(key, _)| system.name(*key).as_deref() == Some("little_endian"));
        Ok(order.is_some_and(|(_, little)| *system.value(*little) == Value::Bool(false)))
    })?;
    let object = at;
    // Only after the object are the storages, and only it says how long their elements are.
    let sizes = with_pickle(&file, &mut at, |object| {
        let all = (0..object.values.len()).filter_map(|id| described(object, id as Id)?.ok());
        Ok(all.map(|storage| (storage.key, storage.dtype.size().unwrap_or(1) as u64)).collect::<BTreeMap<_, _>>())
    })?;
    let keys = with_pickle(&file, &mut at, |keys| {
        let items = keys.items(keys.root).unwrap_or_default();
        Ok(items.iter().filter_map(|key| keys.name(*key)).collect::<Vec<_>>())
    })?;
    let mut places = BTreeMap::new();
    for key in keys {
        let field = format!("storage `{key}`");
        let count = file.read_vec(&field, at, 8)?;
        let count = u64::from_le_bytes(count.try_into().expect("eight bytes were read"));
        let count = if big_endian { count.swap_bytes() } else { count };
        let size =
            *sizes.get(&key).ok_or_else(|| Error::damaged(&file.path, &field, "is in the file, but in no tensor"))?;
        let start = at + 8;
        let end = count.checked_mul(size).and_then(|len| start.checked_add(len)).filter(|end| *end <= file.len);
        let end = end.ok_or_else(|| {
            Error::damaged(&file.path, &field, format!("claims {count} elements, more than the file has"))
        })?;
        if places.insert(key, Found { place: Place::Plain(start), len: end - start }).is_some() {
            return Err(Error::damaged(&file.path, field, "is in the file twice"));
        }
        at = end;
    }
    let find = |key: &str| {
        let found = places.get(key).copied();
        found.ok_or_else(|| Error::damaged(&file.path, format!("storage `{key}`"), "is not in the file"))
    };
    let mut storages = Storages::new(&file.path, &find, big_endian);
    let mut at = object;
    let mut contents = with_pickle(&file, &mut at, |object| Walk::new(&file.path, object, &mut storages).contents())?;
    contents.storages = storages.into_storages();
    super::refuse_only_foreign(&file.path, &contents)?;
    contents.sources.push(Source { file, archive: None });
    Ok(contents)
}

/// Reads the pickle at a place, and moves the place behind it.
fn with_pickle<T>(file: &Positioned, at: &mut u64, understand: impl FnOnce(&Pickle<'_>) -> Result<T>) -> Result<T> {
    let left = file.len.saturating_sub(*at).min(LONGEST);
    let mut len = FIRST.min(left);
    loop {
        let bytes = file.read_vec("a pickle", *at, len)?;
        match pickle::read(&bytes) {
            Ok(pickle) => {
                *at += pickle.len as u64;
                return understand(&pickle);
            }
            Err(Fault::Ended) if len < left => len = len.saturating_mul(4).min(left),
            Err(Fault::Ended) => return Err(Error::damaged(&file.path, "a pickle", "ends early")),
            Err(Fault::Wrong(reason)) => return Err(Error::damaged(&file.path, "a pickle", reason)),
        }
    }
}
