//! Tensors of a pickle: the storage, offset, shape and strides that its calls of `torch._utils` say.

use super::globals::{Meaning, meaning};
use crate::contents::{Location, Place, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::pickle::{Call, Id, Pickle, Value};
use crate::view::View;
use std::collections::BTreeMap;
use std::path::Path;

/// Where a storage is, and how many bytes it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) len: u64,
}

/// What to do with a file that is too old.
const FIX: &str = "save it again by a newer torch: `torch.save(torch.load(f, weights_only=True), f)`";

/// Sizes of a shape that are looked at; a shape that is too long by far can be that of many tensors.
const MOST_SIZES: usize = 1000;

/// Finds the bytes of a storage by its key.
type Find<'a> = &'a dyn Fn(&str) -> Result<Found>;

/// The storages that tensors were found to be views of.
pub(super) struct Storages<'a> {
    path: &'a Path,
    find: Find<'a>,
    big_endian: bool,
    /// Of each key, its index and length.
    by_key: BTreeMap<String, (usize, u64)>,
    found: Vec<Storage>,
}

/// A tensor without its name.
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
    pub(super) location: Location,
}

/// A storage as the pickle describes it.
pub(super) struct Described {
    pub(super) key: String,
    pub(super) dtype: DType,
    /// Elements that it claims.
    pub(super) count: u64,
    /// Whether it is part of another storage, which only very old files have.
    pub(super) is_part: bool,
}

impl<'a> Storages<'a> {
    pub(super) fn new(path: &'a Path, find: Find<'a>, big_endian: bool) -> Self {
        Self { path, find, big_endian, by_key: BTreeMap::new(), found: Vec::new() }
    }

    pub(super) fn into_storages(self) -> Vec<Storage> {
        self.found
    }

    /// The tensor that a call makes; none if it makes something else, or a tensor that is not a view of a storage.
    pub(super) fn tensor(&mut self, pickle: &Pickle<'_>, call: &Call, name: &str) -> Result<Option<Tensor>> {
        self.nested(pickle, call.function, call.arguments, name, 0)
    }

