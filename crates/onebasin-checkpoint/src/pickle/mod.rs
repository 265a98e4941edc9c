//! Pickles as plain data: a call is kept as the names of its function and its arguments, and nothing is ever executed.

mod input;
mod machine;

pub(crate) use machine::read;

use std::ops::Range;

/// Index of a value of a [`Pickle`].
pub(crate) type Id = u32;

/// A value of a pickle; containers name their members by index, because values are shared and may contain themselves.
#[derive(Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Where the text lies in the pickle.
    Text(Range<usize>),
    /// Bytes, sets and integers of more than 64 bits, which nothing here needs.
    Opaque,
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// Where the names of a module and of a class or function in it lie in the pickle.
    Global(Range<usize>, Range<usize>),
    /// What the pickle says about an object that is stored outside of it.
    Persistent(Id),
    Call(Box<Call>),
}

/// An object that a function or class would make.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) function: Id,
    pub(crate) arguments: Id,
    /// What is set after it was made.
    pub(crate) state: Option<Id>,
    /// Members that are set after it was made, if it is like a dictionary.
    pub(crate) members: Vec<(Id, Id)>,
    /// Members that are appended after it was made, if it is like a list.
    pub(crate) items: Vec<Id>,
}

/// What is wrong with a pickle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It needs more bytes than there are.
    Ended,
    /// What is wrong, and where.
    Wrong(String),
}

/// A pickle that was read.
#[derive(Debug)]
pub(crate) struct Pickle<'a> {
    bytes: &'a [u8],
    pub(crate) values: Vec<Value>,
    pub(crate) root: Id,
    /// Bytes of the pickle.
    pub(crate) len: usize,
}

impl Pickle<'_> {
    pub(crate) fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    /// The text of a value, if it is one that can be a name.
    pub(crate) fn name(&self, id: Id) -> Option<String> {
        match self.value(id) {
            Value::Text(range) if range.len() <= machine::LONGEST_NAME => Some(self.slice(range)),
            _ => None,
        }
    }

    pub(crate) fn slice(&self, range: &Range<usize>) -> String {
        String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned()
    }

    /// The module and the name of a class or function, joined by a dot.
    pub(crate) fn global(&self, id: Id) -> Option<String> {
        match self.value(id) {
            Value::Global(module, name) => Some(format!("{}.{}", self.slice(module), self.slice(name))),
            _ => None,
        }
    }

    pub(crate) fn items(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn int(&self, id: Id) -> Option<i64> {
        match self.value(id) {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }
}
