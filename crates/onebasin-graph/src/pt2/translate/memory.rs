//! Names what nodes compute, and follows who shares memory with whom.

use std::collections::BTreeSet;

use super::{Translation, tensors};
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::Call;
use crate::pt2::operators::{Known, parts};
use crate::pt2::schema::Node;
use crate::pt2::scope::{Held, Part};

/// More parts of parts than anybody takes.
const MOST_WHOLES: usize = 16;

impl Translation {
    /// Names the outputs of a call, and notes what it wrote into the memory of others.
    pub(super) fn memory(
        &mut self,
        node: &Node,
        call: &Call,
        prefix: &str,
        known: Option<Known>,
        overwrites: bool,
        values: &[Option<ValueId>],
    ) -> Result<()> {
        let mut names = Vec::new();
        node.inputs.iter().for_each(|input| tensors(&input.arg, &mut names));
        let names: Vec<String> = names.into_iter().map(|name| format!("{prefix}{name}")).collect();
        match (overwrites, known) {
            (true, _) => {
                if let Some(first) = names.first() {
                    // A result that nobody reads was still written.
                    let written = match (values.first(), self.scope.get(first)) {
                        (Some(None), Some(held)) if held.value.is_some() => self.written(call, known)?,
                        (value, _) => value.copied().flatten(),
                    };
                    let changes_shape = known.is_some_and(|known| known.view) && call.operator != "detach";
                    self.relaid |= changes_shape || known.is_none();
                    let shape = call.outputs.first().map_or(&[][..], |output| &output.shape);
                    self.write(first, written, shape)?;
                }
                if known.is_none() {
                    for name in names.iter().skip(1) {
                        self.scope.write(name, None);
                    }
                }
            }
            (false, Some(_)) => {}
            (false, None) => {
                // An operator that nothing is known of may write into whatever it reads, unless ATen says that it does not.
                if !node.target.starts_with("torch.ops.aten.") || call.given("out").is_some() {
                    for name in &names {
                        self.scope.write(name, None);
                    }
                }
            }
        }
        let shares = overwrites || known.is_none_or(|known| known.view);
        let mut memories: BTreeSet<usize> = BTreeSet::new();
        if shares {
            // Who overwrites an operand does not share the memory of the others.
            let names = if overwrites && known.is_some() { names.get(..1).unwrap_or(&[]) } else { &names[..] };
            memories.extend(names.iter().filter_map(|name| self.scope.get(name)).flat_map(|held| held.memories.iter()));
        }
        let tensor = match (shares, &names[..]) {
            (true, [name]) => self.scope.get(name).and_then(|held| held.tensor.clone()),
            _ => None,
        };
        let part = match (overwrites, &names[..], parts::place(&self.builder, call)) {
            (false, [name], Some((axis, start, single))) => Some(Part { of: name.clone(), axis, start, single }),
            _ => None,
        };
        for (output, value) in call.outputs.iter().zip(values) {
            let memories = if shares { memories.iter().copied().collect() } else { vec![self.scope.fresh()] };
            let held = Held {
                value: *value,
                shape: output.shape.clone(),
                dtype: output.dtype,
                memories,
                tensor: tensor.clone(),
                seen: self.scope.writes(),
                part: part.clone(),
            };
            if !self.scope.define(format!("{prefix}{}", output.name), held) {
                return Err(self.fault(&output.name, "the tensor is computed twice"));
            }
        }
        Ok(())
    }

    /// Writes into a tensor, and into those that it is a part of.
    fn write(&mut self, name: &str, written: Option<ValueId>, shape: &[usize]) -> Result<()> {
        let mut wholes = Vec::new();
        let mut part = self.scope.get(name).and_then(|held| held.part.clone());
        while let (Some(own), false, true) = (part, self.relaid, wholes.len() < MOST_WHOLES) {
            // The whole as it was before this write.
            let whole = self.scope.read(&mut self.builder, &own.of)?.and_then(|operand| operand.value);
            part = self.scope.get(&own.of).and_then(|held| held.part.clone());
            wholes.push((own, whole));
        }
        self.scope.write(name, written.map(|value| (value, shape)));
        let mut last = written;
        for (Part { of, axis, start, single }, whole) in wholes {
            let (Some(value), Some(whole)) = (last, whole) else { break };
            // What cannot be put together is what nothing is known of, once somebody reads it.
            let Ok(value) = parts::written(&mut self.builder, whole, value, (axis, start, single)) else { break };
            if self.builder.shape(value) != self.builder.shape(whole) {
                break;
            }
            self.scope.renew(&of, value);
            last = Some(value);
        }
        Ok(())
    }

    /// What an operator wrote whose result has no reader.
    fn written(&mut self, call: &Call, known: Option<Known>) -> Result<Option<ValueId>> {
        let mut call = call.clone();
        call.outputs.iter_mut().for_each(|output| output.read = true);
        Ok(self.translate(&call, known)?.first().copied().flatten())
    }
}
