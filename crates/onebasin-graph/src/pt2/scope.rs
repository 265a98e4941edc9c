//! The tensors of the file by name while nodes are translated: their values, and who shares memory with whom.

use std::collections::BTreeMap;

use super::call::Operand;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;

/// More writes than anybody makes into a memory between two reads of another view of it.
const MOST_WRITES: usize = 256;

/// A tensor of the file.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Its value; none if it has no entries.
    pub(super) value: Option<ValueId>,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: i64,
    /// The memories that it may be in; views of a tensor share them.
    pub(super) memories: Vec<usize>,
    /// The tensor of the checkpoint that it is, or is a view of.
    pub(super) tensor: Option<String>,
    /// The write, of all, that its value has seen last.
    pub(super) seen: usize,
}

/// All tensors that are known so far. A name inside of a region is prefixed by the name of the region.
#[derive(Debug, Default)]
pub(super) struct Scope {
    held: BTreeMap<String, Held>,
    /// The writes into each memory: their number among all, and what was written if it is a value.
    memories: Vec<Vec<(usize, Option<ValueId>)>>,
    writes: usize,
}

impl Scope {
    /// Memory that nobody shares.
    pub(super) fn fresh(&mut self) -> usize {
        self.memories.push(Vec::new());
        self.memories.len() - 1
    }

    /// Number of writes so far.
    pub(super) fn writes(&self) -> usize {
        self.writes
    }

    /// Names a tensor; false if the name is taken.
    pub(super) fn define(&mut self, name: String, held: Held) -> bool {
        match self.held.entry(name) {
            std::collections::btree_map::Entry::Occupied(_) => false,
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(held);
                true
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Held> {
        self.held.get(name)
    }

    /// The operand that a name stands for now; none if nobody defined it.
    ///
    /// Where its memory was written by another name, its value is one that nothing is known of.
    pub(super) fn read(&mut self, builder: &mut Builder, name: &str) -> Result<Option<Operand>> {
        let Some(held) = self.held.get_mut(name) else { return Ok(None) };
        let mut written = Vec::new();
        for memory in &held.memories {
            let new = self.memories[*memory].iter().rev().take_while(|(write, _)| *write > held.seen);
            written.extend(new.take(MOST_WRITES + 1).copied());
        }
        if written.len() > MOST_WRITES {
            return Err(builder.error(format!("more than {MOST_WRITES} operators write into the memory of `{name}`")));
        }
        if let (Some(value), false) = (held.value, written.is_empty()) {
            let inputs: Vec<ValueId> = [value].into_iter().chain(written.into_iter().filter_map(|(_, value)| value)).collect();
            held.value = Some(builder.opaque(&inputs, std::slice::from_ref(&held.shape))?[0]);
            held.tensor = None;
        }
        held.seen = self.writes;
        Ok(Some(Operand { value: held.value, dtype: held.dtype }))
    }

    /// A name was overwritten: it is another value now, and those who share its memory may be.
    ///
    /// Without a value, nothing is known of what it is now.
    pub(super) fn write(&mut self, name: &str, written: Option<(ValueId, &[usize])>) {
        let Some(held) = self.held.get_mut(name) else { return };
        self.writes += 1;
        if let Some((value, shape)) = written {
            held.value = Some(value);
            held.shape = shape.to_vec();
            held.tensor = None;
            held.seen = self.writes;
        }
        for memory in &held.memories {
            self.memories[*memory].push((self.writes, written.map(|(value, _)| value)));
        }
    }
}
