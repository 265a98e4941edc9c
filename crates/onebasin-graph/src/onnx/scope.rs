//! What is known of the values of an ONNX graph by their names, while it is translated.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::data::{Initializer, Source};
use super::entries::{Entries, count};
use super::names::looks_like_parameter;
use crate::build::Builder;
use crate::error::{Error, Result};
use crate::graph::ValueId;

/// Number of entries up to which a single constant is computed.
pub(super) const MOST_FOLDED: usize = 1 << 20;
/// Number of entries that all computed constants have together at most: 128 MB.
const MOST_ENTRIES: usize = 1 << 24;
/// Number of entries up to which the graph keeps those of a constant.
const MOST_KEPT: usize = 1 << 16;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// The initializer of this index.
    Initializer(usize),
    /// The constant of this index.
    Constant(usize),
    /// A value of the graph, and the tensor that it is a view of, if it is.
    Computed(ValueId, Option<String>),
    /// A list of values, by their names.
    List(Vec<String>),
}

/// A constant that was computed here.
#[derive(Debug)]
struct Constant {
    name: String,
    entries: Rc<Entries>,
    id: Option<ValueId>,
}

/// The values so far.
#[derive(Debug)]
pub(super) struct Scope {
    /// The model file.
    pub source: Source,
    /// The graph so far.
    pub builder: Builder,
    /// Initializers of the file, in its order, then those of branches.
    pub initializers: Vec<Initializer>,
    /// Names of floating-point initializers that are constants.
    unlearned: BTreeSet<String>,
    ids: Vec<Option<ValueId>>,
    read: BTreeMap<usize, Option<Rc<Entries>>>,
    values: BTreeMap<String, Known>,
    constants: Vec<Constant>,
    folded: usize,
}

impl Scope {
    /// No values, of a file.
    pub(super) fn new(source: Source, unlearned: BTreeSet<String>) -> Self {
        Self {
            source,
            unlearned,
            builder: Builder::default(),
            initializers: Vec::new(),
            ids: Vec::new(),
            read: BTreeMap::new(),
            values: BTreeMap::new(),
            constants: Vec::new(),
            folded: 0,
        }
    }

    /// Gives a value its name.
    pub(super) fn define(&mut self, name: &str, known: Known) -> Result<()> {
        if self.values.insert(name.to_owned(), known).is_some() {
            return Err(Error::new(format!("value `{name}`"), "two values have this name"));
        }
        Ok(())
    }

    /// Adds a tensor of the file.
    pub(super) fn add_initializer(&mut self, initializer: Initializer) -> Result<()> {
        let index = self.initializers.len();
        self.define(&initializer.name, Known::Initializer(index))?;
        self.initializers.push(initializer);
        self.ids.push(None);
        // Equal numbers under a made-up name are what an exporter computed, such as the zeros that a recurrent layer starts with.
        let name = &self.initializers[index].name;
        if !looks_like_parameter(name) && self.is_tensor(index) {
            let name = name.clone();
            let read = self.read_initializer(index, MOST_KEPT);
            if read.is_some_and(|entries| entries.is_uniform()) {
                self.unlearned.insert(name);
            }
        }
        Ok(())
    }

    /// Adds a constant. Refuses more entries than all constants of a network have.
    pub(super) fn add_constant(&mut self, name: &str, entries: Entries) -> Result<Known> {
        self.folded += entries.data.len();
        if self.folded > MOST_ENTRIES {
            return Err(Error::new(format!("value `{name}`"), "the constants of the network have too many entries"));
        }
        self.constants.push(Constant { name: name.to_owned(), entries: Rc::new(entries), id: None });
        Ok(Known::Constant(self.constants.len() - 1))
    }

    /// Whether a value has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// What is known of a value.
    pub(super) fn known(&self, name: &str) -> Result<&Known> {
        let fault = || self.builder.error(format!("it reads `{name}`, which nothing before it computes"));
        self.values.get(name).ok_or_else(fault)
    }

    /// The shape of a value.
    pub(super) fn shape(&self, name: &str) -> Result<Vec<usize>> {
        Ok(match self.known(name)? {
            Known::Initializer(index) => self.initializers[*index].shape.clone(),
            Known::Constant(index) => self.constants[*index].entries.shape.clone(),
            Known::Computed(id, _) => self.builder.shape(*id).to_vec(),
            Known::List(_) => return Err(self.builder.error(format!("it reads `{name}`, which is a list"))),
        })
    }