    fn nested(
        &mut self,
        pickle: &Pickle<'_>,
        function: Id,
        arguments: Id,
        name: &str,
        depth: usize,
    ) -> Result<Option<Tensor>> {
        let damaged = |fault: &str| Error::damaged(self.path, format!("tensor `{name}`"), fault);
        let Some(global) = pickle.global(function) else { return Ok(None) };
        let meaning = meaning(&global);
        let Some(items) = pickle.items(arguments) else { return Ok(None) };
        match meaning {
            Meaning::Tensor | Meaning::TypedTensor => {}
            _ if depth > 3 => return Err(damaged("is wrapped too often")),
            Meaning::Parameter => {
                let inner = items.first().map(|inner| pickle.value(*inner));
                let Some(Value::Call(inner)) = inner else { return Err(damaged("is a parameter without values")) };
                return self.nested(pickle, inner.function, inner.arguments, name, depth + 1);
            }
            Meaning::Subclass => {
                let [function, _, arguments, ..] = *items else { return Err(damaged("is a subclass of nothing")) };
                return self.nested(pickle, function, arguments, name, depth + 1);
            }
            _ => return Ok(None),
        }
        let [storage, offset, shape, strides, ..] = *items else {
            return Err(damaged("lacks a storage, an offset, a shape or strides"));
        };
        // The last argument of newer files marks views that negate or conjugate their values.
        let marks = if meaning == Meaning::Tensor { items.get(6) } else { items.get(7) };
        if let Some(Value::Dict(marks)) = marks.map(|marks| pickle.value(*marks))
            && marks.iter().any(|(_, mark)| *pickle.value(*mark) == Value::Bool(true))
        {
            let what = format!("tensor `{name}` is a view that negates or conjugates its values");
            return Err(Error::unsupported(self.path, what, "save it after `.resolve_conj().resolve_neg()`"));
        }
        let Some(described) = described(pickle, storage) else {
            return Err(damaged("does not name its storage"));
        };
        let described = described.map_err(|class| {
            let what = format!("tensor `{name}` has a storage of the class `{class}`, which is not known");
            Error::unsupported(self.path, what, "save it as a tensor of another type")
        })?;
        if described.is_part {
            let what = format!("tensor `{name}` has a storage that is part of another one");
            return Err(Error::unsupported(self.path, what, FIX));
        }
        let dtype = if meaning == Meaning::TypedTensor {
            let global = items.get(6).and_then(|dtype| pickle.global(*dtype)).unwrap_or_default();
            let known = global.strip_prefix("torch.").and_then(DType::of_torch);
            known.ok_or_else(|| {
                let what = format!("tensor `{name}` has elements of the type `{global}`, which is not known");
                Error::unsupported(self.path, what, "save it as a tensor of another type")
            })?
        } else {
            described.dtype.clone()
        };
        let sizes = |id: Id| -> Option<Vec<u64>> {
            let mut items = pickle.items(id);
            if let (None, Value::Call(call)) = (items, pickle.value(id)) {
                // `torch.Size((2, 3))`.
                items = pickle.items(call.arguments).and_then(|arguments| pickle.items(*arguments.first()?));
            }
            items
                .filter(|items| items.len() <= MOST_SIZES)?
                .iter()
                .map(|size| u64::try_from(pickle.int(*size)?).ok())
                .collect()
        };
        let (Some(shape), Some(strides)) = (sizes(shape), sizes(strides)) else {
            return Err(damaged("has a shape or strides that are not sizes"));
        };
        let shape: Option<Vec<usize>> = shape.into_iter().map(|size| usize::try_from(size).ok()).collect();
        let shape = shape.ok_or_else(|| damaged("has a shape that is too large"))?;
        let element = dtype.size().ok_or_else(|| damaged("has elements of an unknown size"))?;
        let offset = pickle.int(offset).and_then(|offset| u64::try_from(offset).ok());
        let offset = offset.and_then(|offset| offset.checked_mul(element as u64));
        let offset = offset.ok_or_else(|| damaged("has an offset that is not one"))?;
        let (storage, len) = self.storage(&described)?;
        let damaged = |fault: String| Error::damaged(self.path, format!("tensor `{name}`"), fault);
        let mut view = View::new(&shape, strides, offset, element, len).map_err(damaged)?;
        if self.big_endian {
            view = view.big_endian(dtype.swapped_bytes());
        }
        Ok(Some(Tensor { shape, dtype, location: Location { storage, view } }))
    }

    /// Index and claimed length of a storage.
    fn storage(&mut self, described: &Described) -> Result<(usize, u64)> {
        let Described { key, dtype, count, .. } = described;
        let damaged = |fault: String| Error::damaged(self.path, format!("storage `{key}`"), fault);
        let claimed = count.checked_mul(dtype.size().unwrap_or(1) as u64);
        let claimed = claimed.ok_or_else(|| damaged(format!("claims {count} elements")))?;
        if let Some((index, len)) = self.by_key.get(key) {
            if *len != claimed {
                return Err(damaged(format!("claims {claimed} bytes, and {len} elsewhere")));
            }
            return Ok((*index, *len));
        }
        let Found { place, len } = (self.find)(key)?;
        if claimed > len {
            return Err(damaged(format!("claims {claimed} bytes, but the file has {len} of it")));
        }
        let index = self.found.len();
        self.found.push(Storage { source: 0, place });
        self.by_key.insert(key.clone(), (index, claimed));
        Ok((index, claimed))
    }
}

/// The storage that a value stands for, or its class if that is not known; none if it stands for no storage.
pub(super) fn described(pickle: &Pickle<'_>, id: Id) -> Option<std::result::Result<Described, String>> {
    let Value::Persistent(id) = pickle.value(id) else { return None };
    let items = pickle.items(*id)?;
    let [kind, class, key, _, count, ..] = *items else { return None };
    if pickle.name(kind)? != "storage" {
        return None;
    }
    let class = pickle.global(class)?;
    let Some(dtype) = class.rsplit('.').next().and_then(DType::of_torch_storage) else { return Some(Err(class)) };
    let key = pickle.name(key).or_else(|| pickle.int(key).map(|key| key.to_string()))?;
    let count = u64::try_from(pickle.int(count)?).ok()?;
    let is_part = items.get(5).is_some_and(|part| *pickle.value(*part) != Value::None);
    Some(Ok(Described { key, dtype, count, is_part }))
}
