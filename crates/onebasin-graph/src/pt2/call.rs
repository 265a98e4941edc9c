//! A node of the file with its arguments looked up, as translations of operators read it.

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::graph::ValueId;

/// A tensor that a node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// Its value; none if it has no entries.
    pub(super) value: Option<ValueId>,
    /// The type of its numbers.
    pub(super) dtype: i64,
}

/// An argument.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Nothing,
    Tensor(Operand),
    Tensors(Vec<Option<Operand>>),
    Integer(i64),
    Integers(Vec<i64>),
    Number(f64),
    Numbers(Vec<f64>),
    Truth(bool),
    Text(String),
    /// One that no translation reads; tensors in it are found in `Call::values`.
    Other,
}

/// A tensor that a node computes, as the file declares it.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: i64,
    /// Whether anybody reads it.
    pub(super) read: bool,
}

/// A node: an operator, its arguments, and what it computes.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Name without overload, and without the `_` of operators that overwrite their operand.
    pub(super) operator: String,
    pub(super) overload: String,
    pub(super) arguments: Vec<(String, Given)>,
    /// All tensors with entries that it reads, in order, including those of lists.
    pub(super) values: Vec<ValueId>,
    pub(super) outputs: Vec<Output>,
    /// How many entries of constants may be kept.
    pub(super) room: usize,
}

impl Call {
    fn fault(&self, argument: &str, fault: &str) -> Error {
        Error::new(self.operator.clone(), format!("its argument `{argument}` {fault}"))
    }

    /// An argument, if it is given.
    pub(super) fn given(&self, name: &str) -> Option<&Given> {
        let found = self.arguments.iter().find(|(own, _)| own == name).map(|(_, given)| given);
        found.filter(|given| !matches!(given, Given::Nothing))
    }

    /// The first tensor, which most operators are about.
    pub(super) fn operand(&self) -> Result<Operand> {
        let tensor = |given: &Given| if let Given::Tensor(operand) = given { Some(*operand) } else { None };
        self.arguments.iter().find_map(|(_, given)| tensor(given)).ok_or_else(|| self.fault("self", "is no tensor"))
    }

    pub(super) fn first(&self) -> Result<ValueId> {
        self.operand()?.value.ok_or_else(|| self.fault("self", "has no entries"))
    }

    pub(super) fn tensor(&self, name: &str) -> Result<ValueId> {
        self.optional(name)?.ok_or_else(|| self.fault(name, "is missing"))
    }

    pub(super) fn optional(&self, name: &str) -> Result<Option<ValueId>> {
        match self.given(name) {
            None => Ok(None),
            Some(Given::Tensor(Operand { value: Some(value), .. })) => Ok(Some(*value)),
            Some(_) => Err(self.fault(name, "is no tensor with entries")),
        }
    }

    /// Some tensors that may each be missing.
    pub(super) fn some(&self, names: &[&str]) -> Result<Vec<ValueId>> {
        Ok(names.iter().map(|name| self.optional(name)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// A list of tensors, without those that have no entries.
    pub(super) fn tensors(&self, name: &str) -> Result<Vec<ValueId>> {
        match self.given(name) {
            Some(Given::Tensors(tensors)) => Ok(tensors.iter().flatten().filter_map(|operand| operand.value).collect()),
            _ => Err(self.fault(name, "is no list of tensors")),
        }
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64> {
        match self.given(name) {
            None => Ok(default),
            Some(Given::Integer(number)) => Ok(*number),
            Some(Given::Integers(numbers)) if numbers.len() == 1 => Ok(numbers[0]),
            Some(_) => Err(self.fault(name, "is no integer that is known")),
        }
    }

    pub(super) fn size(&self, name: &str, default: usize) -> Result<usize> {
        let number = self.integer(name, default as i64)?;
        usize::try_from(number).map_err(|_| self.fault(name, "is negative"))
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool> {
        match self.given(name) {
            None => Ok(false),
            Some(Given::Truth(truth)) => Ok(*truth),
            Some(_) => Err(self.fault(name, "is neither true nor false")),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        if let Some(Given::Text(text)) = self.given(name) { Some(text) } else { None }
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match self.given(name) {
            Some(Given::Number(number)) => Some(*number),
            Some(Given::Integer(number)) => Some(*number as f64),
            Some(Given::Truth(truth)) => Some(f64::from(u8::from(*truth))),
            _ => None,
        }
    }

    /// A list of integers, or one.
    pub(super) fn integers(&self, name: &str) -> Result<Option<Vec<i64>>> {
        match self.given(name) {
            None => Ok(None),
            Some(Given::Integer(number)) => Ok(Some(vec![*number])),
            Some(Given::Integers(numbers)) => Ok(Some(numbers.clone())),
            // An empty list may have any type.
            Some(Given::Tensors(tensors)) if tensors.is_empty() => Ok(Some(Vec::new())),
            Some(Given::Numbers(numbers)) if numbers.is_empty() => Ok(Some(Vec::new())),
            Some(_) => Err(self.fault(name, "is no list of integers that are known")),
        }
    }

    /// An axis of so many, where negative ones count from behind.
    pub(super) fn axis(&self, name: &str, default: i64, axes: usize) -> Result<usize> {
        let axis = self.integer(name, default)?;
        normalise(axis, axes).ok_or_else(|| self.fault(name, &format!("is {axis}, no axis of {axes}")))
    }

    /// Axes of so many; all if none is given.
    pub(super) fn axes(&self, name: &str, axes: usize) -> Result<Vec<usize>> {
        match self.integers(name)? {
            Some(own) if !own.is_empty() => {
                let axis = |axis| normalise(axis, axes).ok_or_else(|| self.fault(name, &format!("has {axis}, no axis of {axes}")));
                own.into_iter().map(axis).collect()
            }
            _ => Ok((0..axes).collect()),
        }
    }

    /// The declared shape of an output.
    pub(super) fn shape(&self, output: usize) -> Result<&[usize]> {
        match self.outputs.get(output) {
            Some(output) => Ok(&output.shape),
            None => Err(Error::new(self.operator.clone(), format!("it has no output {output}"))),
        }
    }

    /// An operation on corresponding entries of the first tensor that gives an array of the declared shape.
    pub(super) fn same(&self, builder: &mut Builder, value: ValueId) -> Result<ValueId> {
        builder.broadcast(&[value], self.shape(0)?)
    }
}

fn normalise(axis: i64, axes: usize) -> Option<usize> {
    // A scalar has the axes 0 and -1 in PyTorch; none of them is one here.
    let axis = if axis < 0 { axis.checked_add(axes as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < axes)
}
