//! Gives every tensor and every scalar of a pickle its dotted name.

use super::globals::{self, Meaning, meaning};
use super::tensor::Storages;
use crate::contents::{Contents, Scalar};
use crate::error::{Error, Result};
use crate::pickle::{Call, Id, Pickle, Value};
use std::path::Path;

/// The name of a tensor that is the whole checkpoint.
const ONLY: &str = "tensor";
/// Deepest nesting of dictionaries and lists.
const DEEPEST: usize = 200;
/// Bytes of names and visits of values per byte of the pickle; sharing and nesting make more of them than there are bytes.
const PER_BYTE: usize = 128;
/// The same for small pickles.
const AT_LEAST: usize = 1 << 20;
/// Members of a module that its names leave out, as those of `state_dict()` do.
const TRANSPARENT: &[&str] = &["_parameters", "_buffers", "_modules"];

pub(super) struct Walk<'a, 'b> {
    path: &'a Path,
    pickle: &'a Pickle<'a>,
    storages: &'a mut Storages<'b>,
    /// The name of the value at hand.
    name: String,
    /// The containers that the value at hand lies in.
    above: Vec<Id>,
    /// What may still be visited and named.
    left: usize,
    found: Contents,
}

impl<'a, 'b> Walk<'a, 'b> {
    pub(super) fn new(path: &'a Path, pickle: &'a Pickle<'a>, storages: &'a mut Storages<'b>) -> Self {
        let left = pickle.len.saturating_mul(PER_BYTE).max(AT_LEAST);
        Self { path, pickle, storages, name: String::new(), above: Vec::new(), left, found: Contents::default() }
    }

    /// Tensors with their locations, metadata and foreign names; storages and sources are the caller's.
    pub(super) fn contents(mut self) -> Result<Contents> {
        let values = (0..self.pickle.values.len()).filter_map(|id| self.pickle.global(id as Id));
        self.found.foreign = globals::sort(values).map_err(|global| {
            let what = format!("its pickle calls `{global}`, which no checkpoint needs and which would run code");
            Error::unsupported(self.path, what, "do not open it in Python; get the checkpoint from another source")
        })?;
        self.visit(self.pickle.root)?;
        Ok(self.found)
    }

    fn visit(&mut self, id: Id) -> Result<()> {
        self.spend(1 + self.name.len())?;
        let scalar = match self.pickle.value(id) {
            Value::Bool(value) => Scalar::Bool(*value),
            Value::Int(value) => Scalar::Int(*value),
            Value::Float(value) => Scalar::Float(*value),
            Value::Text(range) => {
                self.spend(range.len())?;
                Scalar::Text(self.pickle.slice(range))
            }
            Value::Tuple(_) | Value::List(_) | Value::Dict(_) | Value::Call(_) => return self.enter(id),
            Value::None | Value::Opaque | Value::Global(..) | Value::Persistent(_) => return Ok(()),
        };
        self.found.metadata.entry(self.name.clone()).or_insert(scalar);
        Ok(())
    }

    fn spend(&mut self, cost: usize) -> Result<()> {
        let left = self.left.checked_sub(cost);
        self.left = left.ok_or_else(|| {
            Error::damaged(self.path, "the pickle", "names its values so often that they cannot be listed")
        })?;
        Ok(())
    }

    /// Visits what a value contains, unless the value contains itself.
    fn enter(&mut self, id: Id) -> Result<()> {
        if self.above.contains(&id) {
            return Ok(());
        }
        if self.above.len() == DEEPEST {
            return Err(Error::damaged(self.path, "the pickle", format!("is nested more than {DEEPEST} times")));
        }
        self.above.push(id);
        let pickle = self.pickle;
        match pickle.value(id) {
            Value::Tuple(items) | Value::List(items) => self.items(items)?,
            Value::Dict(members) => self.members(members, false)?,
            Value::Call(call) => self.call(call)?,
            _ => {}
        }
        self.above.pop();
        Ok(())
    }

    fn items(&mut self, items: &[Id]) -> Result<()> {
        items.iter().enumerate().try_for_each(|(index, item)| self.member(&index.to_string(), *item))
    }

    /// Visits the members of a dictionary, or those of a module.
    fn members(&mut self, members: &[(Id, Id)], of_module: bool) -> Result<()> {
        for (key, value) in members {
            self.spend(1)?;
            let key = match self.pickle.value(*key) {
                Value::Text(range) => {
                    self.spend(range.len())?;
                    self.pickle.slice(range)
                }
                Value::Int(value) => value.to_string(),
                Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
                Value::None => "None".to_owned(),
                Value::Float(value) => format!("{value:?}"),
                // Tuples and objects as keys have no names; their values are kept as they are.
                _ => continue,
            };
            if of_module && TRANSPARENT.contains(&key.as_str()) {
                self.visit(*value)?;
            } else if !of_module || !key.starts_with('_') {
                self.member(&key, *value)?;
            }
        }
        Ok(())
    }

    fn member(&mut self, key: &str, value: Id) -> Result<()> {
        let len = self.name.len();
        if !self.name.is_empty() {
            self.name.push('.');
        }
        self.name.push_str(key);
        self.visit(value)?;
        self.name.truncate(len);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        let name = if self.name.is_empty() { ONLY } else { &self.name };
        if let Some(tensor) = self.storages.tensor(self.pickle, call, name)? {
            self.found.push(name.to_owned(), tensor.shape, tensor.dtype, tensor.location);
            return Ok(());
        }
        let pickle = self.pickle;
        let global = pickle.global(call.function).unwrap_or_default();
        let arguments = pickle.items(call.arguments).unwrap_or_default();
        if meaning(&global) == Meaning::Foreign {
            self.spend(global.len())?;
            self.found.classes.insert(self.name.clone(), global.clone());
        }
        match (meaning(&global), arguments) {
            // `OrderedDict([("a", 1)])`, `dict({"a": 1})`, and `defaultdict(factory, {...})`, which is not written so.
            (Meaning::Dict, [first, ..]) => match pickle.value(*first) {
                Value::Dict(members) => self.members(members, false)?,
                Value::List(items) | Value::Tuple(items) => {
                    self.spend(items.len())?;
                    let pairs = items.iter().filter_map(|pair| <[Id; 2]>::try_from(pickle.items(*pair)?).ok());
                    let pairs: Vec<(Id, Id)> = pairs.map(|[key, value]| (key, value)).collect();
                    self.members(&pairs, false)?;
                }
                _ => {}
            },
            (Meaning::Sequence, [first]) => self.visit(*first)?,
            _ => {}
        }
        self.members(&call.members, false)?;
        self.items(&call.items)?;
        if let Some(Value::Dict(state)) = call.state.map(|state| pickle.value(state)) {
            let is_module =
                |(key, _): &(Id, Id)| pickle.name(*key).is_some_and(|key| TRANSPARENT.contains(&key.as_str()));
            // What is set on a dictionary, as torch sets `_metadata`, is not one of its members.
            if meaning(&global) != Meaning::Dict {
                self.members(state, state.iter().any(is_module))?;
            }
        }
        Ok(())
    }
}
