//! A node that is being translated: its inputs, its attributes, and what the file states of its outputs.

use std::rc::Rc;

use super::entries::Entries;
use super::proto::{Attribute, Node};
use super::scope::Scope;
use crate::error::{Error, Result};
use crate::graph::ValueId;

/// A node in its graph.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// All values so far.
    pub scope: &'a mut Scope,
    /// The node.
    pub node: &'a Node,
    /// Version of the set that its operator is from.
    pub version: i64,
    /// Shapes of its outputs, as far as the file states them.
    pub stated: Vec<Option<Vec<usize>>>,
}

/// The outputs of a node in the graph; none if the operator is not understood in this form.
pub(super) type Outputs = Result<Option<Vec<ValueId>>>;

/// A single output.
#[expect(clippy::unnecessary_wraps, reason = "it is what all operators return")]
pub(super) fn one(value: ValueId) -> Outputs {
    Ok(Some(vec![value]))
}

impl Call<'_> {
    /// An error of this node.
    pub(super) fn error(&self, fault: impl Into<String>) -> Error {
        self.scope.builder.error(fault)
    }

    /// Name of an input, if it has it.
    pub(super) fn name(&self, input: usize) -> Option<&str> {
        self.node.inputs.get(input).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Name of an input that it must have.
    fn needed(&self, input: usize) -> Result<&str> {
        self.name(input).ok_or_else(|| self.error(format!("input {input} is missing")))
    }

    /// An input that it must have.
    pub(super) fn input(&mut self, input: usize) -> Result<ValueId> {
        let name = self.needed(input)?.to_owned();
        self.scope.id(&name)
    }

    /// An input that may be missing.
    pub(super) fn optional(&mut self, input: usize) -> Result<Option<ValueId>> {
        if self.name(input).is_none() { Ok(None) } else { self.input(input).map(Some) }
    }

    /// All inputs that it has.
    pub(super) fn all(&mut self) -> Result<Vec<ValueId>> {
        let inputs = (0..self.node.inputs.len()).filter(|input| self.name(*input).is_some()).collect::<Vec<_>>();
        inputs.into_iter().map(|input| self.input(input)).collect()
    }

    /// Shape of an input that it must have.
    pub(super) fn shape(&self, input: usize) -> Result<Vec<usize>> {
        self.scope.shape(self.needed(input)?)
    }

    /// Entries of an input, if it has it and they are known.
    pub(super) fn entries(&mut self, input: usize) -> Result<Option<Rc<Entries>>> {
        let Some(name) = self.name(input).map(str::to_owned) else { return Ok(None) };
        self.scope.entries(&name)
    }

    /// The same, of tensors too.
    pub(super) fn numbers(&mut self, input: usize) -> Result<Option<Rc<Entries>>> {
        let Some(name) = self.name(input).map(str::to_owned) else { return Ok(None) };
        self.scope.numbers(&name)
    }

    /// Whether somebody may read this output.
    pub(super) fn returns(&self, output: usize) -> bool {
        self.node.outputs.get(output).is_some_and(|name| !name.is_empty())
    }

    /// An attribute, if it has it.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.node.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// An integer attribute.
    pub(super) fn integer(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.integer)
    }

    /// An attribute that is true or false.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.integer(name, default.into()) != 0
    }

    /// A text attribute.
    pub(super) fn text(&self, name: &str, default: &'static str) -> &str {
        self.attribute(name).map_or(default, |attribute| &attribute.text)
    }

    /// A count attribute.
    pub(super) fn size(&self, name: &str, default: usize) -> Result<usize> {
        let Some(attribute) = self.attribute(name) else { return Ok(default) };
        usize::try_from(attribute.integer).map_err(|_| self.error(format!("{name} = {}", attribute.integer)))
    }

    /// Integers that are an attribute in old versions and an input in new ones; none if neither is there.
    pub(super) fn integers(&mut self, name: &str, input: usize) -> Result<Option<Vec<i64>>> {
        if let Some(attribute) = self.attribute(name) {
            return Ok(Some(attribute.integers.clone()));
        }
        if self.name(input).is_none() {
            return Ok(None);
        }
        let integers = self.numbers(input)?.and_then(|entries| entries.to_integers());
        let fault = || format!("its {name} are not known before the network runs; export with fixed shapes");
        integers.map(Some).ok_or_else(|| self.error(fault()))
    }

    /// The axis of an attribute in an array of so many axes; negative ones count from the end.
    pub(super) fn axis(&self, name: &str, default: i64, axes: usize) -> Result<usize> {
        self.place(self.integer(name, default), axes)
    }

    /// The axis of this number in an array of so many axes; negative ones count from the end.
    pub(super) fn place(&self, axis: i64, axes: usize) -> Result<usize> {
        position(axis, axes).ok_or_else(|| self.error(format!("there is no axis {axis} of {axes}")))
    }

    /// The axes of these numbers in an array of so many axes. None may come twice.
    pub(super) fn places(&self, axes: &[i64], all: usize) -> Result<Vec<usize>> {
        let mut places = Vec::with_capacity(axes.len().min(all));
        for axis in axes {
            let place = self.place(*axis, all)?;
            if places.contains(&place) {
                return Err(self.error(format!("axis {axis} comes twice")));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// The stated shape of the first output.
    pub(super) fn stated(&self) -> Option<Vec<usize>> {
        self.stated.first().cloned().flatten()
    }

    /// Outputs of these shapes, of which nothing else is known.
    pub(super) fn opaque(&mut self, shapes: &[Vec<usize>]) -> Outputs {
        let inputs = self.all()?;
        self.scope.builder.opaque(&inputs, shapes).map(Some)
    }
}

/// The place of a number that counts from the end if it is negative.
pub(super) fn position(number: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let place = if number < 0 { number.checked_add(len)? } else { number };
    (0..len).contains(&place).then_some(place as usize)
}
