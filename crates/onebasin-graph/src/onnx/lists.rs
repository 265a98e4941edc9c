//! Lists of values, which exporters make of the parts of an array.

use super::call::{Call, position};
use super::proto::Node;
use super::scope::{Known, Scope};
use crate::error::Result;

/// More values than a list has.
const MOST_PARTS: usize = 4096;

impl Scope {
    /// Translates a node that makes or reads a list; says whether it does.
    pub(super) fn list(&mut self, node: &Node) -> Result<bool> {
        let Some(output) = node.outputs.first() else { return Ok(false) };
        let first = node.inputs.first().map_or("", String::as_str);
        let mut call = Call { scope: self, node, version: 0, stated: Vec::new() };
        match node.operator.as_str() {
            "SplitToSequence" => {
                let Some(names) = parts(&mut call, output)? else { return Ok(false) };
                self.define(output, Known::List(names))?;
            }
            "SequenceConstruct" => self.define(output, Known::List(node.inputs.clone()))?,
            "SequenceAt" => {
                let place = call.numbers(1)?.and_then(|entries| entries.single());
                let Known::List(names) = self.known(first)? else { return Ok(false) };
                let name =
                    place.and_then(|place| position(place as i64, names.len())).map(|place| names[place].clone());
                let name = name.ok_or_else(|| self.builder.error("it reads an entry of a list that is not known"))?;
                let known = self.known(&name)?.clone();
                self.define(output, known)?;
            }
            "ConcatFromSequence" => {
                let new_axis = call.flag("new_axis", false);
                let axis = call.integer("axis", 0);
                let Known::List(names) = self.known(first)?.clone() else { return Ok(false) };
                let mut values = Vec::with_capacity(names.len());
                for name in &names {
                    values.push(self.id(name)?);
                }
                let axes = values.first().map_or(0, |value| self.builder.shape(*value).len()) + usize::from(new_axis);
                let axis =
                    position(axis, axes).ok_or_else(|| self.builder.error(format!("there is no axis {axis}")))?;
                if new_axis {
                    for value in &mut values {
                        let mut shape = self.builder.shape(*value).to_vec();
                        shape.insert(axis, 1);
                        *value = self.builder.reshape(*value, &shape)?;
                    }
                }
                let joined = self.builder.concat(&values, axis)?;
                self.define(output, Known::Computed(joined, None))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Names of the parts of an array, which are values of their own.
fn parts(call: &mut Call<'_>, output: &str) -> Result<Option<Vec<String>>> {
    let shape = call.shape(0)?;
    let axis = call.axis("axis", 0, shape.len())?;
    let all = shape[axis];
    // Sizes of all parts, or the size of each but the last; without it, parts of one entry that lose the axis.
    let sizes: Vec<usize> = match call.integers("split", 1)? {
        None if all > MOST_PARTS => return Err(call.error("its parts are too many")),
        None => vec![1; all],
        Some(sizes) => {
            let scalar = call.shape(1)?.is_empty();
            let sizes: Option<Vec<usize>> = sizes.iter().map(|size| usize::try_from(*size).ok()).collect();
            match sizes.as_deref() {
                Some(&[each]) if scalar && each > 0 => {
                    if all.div_ceil(each) > MOST_PARTS {
                        return Err(call.error("its parts are too many"));
                    }
                    (0..all).step_by(each).map(|start| each.min(all - start)).collect()
                }
                Some(sizes) if !scalar => sizes.to_vec(),
                _ => return Ok(None),
            }
        }
    };
    if sizes.len() > MOST_PARTS || sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size)) != Some(all) {
        return Err(call.error(format!("its parts are not the {all} entries of the axis, or are too many")));
    }
    let removes = call.name(1).is_none() && !call.flag("keepdims", true);
    let value = call.input(0)?;
    let (mut names, mut start) = (Vec::with_capacity(sizes.len()), 0);
    for (at, size) in sizes.into_iter().enumerate() {
        let builder = &mut call.scope.builder;
        let part =
            if removes { builder.select(value, axis, start)? } else { builder.slice(value, axis, start, size)? };
        start += size;
        let name = format!("{output}[{at}]");
        call.scope.define(&name, Known::Computed(part, None))?;
        names.push(name);
    }
    Ok(Some(names))
}