    /// The tensor of the checkpoint that a value is, or is a view of.
    pub(super) fn tensor(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            Known::Initializer(index) if self.is_tensor(*index) => Some(&self.initializers[*index].name),
            Known::Computed(_, tensor) => tensor.as_deref(),
            _ => None,
        }
    }

    /// The value in the graph; a tensor or constant that nothing read before is added to it.
    pub(super) fn id(&mut self, name: &str) -> Result<ValueId> {
        match self.known(name)?.clone() {
            Known::Computed(id, _) => Ok(id),
            Known::List(_) => Err(self.builder.error(format!("it reads `{name}`, which is a list"))),
            Known::Constant(index) => {
                let Constant { name, entries, id } = &self.constants[index];
                let (name, entries, id) = (name.clone(), entries.clone(), *id);
                let id = match id {
                    Some(id) => id,
                    None => self.constant(&name, &entries)?,
                };
                // Equal numbers are added anew each time, so that units that meet the same ones need not be permuted together.
                self.constants[index].id = Some(id).filter(|_| !entries.is_uniform());
                Ok(id)
            }
            Known::Initializer(index) => {
                if let Some(id) = self.ids[index] {
                    return Ok(id);
                }
                let is_tensor = self.is_tensor(index);
                let entries = if is_tensor { None } else { self.read_initializer(index, MOST_KEPT) };
                let Initializer { name, shape, .. } = &self.initializers[index];
                let id = match entries {
                    Some(entries) => {
                        let name = name.clone();
                        let id = self.constant(&name, &entries)?;
                        if entries.is_uniform() {
                            return Ok(id);
                        }
                        id
                    }
                    None if is_tensor => self.builder.tensor(name, shape)?,
                    None => self.builder.constant(name, shape, None)?,
                };
                self.ids[index] = Some(id);
                Ok(id)
            }
        }
    }

    fn constant(&mut self, name: &str, entries: &Entries) -> Result<ValueId> {
        match entries.data[..] {
            [number, _, ..] if entries.is_uniform() => self.builder.uniform(number, &entries.shape),
            _ => {
                let kept = Some(&entries.data).filter(|data| data.len() <= MOST_KEPT);
                self.builder.constant(name, &entries.shape, kept.cloned())
            }
        }
    }

    /// The entries of a value, if it is a constant whose entries are known.
    pub(super) fn entries(&mut self, name: &str) -> Result<Option<Rc<Entries>>> {
        Ok(match *self.known(name)? {
            Known::Constant(index) => Some(self.constants[index].entries.clone()),
            Known::Initializer(index) if !self.is_tensor(index) => self.read_initializer(index, MOST_FOLDED),
            _ => None,
        })
    }

    /// The same, and the entries of a small tensor too: scales, sizes and the like that are no parameters.
    pub(super) fn numbers(&mut self, name: &str) -> Result<Option<Rc<Entries>>> {
        match *self.known(name)? {
            Known::Initializer(index) => Ok(self.read_initializer(index, 1024)),
            _ => self.entries(name),
        }
    }

    /// Whether an initializer is a tensor of the checkpoint: floating-point numbers, more than one or with the name of a parameter.
    fn is_tensor(&self, index: usize) -> bool {
        let initializer = &self.initializers[index];
        let learned = initializer.len() > 1 || looks_like_parameter(&initializer.name);
        initializer.data_type.is_float() && learned && !self.unlearned.contains(&initializer.name)
    }

    fn read_initializer(&mut self, index: usize, most: usize) -> Option<Rc<Entries>> {
        let initializer = &self.initializers[index];
        count(&initializer.shape, most)?;
        if let Some(read) = self.read.get(&index) {
            return read.clone();
        }
        let room = MOST_ENTRIES.saturating_sub(self.folded);
        let entries = (initializer.len() <= room).then(|| initializer.read_f64().ok()).flatten().map(|data| {
            let (shape, data_type) = (initializer.shape.clone(), initializer.data_type);
            Entries { shape, data_type, data }
        });
        self.folded += entries.as_ref().map_or(0, |entries| entries.data.len());
        let entries = entries.filter(Entries::is_exact).map(Rc::new);
        self.read.insert(index, entries.clone());
        entries
    }
}
