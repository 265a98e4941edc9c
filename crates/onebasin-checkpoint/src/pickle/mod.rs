//! Pickles as plain data: a call is kept as the names of its function and its arguments, and nothing is ever executed.

mod input;
mod machine;

pub use machine::read;

use std::ops::Range;

/// Index of a value of a [`Pickle`].
pub type Id = u32;

/// A value of a pickle; containers name their members by index, because values are shared and may contain themselves.
#[derive(Debug, PartialEq)]
pub enum Value {
    /// `None` of Python.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A number.
    Float(f64),
    /// Where the text lies in the pickle.
    Text(Range<usize>),
    /// Bytes, sets and integers of more than 64 bits, which nothing here needs.
    Opaque,
    /// A tuple.
    Tuple(Vec<Id>),
    /// A list.
    List(Vec<Id>),
    /// A dictionary: keys and values, in order.
    Dict(Vec<(Id, Id)>),
    /// Where the names of a module and of a class or function in it lie in the pickle.
    Global(Range<usize>, Range<usize>),
    /// What the pickle says about an object that is stored outside of it.
    Persistent(Id),
    /// What a function or class would make.
    Call(Box<Call>),
}

/// An object that a function or class would make.
#[derive(Debug, PartialEq)]
pub struct Call {
    /// The function or class.
    pub function: Id,
    /// Its arguments, a tuple.
    pub arguments: Id,
    /// What is set after it was made.
    pub state: Option<Id>,
    /// Members that are set after it was made, if it is like a dictionary.
    pub members: Vec<(Id, Id)>,
    /// Members that are appended after it was made, if it is like a list.
    pub items: Vec<Id>,
}

/// What is wrong with a pickle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It needs more bytes than there are.
    #[error("the pickle ends early")]
    Ended,
    /// What is wrong, and where.
    #[error("the pickle {0}")]
    Wrong(String),
}

/// A pickle that was read.
#[derive(Debug)]
pub struct Pickle<'a> {
    bytes: &'a [u8],
    /// All values.
    pub values: Vec<Value>,
    /// The value that the pickle is.
    pub root: Id,
    /// Bytes of the pickle.
    pub len: usize,
}

impl Pickle<'_> {
    /// The value of this index.
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    /// The text of a value, if it is one that can be a name.
    pub fn name(&self, id: Id) -> Option<String> {
        match self.value(id) {
            Value::Text(range) if range.len() <= machine::LONGEST_NAME => Some(self.slice(range)),
            _ => None,
        }
    }

    /// The text in a range of the pickle; what is no UTF-8 is replaced.
    pub fn slice(&self, range: &Range<usize>) -> String {
        String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned()
    }

    /// The module and the name of a class or function, joined by a dot.
    pub fn global(&self, id: Id) -> Option<String> {
        match self.value(id) {
            Value::Global(module, name) => Some(format!("{}.{}", self.slice(module), self.slice(name))),
            _ => None,
        }
    }

    /// The members of a tuple or list.
    pub fn items(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The integer of a value.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.value(id) {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }
}
